#!/usr/bin/env python3
"""Runs machine-state cases (FORMAT.md) against a build of cudnnd and prints one line for each.

    tests/cases/run.py                                   every case that can be run here
    tests/cases/run.py --needs inventory,rules FILE...   only what these features suffice for
"""

from __future__ import annotations

import argparse
import json
import queue
import re
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from cases import compare, format as case_format  # noqa: E402
from cases.host import Unavailable  # noqa: E402
from cases.machine import ProductFailure, Settings  # noqa: E402
from cases.machine_linux import LinuxMachine  # noqa: E402
from cases.machine_windows import WindowsMachine  # noqa: E402

DEFAULT_EXECUTABLES = {"linux": "build/linux-release/cudnnd",
                       "windows": "build/windows-release/cudnnd.exe"}
MACHINES = {"linux": LinuxMachine, "windows": WindowsMachine}
SIGNATURE_CODE = "cudnn_signature_invalid"


@dataclass
class Result:
    name: str
    file: str
    outcome: str
    why: str = ""

    def line(self) -> str:
        return f"{self.outcome} {self.name}" + (f": {self.why}" if self.why else "")


class Machines:
    """Lends machines to threads; one of a kind is made when a thread wants it and none is free."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self.lock = threading.Lock()
        self.free = {platform: queue.SimpleQueue() for platform in MACHINES}
        self.made = []

    def take(self, platform: str):
        try:
            return self.free[platform].get_nowait()
        except queue.Empty:
            machine = MACHINES[platform](self.settings)
            with self.lock:
                self.made.append(machine)
            return machine

    def give(self, platform: str, machine) -> None:
        self.free[platform].put(machine)

    def close(self) -> None:
        for machine in self.made:
            machine.close()


class Runner:
    def __init__(self, settings: Settings, needs: set[str] | None, known_codes: set[str] | None):
        self.settings = settings
        self.needs = needs
        self.known_codes = known_codes
        self.machines = Machines(settings)
        self.names: dict[str, str] = {}
        self.lock = threading.Lock()

    def run(self, path: Path) -> Result:
        try:
            case = case_format.load(path)
        except case_format.FormatError as error:
            return Result(path.stem, str(path), "FAIL", f"malformed case: {error}")
        name = case["name"]
        with self.lock:
            other = self.names.setdefault(name, str(path))
        if other != str(path):
            return Result(name, str(path), "FAIL", f"malformed case: {other} has the same name")
        reason = self.reason_to_skip(case)
        if reason:
            return Result(name, str(path), "skip", reason)
        outcome, why = self.judge(case)
        return Result(name, str(path), outcome, why)

    def reason_to_skip(self, case: dict) -> str | None:
        missing = [need for need in case.get("needs", ())
                   if self.needs is not None and need not in self.needs]
        if missing:
            return f"needs {', '.join(missing)}"
        executable = self.settings.executables[case["platform"]]
        if not executable.is_file():
            return f"{_short(executable)} is not built"
        for finding in case["expect"].get("findings", ()):
            codes = finding["code"].split("|")
            if self.known_codes is not None and not self.known_codes & set(codes):
                return f"the product has no finding {finding['code']} yet"
        return None

    def judge(self, case: dict) -> tuple[str, str]:
        platform = case["platform"]
        machine = None
        try:
            machine = self.machines.take(platform)
            document = machine.run(case)
        except Unavailable as error:
            return "skip", str(error)
        except ProductFailure as error:
            return "FAIL", str(error)
        except (ValueError, OSError) as error:
            return "FAIL", f"the machine could not be made: {error}"
        finally:
            if machine is not None:
                self.machines.give(platform, machine)
        found = compare.differences(case["expect"], document, platform)
        return ("FAIL", "\n    ".join(["", *found]).strip()) if found else ("ok", "")


def _short(path: Path) -> str:
    return str(path.relative_to(REPOSITORY)) if path.is_relative_to(REPOSITORY) else str(path)


def read_known_codes(path: Path) -> set[str] | None:
    """The codes in the first column of the generated table; None = all, when there is no table."""
    if not path.is_file():
        return None
    rows = re.findall(r"^\|([^|]*)\|", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {code for cell in rows for code in re.findall(r"`([a-z0-9_]+)`", cell)}


def case_files(places: list[Path]) -> list[Path]:
    files = []
    for place in places:
        files += sorted(place.glob("*.json")) if place.is_dir() else [place]
    return files


def parse_arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("places", nargs="*", type=Path, default=[HERE], metavar="FILE_OR_DIR")
    parser.add_argument("--exe", action="append", type=Path, default=[], metavar="PATH",
                        help="the program: .exe for Windows cases, else for Linux ones; repeatable")
    parser.add_argument("--windows-exe", type=Path, metavar="PATH",
                        help="the program for Windows cases, whatever its name")
    parser.add_argument("--doubles", action="append", type=Path, default=[], metavar="DIR",
                        help="where the driver doubles are (default: doubles/ beside the program)")
    parser.add_argument("--needs", metavar="NAME,...",
                        help="the features there are; cases that need others are skipped")
    parser.add_argument("--findings", type=Path, default=REPOSITORY / "docs" / "findings.md",
                        metavar="FILE", help="the generated table of finding codes")
    parser.add_argument("--keep", action="store_true", help="leave the machines for a look at them")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead")
    parser.add_argument("-j", "--jobs", type=int, default=1, metavar="N")
    return parser.parse_args(argv)


def settings_from(options: argparse.Namespace, known_codes: set[str] | None) -> Settings:
    executables = {platform: REPOSITORY / path for platform, path in DEFAULT_EXECUTABLES.items()}
    for path in options.exe:
        platform = "windows" if path.name.lower().endswith(".exe") else "linux"
        executables[platform] = path.absolute()
    if options.windows_exe:
        executables["windows"] = options.windows_exe.absolute()
    doubles = [path.absolute() for path in options.doubles]
    doubles += [executable.parent / "doubles" for executable in executables.values()]
    doubles += [REPOSITORY / Path(path).parent / "doubles" for path in DEFAULT_EXECUTABLES.values()]
    return Settings(executables, doubles, options.keep,
                    silence_signature=known_codes is not None and SIGNATURE_CODE in known_codes)


def main(argv: list[str] | None = None) -> int:
    options = parse_arguments(argv)
    known_codes = read_known_codes(options.findings)
    settings = settings_from(options, known_codes)
    needs = None if options.needs is None else set(filter(None, options.needs.split(",")))
    runner = Runner(settings, needs, known_codes)
    results = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that `finally` is reached
    try:
        with ThreadPoolExecutor(max(1, options.jobs)) as pool:
            for result in pool.map(runner.run, case_files(options.places)):
                results.append(result)
                if not options.json:
                    print(result.line(), flush=True)
    finally:
        runner.machines.close()
    return report(results, runner, options)


def report(results: list[Result], runner: Runner, options: argparse.Namespace) -> int:
    counts = {outcome: sum(result.outcome == outcome for result in results)
              for outcome in ("ok", "FAIL", "skip")}
    for place in runner.settings.kept:
        print(f"kept: {place}", file=sys.stderr)
    if options.json:
        print(json.dumps({"cases": [asdict(result) for result in results],
                          "passed": counts["ok"], "failed": counts["FAIL"],
                          "skipped": counts["skip"]}, ensure_ascii=False, indent=2))
    else:
        print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['skip']} skipped")
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
