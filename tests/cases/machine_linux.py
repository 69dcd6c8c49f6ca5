"""Linux cases: a directory given to the native build as --sysroot."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from synth import other

from . import driver, entries
from .host import Host, Unavailable
from .machine import (ProductFailure, Settings, configuration, run_product, scan_arguments,
                      scratch_directory)
from .tree import Tree

SYSTEM_LIBRARIES = "/usr/lib/x86_64-linux-gnu"
NOBODY = "65534"


class LinuxMachine:
    """Every case gets a directory of its own, so cases may run side by side."""

    def __init__(self, settings: Settings):
        self.settings = settings

    def run(self, case: dict) -> dict:
        needs_nobody = os.geteuid() == 0 and any("deny_read" in entry
                                                 for entry in case["host"].get("files", ()))
        # Another user cannot pass through root's own cache directory.
        scratch = Path(tempfile.mkdtemp(prefix="cudnnd-case-")) if needs_nobody \
            else scratch_directory()
        scratch.chmod(0o755)
        host = Host(Tree(scratch / "root", "linux"))
        try:
            self._build(host, case["host"])
            entries.apply_denials(host)
            command, environment = self._command(case, scratch)
            if needs_nobody:
                command = [*_as_nobody(self.settings.executables["linux"]), *command]
            return run_product(command, environment, scratch)
        finally:
            if self.settings.keep:
                self.settings.kept.append(scratch)
            else:
                entries.lift_denials(host)
                shutil.rmtree(scratch)

    def close(self) -> None:
        pass

    def _build(self, host: Host, description: dict) -> None:
        make_base_system(host)
        entries.make_all(host, description.get("files", []))
        if description.get("driver") is not None:
            driver.install_doubles(host, description["driver"], self.settings.doubles)
        if driver.has_device(description):
            driver.add_linux_devices(host, description.get("driver"))
        refresh_loader_cache(host)

    def _command(self, case: dict, scratch: Path) -> tuple[list[str], dict[str, str]]:
        description = case["host"]
        command = [str(self.settings.executables["linux"]), *scan_arguments(case),
                   "--sysroot", str(scratch / "root")]
        text = configuration(case, self.settings)
        if text:
            (scratch / "cudnnd-case.yml").write_text(text, encoding="utf-8")
            command += ["--config", str(scratch / "cudnnd-case.yml")]
        path = [*description.get("path", ()), "/usr/local/bin", "/usr/bin", "/bin"]
        environment = {"HOME": "/root", "LC_ALL": "C.UTF-8", "PATH": ":".join(path),
                       **description.get("env", {})}
        if description.get("driver") is not None:
            answers = scratch / "driver.txt"
            answers.write_text(driver.driver_text(description["driver"]), encoding="utf-8")
            environment[driver.VARIABLE] = str(answers)
        return command, environment


def make_base_system(host: Host) -> None:
    """What every Linux machine has and cuDNN's libraries need: the C library, zlib and so on."""
    for link, target in (("/bin", "usr/bin"), ("/lib", "usr/lib"), ("/lib64", "usr/lib64")):
        host.tree.make_dir("/" + target)
        host.tree.link(link, target)
    host.write_text("/etc", "os-release", 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n'
                    'NAME="Debian GNU/Linux"\nID=debian\nVERSION_ID="12"\n')
    for name in ("libc.so.6", "libm.so.6", "libdl.so.2", "libz.so.1", "libstdc++.so.6",
                 "libgcc_s.so.1", "libpthread.so.0", "librt.so.1"):
        host.write_library(SYSTEM_LIBRARIES, name, other.plain(name, platform="linux"))


def refresh_loader_cache(host: Host) -> None:
    """A case that configures the loader expects its cache to be up to date."""
    configured = host.tree.host("/etc/ld.so.conf").exists() or \
        host.tree.host("/etc/ld.so.conf.d").exists()
    if not configured:
        return
    ldconfig = shutil.which("ldconfig", path=os.environ.get("PATH", "") + ":/sbin:/usr/sbin")
    if ldconfig is None or os.geteuid() != 0:
        raise Unavailable("the loader's cache of a sysroot needs ldconfig and root")
    done = subprocess.run([ldconfig, "-X", "-r", str(host.tree.root)], capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise ProductFailure(f"ldconfig failed in the sysroot: {done.stderr.strip()}")


def _as_nobody(executable: Path) -> list[str]:
    """Root reads whatever it likes, mode bits or not: run the product as somebody who cannot."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise Unavailable("deny_read needs setpriv when run as root")
    prefix = [setpriv, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    reachable = subprocess.run([*prefix, "test", "-x", str(executable)], capture_output=True)
    if reachable.returncode != 0:
        raise Unavailable("deny_read: the program cannot be reached by an unprivileged user")
    return prefix
