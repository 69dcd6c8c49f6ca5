"""What both kinds of machine share: the product's command line, its configuration, its answer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from .host import cache_directory

SCAN_TIMEOUT_S = 120
SHOWN_STDERR = 400


class ProductFailure(Exception):
    """The product did not answer as a command should; the message says how."""


@dataclass
class Settings:
    """What the command line of run.py decided for every case; `kept` collects what was kept."""

    executables: dict[str, Path]
    doubles: list[Path] = field(default_factory=list)
    keep: bool = False
    silence_signature: bool = False
    kept: list[Path] = field(default_factory=list)


def configuration(case: dict, settings: Settings) -> str:
    """The one place where a case's needs become configuration; empty = none is passed.

    A driver that faults is given three seconds instead of thirty. Synthesised libraries have no
    signature, which is not what a case is about unless it says so.
    """
    lines = []
    if (case["host"].get("driver") or {}).get("fault"):
        lines.append("worker: {timeout: 3s}")
    if settings.silence_signature and "signature" not in case.get("needs", ()):
        lines.append("rules: {silence: [cudnn_signature_invalid]}")
    return "".join(f"{line}\n" for line in lines)


def scan_arguments(case: dict) -> list[str]:
    arguments = ["scan", "--json"]
    return arguments if "probe" in case.get("needs", ()) else [*arguments, "--no-probe"]


def scratch_directory() -> Path:
    """A fresh directory below the cache, not below /tmp: the product trusts no library that lies
    under a directory anybody can write to."""
    base = cache_directory() / "cases"
    base.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix="run-", dir=base))


def _end(child: subprocess.Popen) -> None:
    """What the child started may live on in another session and keep the pipes: do not wait."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate(timeout=5)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        pass


def run_product(command: list[str], environment: dict[str, str], directory: Path) -> dict:
    """The snapshot document that the command prints."""
    child = subprocess.Popen(command, env=environment, cwd=directory, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             start_new_session=True)
    try:
        output, errors = child.communicate(timeout=SCAN_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        _end(child)
        raise ProductFailure(f"the scan, or a process it left behind with its output, did not end "
                             f"within {SCAN_TIMEOUT_S} s") from None
    said = errors.decode("utf-8", "replace").strip()[-SHOWN_STDERR:]
    if child.returncode != 0:
        raise ProductFailure(f"exit code {child.returncode}: {said or 'nothing on stderr'}")
    try:
        document = json.loads(output.decode("utf-8"))
    except ValueError as error:
        raise ProductFailure(f"stdout is not a JSON document: {error}; stderr: {said}") from error
    if not isinstance(document, dict):
        raise ProductFailure("stdout is JSON but no object")
    return document
