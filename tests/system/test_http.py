"""The HTTP interface of the running daemon: clients that mean no good, and the readers of metrics."""
import random
import socket
import threading
import time

from prometheus_client import parser as prometheus_parser
from prometheus_client.openmetrics import parser as openmetrics_parser

OPENMETRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}


def connect(one) -> socket.socket:
    return socket.create_connection(("127.0.0.1", one.port), timeout=30)


def send_and_read(one, data: bytes) -> bytes:
    """What comes back until the server closes, or nothing moves for a second."""
    with connect(one) as client:
        client.settimeout(1)
        answer = b""
        try:
            client.sendall(data)
            while part := client.recv(65536):
                answer += part
        except OSError:
            pass
        return answer


def test_metrics_are_read_by_both_parsers(service):
    one = service()
    one.wait_ready()
    plain = one.ask("/metrics")
    assert plain.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    families = {f.name: f for f in prometheus_parser.text_string_to_metric_families(
        plain.body.decode())}
    assert {s.labels["state"]: s.value for s in families["cudnnd_health"].samples}.keys() == \
        {"ok", "warning", "critical", "unknown"}
    assert sum(s.value for s in families["cudnnd_health"].samples) == 1
    started = families["process_start_time_seconds"].samples[0].value
    assert abs(time.time() - started) < 120
    opened = one.ask("/metrics", headers=OPENMETRICS)
    assert opened.headers["Content-Type"].startswith("application/openmetrics-text")
    strict = {f.name: f for f in openmetrics_parser.text_string_to_metric_families(
        opened.body.decode())}
    assert strict["cudnnd_scans"].type == "counter"
    assert strict["cudnnd_build"].type == "info"
    assert strict.keys() >= {"cudnnd_findings", "cudnnd_scan_last_success_timestamp_seconds"}
    scans = {(s.labels["trigger"], s.labels["result"]): s.value
             for s in strict["cudnnd_scans"].samples if s.name == "cudnnd_scans_total"}
    assert scans["startup", "ok"] == 1 and scans["startup", "failed"] == 0


def test_garbage_ends_its_own_connection_only(service):
    one = service()
    one.wait_ready()
    dice = random.Random(7)
    heads = [b"", b"\r\n\r\n", b"GET", b"GET /status", b"GET  HTTP/1.1\r\n\r\n",
             b"GET /status HTTP/9.9\r\nHost: localhost\r\n\r\n",
             b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
             b"GET /%00%ff HTTP/1.1\r\nHost: localhost\r\n\r\n",
             b"POST /api/v1/scans HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
             b"POST /api/v1/scans HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
             b"Content-Length: 6\r\n\r\nhello",
             b"POST /api/v1/scans HTTP/1.1\r\nHost: localhost\r\n"
             b"Transfer-Encoding: chunked\r\n\r\nZZZ\r\n",
             b"GET /status HTTP/1.1\r\n" + b"A: b\r\n" * 20000 + b"\r\n"]
    for head in heads + [dice.randbytes(3000) for _ in range(20)]:
        answer = send_and_read(one, head)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 "), answer[:80]
        assert not answer.startswith((b"HTTP/1.1 2", b"HTTP/1.1 500")), (head[:60], answer[:80])
    assert one.ask("/healthz").status == 200
    assert one.process.poll() is None


def test_slow_and_many_clients_keep_nobody_out_for_long(service):
    one = service()
    one.wait_ready()
    clients = [connect(one) for _ in range(300)]
    try:
        for client in clients[::2]:
            client.sendall(b"GET /status HTTP/1.1\r\nHo")
        # More than the listener serves: the others wait until the idle ones are closed.
        def alive():
            try:
                return one.ask("/healthz").status == 200
            except OSError:
                return False

        assert one.wait(alive, seconds=60)
    finally:
        for client in clients:
            client.close()
    start = time.monotonic()
    assert one.ask("/healthz").status == 200
    assert time.monotonic() - start < 5
    assert one.stop() < 5


def test_it_stops_soon_with_clients_in_the_middle_of_everything(service):
    one = service()
    one.wait_ready()
    idle = [connect(one) for _ in range(20)]
    for client in idle[:10]:
        client.sendall(b"POST /api/v1/scans HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n")
    ended = threading.Event()

    def keep_asking():
        while not ended.is_set():
            try:
                one.ask("/api/v1/snapshot")
            except OSError:
                return

    threads = [threading.Thread(target=keep_asking) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    try:
        assert one.stop() < 5
        assert one.process.returncode == 0
    finally:
        ended.set()
        for thread in threads:
            thread.join()
        for client in idle:
            client.close()
