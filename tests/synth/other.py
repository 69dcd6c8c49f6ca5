"""The libraries around cuDNN: CUDA's runtime parts, zlib, Python, the consumers' own modules."""

from __future__ import annotations

import re

from . import cudnn
from .model import Library, parse_version

# What others import from a library whose name begins so; first match wins.
USUAL_SYMBOLS = (
    ("cublaslt", "cublasLtCreate"), ("libcublaslt", "cublasLtCreate"),
    ("cublas", "cublasCreate_v2"), ("libcublas", "cublasCreate_v2"),
    ("cudart", "cudaRuntimeGetVersion"), ("libcudart", "cudaRuntimeGetVersion"),
    ("nvrtc", "nvrtcVersion"), ("libnvrtc", "nvrtcVersion"),
    ("zlib", "deflate"), ("libz", "deflate"),
    ("python", "Py_GetVersion"), ("libpython", "Py_GetVersion"),
    ("kernel32", "GetTickCount"),
)


def usual_symbol(name: str) -> str | None:
    parsed = cudnn.parse_name(name)
    if parsed is not None:
        return cudnn.usual_symbol(parsed[0], parsed[1] or 9)
    lower = name.lower()
    return next((symbol for prefix, symbol in USUAL_SYMBOLS if lower.startswith(prefix)), None)


def imports_of(names: list[str]) -> dict[str, list[str]]:
    symbols = {name: usual_symbol(name) for name in names}
    return {name: [symbol] if symbol else [] for name, symbol in symbols.items()}


def plain(name: str, version_text: str | None = None, arch: str = "x86_64",
          imports: list[str] = (), strings: list[str] = (), product: str | None = None,
          platform: str = "windows", **more) -> Library:
    """A library of any name; it exports what libraries of such a name are imported for."""
    symbol = usual_symbol(name)
    resource = None
    if platform == "windows" and version_text is not None:
        resource = {
            "FileDescription": product or name,
            "FileVersion": version_text,
            "InternalName": re.sub(r"\.\w+$", "", name),
            "OriginalFilename": name,
            "ProductName": product or name,
            "ProductVersion": version_text,
        }
    return Library(
        name=name,
        arch=arch,
        functions={symbol: 0} if symbol else {},
        imports=imports_of(list(imports)),
        strings=list(strings),
        resource=resource,
        version=parse_version(version_text) if version_text else (),
        **more,
    )


def cuda_library(part: str, cuda_text: str, platform: str, arch: str = "x86_64") -> Library:
    """cudart, cublas, cublasLt, nvrtc or nvrtc-builtins of a CUDA release such as '12.4'."""
    major, minor = (parse_version(cuda_text) + (0,))[:2]
    name = cuda_file_name(part, major, minor, platform)
    imports = {"cublas": [cuda_file_name("cublasLt", major, minor, platform)]}.get(part, [])
    return plain(name, f"{major}.{minor}.0.0", arch, imports, platform=platform,
                 product=f"NVIDIA CUDA {major}.{minor} {part} Library",
                 runpath="$ORIGIN" if platform == "linux" else None)


def cuda_file_name(part: str, major: int, minor: int, platform: str) -> str:
    """Spellings differ by part and by release: cudart64_110, cudart64_12; nvrtc64_112_0, _120_0."""
    if platform == "linux":
        suffix = {"cudart": _linux_cudart(major, minor), "nvrtc": _linux_nvrtc(major, minor),
                  "nvrtc-builtins": f"{major}.{minor}"}.get(part, str(major))
        return f"lib{part}.so.{suffix}"
    suffix = {"cudart": _windows_cudart(major, minor), "nvrtc": _windows_nvrtc(major, minor),
              "nvrtc-builtins": f"{major}{minor}"}.get(part, str(major))
    return f"{part}64_{suffix}.dll"


def _windows_cudart(major: int, minor: int) -> str:
    return str(major) if major >= 12 else "110" if major == 11 else f"{major}{minor}"


def _linux_cudart(major: int, minor: int) -> str:
    return str(major) if major >= 12 else "11.0" if major == 11 else f"{major}.{minor}"


def _windows_nvrtc(major: int, minor: int) -> str:
    return f"{major}0_0" if major >= 12 else f"{major}{min(minor, 2)}_0"


def _linux_nvrtc(major: int, minor: int) -> str:
    return str(major) if major >= 12 else f"{major}.{min(minor, 2)}"
