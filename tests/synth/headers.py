"""Headers and import libraries: the developer's half of a cuDNN, reduced to its numbers."""

from __future__ import annotations

import struct

from . import cudnn
from .model import parse_version

HEADERS_8 = ("cudnn_ops_infer", "cudnn_ops_train", "cudnn_cnn_infer", "cudnn_cnn_train",
             "cudnn_adv_infer", "cudnn_adv_train", "cudnn_backend")
HEADERS_9 = ("cudnn_ops", "cudnn_cnn", "cudnn_adv", "cudnn_graph", "cudnn_backend")
EXTENSIONS = ("cudnn_gnn_ops", "cudnn_subquadratic_ops")


def header_set(version_text: str) -> dict[str, str]:
    """Header name -> text. The version is in cudnn_version.h from 8 on, in cudnn.h before."""
    version = (parse_version(version_text) + (0, 0))[:3]
    if version < (8,):
        return {"cudnn.h": _header("cudnn", _version_lines(version))}
    names = HEADERS_8 if version < (9,) else HEADERS_9
    if version >= (9, 24):
        names += EXTENSIONS
    includes = "".join(f'#include "{name}.h"\n' for name in ("cudnn_version", *names))
    headers = {"cudnn.h": _header("cudnn", includes),
               "cudnn_version.h": _header("cudnn_version", _version_lines(version))}
    for name in names:
        headers[f"{name}.h"] = _header(name, '#include "cudnn_version.h"\n')
    return headers


def _version_lines(version: tuple[int, ...]) -> str:
    factor = 1000 if version < (9,) else 10000
    return (f"#define CUDNN_MAJOR {version[0]}\n#define CUDNN_MINOR {version[1]}\n"
            f"#define CUDNN_PATCHLEVEL {version[2]}\n\n"
            f"#define CUDNN_VERSION (CUDNN_MAJOR * {factor} + CUDNN_MINOR * 100 + "
            "CUDNN_PATCHLEVEL)\n")


def _header(name: str, body: str) -> str:
    guard = f"{name.upper()}_H_"
    return f"/* Synthesised for tests. */\n#ifndef {guard}\n#define {guard}\n\n{body}\n#endif\n"


def import_library_set(generation: int, platform: str) -> dict[str, bytes]:
    """Windows: each library's .lib under both of its names. Linux: the static libraries."""
    rows = [row for row in cudnn.GENERATIONS[generation] if not row.since]
    if platform == "linux":
        return {f"lib{row.stem}_static_v{generation}.a": b"!<arch>\n" for row in rows}
    found = {}
    for row in rows:
        name = cudnn.file_name(row.stem, generation, "windows")
        symbol = row.version_export or row.functions[0]
        content = _import_archive(name, symbol)
        found[f"{row.stem}.lib"] = content
        found[name.replace(".dll", ".lib")] = content
    return found


def _import_archive(dll: str, symbol: str) -> bytes:
    """An archive with one short import record (Microsoft's "PE Format", Import Library Format)."""
    names = symbol.encode() + b"\0" + dll.encode() + b"\0"
    record = struct.pack("<HHHHIIHH", 0, 0xFFFF, 0, 0x8664, 0, len(names), 0, 4) + names
    index = struct.pack(">I", 1)
    index_size = len(index) + 4 + len(symbol) + 1
    offset = 8 + 60 + index_size + index_size % 2
    index += struct.pack(">I", offset) + symbol.encode() + b"\0"
    return b"!<arch>\n" + _member("/", index) + _member(f"{dll}/"[:16], record)


def _member(name: str, data: bytes) -> bytes:
    head = f"{name:<16}{0:<12}{'':<6}{'':<6}{0:<8}{len(data):<10}`\n".encode()
    return head + data + b"\n" * (len(data) % 2)
