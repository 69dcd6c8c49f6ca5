"""What a synthesised library is, before anybody asks whether it becomes a PE or an ELF file.

`cudnn.py` and `other.py` describe libraries with this model; `pe.py` and `elf.py` turn a
description into bytes. The bytes depend on nothing but the description: no time, no randomness.
"""

from __future__ import annotations

from dataclasses import dataclass, field

ARCHES = ("x86_64", "x86", "arm64")


@dataclass(frozen=True)
class Library:
    """One library or program.

    `functions` map a name to what the function returns: a number, or a text it returns the address
    of. `data` maps a name to exported bytes. `imports` maps a library's file name to the symbols
    taken from it; an ELF file needs that library in any case, a PE file imports ordinal 1 when the
    list is empty. `strings` are plain bytes in the read-only data: names a library would load at
    run time.
    """

    name: str
    arch: str = "x86_64"
    functions: dict[str, int | str] = field(default_factory=dict)
    data: dict[str, bytes] = field(default_factory=dict)
    imports: dict[str, list[str]] = field(default_factory=dict)
    strings: list[str] = field(default_factory=list)
    resource: dict[str, str] | None = None
    version: tuple[int, ...] = ()
    runpath: str | None = None
    rpath: str | None = None
    program: bool = False


def parse_version(text: str) -> tuple[int, ...]:
    """'9.5.0.50' -> (9, 5, 0, 50); a local part ('+cu124') is ignored."""
    return tuple(int(part) for part in text.split("+")[0].split(".") if part.isdigit())


class Blob:
    """Bytes under construction; `base` is the address that offset 0 will have."""

    def __init__(self, base: int = 0):
        self.base = base
        self.bytes = bytearray()

    def align(self, boundary: int) -> None:
        self.bytes.extend(bytes(-len(self.bytes) % boundary))

    def add(self, data: bytes, boundary: int = 1) -> int:
        """Appends and returns the address of what was appended."""
        self.align(boundary)
        address = self.base + len(self.bytes)
        self.bytes.extend(data)
        return address

    def put(self, address: int, data: bytes) -> None:
        """Overwrites what was reserved at `address`."""
        start = address - self.base
        self.bytes[start:start + len(data)] = data

    def text(self, text: str) -> int:
        return self.add(text.encode() + b"\0")

    def __len__(self) -> int:
        return len(self.bytes)


def align_up(value: int, boundary: int) -> int:
    return -(-value // boundary) * boundary
