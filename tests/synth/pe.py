"""Turns a description of a library into a Windows PE file: PE32+ (x86_64, arm64) or PE32 (x86).

Formats: Microsoft's "PE Format". Sections: .text (functions), .rdata (exported data, strings,
export and import tables), .rsrc (version resource, when there is one), .reloc (empty but valid:
nothing in these files depends on where they are loaded).
"""

from __future__ import annotations

import struct

from . import code, resource
from .model import Blob, Library, align_up

FILE_ALIGNMENT = 0x200
SECTION_ALIGNMENT = 0x1000
TEXT_RVA = 0x1000
MACHINES = {"x86_64": 0x8664, "x86": 0x14C, "arm64": 0xAA64}
READ, WRITE, EXECUTE = 0x40000000, 0x80000000, 0x20000000
CODE, DATA, DISCARDABLE = 0x20, 0x40, 0x02000000
LINK_TIME = 0x66FE2C0D


def build(library: Library) -> bytes:
    names = list(library.functions)
    text_size = max(1, len(names) + library.program) * code.FUNCTION_SIZE
    rdata = Blob(TEXT_RVA + align_up(text_size, SECTION_ALIGNMENT))
    addresses = {name: rdata.add(value, 8) for name, value in library.data.items()}
    for text in library.strings:
        rdata.text(text)
    text, entry = _text(library, rdata, addresses)
    directories = {}
    if addresses:
        directories[0] = _exports(library, rdata, addresses)
    if library.imports:
        directories[1], directories[12] = _imports(library, rdata)
    sections = [
        (".text", TEXT_RVA, text, READ | EXECUTE | CODE),
        (".rdata", rdata.base, bytes(rdata.bytes) or bytes(16), READ | DATA),
    ]
    _append_resource(library, sections, directories)
    rva = _next_rva(sections)
    relocations = struct.pack("<IIHH", TEXT_RVA, 12, 0, 0)
    sections.append((".reloc", rva, relocations, READ | DATA | DISCARDABLE))
    directories[5] = (rva, len(relocations))
    return _file(library, sections, directories, entry)


def _text(library: Library, rdata: Blob, addresses: dict[str, int]) -> tuple[bytes, int]:
    """The functions' code; adds their addresses and the texts they return. Also the entry point."""
    blob = Blob(TEXT_RVA)
    for name, value in library.functions.items():
        at = blob.base + len(blob)
        if isinstance(value, str):
            body = code.return_address(library.arch, at, rdata.text(value))
        else:
            body = code.return_number(library.arch, value)
        addresses[name] = blob.add(body)
    entry = blob.add(code.return_number(library.arch, 0)) if library.program else 0
    return bytes(blob.bytes) or bytes(code.FUNCTION_SIZE), entry


def _exports(library: Library, rdata: Blob, addresses: dict[str, int]) -> tuple[int, int]:
    """As linkers lay it out: the directory, then the three tables and the names it points to, all
    within the size that the header gives."""
    names = sorted(addresses, key=str.encode)
    count = len(names)
    directory_at = rdata.add(bytes(40), 4)
    functions = rdata.add(struct.pack(f"<{count}I", *(addresses[name] for name in names)))
    name_table = rdata.add(bytes(4 * count))
    ordinals = rdata.add(struct.pack(f"<{count}H", *range(count)))
    library_name = rdata.text(library.name)
    name_rvas = struct.pack(f"<{count}I", *(rdata.text(name) for name in names))
    directory = struct.pack("<IIHHIIIIIII", 0, LINK_TIME, 0, 0, library_name, 1, count, count,
                            functions, name_table, ordinals)
    rdata.put(directory_at, directory)
    rdata.put(name_table, name_rvas)
    return directory_at, rdata.base + len(rdata) - directory_at


def _imports(library: Library, rdata: Blob) -> tuple[tuple[int, int], tuple[int, int]]:
    width, layout = (4, "<I") if library.arch == "x86" else (8, "<Q")
    by_ordinal = 1 << (width * 8 - 1)
    thunks = {}
    for dll, symbols in library.imports.items():
        hints = [rdata.add(b"\0\0" + symbol.encode() + b"\0", 2) for symbol in symbols]
        values = hints or [by_ordinal | 1]
        thunks[dll] = b"".join(struct.pack(layout, value) for value in [*values, 0])
    lookups = {dll: rdata.add(values, width) for dll, values in thunks.items()}
    rdata.align(width)
    iat = rdata.base + len(rdata)
    addresses = {dll: rdata.add(values, width) for dll, values in thunks.items()}
    iat_size = rdata.base + len(rdata) - iat
    names = {dll: rdata.text(dll) for dll in thunks}
    descriptors = b"".join(
        struct.pack("<IIIII", lookups[dll], 0, 0, names[dll], addresses[dll]) for dll in thunks
    ) + bytes(20)
    return (rdata.add(descriptors, 4), len(descriptors)), (iat, iat_size)


def _append_resource(library: Library, sections: list, directories: dict) -> None:
    if library.resource is None:
        return
    rva = _next_rva(sections)
    data = resource.version_section(library.resource, library.version, rva)
    sections.append((".rsrc", rva, data, READ | DATA))
    directories[2] = (rva, len(data))


def _next_rva(sections: list) -> int:
    _, rva, data, _ = sections[-1]
    return align_up(rva + len(data), SECTION_ALIGNMENT)


def _file(library: Library, sections: list, directories: dict, entry: int) -> bytes:
    headers_size = align_up(0x80 + 24 + 240 + 40 * len(sections), FILE_ALIGNMENT)
    table, bodies, offset = b"", b"", headers_size
    for name, rva, data, flags in sections:
        raw = data + bytes(-len(data) % FILE_ALIGNMENT)
        table += struct.pack("<8sIIIIIIHHI", name.encode(), len(data), rva, len(raw), offset,
                             0, 0, 0, 0, flags)
        bodies += raw
        offset += len(raw)
    optional = _optional_header(library, sections, directories, entry, headers_size)
    characteristics = 0x0022 | (0 if library.program else 0x2000)
    if library.arch == "x86":
        characteristics |= 0x0100
    coff = struct.pack("<4sHHIIIHH", b"PE\0\0", MACHINES[library.arch], len(sections), LINK_TIME,
                       0, 0, len(optional), characteristics)
    head = _dos_header() + coff + optional + table
    return head + bytes(headers_size - len(head)) + bodies


def _dos_header() -> bytes:
    header = bytearray(0x80)
    header[0:2] = b"MZ"
    header[0x3C:0x40] = struct.pack("<I", 0x80)
    return bytes(header)


def _optional_header(library: Library, sections: list, directories: dict, entry: int,
                     headers_size: int) -> bytes:
    is_32 = library.arch == "x86"
    word = "I" if is_32 else "Q"
    major, minor = (tuple(library.version) + (0, 0))[:2]
    code_size = align_up(len(sections[0][2]), FILE_ALIGNMENT)
    data_size = sum(align_up(len(data), FILE_ALIGNMENT) for _, _, data, _ in sections[1:])
    head = struct.pack("<HBBIIIII", 0x10B if is_32 else 0x20B, 14, 29, code_size, data_size, 0,
                       entry, TEXT_RVA)
    head += struct.pack("<II", sections[1][1], 0x10000000) if is_32 else struct.pack(
        "<Q", 0x140000000 if library.program else 0x180000000)
    dll_flags = 0x140 if is_32 else 0x160
    subsystem = 3 if library.program else 2
    head += struct.pack("<IIHHHHHHIIIIHH", SECTION_ALIGNMENT, FILE_ALIGNMENT, 6, 0,
                        major & 0xFFFF, minor & 0xFFFF, 6, 0, 0, _next_rva(sections), headers_size,
                        0, subsystem, dll_flags)
    head += struct.pack(f"<4{word}II", 0x100000, 0x1000, 0x100000, 0x1000, 0, 16)
    for index in range(16):
        head += struct.pack("<II", *directories.get(index, (0, 0)))
    return head
