"""The version resource of a Windows library: a .rsrc section with one VS_VERSIONINFO."""

from __future__ import annotations

import struct

RT_VERSION = 16
ENGLISH = 0x409
UNICODE_CODEPAGE = 1200


def version_section(strings: dict[str, str], version: tuple[int, ...], rva: int) -> bytes:
    """The whole .rsrc section, to be loaded at `rva`: type 16, name 1, language English."""
    info = version_info(strings, version)
    data_entry_at = 3 * 24
    directory = b"".join(
        _directory(identifier, child, is_leaf)
        for identifier, child, is_leaf in (
            (RT_VERSION, 24, False),
            (1, 48, False),
            (ENGLISH, data_entry_at, True),
        )
    )
    info_at = data_entry_at + 16
    return directory + struct.pack("<IIII", rva + info_at, len(info), 0, 0) + info


def _directory(identifier: int, child: int, is_leaf: bool) -> bytes:
    flag = 0 if is_leaf else 0x80000000
    return struct.pack("<IIHHHHII", 0, 0, 0, 0, 0, 1, identifier, child | flag)


def version_info(strings: dict[str, str], version: tuple[int, ...]) -> bytes:
    table = [_block(key, _wide(value), is_text=True) for key, value in strings.items()]
    language = f"{ENGLISH:04X}{UNICODE_CODEPAGE:04X}"
    translation = struct.pack("<HH", ENGLISH, UNICODE_CODEPAGE)
    return _block(
        "VS_VERSION_INFO",
        _fixed_info(version),
        [
            _block("StringFileInfo", children=[_block(language, children=table, is_text=True)],
                   is_text=True),
            _block("VarFileInfo", children=[_block("Translation", translation)], is_text=True),
        ],
    )


def _fixed_info(version: tuple[int, ...]) -> bytes:
    major, minor, patch, build = (tuple(version) + (0, 0, 0, 0))[:4]
    number = (major << 16 | minor, patch << 16 | build)
    return struct.pack("<13I", 0xFEEF04BD, 0x10000, *number, *number, 0x3F, 0, 0x40004, 2, 0, 0, 0)


def _block(key: str, value: bytes = b"", children: list[bytes] = (),
           is_text: bool = False) -> bytes:
    """One node: length, value length (in characters for text), type, key, value, children."""
    body = _wide(key)
    body += bytes(-(len(body) + 6) % 4) + value
    for child in children:
        body += bytes(-(len(body) + 6) % 4) + child
    value_length = len(value) // 2 if is_text else len(value)
    return struct.pack("<HHH", len(body) + 6, value_length, int(is_text)) + body


def _wide(text: str) -> bytes:
    return (text + "\0").encode("utf-16-le")
