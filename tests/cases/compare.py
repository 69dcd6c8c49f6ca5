"""Compares a snapshot document with what a case expects; every difference is one sentence."""

from __future__ import annotations

import json

ABOVE_INFO = ("warning", "critical")


def differences(expect: dict, document: dict, platform: str) -> list[str]:
    comparison = Comparison(document, platform)
    found = []
    if "health" in expect:
        found += comparison.health(expect["health"])
    if "install_count" in expect:
        found += comparison.install_count(expect["install_count"])
    for wanted in expect.get("installs", ()):
        found += comparison.install(wanted)
    for wanted in expect.get("consumers", ()):
        found += comparison.consumer(wanted)
    for wanted in expect.get("findings", ()):
        found += comparison.finding(wanted)
    if expect.get("only"):
        found += comparison.only(expect.get("findings", ()))
    for code in expect.get("no_findings", ()):
        found += comparison.no_finding(code)
    return found


class Comparison:
    """The document's parts, and one method for each thing that can be expected."""

    def __init__(self, document: dict, platform: str):
        self.document = document
        self.platform = platform
        self.installs = document.get("installs") or []
        self.consumers = document.get("consumers") or []
        self.findings = [finding for finding in document.get("findings") or []
                         if finding.get("state") != "resolved"]

    def same(self, wanted, found, field: str) -> bool:
        if field == "path" and isinstance(wanted, str) and isinstance(found, str):
            return self.normal(wanted) == self.normal(found)
        return wanted == found

    def normal(self, path: str) -> str:
        if self.platform == "windows":
            return path.replace("/", "\\").rstrip("\\").lower()
        return path.rstrip("/")

    def health(self, wanted: str) -> list[str]:
        active = [finding.get("severity") for finding in self.findings
                  if finding.get("state", "active") == "active"]
        computed = next((level for level in ("critical", "warning") if level in active), "ok")
        stated = self.document.get("health", computed)
        found = []
        if computed != wanted:
            found.append(f"health: expected {wanted}, the findings make it {computed} "
                         f"({self.list_findings(ABOVE_INFO)})")
        if stated != wanted and stated != computed:
            found.append(f"health: expected {wanted}, the document says {stated}")
        return found

    def install_count(self, wanted: int) -> list[str]:
        if len(self.installs) == wanted:
            return []
        paths = ", ".join(str(install.get("path")) for install in self.installs) or "none"
        return [f"installs: expected {wanted}, there are {len(self.installs)}: {paths}"]

    def install(self, wanted: dict) -> list[str]:
        return self.record("install", wanted, self.installs)

    def consumer(self, wanted: dict) -> list[str]:
        paths = {install.get("id"): install.get("path") for install in self.installs}
        found = []
        for consumer in self.consumers:
            loads = consumer.get("loads")
            found.append({**consumer, "loads_path": paths.get(loads, loads)})
        return self.record("consumer", wanted, found)

    def record(self, what: str, wanted: dict, candidates: list[dict]) -> list[str]:
        """Nothing when one candidate has every field; else what the nearest one has instead."""
        mismatches = []
        for candidate in candidates:
            wrong = [field for field, value in wanted.items()
                     if not self.same(value, candidate.get(field), _comparison_field(field))]
            if not wrong:
                return []
            mismatches.append((wrong, candidate))
        identity = ", ".join(str(wanted[key]) for key in ("kind", "path") if key in wanted)
        # The candidate meant is the one with the expected path or kind, then the most alike.
        related = [pair for pair in mismatches
                   if not {"path", "kind"} & set(wanted) <= set(pair[0])] or []
        if not related:
            seen = ", ".join(f"{item.get('kind')} {item.get('path')}" for item in candidates)
            return [f"{what} {identity}: not there; there are: {seen or 'none'}"]
        wrong, candidate = min(related, key=lambda pair: ("path" in pair[0], len(pair[0])))
        return [f"{what} {identity}: {field}: expected {_shown(wanted[field])}, "
                f"found {_shown(candidate.get(field))}" for field in wrong]

    def finding(self, wanted: dict) -> list[str]:
        codes = wanted["code"].split("|")
        same_code = [finding for finding in self.findings if finding.get("code") in codes]
        if not same_code:
            return [f"finding {wanted['code']}: not there; "
                    f"there are: {self.list_findings()}"]
        problems = [self.finding_problems(wanted, finding) for finding in same_code]
        if any(not problem for problem in problems):
            return []
        return [f"finding {wanted['code']}: " + "; ".join(min(problems, key=len))]

    def finding_problems(self, wanted: dict, finding: dict) -> list[str]:
        problems = []
        severity = wanted.get("severity")
        if severity is not None and finding.get("severity") != severity:
            problems.append(f"severity: expected {severity}, found {finding.get('severity')}")
        path = (finding.get("subject") or {}).get("path") or ""
        if "path" in wanted and self.normal(path) != self.normal(wanted["path"]):
            problems.append(f"path: expected '{wanted['path']}', found '{path}'")
        part = wanted.get("path_contains")
        if part is not None and self.normal(part) not in self.normal(path):
            problems.append(f"path: expected to contain '{part}', found '{path}'")
        text = _finding_text(finding)
        missing = [word for word in wanted.get("mentions", ()) if word.lower() not in text.lower()]
        if missing:
            problems.append(f"does not mention {', '.join(map(repr, missing))}: {text}")
        return problems

    def only(self, wanted: list[dict]) -> list[str]:
        listed = {code for finding in wanted for code in finding["code"].split("|")}
        extra = [finding for finding in self.findings
                 if finding.get("severity") in ABOVE_INFO and finding.get("code") not in listed]
        return [f"unexpected {finding.get('severity')} {finding.get('code')} "
                f"({(finding.get('subject') or {}).get('path')}): {_finding_text(finding)}"
                for finding in extra]

    def no_finding(self, code: str) -> list[str]:
        return [f"{code} must not be there: {_finding_text(finding)}"
                for finding in self.findings if finding.get("code") == code]

    def list_findings(self, severities: tuple = ()) -> str:
        shown = [f"{finding.get('severity')} {finding.get('code')}" for finding in self.findings
                 if not severities or finding.get("severity") in severities]
        return ", ".join(shown) or "none"


def _comparison_field(field: str) -> str:
    return "path" if field in ("path", "loads_path") else field


def _finding_text(finding: dict) -> str:
    """What a person reads: title, detail, remedy with its commands."""
    remedy = finding.get("remedy") or {}
    if isinstance(remedy, str):
        remedy = {"text": remedy}
    parts = [finding.get("title"), finding.get("detail"), remedy.get("text"),
             *(remedy.get("commands") or ())]
    return " | ".join(part for part in parts if part)


def _shown(value) -> str:
    return json.dumps(value, ensure_ascii=False)
