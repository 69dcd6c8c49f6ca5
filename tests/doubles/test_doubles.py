"""The doubles of NVML and of the CUDA driver answer as the real ones would, from their file."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cases import driver

HERE = Path(__file__).resolve().parent

ASK = """
import ctypes, json, sys
nvml, cuda = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[2])
text, number, other = ctypes.create_string_buffer(96), ctypes.c_int(), ctypes.c_int()
size, handle = ctypes.c_size_t(), ctypes.c_void_p()
memory = (ctypes.c_ulonglong * 3)()
nvml.nvmlErrorString.restype = ctypes.c_char_p
def value(status, found):
    return status or found()
ref = ctypes.byref
out = {}
out["init"] = nvml.nvmlInit_v2()
out["error"] = nvml.nvmlErrorString(out["init"]).decode()
out["driver"] = value(nvml.nvmlSystemGetDriverVersion(text, 80), lambda: text.value.decode())
out["cuda"] = value(nvml.nvmlSystemGetCudaDriverVersion_v2(ref(number)), lambda: number.value)
out["count"] = value(nvml.nvmlDeviceGetCount_v2(ref(number)), lambda: number.value)
out["handle"] = nvml.nvmlDeviceGetHandleByIndex_v2(0, ref(handle))
out["name"] = value(nvml.nvmlDeviceGetName(handle, text, 96), lambda: text.value.decode())
out["short"] = nvml.nvmlDeviceGetName(handle, text, 3)
out["uuid"] = value(nvml.nvmlDeviceGetUUID(handle, text, 96), lambda: text.value.decode())
out["compute"] = value(nvml.nvmlDeviceGetCudaComputeCapability(handle, ref(number), ref(other)),
                       lambda: [number.value, other.value])
out["memory"] = value(nvml.nvmlDeviceGetMemoryInfo(handle, memory), lambda: memory[0])
pci = ctypes.create_string_buffer(68)
out["pci"] = value(nvml.nvmlDeviceGetPciInfo_v3(handle, pci),
                   lambda: pci.raw[36:].split(b"\\0")[0].decode())
out["cuInit"] = cuda.cuInit(0)
out["cuVersion"] = value(cuda.cuDriverGetVersion(ref(number)), lambda: number.value)
out["cuName"] = value(cuda.cuDeviceGetName(text, 96, 0), lambda: text.value.decode())
out["cuMajor"] = value(cuda.cuDeviceGetAttribute(ref(number), 75, 0), lambda: number.value)
out["cuBus"] = value(cuda.cuDeviceGetAttribute(ref(number), 33, 0), lambda: number.value)
out["cuMemory"] = value(cuda.cuDeviceTotalMem_v2(ref(size), 0), lambda: size.value)
raw = ctypes.create_string_buffer(16)
out["cuUuid"] = value(cuda.cuDeviceGetUuid(raw, 0), lambda: raw.raw.hex())
print(json.dumps(out))
"""

GPU = {"name": "NVIDIA H100", "compute_capability": "9.0", "memory_mib": 81559,
       "uuid": "GPU-01234567-89ab-cdef-0123-456789abcdef", "pci_bus_id": "00000000:0A:00.0"}


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    directory = tmp_path_factory.mktemp("doubles")
    made = []
    for source in ("nvml_double.c", "cuda_double.c"):
        target = directory / f"{source}.so"
        subprocess.run(["gcc", "-std=gnu17", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared",
                        "-o", target, HERE / source], check=True)
        made.append(str(target))
    return made


def ask(libraries, tmp_path, timeout=20, **changes):
    description = {"version": "560.35.03", "cuda": "12.6", "gpus": [GPU], **changes}
    file = tmp_path / "driver.txt"
    file.write_text(driver.driver_text(description), encoding="utf-8")
    return subprocess.run([sys.executable, "-c", ASK, *libraries], capture_output=True, text=True,
                          timeout=timeout,
                          env={driver.VARIABLE: str(file), "PATH": "/usr/bin:/bin"})


def test_every_field_is_answered(libraries, tmp_path):
    done = ask(libraries, tmp_path)
    assert json.loads(done.stdout) == {
        "init": 0, "error": "The operation was successful", "driver": "560.35.03", "cuda": 12060,
        "count": 1, "handle": 0, "name": "NVIDIA H100", "short": 7, "uuid": GPU["uuid"],
        "compute": [9, 0], "memory": 81559 << 20, "pci": "00000000:0A:00.0", "cuInit": 0,
        "cuVersion": 12060, "cuName": "NVIDIA H100", "cuMajor": 9, "cuBus": 10,
        "cuMemory": 81559 << 20, "cuUuid": "0123456789abcdef0123456789abcdef"}


def test_a_null_field_is_not_supported(libraries, tmp_path):
    answers = json.loads(ask(libraries, tmp_path, gpus=[dict.fromkeys(GPU)]).stdout)
    assert [answers[key] for key in ("name", "uuid", "compute", "memory", "pci")] == [3] * 5
    assert answers["cuName"] == answers["cuMajor"] == 801


def test_a_library_mismatch_is_told(libraries, tmp_path):
    answers = json.loads(ask(libraries, tmp_path, fault="library_mismatch").stdout)
    assert (answers["init"], answers["error"]) == (18, "Driver/library version mismatch")
    assert answers["driver"] == 1 and answers["cuInit"] == 803


def test_a_lost_gpu_is_told(libraries, tmp_path):
    answers = json.loads(ask(libraries, tmp_path, fault="gpu_lost").stdout)
    assert (answers["init"], answers["driver"]) == (0, "560.35.03")
    assert answers["handle"] == answers["name"] == 15 and answers["cuInit"] == 100


def test_a_crash_ends_the_process(libraries, tmp_path):
    assert ask(libraries, tmp_path, fault="crash").returncode < 0


def test_a_hang_never_returns(libraries, tmp_path):
    with pytest.raises(subprocess.TimeoutExpired):
        ask(libraries, tmp_path, timeout=2, fault="hang")
