"""`cudnnd scan` and `cudnnd where` on made-up and on real systems, hostile ones too."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

from synth import make
from system.program import LINUX, run
from system.wheels import wheel

CUDA_LIB = "usr/local/cuda-12.6/lib64"


def scan(root: pathlib.Path | None, *more: str, env=None, timeout=120) -> dict:
    where = [] if root is None else ["--sysroot", str(root)]
    clean = {k: v for k, v in os.environ.items()
             if k not in ("LD_LIBRARY_PATH", "CONDA_PREFIX", "VIRTUAL_ENV", "CUDA_PATH")}
    clean.update(env or {})
    status, out, err = run(LINUX / "cudnnd", "scan", "--json", *where, *more, env=clean,
                           timeout=timeout)
    assert status == 0, err
    return json.loads(out)


def toolkit(root: pathlib.Path, version="9.5.0.50") -> pathlib.Path:
    """A CUDA 12.6 toolkit with a synthesised cuDNN in it."""
    base = root / "usr/local/cuda-12.6"
    (base / "bin").mkdir(parents=True)
    (base / "version.json").write_text('{"cuda": {"name": "CUDA SDK", "version": "12.6.0"}}')
    make.write_set(base / "lib64", version, 12, "linux")
    return base / "lib64"


def the_install(snapshot: dict, path: str) -> dict:
    found = [i for i in snapshot["installs"] if i["path"] == path]
    assert len(found) == 1, [i["path"] for i in snapshot["installs"]]
    return found[0]


def library(snapshot: dict, file: str) -> dict:
    for install in snapshot["installs"]:
        for one in install["libraries"]:
            if one["file"] == file:
                return one
    raise AssertionError(f"{file} is not in the snapshot")


def codes(snapshot: dict) -> set[str]:
    return {f["code"] for f in snapshot["findings"] if f["severity"] != "info"}


# --- real files ---

def test_the_real_linux_wheel_is_found_identified_and_probed(tmp_path):
    files = wheel("nvidia-cudnn-cu12-9.5.0.50-linux_x86_64")
    config = tmp_path / "c.yml"
    config.write_text(json.dumps({"scan": {"roots": [str(files / "lib")], "probe": "all"}}))
    snapshot = scan(None, "--config", str(config))
    install = the_install(snapshot, str((files / "lib").resolve()))
    assert install["version"] == "9.5.0" and install["generation"] == 9
    assert install["cuda_major"] == 12 and install["arch"] == "x86_64"
    assert install["complete"] is True
    libraries = {one["file"]: one for one in install["libraries"]}
    assert len(libraries) == 8
    assert libraries["libcudnn_graph.so.9"]["version_source"] == "export"
    probe = install["probe"]
    assert probe["status"] == "ok", probe
    assert (probe["version_number"], probe["cudart_version_number"]) == (90500, 12060)


def test_the_machines_own_toolkits_are_found():
    """Where this machine has a CUDA toolkit with a cuDNN, the scan knows it as a loader would."""
    real = sorted({p.resolve().parent for p in pathlib.Path("/usr/local").glob(
        "cuda*/lib64/libcudnn.so.*")})
    if not real:
        pytest.skip("this machine has no toolkit with a cuDNN")
    snapshot = scan(None)
    for directory in real:
        install = the_install(snapshot, str(directory))
        assert install["kind"] == "toolkit" and install["complete"] is True
        assert install["probe"]["status"] == "ok", install["probe"]
        assert install["probe"]["version"] == install["version"]


# --- trust ---

def test_a_library_planted_in_a_users_environment_is_never_loaded(tmp_path):
    """Loading a library runs its code: from a directory that others can write to, none is."""
    directory = tmp_path / "planted"
    directory.mkdir()
    mark = tmp_path / "it-ran"
    source = tmp_path / "planted.c"
    source.write_text(f'#include <stdio.h>\n__attribute__((constructor)) static void run(void)\n'
                      f'{{ FILE *f = fopen("{mark}", "w"); if (f) fclose(f); }}\n'
                      'unsigned long cudnnGetVersion(void) { return 90500; }\n')
    target = directory / "libcudnn.so.9"
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libcudnn.so.9", "-o", str(target),
                    str(source)], check=True)
    config = tmp_path / "c.yml"
    for path, mode in ((directory, 0o777), (target, 0o666)):
        directory.chmod(0o755)
        target.chmod(0o755)
        path.chmod(mode)
        config.write_text(json.dumps({"scan": {"roots": [str(directory)]}}))
        snapshot = scan(None, "--config", str(config))
        probe = the_install(snapshot, str(directory.resolve()))["probe"]
        assert probe["status"] == "skipped" and str(tmp_path) in probe["error"]
        assert not mark.exists()
    config.write_text(json.dumps({"scan": {"roots": [str(directory)], "probe": "all"}}))
    scan(None, "--config", str(config))
    assert mark.exists(), "with `all` it is loaded, or this test proves nothing"


# --- hostile disks ---

# For six seconds: longer, shorter, longer, gone, again and again.
CHANGER = """
import os, sys, time
path, end = sys.argv[1], time.monotonic() + 6
data = open(path, 'rb').read() + bytes(1 << 20)
while time.monotonic() < end:
    open(path, 'wb').write(data)
    os.truncate(path, 10)
    os.truncate(path, 8 << 20)
    os.unlink(path)
"""

def test_things_that_are_no_libraries_are_told_and_end_nothing(tmp_path):
    lib = toolkit(tmp_path)
    for name in ("libcudnn_ops.so.9", "libcudnn_cnn.so.9", "libcudnn_adv.so.9",
                 "libcudnn_graph.so.9", "libcudnn_heuristic.so.9",
                 "libcudnn_engines_precompiled.so.9", "libcudnn_engines_runtime_compiled.so.9"):
        (lib / name).unlink()
    (lib / "libcudnn_ops.so.9").mkdir()
    os.mkfifo(lib / "libcudnn_cnn.so.9")
    (lib / "libcudnn_adv.so.9").symlink_to("libcudnn_adv.so.9")
    with (lib / "libcudnn_graph.so.9").open("wb") as sparse:
        sparse.truncate(2 << 30)
    (lib / "libcudnn_heuristic.so.9").write_bytes(b"\x7fELF" + os.urandom(5000))
    (lib / "libcudnn_engines_precompiled.so.9").write_bytes(b"")
    (lib / "libcudnn_engines_runtime_compiled.so.9").symlink_to("/no/such/file")
    start = time.monotonic()
    snapshot = scan(tmp_path, "--no-probe")
    assert time.monotonic() - start < 30
    for name in ("ops", "cnn", "adv", "graph", "heuristic", "engines_precompiled"):
        one = library(snapshot, f"libcudnn_{name}.so.9")
        assert one["state"] == "corrupt", one
        assert one["problem"], one
    assert "cudnn_file_corrupt" in codes(snapshot)


def test_a_truncated_library_is_told_at_every_length(tmp_path):
    lib = toolkit(tmp_path)
    target = (lib / "libcudnn_ops.so.9").resolve()
    whole = target.read_bytes()
    for size in sorted({0, 1, 3, 4, 15, 16, 51, 63, 64, 65, 100, 119, 120, len(whole) // 4,
                        len(whole) // 2, len(whole) - 1}):
        target.write_bytes(whole[:size])
        snapshot = scan(tmp_path, "--no-probe")
        assert library(snapshot, "libcudnn_ops.so.9")["state"] == "corrupt", size


def test_a_file_that_changes_while_it_is_read_ends_nothing(tmp_path):
    lib = toolkit(tmp_path)
    target = (lib / "libcudnn_adv.so.9").resolve()
    changer = subprocess.Popen([sys.executable, "-c", CHANGER, str(target)])
    try:
        while changer.poll() is None:
            snapshot = scan(tmp_path, "--no-probe")
            assert the_install(snapshot, "/" + CUDA_LIB)["version"] == "9.5.0"
    finally:
        changer.kill()
        changer.wait()


def test_names_and_paths_of_every_kind(tmp_path):
    roots = []
    for name in ("测试 用户", "\U0001f600 emoji", "quote'\"", "line\nbreak", "x" * 200,
                 "/".join(["deep" * 10] * 8)):
        directory = tmp_path / "opt" / name
        make.write_set(directory, "9.5.0.50", 12, "linux")
        roots.append("/opt/" + name)
    bad = os.fsencode(tmp_path) + b"/opt/bad-\xff\xfe"
    os.mkdir(bad)
    for entry in os.listdir(tmp_path / "opt/测试 用户"):
        shutil.copy(tmp_path / "opt/测试 用户" / entry, os.path.join(bad, os.fsencode(entry)))
    snapshot = scan(tmp_path, "--no-probe",
                    env={"LD_LIBRARY_PATH": ":".join(roots + ["/opt/" + os.fsdecode(b"bad-\xff\xfe")])})
    paths = [install["path"] for install in snapshot["installs"]]
    for root in roots:
        assert root in paths
    assert "/opt/bad-\ufffd\ufffd" in paths
    assert len({install["id"] for install in snapshot["installs"]}) == len(roots) + 1


def test_a_search_path_of_every_kind_of_entry(tmp_path):
    make.write_set(tmp_path / "opt/cudnn/lib", "9.5.0.50", 12, "linux")
    (tmp_path / "opt/file").write_text("x")
    (tmp_path / "opt/loop").symlink_to("loop")
    entries = ["", "/opt/file", "/opt/none", "/opt/loop", "relative/dir", "/opt/cudnn/lib",
               "/opt/cudnn/lib/", "/opt/cudnn/../cudnn/lib"] + [f"/opt/none-{i}" for i in range(200)]
    snapshot = scan(tmp_path, "--no-probe", env={"LD_LIBRARY_PATH": ":".join(entries)})
    assert [i["path"] for i in snapshot["installs"]] == ["/opt/cudnn/lib"]
    assert the_install(snapshot, "/opt/cudnn/lib")["on_search_path"] is True
    assert "/opt/loop" in [p["path"] for p in snapshot["problems"]]
    assert codes(snapshot) == set()


def test_an_unreadable_directory_is_told(tmp_path):
    lib = toolkit(tmp_path)
    closed = tmp_path / "opt/closed"
    make.write_set(closed, "9.5.0.50", 12, "linux")
    closed.chmod(0)
    command = [str(LINUX / "cudnnd"), "scan", "--json", "--no-probe", "--sysroot", str(tmp_path)]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root reads everything, and setpriv is not installed")
        # What root may read says nothing: as somebody else, from a place that everybody can reach.
        copy = pathlib.Path("/tmp") / f"cudnnd-test-{os.getpid()}"
        shutil.copytree(LINUX, copy, ignore=lambda d, n: [x for x in n if not x.startswith("cudnnd")])
        copy.chmod(0o755)
        for parent in [tmp_path, *tmp_path.parents]:
            if parent.stat().st_mode & 0o005 == 0 and "pytest" in str(parent):
                parent.chmod(0o755)
        command[0] = str(copy / "cudnnd")
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] + command
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, LD_LIBRARY_PATH="/opt/closed", HOME="/none"),
                              check=False)
        assert done.returncode == 0, done.stderr
        snapshot = json.loads(done.stdout)
        assert "/opt/closed" in [p["path"] for p in snapshot["problems"]]
        told = [f for f in snapshot["findings"] if f["code"] == "inventory_incomplete"]
        assert len(told) == 1 and "/opt/closed" in told[0]["detail"]
        assert the_install(snapshot, "/" + CUDA_LIB)["version"] == "9.5.0"
    finally:
        closed.chmod(0o755)
        if command[0] == "setpriv":
            shutil.rmtree(copy)
    assert lib


def test_links_inside_a_sysroot_do_not_lead_out_of_it(tmp_path):
    toolkit(tmp_path)
    outside = tmp_path.parent / "outside"
    make.write_set(outside, "9.1.0.70", 12, "linux")
    (tmp_path / "usr/local/cuda").symlink_to("/usr/local/cuda-12.6")
    (tmp_path / "opt").mkdir()
    (tmp_path / "opt/escape").symlink_to("../" * 30 + str(outside).lstrip("/"))
    snapshot = scan(tmp_path, "--no-probe", env={"LD_LIBRARY_PATH": "/opt/escape"})
    assert [i["path"] for i in snapshot["installs"]] == ["/" + CUDA_LIB]
    assert [t["path"] for t in snapshot["toolkits"]] == ["/usr/local/cuda-12.6"]
    assert snapshot["toolkits"][0]["default"] is True


def test_it_is_the_same_document_every_time(tmp_path):
    toolkit(tmp_path)
    documents = []
    for _ in range(3):
        snapshot = scan(tmp_path, "--no-probe")
        for volatile in ("scan", "host"):
            snapshot.pop(volatile)
        documents.append(snapshot)
    assert documents[0] == documents[1] == documents[2]


# --- for people ---

def test_the_table_names_what_is_wrong_and_what_to_type(tmp_path):
    lib = toolkit(tmp_path)
    (lib / "libcudnn_cnn.so.9").unlink()
    status, out, err = run(LINUX / "cudnnd", "scan", "--no-probe", "--sysroot", str(tmp_path),
                           env=dict(os.environ, LD_LIBRARY_PATH="/" + CUDA_LIB))
    assert status == 0 and err == ""
    assert "critical  cudnn_file_missing" in out and "libcudnn_cnn.so.9" in out
    assert "\033[" not in out, "colours are for terminals"


def test_where_shows_the_order_and_the_winner(tmp_path):
    make.write_set(tmp_path / "opt/first", "9.1.0.70", 12, "linux")
    make.write_set(tmp_path / "opt/second", "9.5.0.50", 12, "linux")
    env = dict(os.environ, LD_LIBRARY_PATH="/opt/none:/opt/first:/opt/second")
    status, out, err = run(LINUX / "cudnnd", "where", "--json", "--sysroot", str(tmp_path), env=env)
    hits = json.loads(out)["libcudnn.so.9"]
    assert status == 0
    assert [(h["directory"], h["version"], h["wins"]) for h in hits] == [
        ("/opt/first", "9.1.0", True), ("/opt/second", "9.5.0", False)]
    status, out, err = run(LINUX / "cudnnd", "where", "libcudnn_ops.so.9", "--sysroot",
                           str(tmp_path), env=env)
    assert status == 0 and out.startswith("-> /opt/first/libcudnn_ops.so.9  9.1.0")
    status, out, err = run(LINUX / "cudnnd", "where", "libcudnn_none.so.9", "--sysroot",
                           str(tmp_path), env=env)
    assert status == 1


@pytest.mark.parametrize("arguments, status, words", [
    ((), 2, "usage"), (("--help",), 0, "usage"), (("--version",), 0, "cudnnd "),
    (("scna",), 2, "did you mean 'scan'"), (("scan", "--help"), 0, "--sysroot"),
    (("scan", "--nope"), 2, "there is no option '--nope'"), (("scan", "x"), 2, "unexpected"),
    (("scan", "--sysroot"), 2, "wants a value"), (("scan", "--sysroot", "/no/such"), 1, "sysroot"),
    (("scan", "--config", "/no/such.yml"), 2, "/no/such.yml"), (("where", "a/b"), 2, "NAME"),
    (("run", "--port", "x"), 2, "--port"), (("run", "--port", "65536"), 2, "--port"),
    (("config",), 2, "check, show"), (("config", "nope"), 2, "nope"),
    (("config", "defaults"), 0, "interval: 15m"), (("service",), 2, "install"),
    (("service", "status"), 1, "not installed"), (("docs", "findings"), 0, "cudnn_file_missing"),
    (("check", "--max-age", "x"), 3, "UNKNOWN"),
])
def test_usage(arguments, status, words):
    if arguments == ("service", "status") and pathlib.Path(
            "/etc/systemd/system/cudnnd.service").exists():
        pytest.skip("the service is installed here")
    code, out, err = run(LINUX / "cudnnd", *arguments)
    assert code == status
    assert words in out + err


def test_a_command_can_be_interrupted(tmp_path):
    one = subprocess.Popen([str(LINUX / "cudnnd"), "scan", "--json"], stdout=subprocess.DEVNULL)
    time.sleep(0.05)
    one.send_signal(signal.SIGINT)
    assert one.wait(timeout=10) in (0, -signal.SIGINT, 130)


@pytest.mark.parametrize("arguments", [
    ("scan", "--no-probe"), ("scan", "--no-probe", "--json"), ("config", "defaults"),
    ("config", "check"), ("docs", "findings"), ("--version",), ("--help",)])
def test_what_cannot_be_written_is_no_success(arguments):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([str(LINUX / "cudnnd"), *arguments], stdout=full,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "cannot write to standard output: No space left" in done.stderr
