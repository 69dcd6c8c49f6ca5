"""Turns a description of a library into an ELF shared object: ELF64 (x86_64, arm64) or ELF32 (x86).

Formats: the System V gABI; the GNU hash table after glibc's reading of it. As in NVIDIA's files,
.dynstr and .gnu.hash lie in a later segment whose addresses differ from its file offsets, so a
reader that confuses the two notices. Symbols carry no versions.
"""

from __future__ import annotations

import struct

from . import code
from .model import Blob, Library, align_up

MACHINES = {"x86_64": 62, "x86": 3, "arm64": 183}
PAGE = 0x1000
SECOND_SEGMENT_SHIFT = 0x10000
NEEDED, STRTAB, SYMTAB, STRSZ, SYMENT, SONAME, RPATH, RUNPATH = 1, 5, 6, 10, 11, 14, 15, 29
GNU_HASH, FLAGS, FLAG_SYMBOLIC = 0x6FFFFEF5, 30, 2


class Shape:
    """Field widths that differ between the 32-bit and the 64-bit format."""

    def __init__(self, arch: str):
        self.is_64 = arch != "x86"
        self.header, self.phdr, self.shdr = (64, 56, 64) if self.is_64 else (52, 32, 40)
        self.symbol, self.word = (24, 8) if self.is_64 else (16, 4)

    def pack_symbol(self, name: int, value: int, size: int, info: int, section: int) -> bytes:
        if self.is_64:
            return struct.pack("<IBBHQQ", name, info, 0, section, value, size)
        return struct.pack("<IIIBBH", name, value, size, info, 0, section)

    def pack_segment(self, kind: int, flags: int, offset: int, address: int, size: int,
                     alignment: int) -> bytes:
        if self.is_64:
            return struct.pack("<IIQQQQQQ", kind, flags, offset, address, address, size, size,
                               alignment)
        return struct.pack("<IIIIIIII", kind, offset, address, address, size, size, flags,
                           alignment)

    def pack_section(self, *fields: int) -> bytes:
        """name, type, flags, address, offset, size, link, info, alignment, entry size."""
        return struct.pack("<IIQQQQIIQQ" if self.is_64 else "<10I", *fields)


def build(library: Library) -> bytes:
    shape = Shape(library.arch)
    undefined = [symbol for symbols in library.imports.values() for symbol in symbols]
    defined = gnu_hash_order([*library.data, *library.functions])
    strings = Blob()
    strings.add(b"\0")
    name_offsets = {name: strings.text(name) for name in [*undefined, *defined]}
    tags = _string_tags(library, strings)

    first = Blob()
    first.add(bytes(shape.header + 4 * shape.phdr))
    symbols_at = first.add(bytes(shape.symbol * (1 + len(undefined) + len(defined))), 8)
    places = _contents(library, first)
    symbols = _symbols(shape, undefined, defined, name_offsets, places)
    first.put(symbols_at, symbols)

    offset = align_up(len(first), PAGE)
    second = Blob(offset + SECOND_SEGMENT_SHIFT)
    dynamic_size = (len(tags) + 7) * 2 * shape.word
    dynamic_at = second.add(bytes(dynamic_size), 8)
    strings_at = second.add(bytes(strings.bytes), 8)
    hash_at = second.add(gnu_hash(defined, 1 + len(undefined), shape.word), 8)
    tags += [(GNU_HASH, hash_at), (STRTAB, strings_at), (SYMTAB, symbols_at),
             (STRSZ, len(strings)), (SYMENT, shape.symbol), (FLAGS, FLAG_SYMBOLIC), (0, 0)]
    dynamic = b"".join(struct.pack("<2Q" if shape.is_64 else "<2I", *tag)
                       for tag in tags)
    second.put(dynamic_at, dynamic)

    segments = [
        (1, 5, 0, 0, len(first), PAGE),
        (1, 6, offset, second.base, len(second), PAGE),
        (2, 6, offset, second.base, dynamic_size, 8),
        (0x6474E551, 6, 0, 0, 0, 16),
    ]
    hash_size = second.base + len(second) - hash_at
    sections = [
        (".dynsym", 11, 2, symbols_at, symbols_at, len(symbols), 5, 1, 8, shape.symbol),
        (".rodata", 1, 2, *places["rodata"], 0, 0, 8, 0),
        (".text", 1, 6, *places["text"], 0, 0, 16, 0),
        (".dynamic", 6, 3, dynamic_at, offset, dynamic_size, 5, 0, 8, 2 * shape.word),
        (".dynstr", 3, 2, strings_at, offset + strings_at - second.base, len(strings), 0, 0, 1, 0),
        (".gnu.hash", 0x6FFFFFF6, 2, hash_at, offset + hash_at - second.base, hash_size, 1, 0, 8,
         0),
    ]
    body = bytes(first.bytes) + bytes(offset - len(first)) + bytes(second.bytes)
    return _file(library, shape, body, segments, sections)


def _string_tags(library: Library, strings: Blob) -> list[tuple[int, int]]:
    tags = [(NEEDED, strings.text(name)) for name in library.imports]
    tags.append((SONAME, strings.text(library.name)))
    if library.rpath is not None:
        tags.append((RPATH, strings.text(library.rpath)))
    if library.runpath is not None:
        tags.append((RUNPATH, strings.text(library.runpath)))
    return tags


def _contents(library: Library, blob: Blob) -> dict:
    """Data, strings and code; returns name -> (address, size, symbol info, section) and extents."""
    places = {}
    blob.align(16)
    rodata_at = len(blob)
    for name, value in library.data.items():
        places[name] = (blob.add(value, 8), len(value), 0x11, 2)
    for text in library.strings:
        blob.text(text)
    texts = {value: blob.text(value) for value in library.functions.values()
             if isinstance(value, str)}
    rodata_size = len(blob) - rodata_at
    blob.align(16)
    text_at = len(blob)
    for name, value in library.functions.items():
        if isinstance(value, str):
            body = code.return_address(library.arch, len(blob), texts[value])
        else:
            body = code.return_number(library.arch, value)
        places[name] = (blob.add(body), len(body), 0x12, 3)
    places["rodata"] = (rodata_at, rodata_at, rodata_size)
    places["text"] = (text_at, text_at, len(blob) - text_at)
    return places


def _symbols(shape: Shape, undefined: list[str], defined: list[str], names: dict[str, int],
             places: dict) -> bytes:
    table = shape.pack_symbol(0, 0, 0, 0, 0)
    for name in undefined:
        table += shape.pack_symbol(names[name], 0, 0, 0x10, 0)
    for name in defined:
        address, size, info, section = places[name]
        table += shape.pack_symbol(names[name], address, size, info, section)
    return table


def gnu_hash_of(name: str) -> int:
    value = 5381
    for byte in name.encode():
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


def _bucket_count(names: list[str]) -> int:
    return max(1, len(names) // 2)


def gnu_hash_order(names: list[str]) -> list[str]:
    """The table demands that the symbols of one bucket follow each other."""
    buckets = _bucket_count(names)
    return sorted(names, key=lambda name: gnu_hash_of(name) % buckets)


def gnu_hash(names: list[str], first_index: int, word: int) -> bytes:
    """`names` in gnu_hash_order; a one-word Bloom filter, buckets, then the chains."""
    buckets, bits, shift = _bucket_count(names), word * 8, 6
    bloom, starts, chain = 0, [0] * buckets, []
    for position, name in enumerate(names):
        value = gnu_hash_of(name)
        bloom |= 1 << value % bits | 1 << (value >> shift) % bits
        bucket = value % buckets
        if starts[bucket] == 0:
            starts[bucket] = first_index + position
        is_last = position + 1 == len(names) or gnu_hash_of(names[position + 1]) % buckets != bucket
        chain.append(value & ~1 | int(is_last))
    return (struct.pack("<IIII", buckets, first_index, 1, shift) + bloom.to_bytes(word, "little")
            + struct.pack(f"<{buckets}I{len(chain)}I", *starts, *chain))


def _file(library: Library, shape: Shape, body: bytes, segments: list, sections: list) -> bytes:
    names = Blob()
    names.add(b"\0")
    rows = [shape.pack_section(*([0] * 10))]
    for name, *fields in sections:
        rows.append(shape.pack_section(names.text(name), *fields))
    own_name = names.text(".shstrtab")
    names_at = len(body)
    rows.append(shape.pack_section(own_name, 3, 0, 0, names_at, len(names), 0, 0, 1, 0))
    body += bytes(names.bytes)
    body += bytes(-len(body) % 8)
    table_at = len(body)
    ident = b"\x7fELF" + bytes([2 if shape.is_64 else 1, 1, 1, 3]) + bytes(8)
    word = "Q" if shape.is_64 else "I"
    header = ident + struct.pack(
        f"<HHI{word}{word}{word}IHHHHHH", 3, MACHINES[library.arch], 1, 0, shape.header, table_at,
        0, shape.header, shape.phdr, len(segments), shape.shdr, len(rows), len(rows) - 1)
    head = header + b"".join(shape.pack_segment(*segment) for segment in segments)
    return head + body[len(head):] + b"".join(rows)
