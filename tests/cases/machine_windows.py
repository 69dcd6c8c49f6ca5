"""Windows cases: the Windows build under Wine, in a prefix that is put back after each case."""

from __future__ import annotations

import os
import re

from . import driver, entries, registry
from .host import Host, Unavailable
from .machine import Settings, configuration, run_product, scan_arguments
from .tree import Tree
from .wine import Prefix, windows_path

MACHINE_ENVIRONMENT = "HKLM\\SYSTEM\\CurrentControlSet\\Control\\Session Manager\\Environment"
USER_ENVIRONMENT = "HKCU\\Environment"
PROFILES = "HKLM\\SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\ProfileList"
SYSTEM_PATH = ["%SystemRoot%\\system32", "%SystemRoot%"]
CONFIGURATION = "C:\\ProgramData\\cudnnd-case.yml"


class WindowsMachine:
    """One prefix, one case at a time; more of these run side by side."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self.prefix = Prefix()
        self.baseline = registry.Baseline(self.prefix.pristine)
        self.written: dict[str, dict] = {}

    def run(self, case: dict) -> dict:
        description = case["host"]
        if os.geteuid() == 0 and any("deny_read" in entry
                                     for entry in description.get("files", ())):
            raise Unavailable("deny_read: Wine has no access lists and root reads everything")
        self.prefix.guard.restore()
        host = Host(Tree(self.prefix.drive, "windows"))
        try:
            self._build(host, description)
            entries.apply_denials(host)
            self._write_registry(registry_of(host, description))
            command, environment = self._command(host, case)
            return run_product(command, environment, self.prefix.drive)
        finally:
            if not self.settings.keep:
                entries.lift_denials(host)
                self.prefix.guard.restore()

    def close(self) -> None:
        self.prefix.close(self.settings.keep)
        if self.settings.keep:
            self.settings.kept.append(self.prefix.root)

    def _build(self, host: Host, description: dict) -> None:
        entries.make_all(host, description.get("files", []))
        if description.get("driver") is not None:
            driver.install_doubles(host, description["driver"], self.settings.doubles)

    def _write_registry(self, values: dict[str, dict]) -> None:
        """One import: the previous case undone, this one written."""
        lines = self.baseline.undo_lines(self.written) + registry.set_lines(values)
        self.written = values
        self.prefix.import_registry(registry.render(lines))

    def _command(self, host: Host, case: dict) -> tuple[list[str], dict[str, str]]:
        command = ["wine", str(self.settings.executables["windows"]), *scan_arguments(case)]
        text = configuration(case, self.settings)
        if text:
            host.tree.write(CONFIGURATION, text.encode())
            command += ["--config", CONFIGURATION]
        environment = self.prefix.environment()
        if case["host"].get("driver") is not None:
            answers = self.prefix.root / "driver.txt"
            answers.write_text(driver.driver_text(case["host"]["driver"]), encoding="utf-8")
            environment[driver.VARIABLE] = windows_path(answers)
        return command, environment


def registry_of(host: Host, description: dict) -> dict[str, dict]:
    """Everything that Windows and its installers would have written for this machine."""
    path = ";".join([*description.get("path", ()), *SYSTEM_PATH])
    values = {MACHINE_ENVIRONMENT: {**description.get("env", {}),
                                    "PATH": registry.ExpandText(path)}}
    if description.get("user_path"):
        values[USER_ENVIRONMENT] = {"PATH": ";".join(description["user_path"])}
    if driver.has_device(description):
        values.update(driver.windows_device_keys(description.get("driver")))
    values.update(profile_keys(description.get("files", [])))
    values.update(host.registry)
    for key, names in description.get("registry", {}).items():
        values[key] = {**values.get(key, {}), **names}
    return values


def profile_keys(files: list[dict]) -> dict[str, dict]:
    """Windows keeps a list of user profiles: one entry for every directory below C:\\Users."""
    places = [entry.get("dir") or entry.get("path") for entry in files]
    found = {match[1] for place in places
             if (match := re.match(r"(?i)C:\\Users\\([^\\]+)\\", place + "\\"))}
    users = sorted(user for user in found if user.lower() not in ("public", "default"))
    return {f"{PROFILES}\\S-1-5-21-1000-1000-1000-{1001 + index}":
            {"ProfileImagePath": registry.ExpandText(f"C:\\Users\\{user}"), "Flags": 0, "State": 0}
            for index, user in enumerate(users)}
