"""The programs under test: starting, asking, stopping."""
import http.client
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LINUX = pathlib.Path(os.environ.get("CUDNND_TEST_LINUX", ROOT / "build/linux-release"))
WINDOWS = pathlib.Path(os.environ.get("CUDNND_TEST_WINDOWS", ROOT / "build/windows-release"))
START_SECONDS = 20


def build_of(directory: pathlib.Path) -> pathlib.Path:
    return directory / "cudnnd"


class Answer:
    """An HTTP answer, read whole."""

    def __init__(self, response: http.client.HTTPResponse):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    def json(self):
        return json.loads(self.body)


def ask(port: int, method: str, path: str, body=None, headers=None, host="127.0.0.1") -> Answer:
    connection = http.client.HTTPConnection(host, port, timeout=20)
    try:
        connection.request(method, path, body=body, headers=headers or {})
        return Answer(connection.getresponse())
    finally:
        connection.close()


def run(program: pathlib.Path, *arguments: str, env=None, timeout=120, **options):
    """A command to its end; (exit status, stdout, stderr)."""
    done = subprocess.run([str(program), *arguments], capture_output=True, timeout=timeout,
                          stdin=subprocess.DEVNULL, env=env, **options)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Service:
    """`cudnnd run` on a free port with a data directory of its own."""

    def __init__(self, program, directory, config="", env=None, wait=True, data=None):
        self.data = data or directory / "data"
        self.config = directory / "cudnnd.yml"
        self.config.write_text(config, encoding="utf-8")
        self.lines: list[str] = []
        self.errors: list[str] = []
        self.process = subprocess.Popen(
            [str(program), "run", "--config", str(self.config), "--data-dir", str(self.data),
             "--port", "0"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
            env=dict(os.environ, **(env or {})))
        self._threads = [
            threading.Thread(target=self._read, args=(self.process.stdout, self.lines), daemon=True),
            threading.Thread(target=self._read, args=(self.process.stderr, self.errors),
                             daemon=True)]
        for thread in self._threads:
            thread.start()
        self.port = self._wait_for_port() if wait else None

    @staticmethod
    def _read(stream, into):
        for line in stream:
            into.append(line.rstrip("\n"))

    def _wait_for_port(self) -> int:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            for line in list(self.lines):
                if line.startswith("listening on http://"):
                    return int(line.rsplit(":", 1)[1])
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        raise AssertionError(f"the service did not start: {self.lines} {self.errors}")

    def ask(self, path: str, method="GET", **options) -> Answer:
        return ask(self.port, method, path, **options)

    def token(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {(self.data / 'token').read_text().strip()}"}

    def wait_ready(self, seconds=60) -> dict:
        """Until the first scan is stored; the status then."""
        return self.wait(lambda: self.ask("/readyz").status == 200, seconds) and \
            self.ask("/status").json()

    def wait_scan(self, above: int, seconds=60) -> dict:
        """Until a scan with a larger id is published; the status then."""
        def newer():
            last = self.ask("/status").json()["scan"]["last"]
            return last is not None and last["id"] > above
        self.wait(newer, seconds)
        return self.ask("/status").json()

    @staticmethod
    def wait(condition, seconds=30) -> bool:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if condition():
                return True
            time.sleep(0.02)
        raise AssertionError("it did not come about in time")

    def stop(self, signal_number=signal.SIGTERM, seconds=20) -> float:
        """Asks it to stop; how long that took."""
        start = time.monotonic()
        self.process.send_signal(signal_number)
        self.process.wait(timeout=seconds)
        return time.monotonic() - start

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(timeout=20)
