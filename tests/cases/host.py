"""The machine that a case describes, while its files are being made."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from synth import cudnn
from synth.model import Library

from .tree import Tree


class Unavailable(Exception):
    """The case cannot be run here: it is skipped, with this reason."""


@dataclass
class Host:
    """Where files go, and what later steps must know of earlier ones.

    `pythons` maps an environment's directory to its Python version; `registry` collects what
    installers would have written there; `denied` are directories to be made unreadable at the end.
    """

    tree: Tree
    pythons: dict[str, str] = field(default_factory=dict)
    registry: dict[str, dict] = field(default_factory=dict)
    denied: list[str] = field(default_factory=list)

    @property
    def platform(self) -> str:
        return self.tree.platform

    @property
    def is_windows(self) -> bool:
        return self.platform == "windows"

    def build(self, library: Library) -> bytes:
        return cudnn.build(library, self.platform)

    def write_library(self, directory: str, name: str, library: Library) -> None:
        self.tree.write(self.tree.join(directory, name), self.build(library), 0o755)

    def write_text(self, directory: str, name: str, text: str, mode: int = 0o644) -> None:
        self.tree.write(self.tree.join(directory, name), text.encode(), mode)

    def site_packages(self, environment: str) -> str:
        """Where packages of the environment live; 3.11 is assumed where no interpreter was made."""
        if self.is_windows:
            return self.tree.join(environment, "Lib", "site-packages")
        release = python_release(self.pythons.get(self.key(environment), "3.11"))
        return self.tree.join(environment, "lib", f"python{release}", "site-packages")

    def key(self, path: str) -> str:
        path = path.rstrip(self.tree.separator)
        return path.lower() if self.is_windows else path


def python_release(version: str) -> str:
    """'3.11.9' -> '3.11'."""
    return ".".join(version.split(".")[:2])


def cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "cudnnd"
