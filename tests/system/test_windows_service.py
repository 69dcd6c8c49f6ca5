"""The Windows service under Wine's service manager, with NVIDIA's real DLLs."""
import json
import os
import pathlib
import shutil
import time

import pytest

from system.program import WINDOWS, ask
from system.wheels import wheel

INSTALLED = "C:\\Program Files\\cudnnd"
CONFIG = "C:\\ProgramData\\cudnnd\\cudnnd.yml"
CUDA = "C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA"
ENVIRONMENT = "HKLM\\SYSTEM\\CurrentControlSet\\Control\\Session Manager\\Environment"
SUCCESS = "CUDNN_STATUS_SUCCESS"
# Wine gives Windows programs the host's loopback: a port of its own keeps other services apart.
PORT = 19877


def real_files(destination: pathlib.Path, source: pathlib.Path):
    """NVIDIA's DLLs, linked rather than copied: they are large, and nobody writes to them."""
    destination.mkdir(parents=True, exist_ok=True)
    for file in source.glob("*.dll"):
        target = destination / file.name
        if target.exists():
            target.unlink()
        try:
            os.link(file, target)
        except OSError:
            shutil.copy(file, target)


def make_toolkit(wine, version: str, source: pathlib.Path) -> str:
    root = f"{CUDA}\\v{version}"
    directory = wine.path(root)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "version.json").write_text(json.dumps(
        {"cuda": {"name": "CUDA SDK", "version": f"{version}.0"}}))
    real_files(directory / "bin", source)
    return root


# What the tests change would be scanned by itself in between: only where a test wants it.
CONFIGURATION = (f"listen: {{{{port: {PORT}}}}}\n"
                 "scan: {{interval: 1h, watch: {watch}}}\n"
                 "worker: {{timeout: 60s}}\n")
PAUSE, CONTINUE, PARAMCHANGE = 2, 3, 6  # winsvc.h, SERVICE_CONTROL_*


class Installed:
    """The service, installed and started; what it answers."""

    def __init__(self, wine):
        self.wine = wine
        self.exe = INSTALLED + "\\cudnnd.exe"

    def install(self):
        directory = self.wine.path(INSTALLED)
        directory.mkdir(parents=True, exist_ok=True)
        for name in ("cudnnd.exe", "cudnnd-worker.exe"):
            shutil.copy(WINDOWS / name, directory / name)
        status, out, err = self.wine.run(self.exe, "service", "install")
        assert status == 0, out + err
        # The configuration is the administrator's: beside the data, made by the installation.
        self.wine.path(CONFIG).write_text(
            CONFIGURATION.format(watch="false"))

    def start(self):
        status, out, err = self.wine.run(self.exe, "service", "start")
        assert status == 0, out + err

    def stop(self):
        status, out, err = self.wine.run(self.exe, "service", "stop")
        assert status == 0, out + err

    def state(self) -> str:
        return self.wine.run(self.exe, "service", "status")[1].strip()

    def ask(self, path: str, method="GET", **options):
        return ask(PORT, method, path, **options)

    def wait_scan(self, above=0, seconds=240) -> dict:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                last = self.ask("/status").json()["scan"]["last"]
                if last is not None and last["id"] > above:
                    return last
            except OSError:
                pass
            time.sleep(0.2)
        raise AssertionError("no scan in time")

    def control(self, code: int):
        program = "Z:" + str(WINDOWS / "doubles/service_control_win32.exe").replace("/", "\\")
        status, out, err = self.wine.run(program, "cudnnd", str(code))
        assert status == 0, out + err

    def wait_service(self, key: str, wanted, seconds=20):
        """Until a field of the service in /status is as wanted; the field."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            value = self.ask("/status").json()["service"][key]
            if wanted(value):
                return value
            time.sleep(0.1)
        raise AssertionError(f"{key} is still {value}")

    def wait_quiet(self):
        """Until no scan follows another any more."""
        before, now = None, self.wait_scan()["id"]
        while before != now:
            time.sleep(3)
            before, now = now, self.wait_scan()["id"]

    def scan(self) -> dict:
        """A scan on request; the snapshot after it."""
        token = self.wine.path("C:\\ProgramData\\cudnnd\\token").read_text().strip()
        last = self.ask("/status").json()["scan"]["last"]
        answer = self.ask("/api/v1/scans", method="POST",
                          headers={"Authorization": f"Bearer {token}"})
        assert answer.status == 202, answer.body
        self.wait_scan(above=last["id"])
        return self.ask("/api/v1/snapshot").json()


@pytest.fixture(scope="module")
def installed(wine):
    service = Installed(wine)
    source = wheel("nvidia-cudnn-cu12-9.5.0.50-win_amd64") / "bin"
    root = make_toolkit(wine, "12.6", source)
    wine.registry(ENVIRONMENT, "CUDA_PATH", root)
    wine.registry(ENVIRONMENT, "PATH", f"{root}\\bin;C:\\windows\\system32;C:\\windows")
    service.install()
    service.start()
    yield service
    wine.run(service.exe, "service", "uninstall")
    wine.registry(ENVIRONMENT, "CUDA_PATH", None)


def the_install(snapshot: dict, path: str) -> dict:
    found = [i for i in snapshot["installs"] if i["path"].lower() == path.lower()]
    assert len(found) == 1, [i["path"] for i in snapshot["installs"]]
    return found[0]


def codes(snapshot: dict, *severities: str) -> set[str]:
    return {f["code"] for f in snapshot["findings"] if f["severity"] in severities}


def test_it_runs_and_answers_curl_on_linux(installed):
    assert installed.state() == "cudnnd: running"
    installed.wait_scan()
    status = installed.ask("/status").json()
    assert status["scan"]["last"]["trigger"] == "startup"
    assert installed.ask("/healthz").status == 200
    assert installed.ask("/readyz").status == 200


def test_the_real_9_5_0_in_a_toolkit_is_known_in_full(installed):
    installed.wait_scan()
    snapshot = installed.ask("/api/v1/snapshot").json()
    install = the_install(snapshot, f"{CUDA}\\v12.6\\bin")
    assert (install["version"], install["build"]) == ("9.5.0", "50")
    assert (install["cuda_major"], install["generation"]) == (12, 9)
    assert (install["kind"], install["arch"]) == ("toolkit", "x86_64")
    assert install["complete"] is True and install["layout"] == "full"
    libraries = {library["file"]: library for library in install["libraries"]}
    assert len(libraries) == 8
    assert all(library["version"] == "9.5.0" for library in libraries.values())
    sources = {file: library["version_source"] for file, library in libraries.items()}
    assert sources.pop("cudnn_graph64_9.dll") == "export"
    assert sources.pop("cudnn_heuristic64_9.dll") == "sibling"
    assert set(sources.values()) == {"resource"}
    probe = install["probe"]
    assert probe["status"] == "ok", probe
    assert (probe["version_number"], probe["cudart_version_number"]) == (90500, 12060)
    assert probe["version"] == "9.5.0" and probe["max_compute_capability"] == 900
    assert probe["checks"] == {"graph": SUCCESS, "ops": SUCCESS, "cnn": SUCCESS, "adv": SUCCESS}
    assert probe["create"] == "CUDNN_STATUS_NOT_INITIALIZED"
    assert codes(snapshot, "warning", "critical") == set()
    assert codes(snapshot, "info") == {"driver_missing"}


def test_a_library_of_another_release_among_them_is_told(installed):
    ops = wheel("nvidia-cudnn-cu13-9.28.1.4-win_amd64") / "bin" / "cudnn_ops64_9.dll"
    target = installed.wine.path(f"{CUDA}\\v12.6\\bin") / "cudnn_ops64_9.dll"
    own = wheel("nvidia-cudnn-cu12-9.5.0.50-win_amd64") / "bin" / "cudnn_ops64_9.dll"
    installed.wait_scan()
    target.unlink()
    shutil.copy(ops, target)
    try:
        snapshot = installed.scan()
        mixed = [f for f in snapshot["findings"] if f["code"] == "cudnn_mixed_versions"]
        assert len(mixed) == 1 and mixed[0]["severity"] == "critical"
        assert "9.28.1" in mixed[0]["detail"] and "cudnn_ops64_9.dll" in mixed[0]["detail"]
        assert "SUBLIBRARY_VERSION_MISMATCH" in json.dumps(mixed[0]["evidence"])
        checks = the_install(snapshot, f"{CUDA}\\v12.6\\bin")["probe"]["checks"]
        assert checks["ops"] == "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH"
        assert codes(snapshot, "critical") == {"cudnn_mixed_versions"}
    finally:
        target.unlink()
        os.link(own, target)


def test_a_missing_library_ends_the_worker_and_not_the_service(installed):
    graph = installed.wine.path(f"{CUDA}\\v12.6\\bin") / "cudnn_graph64_9.dll"
    installed.wait_scan()
    aside = graph.with_suffix(".aside")
    graph.rename(aside)
    try:
        snapshot = installed.scan()
        missing = [f for f in snapshot["findings"] if f["code"] == "cudnn_file_missing"]
        assert len(missing) == 1 and "cudnn_graph64_9.dll" in missing[0]["detail"]
        assert "crashed" in missing[0]["evidence"]["probe"]
        install = the_install(snapshot, f"{CUDA}\\v12.6\\bin")
        assert install["complete"] is False
        assert install["probe"]["status"] == "crashed"
        assert "cudnn_graph64_9" in install["probe"]["error"]
        assert codes(snapshot, "critical") == {"cudnn_file_missing"}
        assert installed.state() == "cudnnd: running"
    finally:
        aside.rename(graph)
    snapshot = installed.scan()
    assert codes(snapshot, "warning", "critical") == set()


@pytest.mark.parametrize("version, name, files, number, cudart", [
    ("12.2", "nvidia-cudnn-cu12-8.9.7.29-win_amd64", 7, 8907, 12020),
    ("13.0", "nvidia-cudnn-cu13-9.28.1.4-win_amd64", None, 92801, 13050),
])
def test_the_other_real_releases_too(installed, version, name, files, number, cudart):
    source = wheel(name) / "bin"
    root = make_toolkit(installed.wine, version, source)
    installed.wait_scan()
    try:
        snapshot = installed.scan()
        install = the_install(snapshot, f"{root}\\bin")
        assert install["version"] == name.split("-")[3].rsplit(".", 1)[0]
        assert install["build"] == name.split("-")[3].rsplit(".", 1)[1]
        assert install["cuda_major"] == int(version.split(".")[0])
        assert len(install["libraries"]) == len(list(source.glob("*.dll")))
        assert files is None or len(install["libraries"]) == files
        assert all(library["version"] == install["version"] for library in install["libraries"])
        assert install["complete"] is True
        probe = install["probe"]
        assert probe["status"] == "ok", probe
        assert (probe["version_number"], probe["cudart_version_number"]) == (number, cudart)
        assert probe["create"] == "CUDNN_STATUS_NOT_INITIALIZED"
        expected = {SUCCESS} if number > 90000 else {SUCCESS, None}
        assert set(probe["checks"].values()) <= expected
        # 8 has a generation of its own: no search path offers it here, and that is said.
        assert codes(snapshot, "critical") == set()
    finally:
        shutil.rmtree(installed.wine.path(root))
        installed.scan()


def test_stop_and_start_again_keep_the_history(installed):
    before = installed.wait_scan()["id"]
    start = time.monotonic()
    installed.stop()
    assert time.monotonic() - start < 10
    assert installed.state() == "cudnnd: stopped"
    installed.start()
    installed.wait_scan(above=before)
    scans = installed.ask("/api/v1/scans?limit=100").json()["scans"]
    assert before in [scan["id"] for scan in scans]


def test_a_parameter_change_reads_the_configuration_again(installed):
    installed.wait_scan()
    config = installed.wine.path(CONFIG)
    right = config.read_text()
    try:
        config.write_text("scan: {intervall: 1h}\n")
        installed.control(PARAMCHANGE)
        error = installed.wait_service("config_error", lambda error: error is not None)
        assert "scan.interval" in error
    finally:
        config.write_text(right)
    installed.control(PARAMCHANGE)
    installed.wait_service("config_error", lambda error: error is None)


def test_what_is_copied_in_is_found_by_itself(installed):
    last = installed.wait_scan()["id"]
    config = installed.wine.path(CONFIG)
    config.write_text(CONFIGURATION.format(watch="true"))
    root = None
    try:
        installed.control(PARAMCHANGE)
        last = installed.scan()["scan"]["id"]  # from here on it watches
        root = make_toolkit(installed.wine, "12.4",
                            wheel("nvidia-cudnn-cu12-9.5.0.50-win_amd64") / "bin")
        assert installed.wait_scan(above=last, seconds=30)["trigger"] == "change"
        deadline = time.monotonic() + 30
        paths = []
        while f"{root}\\bin" not in paths and time.monotonic() < deadline:
            paths = [i["path"] for i in installed.ask("/api/v1/installs").json()["installs"]
                     if i["complete"]]
            time.sleep(0.2)
        assert f"{root}\\bin" in paths
    finally:
        config.write_text(CONFIGURATION.format(watch="false"))
        installed.control(PARAMCHANGE)
        if root is not None:
            shutil.rmtree(installed.wine.path(root))
        installed.wait_quiet()
        installed.scan()


def test_pause_and_continue(installed):
    installed.wait_scan()
    installed.control(PAUSE)
    assert installed.state() == "cudnnd: paused"
    installed.wait_service("paused", lambda paused: paused)
    assert installed.ask("/status").json()["scan"]["next_at"] is None
    installed.scan()  # asked for: works in spite of it
    installed.control(CONTINUE)
    assert installed.state() == "cudnnd: running"
    installed.wait_service("paused", lambda paused: not paused)
    assert installed.ask("/status").json()["scan"]["next_at"] is not None


def test_uninstall_leaves_nothing_but_data(installed):
    status, out, err = installed.wine.run(installed.exe, "service", "stop")
    assert status == 0
    status, out, err = installed.wine.run(installed.exe, "service", "uninstall")
    assert status == 0, out + err
    assert installed.state() == "cudnnd: not installed"
    for key in ("HKLM\\SYSTEM\\CurrentControlSet\\Services\\cudnnd",
                "HKLM\\SYSTEM\\CurrentControlSet\\Services\\EventLog\\Application\\cudnnd"):
        assert installed.wine.run("reg", "query", key)[0] != 0, key
    with pytest.raises(OSError):
        installed.ask("/healthz")
    status, out, err = installed.wine.run(installed.exe, "service", "start")
    assert status == 1 and "not installed" in err
    status, out, err = installed.wine.run(installed.exe, "service", "uninstall")
    assert status == 1 and "not installed" in err
