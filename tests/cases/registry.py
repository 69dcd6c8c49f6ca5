"""The Windows registry as files: writes .reg files to import, reads Wine's own to undo them.

One import sets up a case and undoes the one before it: a command costs more than many values.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOTS = {"HKLM": "HKEY_LOCAL_MACHINE", "HKCU": "HKEY_CURRENT_USER", "HKU": "HKEY_USERS"}
WINE_USER = "S-1-5-21-0-0-0-1000"
DEFAULT_VALUE = ("", "@", "(default)")


class ExpandText(str):
    """A text whose %NAMES% Windows expands (REG_EXPAND_SZ)."""


def quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def value_name(name: str) -> str:
    return "@" if name.lower() in DEFAULT_VALUE else quote(name)


def value_data(value: str | int | list[str]) -> str:
    if isinstance(value, ExpandText):
        return "hex(2):" + _hex(value + "\0")
    if isinstance(value, int):
        return f"dword:{value & 0xFFFFFFFF:08x}"
    if isinstance(value, list):
        return "hex(7):" + _hex("".join(f"{item}\0" for item in value) + "\0")
    return quote(value)


def _hex(text: str) -> str:
    return text.encode("utf-16-le").hex(",")


def render(lines: list[str]) -> bytes:
    text = "\r\n".join(["Windows Registry Editor Version 5.00", "", *lines, ""])
    return b"\xff\xfe" + text.encode("utf-16-le")


def set_lines(values: dict[str, dict]) -> list[str]:
    """'HKLM\\...' -> {name: value}, as lines of a .reg file."""
    lines = []
    for key, names in values.items():
        lines.append(f"[{_full(key)}]")
        lines += [f"{value_name(name)}={value_data(value)}" for name, value in names.items()]
        lines.append("")
    return lines


def _full(key: str) -> str:
    root, _, rest = key.partition("\\")
    return f"{ROOTS[root]}\\{rest}"


class Baseline:
    """What the registry held before any case, read from Wine's files while nothing ran."""

    def __init__(self, prefix: Path):
        self.keys: dict[str, dict[str, str]] = {}
        self._load(prefix / "system.reg", "HKLM")
        self._load(prefix / "user.reg", "HKCU")
        self._load(prefix / "user.reg", f"HKU\\{WINE_USER}")
        self._load(prefix / "userdef.reg", "HKU\\.Default")

    def _load(self, path: Path, root: str) -> None:
        content = path.read_text(encoding="utf-8", errors="replace").replace("\\\n", "")
        names: dict[str, str] = {}
        for line in content.splitlines():
            if line.startswith("["):
                key = line[1:line.rindex("]")].replace("\\\\", "\\")
                names = self.keys.setdefault(f"{root}\\{key}".lower(), {})
            elif match := re.match(r'("(?:[^"\\]|\\.)*"|@)=(.*)', line):
                names[match[1].lower()] = _reg_file_data(match[2])

    def undo_lines(self, values: dict[str, dict]) -> list[str]:
        """Lines that put back what `values` changed: whole new keys go, old values return."""
        lines = []
        for key, names in values.items():
            known = self.keys.get(key.lower())
            if known is None:
                lines += [f"[-{_full(self._first_new(key))}]", ""]
                continue
            lines.append(f"[{_full(key)}]")
            for name in map(value_name, names):
                lines.append(f"{name}={known.get(name.lower(), '-')}")
            lines.append("")
        return lines

    def _first_new(self, key: str) -> str:
        """The uppermost ancestor of `key` that the baseline does not have."""
        parts = key.split("\\")
        for depth in range(2, len(parts)):
            prefix = "\\".join(parts[:depth])
            if not self._has(prefix.lower()):
                return prefix
        return key

    def _has(self, key: str) -> bool:
        return key in self.keys or any(other.startswith(key + "\\") for other in self.keys)


def _reg_file_data(data: str) -> str:
    """Wine's file writes expandable texts as str(2):"..."; a .reg file wants hex(2)."""
    match = re.fullmatch(r'str\((\d)\):"(.*)"', data)
    if match is None:
        return data
    text = re.sub(r"\\(.)", r"\1", match[2])
    return f"hex({match[1]}):" + _hex(text + "\0")
