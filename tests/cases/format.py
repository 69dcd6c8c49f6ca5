"""Reads a case file and checks it against FORMAT.md, strictly: an unknown key is an error.

The checks are a table of fields, so that this file reads like the format itself. A case that
passes here can be built without further questions; whatever is wrong says where.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

FEATURES = ("inventory", "consumers", "rules", "driver", "probe", "verify", "signature")
HEALTH = ("ok", "warning", "critical")
SEVERITIES = ("info", "warning", "critical", None)
FAULTS = ("hang", "crash", "library_mismatch", "gpu_lost")
PYTHON_KINDS = ("python", "venv", "conda", "embed")
PACKAGE_KINDS = (
    "torch", "onnxruntime-gpu", "tensorflow", "jax", "ctranslate2", "paddle", "cupy",
    "nvidia-cudnn-cu11", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13", "nvidia-cublas-cu12",
    "conda:cudnn", "conda:libcudnn", "conda:libcublas",
)
ARCHES = ("x86_64", "x86", "arm64")
REAL_SOURCE = re.compile(r"[a-z0-9-]+==[0-9.]+")
REAL_FILE = re.compile(r"[a-z0-9-]+==[0-9.]+:[\w.+-]+")


class FormatError(Exception):
    """The case file does not follow FORMAT.md."""


def fail(where: str, message: str):
    raise FormatError(f"{where}: {message}")


# A check takes (where, value, platform) and raises FormatError.

def text(where, value, platform):
    if not isinstance(value, str):
        fail(where, f"expected a text, found {json.dumps(value, ensure_ascii=False)}")


def number(where, value, platform):
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        fail(where, f"expected a number from 0 up, found {json.dumps(value, ensure_ascii=False)}")


def truth(where, value, platform):
    if not isinstance(value, bool):
        fail(where, f"expected true or false, found {json.dumps(value, ensure_ascii=False)}")


def exactly_true(where, value, platform):
    if value is not True:
        fail(where, "only true makes sense here")


def matching(pattern: str, meaning: str):
    compiled = re.compile(pattern)

    def check(where, value, platform):
        text(where, value, platform)
        if compiled.fullmatch(value) is None:
            fail(where, f"'{value}' is not {meaning}")
    return check


def one_of(*choices):
    def check(where, value, platform):
        if value not in choices:
            fail(where, f"{json.dumps(value, ensure_ascii=False)} is none of "
                        + ", ".join(json.dumps(choice) for choice in choices))
    return check


def optional(inner):
    def check(where, value, platform):
        if value is not None:
            inner(where, value, platform)
    return check


def list_of(inner):
    def check(where, value, platform):
        if not isinstance(value, list):
            fail(where, "expected a list")
        for index, item in enumerate(value):
            inner(f"{where}[{index}]", item, platform)
    return check


def map_of(inner):
    def check(where, value, platform):
        if not isinstance(value, dict):
            fail(where, "expected an object")
        for key, item in value.items():
            inner(f"{where}.{key}", item, platform)
    return check


def fields(required: dict, others: dict):
    """An object with these keys and no others."""
    def check(where, value, platform):
        if not isinstance(value, dict):
            fail(where, "expected an object")
        for key in required:
            if key not in value:
                fail(where, f"'{key}' is missing")
        for key, item in value.items():
            inner = required.get(key) or others.get(key)
            if inner is None:
                fail(where, f"unknown key '{key}'")
            inner(f"{where}.{key}", item, platform)
    return check


def host_path(where, value, platform):
    text(where, value, platform)
    if platform == "windows":
        good = re.fullmatch(r'[Cc]:\\[^/:*?"<>|]*', value)
        parts = value.split("\\")
    else:
        good = value.startswith("/")
        parts = value.split("/")
    if not good or ".." in parts:
        wanted = "drive C:" if platform == "windows" else "the root"
        fail(where, f"'{value}' is not a full path on {wanted} of a {platform} machine")


def hex_text(where, value, platform):
    text(where, value, platform)
    try:
        bytes.fromhex(value)
    except ValueError:
        fail(where, f"'{value}' is not hexadecimal")


def registry_value(where, value, platform):
    if isinstance(value, list):
        list_of(text)(where, value, platform)
    elif not isinstance(value, int) or isinstance(value, bool):
        text(where, value, platform)


def registry(where, value, platform):
    if platform != "windows":
        fail(where, "only a Windows machine has a registry")
    map_of(map_of(registry_value))(where, value, platform)
    for key in value:
        if re.match(r"(HKLM|HKCU|HKU)\\.", key) is None:
            fail(where, f"'{key}' does not begin with HKLM\\, HKCU\\ or HKU\\")


VERSION = matching(r"\d+(\.\d+)+", "a version")
PACKAGE_VERSION = matching(r"\d+(\.\w+)*(\+[\w.]+)?", "a package version")
CUDA_VERSION = matching(r"\d+(\.\d+)*", "a CUDA version")
GENERATION = one_of(7, 8, 9)
CODES = matching(r"[a-z0-9_]+(\|[a-z0-9_]+)*", "a finding code")

GPU = fields({}, {
    "name": optional(text), "compute_capability": optional(VERSION), "memory_mib": optional(number),
    "uuid": optional(text), "pci_bus_id": optional(text),
})
DRIVER = fields({"version": optional(VERSION), "cuda": optional(CUDA_VERSION),
                 "gpus": list_of(GPU)}, {"fault": one_of(*FAULTS)})

# kind of entry -> (does it name a "dir" or a "path", what its value must be)
CUDNN_SET = fields({"version": VERSION}, {"cuda": number, "omit": list_of(text),
                                          "only": list_of(text), "arch": one_of(*ARCHES)})
ENTRIES = {
    ("dir", "cudnn"): CUDNN_SET,
    ("path", "library"): fields({"as": text}, {"version": VERSION, "cuda": number,
                                               "arch": one_of(*ARCHES), "imports": list_of(text)}),
    ("dir", "headers"): fields({"version": VERSION}, {}),
    ("dir", "import_libraries"): fields({"generation": GENERATION}, {}),
    ("dir", "toolkit"): fields({"version": VERSION},
                               {"cudart": truth, "cublas": truth, "nvrtc": truth}),
    ("dir", "python"): fields({"version": VERSION, "kind": one_of(*PYTHON_KINDS)},
                              {"base": host_path}),
    ("dir", "package"): fields({"kind": one_of(*PACKAGE_KINDS), "version": PACKAGE_VERSION},
                               {"cuda": optional(CUDA_VERSION), "cudnn": optional(CUDA_VERSION),
                                "elf_path": one_of("rpath", "runpath")}),
    ("path", "text"): text,
    ("path", "hex"): hex_text,
    ("path", "truncate"): number,
    ("path", "append_hex"): hex_text,
    ("path", "delete"): exactly_true,
    ("path", "copy_of"): host_path,
    ("path", "link"): text,
    ("dir", "deny_read"): exactly_true,
    ("path", "real"): matching(REAL_FILE.pattern, "NAME==VERSION:FILE"),
    ("dir", "real"): matching(REAL_SOURCE.pattern, "NAME==VERSION"),
}


def entry(where, value, platform):
    if not isinstance(value, dict):
        fail(where, "expected an object")
    keys = set(value)
    place = keys & {"dir", "path"}
    if len(place) != 1:
        fail(where, "needs either 'dir' or 'path'")
    place = place.pop()
    kinds = keys - {place}
    if len(kinds) != 1:
        fail(where, f"needs one thing to make at its {place}, found {sorted(kinds) or 'none'}")
    kind = kinds.pop()
    if (place, kind) not in ENTRIES:
        fail(where, f"unknown entry '{kind}' with '{place}'")
    host_path(f"{where}.{place}", value[place], platform)
    ENTRIES[place, kind](f"{where}.{kind}", value[kind], platform)


HOST = fields({}, {
    "files": list_of(entry), "env": map_of(text), "path": list_of(text), "user_path": list_of(text),
    "registry": registry, "driver": optional(DRIVER), "nvidia_pci": truth,
})
INSTALL = fields({}, {
    "path": host_path, "version": optional(text), "build": optional(text), "kind": text,
    "cuda_major": optional(number), "generation": optional(number), "arch": optional(text),
    "complete": truth, "layout": optional(text), "header_version": optional(text),
})
CONSUMER = fields({}, {"kind": text, "path": host_path, "version": optional(text),
                       "loads_path": optional(host_path)})
FINDING = fields({"code": CODES}, {
    "severity": one_of(*SEVERITIES), "path": host_path, "path_contains": text,
    "mentions": list_of(text),
})
EXPECT = fields({}, {
    "health": one_of(*HEALTH), "installs": list_of(INSTALL), "install_count": number,
    "consumers": list_of(CONSUMER), "findings": list_of(FINDING), "only": truth,
    "no_findings": list_of(matching(r"[a-z0-9_]+", "a finding code")),
})
CASE = fields(
    {"name": matching(r"[a-z0-9]+(-[a-z0-9]+)*", "kebab-case"),
     "platform": one_of("windows", "linux"), "host": HOST, "expect": EXPECT},
    {"source": text, "story": text, "needs": list_of(one_of(*FEATURES))},
)


def load(path: Path) -> dict:
    """The case in `path`; raises FormatError with the place of the first thing wrong."""
    try:
        case = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_without_repeats)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise FormatError(f"{path.name}: {error}") from error
    platform = case.get("platform") if isinstance(case, dict) else None
    CASE("case", case, platform)
    if not case["expect"]:
        fail("case.expect", "expects nothing")
    if platform == "linux" and "user_path" in case["host"]:
        fail("case.host.user_path", "only Windows keeps a path of the user's own")
    return case


def _without_repeats(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        repeated = {key for key, _ in pairs if sum(other == key for other, _ in pairs) > 1}
        raise FormatError(f"case: key given twice: {', '.join(sorted(repeated))}")
    return found
