"""The case runner must fail when it should: a fake product prints a document, the runner judges."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from cases import compare, driver, entries, registry
from cases import format as case_format
from cases.host import Host
from cases.tree import Tree
from synth import cudnn

RUNNER = Path(__file__).with_name("run.py")

INSTALL = {"id": "i1", "path": "/opt/cudnn/lib", "version": "9.5.0", "kind": "standalone",
           "complete": True}
FINDING = {"code": "cudnn_file_missing", "severity": "critical", "state": "active",
           "subject": {"type": "install", "path": "/opt/cudnn/lib"},
           "title": "A library is missing", "detail": "libcudnn_ops.so.9 is not there",
           "remedy": {"text": "Install it again", "commands": ["apt install cudnn"]}}
DOCUMENT = {"installs": [INSTALL], "findings": [FINDING],
            "consumers": [{"kind": "torch", "version": "2.4.1", "loads": "i1"},
                          {"kind": "jax", "version": "0.4", "loads": None}]}
EXPECT = {
    "health": "critical", "only": True, "install_count": 1,
    "installs": [{"path": "/opt/cudnn/lib", "version": "9.5.0", "complete": True}],
    "consumers": [{"kind": "torch", "loads_path": "/opt/cudnn/lib"},
                  {"kind": "jax", "loads_path": None}],
    "findings": [{"code": "other|cudnn_file_missing", "severity": "critical",
                  "path": "/opt/cudnn/lib", "path_contains": "cudnn",
                  "mentions": ["libcudnn_ops.so.9", "apt install"]}],
    "no_findings": ["cudnn_mixed_versions"],
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """run(expect, document) -> (exit code, first line, all lines) of a run with a fake product."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def runner(expect=None, document=None, host=None, needs=(), arguments=(), case=None,
               product=None):
        fake = tmp_path / "cudnnd"
        output = json.dumps(DOCUMENT if document is None else document)
        fake.write_text(product or f"#!{sys.executable}\nprint({output!r})\n", encoding="utf-8")
        fake.chmod(0o755)
        file = tmp_path / "case.json"
        text = case if isinstance(case, str) else json.dumps(case or {
            "name": "a-case", "platform": "linux", "needs": list(needs), "host": host or {},
            "expect": EXPECT if expect is None else expect})
        file.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, RUNNER, "--exe", fake, "--findings", tmp_path / "none", *arguments,
             file], capture_output=True, text=True)
        assert done.stderr == ""
        lines = done.stdout.splitlines()
        return done.returncode, lines[0], lines
    return runner


def changed(source: dict, **changes) -> dict:
    return {**source, **changes}


def test_a_document_that_meets_every_expectation_passes(run):
    code, line, lines = run()
    assert (code, line) == (0, "ok a-case")
    assert lines[-1] == "1 passed, 0 failed, 0 skipped"


@pytest.mark.parametrize("document, reason", [
    (changed(DOCUMENT, findings=[]), "finding other|cudnn_file_missing: not there"),
    (changed(DOCUMENT, findings=[changed(FINDING, severity="warning")]),
     "severity: expected critical, found warning"),
    (changed(DOCUMENT, findings=[changed(FINDING, state="resolved")]), "not there"),
    (changed(DOCUMENT, findings=[changed(FINDING, state="acknowledged")]),
     "health: expected critical, the findings make it ok"),
    (changed(DOCUMENT, findings=[changed(FINDING, detail="?")]),
     "does not mention 'libcudnn_ops.so.9'"),
    (changed(DOCUMENT, findings=[changed(FINDING, subject={"path": "/opt/other"})]),
     "expected '/opt/cudnn/lib', found '/opt/other'"),
    (changed(DOCUMENT, findings=[FINDING, changed(FINDING, code="cuda_path_invalid")]),
     "unexpected critical cuda_path_invalid"),
    (changed(DOCUMENT, findings=[FINDING, changed(FINDING, code="cudnn_mixed_versions",
                                                  severity="info")]),
     "cudnn_mixed_versions must not be there"),
    (changed(DOCUMENT, installs=[changed(INSTALL, version="9.1.0")]),
     'version: expected "9.5.0", found "9.1.0"'),
    (changed(DOCUMENT, installs=[changed(INSTALL, complete=False)]),
     "complete: expected true, found false"),
    (changed(DOCUMENT, installs=[INSTALL, changed(INSTALL, path="/b")]),
     "installs: expected 1, there are 2: /opt/cudnn/lib, /b"),
    (changed(DOCUMENT, installs=[]), "install /opt/cudnn/lib: not there"),
    (changed(DOCUMENT, consumers=[changed(DOCUMENT["consumers"][0], loads=None),
                                  DOCUMENT["consumers"][1]]),
     'loads_path: expected "/opt/cudnn/lib", found null'),
    (changed(DOCUMENT, consumers=[]), "consumer torch: not there"),
    (changed(DOCUMENT, health="ok"), "the document says ok"),
    ([], "stdout is JSON but no object"),
])
def test_a_document_that_differs_fails(run, document, reason):
    code, _, lines = run(document=document)
    assert code == 1 and lines[0].startswith("FAIL a-case: ")
    assert reason in "\n".join(lines)
    assert lines[-1] == "0 passed, 1 failed, 0 skipped"


def test_an_info_finding_is_not_against_only(run):
    extra = changed(FINDING, code="driver_changed", severity="info")
    assert run(document=changed(DOCUMENT, findings=[FINDING, extra]))[0] == 0


@pytest.mark.parametrize("product, reason", [
    ("#!/bin/sh\necho oops >&2; exit 3\n", "exit code 3: oops"),
    ("#!/bin/sh\necho 'not json'\n", "stdout is not a JSON document"),
])
def test_a_product_that_does_not_answer_fails(run, product, reason):
    code, line, _ = run(product=product)
    assert code == 1 and reason in line


VALID = {"name": "a-case", "platform": "linux", "host": {}, "expect": {"health": "ok"}}


@pytest.mark.parametrize("case, reason", [
    ("{", "Expecting property name"),
    ('{"name": "a", "name": "b"}', "key given twice: name"),
    (changed(VALID, colour="red"), "unknown key 'colour'"),
    ({key: value for key, value in VALID.items() if key != "expect"}, "'expect' is missing"),
    (changed(VALID, expect={}), "expects nothing"),
    (changed(VALID, expect={"health": "fine"}), '"fine" is none of "ok"'),
    (changed(VALID, expect={"install_count": True}), "expected a number"),
    (changed(VALID, expect={"installs": [{"sise": 1}]}), "expect.installs[0]: unknown key 'sise'"),
    (changed(VALID, name="Not Kebab"), "is not kebab-case"),
    (changed(VALID, needs=["magic"]), '"magic" is none of'),
    (changed(VALID, platform="solaris"), '"solaris" is none of'),
    (changed(VALID, host={"files": [{"path": "relative", "text": ""}]}), "is not a full path"),
    (changed(VALID, host={"files": [{"path": "/a/../b", "text": ""}]}), "is not a full path"),
    (changed(VALID, host={"files": [{"path": "/a"}]}), "needs one thing to make"),
    (changed(VALID, host={"files": [{"path": "/a", "text": "", "hex": ""}]}),
     "needs one thing to make"),
    (changed(VALID, host={"files": [{"dir": "/a", "text": ""}]}),
     "unknown entry 'text' with 'dir'"),
    (changed(VALID, host={"files": [{"path": "/a", "hex": "0g"}]}), "is not hexadecimal"),
    (changed(VALID, host={"files": [{"dir": "/a", "cudnn": {"version": "nine"}}]}),
     "is not a version"),
    (changed(VALID, host={"files": [{"dir": "/a", "package": {"kind": "mxnet", "version": "1"}}]}),
     '"mxnet" is none of'),
    (changed(VALID, host={"registry": {}}), "only a Windows machine has a registry"),
    (changed(VALID, host={"driver": {"version": "1.0", "cuda": "12.4", "gpus": [], "fault": "x"}}),
     '"x" is none of'),
])
def test_a_malformed_case_fails_and_says_where(run, case, reason):
    code, line, _ = run(case=case)
    assert code == 1 and "malformed case" in line and reason in line


def test_a_case_that_needs_what_is_not_there_is_skipped(run):
    code, line, lines = run(needs=["probe"], arguments=["--needs", "inventory,rules"])
    assert (code, line) == (0, "skip a-case: needs probe")
    assert lines[-1] == "0 passed, 0 failed, 1 skipped"


def test_a_case_without_its_program_is_skipped(run):
    code, line, _ = run(arguments=["--exe", "/nowhere/cudnnd"])
    assert (code, line) == (0, "skip a-case: /nowhere/cudnnd is not built")


def test_a_case_of_an_unknown_finding_code_is_skipped(run, tmp_path):
    table = tmp_path / "findings.md"
    table.write_text("| code | severity |\n|---|---|\n| `cuda_path_invalid` | warning |\n")
    _, line, _ = run(arguments=["--findings", str(table)])
    assert line == "skip a-case: the product has no finding other|cudnn_file_missing yet"
    table.write_text("| `cudnn_file_missing` | critical |\n")
    assert run(arguments=["--findings", str(table)])[1] == "ok a-case"


def test_a_case_whose_wheel_was_not_fetched_is_skipped(run):
    host = {"files": [{"dir": "/opt", "real": "nvidia-cudnn-cu12==9.5.0.50"}]}
    _, line, _ = run(host=host)
    assert line == ("skip a-case: nvidia-cudnn-cu12==9.5.0.50 for linux_x86_64 "
                    "has not been fetched")


def test_two_cases_of_one_name_fail(run, tmp_path):
    other = tmp_path / "other.json"
    other.write_text(json.dumps(VALID))
    code, _, lines = run(arguments=[str(other)])
    assert code == 1 and any("has the same name" in line for line in lines)


def test_json_output_holds_every_result(run):
    code, _, lines = run(document=changed(DOCUMENT, installs=[]), arguments=["--json"])
    document = json.loads("\n".join(lines))
    assert code == 1 and document["failed"] == 1
    assert document["cases"][0]["outcome"] == "FAIL"


def test_the_product_is_called_as_the_design_says(run, tmp_path):
    product = (f"#!{sys.executable}\nimport json, os, sys\n"
               "config = sys.argv[sys.argv.index('--config') + 1]\n"
               "keys = ('LD_LIBRARY_PATH', 'CUDNND_TEST_DRIVER', 'PATH')\n"
               "facts = [*sys.argv[1:], open(config).read(), *map(os.environ.get, keys),\n"
               "         open(os.environ['CUDNND_TEST_DRIVER']).read()]\n"
               "print(json.dumps({'findings': [{'code': 'seen', 'title': ' '.join(facts)}]}))\n")
    doubles = tmp_path / "doubles"
    doubles.mkdir()
    for name in driver.DOUBLES["linux"]:
        (doubles / name).write_bytes(b"")
    host = {"env": {"LD_LIBRARY_PATH": "/opt/lib"}, "path": ["/opt/bin"],
            "driver": {"version": "560.35.03", "cuda": "12.6", "gpus": [{"name": None}],
                       "fault": "hang"}}
    words = ["scan --json --no-probe --sysroot", "worker: {timeout: 3s}", "/opt/lib", "/opt/bin:",
             "fault=hang", "version=560.35.03", "gpu.0.compute=8.6"]
    expect = {"findings": [{"code": "seen", "mentions": words}]}
    assert run(expect, host=host, product=product)[2][:1] == ["ok a-case"]


def test_nothing_is_left_behind(run, tmp_path):
    run(host={"files": [{"path": "/a/b", "text": "c"}]})
    assert list((tmp_path / "cache" / "cudnnd" / "cases").iterdir()) == []


def test_windows_paths_compare_without_regard_to_case():
    document = {"installs": [{"path": "c:/Tools/CUDNN\\bin\\"}]}
    expect = {"installs": [{"path": "C:\\tools\\cudnn\\bin"}]}
    assert compare.differences(expect, document, "windows") == []
    assert compare.differences(expect, document, "linux") != []


# --- making machines, without a product

ENTRIES = [
    {"dir": "{}/t", "toolkit": {"version": "12.4.1", "nvrtc": False}},
    {"dir": "{}/t/lib64", "cudnn": {"version": "9.5.0.50", "omit": ["cudnn_cnn64_9.dll"]}},
    {"dir": "{}/eight", "cudnn": {"version": "8.9.7.29", "cuda": 12, "arch": "arm64"}},
    {"dir": "{}/seven", "cudnn": {"version": "7.6.5.32"}},
    {"path": "{}/one", "library": {"as": "libcudnn_ops.so.9", "version": "9.1.0.70",
                                   "imports": ["cudnn_graph64_9.dll"], "arch": "x86"}},
    {"path": "{}/zlib", "library": {"as": "zlibwapi.dll"}},
    {"dir": "{}/h", "headers": {"version": "9.5.0"}},
    {"dir": "{}/i", "import_libraries": {"generation": 8}},
    {"dir": "{}/py", "python": {"version": "3.11.9", "kind": "python"}},
    {"dir": "{}/conda", "python": {"version": "3.10.14", "kind": "conda"}},
    {"dir": "{}/venv", "python": {"version": "3.11.9", "kind": "venv", "base": "{}/py"}},
    *({"dir": "{}/venv", "package": {"kind": kind, "version": "2.4.1", "cuda": "12.4",
                                     "cudnn": "9.1.0.70"}}
      for kind in ("torch", "onnxruntime-gpu", "tensorflow", "jax", "ctranslate2", "paddle",
                   "cupy")),
    {"dir": "{}/old", "package": {"kind": "cupy", "version": "8.6.0", "cuda": "10.1",
                                  "cudnn": "7.6.5.32"}},
    {"dir": "{}/venv", "package": {"kind": "nvidia-cudnn-cu11", "version": "8.9.5.29"}},
    {"dir": "{}/venv", "package": {"kind": "nvidia-cudnn-cu13", "version": "9.28.1.4"}},
    {"dir": "{}/venv", "package": {"kind": "nvidia-cublas-cu12", "version": "12.6.4.1"}},
    {"dir": "{}/conda", "package": {"kind": "conda:cudnn", "version": "8.9.2.26", "cuda": "11"}},
    {"dir": "{}/conda", "package": {"kind": "conda:libcudnn", "version": "9.3.0.75"}},
    {"dir": "{}/conda", "package": {"kind": "conda:libcublas", "version": "12.6.4.1"}},
    {"path": "{}/text", "text": "hello"},
    {"path": "{}/link", "link": "text"},
    {"path": "{}/hex", "hex": "00ff"},
    {"path": "{}/hex", "append_hex": "01"},
    {"path": "{}/link", "truncate": 4},
    {"path": "{}/copy", "copy_of": "{}/text"},
    {"path": "{}/gone", "text": ""},
    {"path": "{}/gone", "delete": True},
    {"dir": "{}/secret", "deny_read": True},
]


def placed(value, root: str, separator: str):
    if isinstance(value, dict):
        return {key: placed(item, root, separator) for key, item in value.items()}
    if isinstance(value, str) and value.startswith("{}"):
        return root + value[2:].replace("/", separator)
    return value


@pytest.fixture(params=["windows", "linux"])
def host(request, tmp_path):
    host = Host(Tree(tmp_path, request.param))
    windows = host.is_windows
    files = [placed(entry, "C:\\m" if windows else "/m", "\\" if windows else "/")
             for entry in ENTRIES]
    for entry in files:
        case_format.entry("entry", entry, request.param)
    entries.make_all(host, files)
    return host


def test_every_kind_of_entry_can_be_made(host, tmp_path):
    made = tmp_path / "m"
    assert (made / "text").read_text() == (made / "copy").read_text() == "hell"
    assert (made / "link").is_symlink()
    assert (made / "hex").read_bytes() == b"\x00\xff\x01"
    assert not (made / "gone").exists()
    assert len(host.denied) == 1
    cnn = cudnn.file_name("cudnn_cnn", 9, host.platform)
    assert not (made / "t" / "lib64" / cnn).exists()
    assert (made / "t" / "lib64" / cudnn.file_name("cudnn_ops", 9, host.platform)).is_file()


def test_every_record_is_true(host, tmp_path):
    """Packages that were installed over may differ: cu11's files lie under cu13's here."""
    records = list(tmp_path.rglob("RECORD"))
    assert len(records) > 10
    for record in records:
        site = record.parents[1]
        for line in record.read_text().splitlines():
            name, digest, size = line.rsplit(",", 2)
            if not digest or "cu11" in record.parent.name:
                continue
            data = (site / name).read_bytes()
            expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
            assert (digest, size) == (f"sha256={expected.decode()}", str(len(data))), name


def test_a_conda_record_is_true(host, tmp_path):
    path, = (tmp_path / "m" / "conda" / "conda-meta").glob("libcudnn-*.json")
    for facts in json.loads(path.read_text())["paths_data"]["paths"]:
        data = (tmp_path / "m" / "conda" / facts["_path"]).read_bytes()
        assert facts["sha256"] == hashlib.sha256(data).hexdigest()


def test_links_are_followed_inside_the_root_only(tmp_path):
    tree = Tree(tmp_path / "root", "linux")
    tree.link("/usr/local/cuda", "/usr/local/cuda-12.6")
    tree.make_dir("/usr/local/cuda-12.6")
    tree.write("/usr/local/cuda/lib64/x", b"1")
    assert (tmp_path / "root/usr/local/cuda-12.6/lib64/x").read_bytes() == b"1"
    tree.link("/up", "../../../..")
    tree.write("/up/y", b"2")
    assert (tmp_path / "root/y").exists()


def test_writing_never_alters_a_hard_linked_file(tmp_path):
    pristine = tmp_path / "pristine"
    pristine.write_bytes(b"as it was")
    tree = Tree(tmp_path / "root", "linux")
    for name in ("a", "b"):
        tree.make_dir("/")
        (tmp_path / "root" / name).hardlink_to(pristine)
    tree.write("/a", b"new")
    tree.replace("/b", b"new")
    assert pristine.read_bytes() == b"as it was"


def test_windows_names_find_existing_entries_in_any_case(tmp_path):
    (tmp_path / "windows" / "system32").mkdir(parents=True)
    Tree(tmp_path, "windows").write("C:\\Windows\\System32\\a.dll", b"")
    assert (tmp_path / "windows" / "system32" / "a.dll").exists()
    assert [entry.name for entry in tmp_path.iterdir()] == ["windows"]


def test_a_registry_write_is_undone(tmp_path):
    for name in ("user.reg", "userdef.reg"):
        (tmp_path / name).write_text("WINE REGISTRY Version 2\n")
    (tmp_path / "system.reg").write_text(
        "WINE REGISTRY Version 2\n\n[Software\\\\Old] 1\n#time=1\n"
        '"Kept"=str(2):"%A%\\\\b"\n"Num"=dword:00000001\n')
    baseline = registry.Baseline(tmp_path)
    lines = baseline.undo_lines({"HKLM\\SOFTWARE\\Old": {"kept": "x", "fresh": 1},
                                 "HKLM\\SOFTWARE\\New\\Deep": {"": "y"}})
    assert "[-HKEY_LOCAL_MACHINE\\SOFTWARE\\New]" in lines
    assert '"fresh"=-' in lines
    assert '"kept"=hex(2):' + "%A%\\b\0".encode("utf-16-le").hex(",") in lines
