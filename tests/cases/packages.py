"""Installs packages into an environment: wheels with dist-info and a true RECORD, conda packages.

What is inside the frameworks' wheels is in frameworks.py; here are NVIDIA's own and the recording.
"""

from __future__ import annotations

import base64
import hashlib

from synth import cudnn, headers, other
from synth.model import parse_version

from . import frameworks, pythons
from .host import Host
from .wheel import Wheel


def make(host: Host, environment: str, wanted: dict, is_dir: bool) -> None:
    kind = wanted["kind"]
    if kind.startswith("conda:"):
        _conda(host, environment, kind.removeprefix("conda:"), wanted)
    elif kind.startswith("nvidia-cudnn-cu"):
        install(host, environment, cudnn_wheel(host.platform, kind, wanted["version"]))
    elif kind.startswith("nvidia-cublas-cu"):
        install(host, environment, cublas_wheel(host.platform, kind, wanted["version"]))
    else:
        for wheel in frameworks.WHEELS[kind](host, environment, wanted):
            install(host, environment, wheel)


def install(host: Host, environment: str, wheel: Wheel) -> None:
    """Files, then dist-info with a RECORD of all of them, as pip leaves it."""
    site = host.site_packages(environment)
    info = f"{wheel.name.replace('-', '_')}-{wheel.version}.dist-info"
    requires = "".join(f"Requires-Dist: {line}\n" for line in wheel.requires)
    files = dict(wheel.files)
    files[f"{info}/METADATA"] = (f"Metadata-Version: 2.1\nName: {wheel.name}\n"
                                 f"Version: {wheel.version}\n{requires}").encode()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\n"
                              f"Tag: {wheel.tag}\n").encode()
    files[f"{info}/INSTALLER"] = b"pip\n"
    lines = [f"{name},sha256={_record_hash(data)},{len(data)}" for name, data in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,", ""]).encode()
    for name, data in files.items():
        host.tree.write(host.tree.join(site, name), data)


def _record_hash(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def cudnn_wheel(platform: str, name: str, version: str) -> Wheel:
    """nvidia-cudnn-cuNN: bin and include on Windows (8 also lib\\x64), lib and include on Linux."""
    wheel = Wheel(name, version, platform)
    cuda = int(name[-2:])
    generation = parse_version(version)[0]
    folder = "bin" if platform == "windows" else "lib"
    if cuda < 13:
        wheel.requires.append(f"nvidia-cublas-cu{cuda}")
        for package in ("", "cudnn/", f"cudnn/{folder}/", "cudnn/include/"):
            wheel.files[f"nvidia/{package}__init__.py"] = b""
    else:
        wheel.requires.append("nvidia-cublas")
    for file_name, library in cudnn.runtime_set(version, cuda, platform).items():
        wheel.files[f"nvidia/cudnn/{folder}/{file_name}"] = cudnn.build(library, platform)
    for file_name, text in headers.header_set(version).items():
        wheel.files[f"nvidia/cudnn/include/{file_name}"] = text.encode()
    if platform == "windows" and generation == 8:
        for file_name, data in headers.import_library_set(8, platform).items():
            wheel.files[f"nvidia/cudnn/lib/x64/{file_name}"] = data
    return wheel


def cublas_wheel(platform: str, name: str, version: str) -> Wheel:
    wheel = Wheel(name, version, platform)
    folder = "bin" if platform == "windows" else "lib"
    for package in ("", "cublas/", f"cublas/{folder}/"):
        wheel.files[f"nvidia/{package}__init__.py"] = b""
    for part in ("cublas", "cublasLt"):
        library = other.cuda_library(part, version, platform)
        wheel.files[f"nvidia/cublas/{folder}/{library.name}"] = cudnn.build(library, platform)
    return wheel


def _conda(host: Host, environment: str, name: str, wanted: dict) -> None:
    version = wanted["version"]
    cuda = wanted.get("cuda") or str(cudnn.default_cuda(parse_version(version)))
    cuda_major = parse_version(cuda)[0]
    depends = [f"cuda-version >={cuda_major},<{cuda_major + 1}.0a0"]
    if name == "libcublas":
        libraries = {item.name: item for item in (
            other.cuda_library(part, version, host.platform) for part in ("cublas", "cublasLt"))}
        _conda_package(host, environment, name, version, "h0000000_0", depends, libraries, None)
        return
    build = f"cuda{cuda_major}_0" if name == "cudnn" else "h0000000_0"
    libraries = cudnn.runtime_set(version, cuda_major, host.platform)
    _conda_package(host, environment, name, version, build, [*depends, "libcublas", "libzlib"],
                   libraries, version)
    if name == "cudnn":
        _conda_headers(host, environment, version)
    if host.is_windows and needs_zlibwapi(version):
        zlib = {"zlibwapi.dll": other.plain("zlibwapi.dll", "1.2.13.0")}
        _conda_package(host, environment, "libzlib-wapi", "1.2.13", "h0000000_0", [], zlib, None)


def _conda_package(host: Host, environment: str, name: str, version: str, build: str,
                   depends: list[str], libraries: dict, links_of: str | None) -> None:
    """`links_of` a version: on Linux the libraries carry it in their names, with links to them."""
    folder = "Library/bin" if host.is_windows else "lib"
    directory = host.tree.join(environment, folder)
    files = {}
    for file_name, library in libraries.items():
        real, links = file_name, {}
        if links_of is not None and not host.is_windows:
            real, links = cudnn.versioned_links(file_name, links_of)
            links.pop(f"{file_name[:file_name.index('.so')]}.so")  # belongs to the -dev package
        data = host.build(library)
        host.tree.write(host.tree.join(directory, real), data, 0o755)
        facts = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        files[f"{folder}/{real}"] = facts
        for link, target in links.items():
            host.tree.link(host.tree.join(directory, link), target)
            files[f"{folder}/{link}"] = {**facts, "type": "softlink"}
    pythons.record(host, environment, name, version, build, depends, files)


def _conda_headers(host: Host, environment: str, version: str) -> None:
    folder = "Library/include" if host.is_windows else "include"
    for name, text in headers.header_set(version).items():
        host.write_text(host.tree.join(environment, folder), name, text)


def needs_zlibwapi(version: str) -> bool:
    """On Windows cuDNN 8.3 to 9.1 loads zlibwapi.dll; from 9.2 zlib is inside."""
    return (8, 3) <= parse_version(version) < (9, 2)
