#!/usr/bin/env python3
"""Writes synthesised cuDNN sets into a directory, for benchmarks and for trying things by hand.

    make.py DIR --version 9.5.0.50 --cuda 12                 one set, its files in DIR
    make.py DIR --installs 40 --version 9.5.0.50,8.9.7.29    forty, in DIR/install-01/bin and so on
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    __package__ = "synth"

from . import cudnn, headers
from .model import ARCHES


def write_set(directory: Path, version: str, cuda: int | None, platform: str,
              arch: str = "x86_64", links: bool = True, pad: int = 0) -> list[Path]:
    """One runtime set; on Linux with the version links of NVIDIA's archives unless told not to.

    `pad` bytes are appended to each file, so that what a scan reads has a realistic size.
    """
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for name, library in cudnn.runtime_set(version, cuda, platform, arch).items():
        real, chain = name, {}
        if platform == "linux" and links:
            real, chain = cudnn.versioned_links(name, version)
        (directory / real).write_bytes(cudnn.build(library, platform) + bytes(pad))
        written.append(directory / real)
        for link, target in chain.items():
            (directory / link).unlink(missing_ok=True)
            (directory / link).symlink_to(target)
    return written


def write_headers(directory: Path, version: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in headers.header_set(version).items():
        (directory / name).write_text(text, encoding="utf-8")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--version", default="9.5.0.50", help="one or several, by comma")
    parser.add_argument("--cuda", type=int)
    parser.add_argument("--platform", choices=("windows", "linux"), default="linux")
    parser.add_argument("--arch", choices=ARCHES, default="x86_64")
    parser.add_argument("--installs", type=int, default=1)
    parser.add_argument("--headers", action="store_true")
    parser.add_argument("--pad", type=int, default=0, metavar="BYTES")
    options = parser.parse_args(argv)
    versions = options.version.split(",")
    libraries = "bin" if options.platform == "windows" else "lib64"
    for number in range(options.installs):
        version = versions[number % len(versions)]
        root = options.directory
        target = root
        if options.installs > 1:
            root = root / f"install-{number + 1:02d}"
            target = root / libraries
        write_set(target, version, options.cuda, options.platform, options.arch, pad=options.pad)
        if options.headers:
            write_headers(root / "include", version)
    return 0


if __name__ == "__main__":
    sys.exit(main())
