"""The native daemon as an administrator meets it."""
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import threading
import time

import pytest

from synth import make  # noqa: E402
from system.program import LINUX, Service, ask, build_of, run

DOUBLES = LINUX / "doubles"


def program_with_worker(tmp_path: pathlib.Path) -> pathlib.Path:
    """The real service beside a worker that does as CUDNND_TEST_WORKER says."""
    directory = tmp_path / "bin"
    directory.mkdir()
    shutil.copy(LINUX / "cudnnd", directory / "cudnnd")
    shutil.copy(DOUBLES / "worker_double", directory / "cudnnd-worker")
    return directory / "cudnnd"


def test_it_scans_at_start_and_serves(service):
    one = service()
    status = one.wait_ready()
    assert status["health"] in ("ok", "warning", "critical")
    assert status["scan"]["last"]["trigger"] == "startup"
    assert one.ask("/healthz").status == 200
    for path in ("/api/v1/snapshot", "/api/v1/installs", "/api/v1/toolkits", "/api/v1/driver",
                 "/api/v1/gpus", "/api/v1/findings", "/api/v1/scans", "/api/v1/rules"):
        answer = one.ask(path)
        assert answer.status == 200, path
        assert answer.headers["Content-Type"].startswith("application/json")
        answer.json()
    for install in one.ask("/api/v1/snapshot").json()["installs"]:
        detail = one.ask(f"/api/v1/installs/{install['id']}")
        assert detail.json()["path"] == install["path"]


def test_a_document_has_an_etag_and_answers_304(service):
    one = service()
    one.wait_ready()
    first = one.ask("/status")
    again = one.ask("/status", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status == 304 and again.body == b""
    head = one.ask("/status", method="HEAD")
    assert head.status == 200 and head.body == b""
    assert head.headers["Content-Length"] == str(len(first.body))


def test_a_scan_on_request_needs_the_token(service):
    one = service()
    status = one.wait_ready()
    refused = one.ask("/api/v1/scans", method="POST")
    assert refused.status == 401
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert "Bearer" in refused.headers["WWW-Authenticate"]
    wrong = one.ask("/api/v1/scans", method="POST", headers={"Authorization": "Bearer x"})
    assert wrong.status == 401
    accepted = one.ask("/api/v1/scans", method="POST", headers=one.token())
    assert accepted.status == 202
    place = accepted.headers["Location"]
    assert one.ask(place).status == 200
    new = one.wait_scan(status["scan"]["last"]["id"])
    assert new["scan"]["last"]["trigger"] == "request"
    assert one.ask(place).json()["result"] == "ok"


def test_another_host_name_is_refused(service):
    one = service()
    one.wait_ready()
    for host in ("evil.example", f"evil.example:{one.port}", "127.0.0.1:1"):
        assert one.ask("/status", headers={"Host": host}).status == 421
    for host in (f"localhost:{one.port}", f"127.0.0.1:{one.port}", f"[::1]:{one.port}"):
        assert one.ask("/status", headers={"Host": host}).status == 200


def test_the_token_is_for_its_owner_only(service):
    one = service()
    one.wait_ready()
    assert (one.data / "token").stat().st_mode & 0o077 == 0
    assert one.data.stat().st_mode & 0o077 == 0


def test_sighup_takes_a_right_configuration_over_and_keeps_the_old_one_otherwise(service):
    one = service(config="scan: {interval: 30m}\n")
    one.wait_ready()
    one.config.write_text("scan: {intervall: 1h}\n")
    one.process.send_signal(signal.SIGHUP)
    one.wait(lambda: one.ask("/status").json()["service"]["config_error"] is not None)
    error = one.ask("/status").json()["service"]["config_error"]
    assert "cudnnd.yml:1:8" in error and "scan.interval" in error
    one.config.write_text("scan: {interval: 1h, jitter: 0s}\n")
    one.process.send_signal(signal.SIGHUP)
    one.wait(lambda: one.ask("/status").json()["service"]["config_error"] is None)
    assert one.process.poll() is None


def test_a_copy_is_on_status_within_two_seconds_after_it_ends(service, tmp_path):
    place = tmp_path / "place" / "lib"
    one = service(config=json.dumps({"scan": {"interval": "1d", "roots": [str(place)]}}))
    status = one.wait_ready()
    installs = status["counts"]["installs"]
    source = tmp_path / "source"
    make.write_set(source, "9.5.0.50", 12, "linux")
    place.parent.mkdir()
    place.mkdir()
    for file in source.iterdir():  # slowly, as a copy over a network is
        shutil.copy(file, place / file.name, follow_symlinks=False)
        time.sleep(0.1)
    ended = time.monotonic()
    one.wait(lambda: one.ask("/status").json()["counts"]["installs"] == installs + 1)
    found = time.monotonic() - ended
    assert found < 2
    install = next(i for i in one.ask("/api/v1/installs").json()["installs"]
                   if i["path"] == str(place))
    assert install["complete"] and install["version"] == "9.5.0"
    # The copy was never judged by halves.
    seen = one.ask("/api/v1/findings?state=all").json()["findings"]
    assert not [f for f in seen if f["subject"]["path"] == str(place)
                and f["code"] == "cudnn_file_missing"]
    shutil.rmtree(place)
    ended = time.monotonic()
    one.wait(lambda: one.ask("/status").json()["counts"]["installs"] == installs)
    assert time.monotonic() - ended < 2
    assert one.ask("/api/v1/scans?limit=1").json()["scans"][0]["trigger"] == "change"


def test_watching_can_be_switched_off(service, tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    one = service(config=json.dumps({"scan": {"interval": "1d", "watch": False,
                                              "roots": [str(place)]}}))
    last = one.wait_ready()["scan"]["last"]["id"]
    make.write_set(place, "9.5.0.50", 12, "linux")
    time.sleep(2)
    assert one.ask("/status").json()["scan"]["last"]["id"] == last


def test_it_scans_again_by_itself(service):
    one = service(config="scan: {interval: 10s, jitter: 0s}\n")
    first = one.wait_ready()["scan"]["last"]["id"]
    status = one.wait_scan(first, seconds=40)
    assert status["scan"]["last"]["trigger"] == "schedule"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_cleanly_and_soon(service, number):
    one = service()
    one.wait_ready()
    assert one.stop(number) < 5
    assert one.process.returncode == 0


def test_it_stops_soon_while_a_worker_hangs(tmp_path):
    one = Service(program_with_worker(tmp_path), tmp_path, env={"CUDNND_TEST_WORKER": "hang"})
    try:
        time.sleep(0.5)  # the first scan now waits for the driver
        children = [
            child for task in pathlib.Path(f"/proc/{one.process.pid}/task").iterdir()
            for child in (task / "children").read_text().split()]
        assert children, "no worker is running"
        assert one.ask("/healthz").status == 200
        assert one.ask("/readyz").status == 503
        assert one.ask("/status").json()["health"] == "unknown"
        assert one.stop() < 5
        assert one.process.returncode == 0
        for child in children:
            assert not os.path.exists(f"/proc/{child}"), "a worker was left behind"
    finally:
        one.kill()


def test_a_hung_driver_is_a_finding_and_the_service_goes_on(tmp_path):
    one = Service(program_with_worker(tmp_path), tmp_path, config="worker: {timeout: 1s}\n",
                  env={"CUDNND_TEST_WORKER": "hang"})
    try:
        one.wait_ready(seconds=30)
        findings = one.ask("/api/v1/findings?code=driver_error").json()["findings"]
        assert len(findings) == 1 and "time" in findings[0]["detail"]
        assert one.ask("/status").json()["health"] == "critical"
    finally:
        one.kill()


@pytest.mark.parametrize("mode", ["crash", "garbage", "endless"])
def test_a_worker_gone_wrong_is_a_finding(tmp_path, mode):
    one = Service(program_with_worker(tmp_path), tmp_path, config="worker: {timeout: 5s}\n",
                  env={"CUDNND_TEST_WORKER": mode})
    try:
        one.wait_ready(seconds=60)
        assert one.ask("/api/v1/findings?code=driver_error").json()["findings"]
        assert one.stop() < 5
    finally:
        one.kill()


def test_a_port_in_use_is_one_clear_line(service, linux, tmp_path):
    one = service()
    status, out, err = run(linux / "cudnnd", "run", "--port", str(one.port), "--data-dir",
                           str(tmp_path / "other"))
    assert status == 1
    assert err.strip().count("\n") == 0
    assert str(one.port) in err and "in use" in err and "--port" in err


def test_a_second_one_in_the_same_directory_is_refused(service, linux):
    one = service()
    status, out, err = run(linux / "cudnnd", "run", "--port", "0", "--data-dir", str(one.data))
    assert status == 1 and "another cudnnd" in err
    assert one.ask("/healthz").status == 200


def test_a_wrong_configuration_ends_with_status_2(linux, tmp_path):
    config = tmp_path / "c.yml"
    config.write_text("listen: {addresses: [0.0.0.0]}\n")
    status, out, err = run(linux / "cudnnd", "run", "--config", str(config), "--port", "0")
    assert status == 2 and "c.yml:1:21" in err and "loopback" in err
    status, out, err = run(linux / "cudnnd", "config", "check", "--config", str(config))
    assert status == 2 and "loopback" in err
    status, out, err = run(linux / "cudnnd", "run", "--config", str(tmp_path / "none.yml"))
    assert status == 2 and "none.yml" in err


def test_a_data_directory_that_cannot_be_used_is_one_clear_line(linux, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("x")
    for place in (blocked, blocked / "below", pathlib.Path("/proc/cudnnd")):
        status, out, err = run(linux / "cudnnd", "run", "--port", "0", "--data-dir", str(place))
        assert status == 1, place
        assert err.strip().count("\n") == 0 and str(place) in err


def test_a_directory_that_others_can_write_to_is_not_used_as_it_is(linux, tmp_path, service):
    data = tmp_path / "data"
    data.mkdir(mode=0o777)
    data.chmod(0o777)
    one = service()
    one.wait_ready()
    assert data.stat().st_mode & 0o022 == 0


def test_a_store_that_is_removed_under_it_is_told(service):
    one = service()
    last = one.wait_ready()["scan"]["last"]["id"]
    shutil.move(one.data / "cudnnd.db", one.data / "elsewhere.db")
    one.ask("/api/v1/scans", method="POST", headers=one.token())
    status = one.wait_scan(last)
    assert "removed or replaced" in status["scan"]["error"]["message"]
    ready = one.ask("/readyz")
    assert ready.status == 503 and "restart the service" in ready.json()["detail"]
    assert one.ask("/healthz").status == 200
    assert one.stop() < 5


@pytest.mark.parametrize("damage", ["header", "middle", "truncated", "text"])
def test_a_damaged_database_is_set_aside_and_told(service, tmp_path, damage):
    one = service()
    one.wait_ready()
    assert one.stop() < 5
    database = one.data / "cudnnd.db"
    content = bytearray(database.read_bytes())
    if damage == "header":
        content[0:16] = b"\0" * 16
    elif damage == "middle":
        content[4096:8192] = os.urandom(4096)
    elif damage == "truncated":
        content = content[:len(content) // 2 + 100]
    else:
        content = bytearray(b"not a database\n")
    database.write_bytes(content)
    again = service()
    status = again.wait_ready()
    aside = [p for p in one.data.iterdir() if ".damaged-" in p.name]
    assert len(aside) >= 1
    assert bytes(content) in [p.read_bytes() for p in aside]
    codes = [f["code"] for f in again.ask("/api/v1/findings").json()["findings"]]
    assert "database_recovered" in codes
    assert status["health"] in ("warning", "critical")
    for file in aside:  # moving it away is how it is acknowledged
        file.unlink()
    again.ask("/api/v1/scans", method="POST", headers=again.token())
    again.wait_scan(status["scan"]["last"]["id"])
    codes = [f["code"] for f in again.ask("/api/v1/findings").json()["findings"]]
    assert "database_recovered" not in codes
    resolved = again.ask("/api/v1/findings?state=resolved&code=database_recovered").json()
    assert len(resolved["findings"]) == 1


def test_a_newer_database_is_left_untouched(service, linux, tmp_path):
    one = service()
    one.wait_ready()
    one.stop()
    database = one.data / "cudnnd.db"
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    before = database.read_bytes()
    status, out, err = run(linux / "cudnnd", "run", "--port", "0", "--data-dir", str(one.data))
    assert status == 1 and "newer" in err
    assert database.read_bytes() == before


def test_killed_in_the_middle_of_scans_a_hundred_times_nothing_committed_is_lost(linux, tmp_path):
    seen = 0
    data = tmp_path / "data"
    for round_number in range(100):
        one = Service(linux / "cudnnd", tmp_path, data=data,
                      config="worker: {timeout: 5s}\nscan: {probe: none}\n")
        try:
            # Ask for scans without waiting, so that one is running whenever the end comes.
            deadline = time.monotonic() + 0.15 + (round_number % 10) * 0.03
            while time.monotonic() < deadline:
                one.ask("/api/v1/scans", method="POST", headers=one.token())
                last = one.ask("/status").json()["scan"]["last"]
                if last is not None:
                    assert last["id"] >= seen
                    seen = last["id"]
        finally:
            one.kill()
        with sqlite3.connect(data / "cudnnd.db") as connection:
            assert connection.execute("PRAGMA quick_check").fetchone()[0] == "ok"
            newest = connection.execute("SELECT max(id) FROM scan").fetchone()[0]
        connection.close()
        assert (newest or 0) >= seen, f"round {round_number}: published {seen}, stored {newest}"
        assert not [p for p in data.iterdir() if ".damaged-" in p.name]
    assert seen > 100


def test_requests_are_answered_while_scans_run(service):
    one = service(config="scan: {probe: none}\n")
    one.wait_ready()
    stop = threading.Event()
    wrong = []

    def hammer():
        while not stop.is_set():
            for path in ("/status", "/metrics", "/api/v1/snapshot", "/api/v1/scans?limit=5"):
                status = one.ask(path).status
                if status != 200:
                    wrong.append((path, status))

    threads = [threading.Thread(target=hammer) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        assert one.ask("/api/v1/scans", method="POST", headers=one.token()).status == 202
        time.sleep(0.05)
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_metrics_are_what_prometheus_reads(service):
    one = service()
    one.wait_ready()
    text = one.ask("/metrics").body
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed")
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                          check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert b"cudnnd_build_info{" in text and b"process_resident_memory_bytes" in text


def test_the_monitoring_check_follows_the_service(service, linux):
    one = service(config="scan: {probe: none}\n")
    status = one.wait_ready()
    url = f"http://127.0.0.1:{one.port}"
    code, out, err = run(linux / "cudnnd", "check", "--url", url)
    expected = {"ok": 0, "warning": 1, "critical": 2}[status["health"]]
    assert code == expected and out.startswith("CUDNND ") and " | installs=" in out
    one.stop()
    code, out, err = run(linux / "cudnnd", "check", "--url", url)
    assert code == 3 and out.startswith("CUDNND UNKNOWN")
    code, out, err = run(linux / "cudnnd", "check", "--url", "https://example.com")
    assert code == 3


def test_systemd_is_told(linux, tmp_path):
    import socket
    path = str(tmp_path / "notify")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(path)
    listener.settimeout(20)
    one = Service(linux / "cudnnd", tmp_path, env={"NOTIFY_SOCKET": path})
    try:
        assert b"READY=1" in listener.recv(1000)
        one.process.send_signal(signal.SIGTERM)
        assert b"STOPPING=1" in listener.recv(1000)
        one.process.wait(timeout=10)
    finally:
        one.kill()
        listener.close()
