"""Machine code of functions that return a constant, for the three architectures.

Every function has one fixed size per architecture, so addresses are known before code is written.
"""

from __future__ import annotations

import struct

FUNCTION_SIZE = 16


def return_number(arch: str, value: int) -> bytes:
    value &= 0xFFFFFFFF
    if arch == "arm64":
        movz = 0x52800000 | (value & 0xFFFF) << 5  # mov w0, #low
        movk = 0x72A00000 | (value >> 16) << 5  # movk w0, #high, lsl 16
        code = struct.pack("<III", movz, movk, 0xD65F03C0)
    else:
        code = b"\xb8" + struct.pack("<I", value) + b"\xc3"  # mov eax, value; ret
    return _padded(arch, code)


def return_address(arch: str, at: int, target: int) -> bytes:
    """Code at address `at` that returns the address `target`, wherever the image is loaded."""
    if arch == "arm64":
        delta = target - at
        adr = 0x10000000 | (delta & 3) << 29 | (delta >> 2 & 0x7FFFF) << 5  # adr x0, target
        code = struct.pack("<II", adr, 0xD65F03C0)
    elif arch == "x86_64":
        code = b"\x48\x8d\x05" + struct.pack("<i", target - (at + 7)) + b"\xc3"  # lea rax, [rip+d]
    else:  # call next; next: pop eax; add eax, target - next; ret
        code = b"\xe8\0\0\0\0\x58\x05" + struct.pack("<i", target - (at + 5)) + b"\xc3"
    return _padded(arch, code)


def _padded(arch: str, code: bytes) -> bytes:
    filler = b"\x1f\x20\x03\xd5" if arch == "arm64" else b"\xcc"  # nop; int3
    missing = FUNCTION_SIZE - len(code)
    return code + filler * (missing // len(filler))
