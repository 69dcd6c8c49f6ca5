#!/usr/bin/python3
"""Measures the product against peers and limits, in one run on one machine; prints ratios.

 - requests a second of /status and /metrics against a bare libmicrohttpd that answers a body of the
   same size with the same daemon options, in turn, and against prometheus-node-exporter and netdata
   where they are installed
 - a warm rescan of 40 installs: time, files opened, pages of files touched
 - how much of NVIDIA's own files is read to identify them
 - resident memory, size of the programs

Loopback only; every load ends by itself.
"""
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from synth import make  # noqa: E402
from system.program import LINUX, Service, ask  # noqa: E402

SECONDS = 1
ROUNDS = 15
CONNECTIONS = 16
INSTALLS = 40


def load(url: str) -> float:
    """Requests a second that wrk gets through."""
    out = subprocess.run(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", url],
                         capture_output=True, text=True, check=True).stdout
    if re.search(r"Non-2xx|Socket errors", out):
        print(f"  (wrk on {url}: {' '.join(out.split())})")
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1))


def build_hello(directory: pathlib.Path) -> pathlib.Path:
    program = directory / "hello"
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libmicrohttpd"], check=True,
                           capture_output=True, text=True).stdout.split()
    subprocess.run(["gcc", "-O2", "-I", str(ROOT), str(ROOT / "tests/bench/hello.c"), "-o",
                    str(program), *flags], check=True)
    return program


def start_hello(program: pathlib.Path, size: int):
    process = subprocess.Popen([str(program), str(size)], stdout=subprocess.PIPE, text=True)
    return process, int(process.stdout.readline())


def median_line(name: str, values: list[float], unit: str) -> str:
    return (f"{name:<34} median {statistics.median(values):>10.0f} {unit}"
            f"   (min {min(values):.0f}, max {max(values):.0f})")


def cpu_seconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load_and_cpu(url: str, pid: int) -> tuple[float, float]:
    """Requests a second, and the server's processor microseconds for each."""
    before = cpu_seconds(pid)
    rate = load(url)
    return rate, (cpu_seconds(pid) - before) * 1e6 / (rate * SECONDS)


def bench_http(service: Service, directory: pathlib.Path) -> None:
    hello = build_hello(directory)
    for path in ("/status", "/metrics"):
        size = len(service.ask(path).body)
        process, port = start_hello(hello, size)
        ours, bare = [], []
        try:
            load(f"http://127.0.0.1:{port}/")  # warm-up
            for _ in range(ROUNDS):
                ours.append(load_and_cpu(f"http://127.0.0.1:{service.port}{path}",
                                         service.process.pid))
                bare.append(load_and_cpu(f"http://127.0.0.1:{port}/", process.pid))
        finally:
            process.kill()
            process.wait()
        print(median_line(f"GET {path} ({size} bytes)", [o[0] for o in ours], "requests/s"))
        print(median_line(f"bare libmicrohttpd, {size} bytes", [b[0] for b in bare], "requests/s"))
        ratios = [a[0] / b[0] for a, b in zip(ours, bare)]
        print(f"  ratio {statistics.median(ratios):.2f}   "
              f"(min {min(ratios):.2f}, max {max(ratios):.2f}; aim: at least 0.9)")
        ours_us, bare_us = (statistics.median(side[1] for side in sides) for sides in (ours, bare))
        print(f"  processor time a request {ours_us:.1f} us, bare {bare_us:.1f} us: "
              f"ratio of work done in the same time {bare_us / ours_us:.2f}")


def bench_peer(service: Service, name: str, command: list[str], port: int, path: str) -> None:
    if shutil.which(command[0]) is None:
        print(f"{name}: not installed, not measured")
        return
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                if ask(port, "GET", path).status == 200:
                    break
            except OSError:
                time.sleep(0.2)
        ours, theirs = [], []
        for _ in range(ROUNDS):
            ours.append(load(f"http://127.0.0.1:{service.port}/metrics"))
            theirs.append(load(f"http://127.0.0.1:{port}{path}"))
    finally:
        process.terminate()
        process.wait(timeout=20)
    print(median_line(f"{name} {path}", theirs, "requests/s"))
    print(f"  ratio of our /metrics to it {statistics.median(ours) / statistics.median(theirs):.0f}")


def rss_kib(pid: int) -> int:
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))


def faults(pid: int) -> tuple[int, int]:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[7]), int(fields[9])  # minor, major


def read_bytes(pid: int) -> int:
    return int(re.search(r"rchar: (\d+)", pathlib.Path(f"/proc/{pid}/io").read_text()).group(1))


def rescan(service: Service) -> int:
    """A scan on request; its milliseconds."""
    last = service.ask("/status").json()["scan"]["last"]["id"]
    service.ask("/api/v1/scans", method="POST", headers=service.token())
    return service.wait_scan(last)["scan"]["last"]["duration_ms"]


def opened_libraries(service: Service) -> int:
    """How many cuDNN files one rescan opens, as strace sees it."""
    if shutil.which("strace") is None:
        return -1
    with tempfile.NamedTemporaryFile() as trace:
        tracer = subprocess.Popen(["strace", "-f", "-e", "trace=openat,open", "-o", trace.name, "-p",
                                   str(service.process.pid)], stderr=subprocess.DEVNULL)
        time.sleep(1)
        rescan(service)
        tracer.terminate()
        tracer.wait(timeout=20)
        text = pathlib.Path(trace.name).read_text(errors="replace")
    return len(re.findall(r'"[^"]*libcudnn[^"/]*\.so\.[^"/]*"', text))


def bench_scan(service: Service, roots: list[pathlib.Path]) -> None:
    installs = service.ask("/status").json()["counts"]["installs"]
    first = service.ask("/api/v1/scans?limit=1").json()["scans"][0]["duration_ms"]
    before_read, before_faults = read_bytes(service.process.pid), faults(service.process.pid)
    times = [rescan(service) for _ in range(10)]
    read = (read_bytes(service.process.pid) - before_read) / 10
    minor = (faults(service.process.pid)[0] - before_faults[0]) / 10
    listing = []
    for _ in range(10):  # the limit: what it takes to look at every file's data once
        start = time.monotonic()
        for root in roots:
            for entry in os.scandir(root):
                os.stat(entry.path)
        listing.append((time.monotonic() - start) * 1000)
    print(f"first scan of {installs} installs        {first} ms")
    print(f"warm rescan                       median {statistics.median(times):.0f} ms"
          f"   (min {min(times)}, max {max(times)})")
    print(f"  bytes read a rescan {read / 1024:.0f} KiB (read calls; /proc, directories of Pythons), "
          f"page faults {minor:.0f}")
    print(f"  cuDNN files opened by a rescan: {opened_libraries(service)} (-1: no strace)")
    print(f"  listing the {len(roots)} directories and stat of each file from Python: "
          f"median {statistics.median(listing):.1f} ms")


def bench_real_files() -> None:
    """How much of NVIDIA's own files is read to identify them: the test that counts it."""
    test = LINUX / "tests/inventory/posix/test_pages_read"
    subprocess.run(["make", str(test.relative_to(ROOT))], cwd=ROOT, check=True,
                   stdout=subprocess.DEVNULL)
    wheels = subprocess.run([str(ROOT / "scripts/setup"), "print", "wheels"], check=True,
                            capture_output=True, text=True).stdout.strip()
    out = subprocess.run([str(test)], env=dict(os.environ, CUDNND_TEST_WHEELS=wheels), check=True,
                         capture_output=True, text=True).stdout
    told = re.search(r"^\d+ libraries of up to.*", out, re.M)
    print(f"NVIDIA's own {told.group(0)}" if told else
          "NVIDIA's own files are not here, not measured")


def main() -> int:
    with tempfile.TemporaryDirectory(dir=pathlib.Path.home()) as name:
        directory = pathlib.Path(name)
        roots = []
        for number in range(INSTALLS):
            root = directory / f"install-{number:02d}" / "lib"
            make.write_set(root, ["9.5.0.50", "8.9.7.29", "9.1.0.70"][number % 3], 12, "linux")
            roots.append(root)
        config = json.dumps({"scan": {"roots": [str(root) for root in roots], "probe": "none",
                                      "interval": "1d"}})
        service = Service(LINUX / "cudnnd", directory, config=config)
        try:
            service.wait_ready()
            bench_scan(service, roots)
            bench_real_files()
            idle = rss_kib(service.process.pid)
            bench_http(service, directory)
            bench_peer(service, "prometheus-node-exporter",
                       ["prometheus-node-exporter", "--web.listen-address=127.0.0.1:19100"],
                       19100, "/metrics")
            bench_peer(service, "netdata", ["netdata", "-D", "-p", "19999", "-i", "127.0.0.1"],
                       19999, "/api/v1/allmetrics?format=prometheus")
            print(f"resident memory with {INSTALLS} installs     {idle} KiB, "
                  f"{rss_kib(service.process.pid)} KiB after the load")
        finally:
            service.kill()
    for program in (LINUX / "cudnnd", LINUX / "cudnnd-worker",
                    ROOT / "build/windows-release/cudnnd.exe",
                    ROOT / "build/windows-release/cudnnd-worker.exe"):
        if program.exists():
            strip = "x86_64-w64-mingw32-strip" if program.suffix else "strip"
            with tempfile.NamedTemporaryFile() as small:
                subprocess.run([strip, "-o", small.name, str(program)], check=True)
                print(f"{program.relative_to(ROOT)}: {os.path.getsize(small.name)} bytes stripped")
    return 0


if __name__ == "__main__":
    sys.exit(main())
