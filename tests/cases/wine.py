"""Scratch Wine prefixes: cloned from a pristine one that is made once and kept in the cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from .host import Unavailable, cache_directory
from .machine import scratch_directory

# Raise when make_pristine changes: the pristine prefix is found by it and by Wine's version.
RECIPE = "2"
LINK_FROM_BYTES = 16384


class Prefix:
    """One prefix of our own with its server running; `close` ends that server and no other."""

    def __init__(self):
        self.pristine = pristine_prefix()
        self.root = scratch_directory()
        clone(self.pristine, self.root)
        self.drive = self.root / "drive_c"
        self.guard = DriveGuard(self.drive, self.pristine / "drive_c")
        # A server nobody ends any more, because this run was killed, ends by itself after a while.
        run_quietly(["wineserver", "-p600"], self.environment())
        # Wine's services inherit the output of the first program: let that be nobody's pipe.
        run_quietly(["wine", "cmd", "/c", "exit"], self.environment())

    def environment(self) -> dict[str, str]:
        """Nothing of ours leaks in: Wine hands the caller's variables to Windows programs."""
        return wine_environment(self.root)

    def import_registry(self, data: bytes) -> None:
        path = self.root / "case.reg"
        path.write_bytes(data)
        run_quietly(["wine", "reg", "import", windows_path(path)], self.environment())

    def close(self, keep: bool) -> None:
        for option in ("-k", "-w"):
            subprocess.run(["wineserver", option], env=self.environment(), check=False)
        if not keep:
            shutil.rmtree(self.root)


class DriveGuard:
    """Remembers drive C: as it was, and puts it back whatever a case or the product made of it."""

    def __init__(self, drive: Path, pristine: Path):
        self.drive, self.pristine = drive, pristine
        self.before = {path: self._mark(path) for path in self._walk()}

    def _walk(self) -> list[str]:
        found = []
        for directory, folders, files in os.walk(self.drive):
            base = os.path.relpath(directory, self.drive)
            found += [os.path.normpath(os.path.join(base, name)) for name in folders + files]
        return found

    def _mark(self, path: str) -> tuple:
        status = os.lstat(self.drive / path)
        if os.path.isdir(self.drive / path):
            return ("directory",)
        return (status.st_ino, status.st_size, status.st_mtime_ns)

    def restore(self) -> None:
        now = self._walk()
        for path in sorted(now, reverse=True):
            if path not in self.before or self._mark(path) != self.before[path]:
                self._remove(self.drive / path)
        for path, mark in self.before.items():
            target = self.drive / path
            if os.path.lexists(target):
                continue
            if mark == ("directory",):
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                copy_or_link(self.pristine / path, target)
                self.before[path] = self._mark(path)

    @staticmethod
    def _remove(path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def run_quietly(command: list[str], environment: dict[str, str]) -> None:
    """No pipes: Wine's server and services outlive the command and would hold them open."""
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
    if done.returncode != 0:
        raise OSError(f"'{' '.join(command[:3])}' ended with exit code {done.returncode}")


def wine_environment(prefix: Path) -> dict[str, str]:
    return {"HOME": str(Path.home()), "PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8",
            "WINEPREFIX": str(prefix), "WINEDEBUG": "-all"}


def windows_path(path: Path) -> str:
    """Drive Z: is this computer's root in every prefix."""
    return "Z:" + str(path.resolve()).replace("/", "\\")


def pristine_prefix() -> Path:
    if shutil.which("wine") is None or shutil.which("wineserver") is None:
        raise Unavailable("Wine is not installed")
    version = subprocess.run(["wine", "--version"], capture_output=True, text=True).stdout.strip()
    key = hashlib.sha256(f"{version} {RECIPE}".encode()).hexdigest()[:16]
    path = cache_directory() / "wine" / key
    if not path.is_dir():
        make_pristine(path)
    return path


def make_pristine(path: Path) -> None:
    """Made beside its final place and then renamed, so nobody ever sees half of one."""
    building = path.with_name(f"{path.name}.{os.getpid()}")
    building.mkdir(parents=True)
    environment = wine_environment(building)
    commands = (
        ["wineboot", "-i"],
        # A program that crashes shall end at once instead of waiting for Wine's debugger.
        ["wine", "reg", "add", "HKLM\\Software\\Microsoft\\Windows NT\\CurrentVersion\\AeDebug",
         "/v", "Debugger", "/d", "none %ld %ld", "/f"],
        ["wineserver", "-w"],
    )
    for command in commands:
        run_quietly(command, environment)
    # Wine links Desktop and others into the real home directory, which is no part of a case.
    for link in [path for path in (building / "drive_c").rglob("*") if path.is_symlink()]:
        link.unlink()
        link.mkdir()
    try:
        building.rename(path)
    except OSError:  # another run was quicker
        shutil.rmtree(building)


def clone(pristine: Path, target: Path) -> None:
    shutil.copytree(pristine, target, symlinks=True, dirs_exist_ok=True,
                    copy_function=lambda source, to: copy_or_link(Path(source), Path(to)))


def copy_or_link(source: Path, target: Path) -> None:
    """Large files are Wine's libraries, which nobody writes to: a hard link spares the copy."""
    if source.stat().st_size >= LINK_FROM_BYTES and source.suffix != ".reg":
        try:
            os.link(source, target)
            return
        except OSError:
            pass
    shutil.copy2(source, target)
