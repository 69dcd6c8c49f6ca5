"""A CUDA toolkit's directory: version.json, the compiler, a header, the runtime libraries."""

from __future__ import annotations

import json

from synth import other
from synth.model import parse_version

from .host import Host

PARTS = {"cudart": ("cudart",), "cublas": ("cublas", "cublasLt"),
         "nvrtc": ("nvrtc", "nvrtc-builtins")}


def make(host: Host, root: str, wanted: dict, is_dir: bool) -> None:
    """`cudart`, `cublas` and `nvrtc` are there unless the case says false."""
    version = wanted["version"]
    major, minor = (parse_version(version) + (0,))[:2]
    host.write_text(root, "version.json", version_json(version))
    host.write_text(host.tree.join(root, "include"), "cuda.h", cuda_header(major, minor))
    compiler = "nvcc.exe" if host.is_windows else "nvcc"
    program = other.plain(compiler, f"{major}.{minor}.0.0", platform=host.platform,
                          product="NVIDIA CUDA Compiler", program=True)
    host.write_library(host.tree.join(root, "bin"), compiler, program)
    for option, parts in PARTS.items():
        if wanted.get(option, True):
            for part in parts:
                make_library(host, library_directory(host, root, major), part, major, minor)


def library_directory(host: Host, root: str, major: int) -> str:
    if not host.is_windows:
        return host.tree.join(root, "lib64")
    return host.tree.join(root, "bin", "x64") if major >= 13 else host.tree.join(root, "bin")


def make_library(host: Host, directory: str, part: str, major: int, minor: int) -> None:
    """On Linux as NVIDIA does it: the soname is a link to a file named after the full version."""
    library = other.cuda_library(part, f"{major}.{minor}", host.platform)
    if host.is_windows:
        host.write_library(directory, library.name, library)
        return
    real = f"lib{part}.so.{major}.{minor}.0"
    host.write_library(directory, real, library)
    if real != library.name:
        host.tree.link(host.tree.join(directory, library.name), real)
    host.tree.link(host.tree.join(directory, f"lib{part}.so"), library.name)


def version_json(version: str) -> str:
    names = {"cuda": "CUDA SDK", "cuda_cudart": "CUDA Runtime (cudart)", "cuda_nvcc": "CUDA NVCC",
             "cuda_nvrtc": "CUDA NVRTC", "libcublas": "CUDA cuBLAS"}
    document = {key: {"name": name, "version": version} for key, name in names.items()}
    return json.dumps(document, indent=3) + "\n"


def cuda_header(major: int, minor: int) -> str:
    return ("/* Synthesised for tests. */\n#ifndef __cuda_cuda_h__\n#define __cuda_cuda_h__\n\n"
            f"#define CUDA_VERSION {major * 1000 + minor * 10}\n\n#endif\n")
