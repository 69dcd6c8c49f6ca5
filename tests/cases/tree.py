"""A directory that stands for a machine's disk, addressed with the machine's own paths.

Nothing is ever written through a link or over an existing file's contents: a file is unlinked and
made anew, so hard links to pristine files stay what they are. Links are followed inside the root.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path


class Tree:
    """`root` is what the machine calls C:\\ (Windows) or / (Linux)."""

    MAX_LINKS = 16

    def __init__(self, root: Path, platform: str):
        self.root = root
        self.platform = platform
        self.separator = "\\" if platform == "windows" else "/"

    def join(self, *parts: str) -> str:
        first, *rest = parts
        rest = [part.replace("/", self.separator) for part in rest if part]
        return self.separator.join([first.rstrip(self.separator), *rest])

    def parent(self, path: str) -> str:
        return path.rstrip(self.separator).rpartition(self.separator)[0] or self.separator

    def host(self, path: str, follow: bool = False) -> Path:
        """Where `path` lies on this computer. The last component is followed only when asked."""
        parts = [part for part in path.split(self.separator) if part]
        if self.platform == "windows":
            parts = parts[1:]
        return self._resolve(parts, follow)

    def _resolve(self, parts: list[str], follow: bool) -> Path:
        at, todo, links = self.root, list(parts), 0
        while todo:
            part = todo.pop(0)
            if part in (".", ".."):
                at = at.parent if part == ".." and at != self.root else at
                continue
            step = at / self._spelling(at, part)
            if step.is_symlink() and (todo or follow):
                links += 1
                if links > self.MAX_LINKS:
                    raise OSError(f"too many links on the way to '{'/'.join(parts)}'")
                at, todo = self._enter_link(at, step, todo)
            else:
                at = step
        return at

    def _enter_link(self, at: Path, link: Path, todo: list[str]) -> tuple[Path, list[str]]:
        target = os.readlink(link)
        start = self.root if target.startswith("/") else at
        if self.platform == "windows" and target.startswith(str(self.root)):
            target = target[len(str(self.root)):]
        return start, [part for part in target.split("/") if part] + todo

    def _spelling(self, directory: Path, name: str) -> str:
        """Windows does not mind the case: an existing entry keeps the spelling it has."""
        if self.platform != "windows" or (directory / name).exists() or not directory.is_dir():
            return name
        lower = name.lower()
        return next((entry for entry in os.listdir(directory) if entry.lower() == lower), name)

    def make_dir(self, path: str) -> Path:
        host = self.host(path, follow=True)
        host.mkdir(parents=True, exist_ok=True)
        return host

    def write(self, path: str, data: bytes, mode: int = 0o644) -> None:
        host = self._vacate(path)
        host.write_bytes(data)
        host.chmod(mode)

    def copy_in(self, path: str, source: Path, mode: int = 0o755) -> None:
        host = self._vacate(path)
        shutil.copyfile(source, host)
        host.chmod(mode)

    def link(self, path: str, target: str) -> None:
        """On Windows a full path becomes a link to the place here that stands for it."""
        if self.platform == "windows":
            full = target[1:3] == ":\\"
            target = str(self.host(target)) if full else target.replace("\\", "/")
        self._vacate(path).symlink_to(target)

    def _vacate(self, path: str) -> Path:
        self.make_dir(self.parent(path))
        host = self.host(path)
        if host.is_symlink() or host.is_file():
            host.unlink()
        elif host.exists():
            raise OSError(f"'{path}' is a directory")
        return host

    def read(self, path: str) -> bytes:
        return self.host(path, follow=True).read_bytes()

    def replace(self, path: str, data: bytes) -> None:
        """New contents for what is there, through a link to the file it names."""
        host = self.host(path, follow=True)
        mode = host.stat().st_mode & 0o777
        host.unlink()
        host.write_bytes(data)
        host.chmod(mode)

    def remove(self, path: str) -> None:
        host = self.host(path)
        if host.is_dir() and not host.is_symlink():
            shutil.rmtree(host)
        else:
            host.unlink()

    def copy(self, path: str, source: str) -> None:
        origin = self.host(source, follow=True)
        if origin.is_dir():
            shutil.copytree(origin, self.host(path), symlinks=True, dirs_exist_ok=True)
        else:
            self.copy_in(path, origin, origin.stat().st_mode & 0o777)
