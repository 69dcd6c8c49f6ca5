"""Synthesised libraries must be accepted by real loaders and look like NVIDIA's where it counts."""

from __future__ import annotations

import ctypes
import platform
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from cases.host import cache_directory
from synth import cudnn, elf, headers, make, other, pe
from synth.model import Library

HERE = Path(__file__).resolve().parent
on_x86_64 = pytest.mark.skipif(platform.machine() != "x86_64", reason="needs an x86_64 host")


def have(*programs: str):
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


# --- ELF

LOAD_IN_ANOTHER_PROCESS = """
import ctypes, sys
graph = ctypes.CDLL(sys.argv[1] + "/libcudnn_graph.so.9")
print(bytes((ctypes.c_ubyte * 4).in_dll(graph, "cudnn_graph_version")).hex())
for name in sys.argv[2:]:
    ctypes.CDLL(sys.argv[1] + "/" + name)
entry = ctypes.CDLL(sys.argv[1] + "/libcudnn.so.9")
entry.cudnnGetErrorString.restype = ctypes.c_char_p
print(entry.cudnnGetVersion(), entry.cudnnCreate(None), entry.cudnnGetErrorString(0).decode())
"""


@on_x86_64
def test_the_linux_loader_accepts_a_whole_set(tmp_path):
    files = make.write_set(tmp_path, "9.5.0.50", 12, "linux", links=False)
    done = subprocess.run([sys.executable, "-c", LOAD_IN_ANOTHER_PROCESS, tmp_path,
                           *(file.name for file in files)], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.split("\n")[:2] == ["00050900", "90500 1001 CUDNN_STATUS_SUCCESS"]


@on_x86_64
def test_every_symbol_is_found_through_the_hash_table(tmp_path):
    names = [f"symbol_{number}" for number in range(200)]
    library = Library("libmany.so", functions={name: index for index, name in enumerate(names)})
    path = tmp_path / "libmany.so"
    path.write_bytes(elf.build(library))
    loaded = ctypes.CDLL(str(path))
    assert [loaded[name]() for name in names] == list(range(200))
    assert not hasattr(loaded, "symbol_200")


@have("readelf")
@pytest.mark.parametrize("arch, machine", [("x86_64", "X86-64"), ("arm64", "AArch64"),
                                           ("x86", "Intel 80386")])
def test_readelf_has_nothing_to_complain_of(tmp_path, arch, machine):
    path = tmp_path / "libcudnn_ops.so.9"
    path.write_bytes(elf.build(cudnn.library("cudnn_ops64_9.dll", "9.5.0.50", 12, arch, "linux")))
    done = subprocess.run(["readelf", "-aW", path], capture_output=True, text=True)
    assert done.returncode == 0 and "arning" not in done.stderr + done.stdout
    assert machine in done.stdout
    assert "[libcudnn_graph.so.9]" in done.stdout and "[libcudnn_ops.so.9]" in done.stdout
    assert "cudnn_ops_infer_version" in done.stdout


# --- PE

@have("wine", "x86_64-w64-mingw32-gcc")
def test_wine_loads_a_whole_set(tmp_path):
    from cases.wine import Prefix, windows_path
    program = tmp_path / "load_probe.exe"
    subprocess.run(["x86_64-w64-mingw32-gcc", "-municode", "-o", program, HERE / "load_probe.c"],
                   check=True)
    prefix = Prefix()
    try:
        for version, answer in (("9.5.0.50", 90500), ("8.9.7.29", 8907)):
            directory = tmp_path / version
            files = make.write_set(directory, version, 12, "windows")
            done = subprocess.run(["wine", program, windows_path(directory),
                                   *(file.name for file in files)],
                                  env=prefix.environment(), capture_output=True, text=True)
            lines = done.stdout.splitlines()
            assert len(lines) == len(files) and all(" loaded " in line for line in lines), lines
            entry = cudnn.file_name("cudnn", int(version[0]), "windows")
            assert f"{entry} loaded {answer} CUDNN_STATUS_SUCCESS" in lines
        make.write_set(tmp_path / "arm", "9.5.0.50", 12, "windows", "arm64")
        done = subprocess.run(["wine", program, windows_path(tmp_path / "arm"), "cudnn64_9.dll"],
                              env=prefix.environment(), capture_output=True, text=True)
        assert done.stdout.strip() == "cudnn64_9.dll error 193"
    finally:
        prefix.close(keep=False)


@have("x86_64-w64-mingw32-objdump")
def test_objdump_reads_exports_and_imports(tmp_path):
    path = tmp_path / "cudnn_cnn64_9.dll"
    path.write_bytes(pe.build(cudnn.library(path.name, "9.5.0.50", 12)))
    text = subprocess.run(["x86_64-w64-mingw32-objdump", "-p", path], capture_output=True,
                          text=True, check=True).stdout
    assert "DLL Name: cudnn_ops64_9.dll" in text and "DLL Name: cudnn_graph64_9.dll" in text
    assert "cudnn_ops_infer_version" in text and "cudnnCnnVersionCheck" in text
    assert "Invalid" not in text and "corrupt" not in text


@pytest.mark.parametrize("arch, machine, magic", [
    ("x86_64", 0x8664, 0x20B), ("x86", 0x14C, 0x10B), ("arm64", 0xAA64, 0x20B)])
def test_a_pe_file_names_its_machine(arch, machine, magic):
    data = pe.build(cudnn.library("cudnn64_9.dll", "9.5.0.50", 12, arch))
    at = struct.unpack_from("<I", data, 0x3C)[0]
    assert struct.unpack_from("<H", data, at + 4)[0] == machine
    assert struct.unpack_from("<H", data, at + 24)[0] == magic


def test_the_same_description_makes_the_same_bytes():
    library = cudnn.library("cudnn_adv64_9.dll", "9.5.0.50", 12)
    assert pe.build(library) == pe.build(library)


# --- contents

def wide(text: str) -> bytes:
    return text.encode("utf-16-le")


def test_a_resource_is_there_exactly_where_nvidia_has_one():
    for name, library in cudnn.runtime_set("9.28.1.4", 13).items():
        has_one = name not in ("cudnn_graph64_9.dll", "cudnn_heuristic64_9.dll",
                               "cudnn_engines_tensor_ir64_9.dll")
        data = pe.build(library)
        assert (wide("VS_VERSION_INFO") in data) == has_one, name
        assert (wide(name) in data) == has_one, name


def test_cublas_is_named_where_nvidia_names_it():
    named = {name for name, library in cudnn.runtime_set("9.5.0.50", 12).items()
             if b"cublasLt64_12.dll" in pe.build(library)}
    assert named == {"cudnn_adv64_9.dll", "cudnn_engines_precompiled64_9.dll"}
    named = {name for name, library in cudnn.runtime_set("8.9.7.29", 11).items()
             if b"cublasLt64_11.dll" in pe.build(library)}
    assert named == {"cudnn_ops_infer64_8.dll"}
    assert b"libcublasLt.so.12" in elf.build(
        cudnn.library("libcudnn_adv.so.9", "9.5.0.50", 12, platform="linux"))


def test_tensor_ir_is_asked_for_before_it_is_shipped():
    graph = cudnn.runtime_set("9.20.0.48", 13)["cudnn_graph64_9.dll"]
    assert "cudnn_engines_tensor_ir64_9.dll" in graph.strings
    assert "cudnn_engines_tensor_ir64_9.dll" not in cudnn.runtime_set("9.20.0.48", 13)
    assert "cudnn_engines_tensor_ir64_9.dll" in cudnn.runtime_set("9.23.0.39", 13)


def test_omit_and_only_take_the_names_of_either_platform():
    assert "libcudnn_ops.so.9" not in cudnn.runtime_set(
        "9.5.0.50", 12, "linux", omit=["cudnn_ops64_9.dll"])
    assert list(cudnn.runtime_set("9.5.0.50", 12, only=["libcudnn.so.9"])) == ["cudnn64_9.dll"]
    with pytest.raises(ValueError, match="cudnn_nonsense"):
        cudnn.runtime_set("9.5.0.50", 12, omit=["cudnn_nonsense64_9.dll"])


def test_a_truncated_library_is_truncated():
    for library in cudnn.runtime_set("9.5.0.50", 12).values():
        assert len(pe.build(library)) > 1024


def test_headers_say_the_version_where_that_release_does():
    assert "#define CUDNN_PATCHLEVEL 5" in headers.header_set("7.6.5")["cudnn.h"]
    assert "MAJOR * 10000" in headers.header_set("9.5.0")["cudnn_version.h"]
    assert "MAJOR * 1000 " in headers.header_set("8.9.7")["cudnn_version.h"]
    assert len(headers.import_library_set(9, "windows")) == 16


@pytest.mark.parametrize("part, release, windows, linux", [
    ("cudart", (11, 8), "cudart64_110.dll", "libcudart.so.11.0"),
    ("cudart", (12, 4), "cudart64_12.dll", "libcudart.so.12"),
    ("nvrtc", (11, 8), "nvrtc64_112_0.dll", "libnvrtc.so.11.2"),
    ("nvrtc", (12, 6), "nvrtc64_120_0.dll", "libnvrtc.so.12"),
    ("nvrtc", (13, 0), "nvrtc64_130_0.dll", "libnvrtc.so.13"),
    ("nvrtc-builtins", (12, 4), "nvrtc-builtins64_124.dll", "libnvrtc-builtins.so.12.4"),
    ("cublasLt", (12, 4), "cublasLt64_12.dll", "libcublasLt.so.12"),
])
def test_cuda_libraries_are_spelled_as_their_release_spells_them(part, release, windows, linux):
    assert other.cuda_file_name(part, *release, "windows") == windows
    assert other.cuda_file_name(part, *release, "linux") == linux


def test_make_writes_many_installs(tmp_path):
    assert make.main([str(tmp_path), "--installs", "3", "--version", "9.5.0.50,8.9.7.29",
                      "--headers"]) == 0
    link = tmp_path / "install-02" / "lib64" / "libcudnn.so.8"
    assert link.resolve().name == "libcudnn.so.8.9.7"
    assert (tmp_path / "install-03" / "include" / "cudnn_version.h").is_file()


# --- against NVIDIA's own files, where they have been fetched

def wheel(name: str) -> Path:
    path = cache_directory() / "wheels" / name / "nvidia" / "cudnn"
    if not path.is_dir():
        pytest.skip(f"{name} has not been fetched")
    return path


def imported(path: Path) -> set[str]:
    text = subprocess.run(["x86_64-w64-mingw32-objdump", "-p", path], capture_output=True,
                          text=True, check=True).stdout
    names = {line.split()[-1] for line in text.splitlines() if "DLL Name:" in line}
    return {name for name in names if name.startswith("cudnn")}


def needed(path: Path) -> tuple[set[str], str]:
    text = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True,
                          check=True).stdout
    values = [(line.split()[1], line.split("[")[1].rstrip("]")) for line in text.splitlines()
              if "[" in line]
    run_path = next((value for kind, value in values if "RUNPATH" in kind), "")
    return {value for kind, value in values
            if "NEEDED" in kind and "cudnn" in value or "libz" in value}, run_path


@have("x86_64-w64-mingw32-objdump")
@pytest.mark.parametrize("name, version, cuda", [
    ("nvidia-cudnn-cu12-8.9.7.29-win_amd64", "8.9.7.29", 12),
    ("nvidia-cudnn-cu12-9.5.0.50-win_amd64", "9.5.0.50", 12),
    ("nvidia-cudnn-cu13-9.28.1.4-win_amd64", "9.28.1.4", 13),
])
def test_windows_sets_agree_with_nvidias(tmp_path, name, version, cuda):
    real = {path.name: path for path in (wheel(name) / "bin").glob("*.dll")}
    made = {path.name: path for path in make.write_set(tmp_path, version, cuda, "windows")}
    assert set(made) == set(real)
    for library, path in made.items():
        real_data, made_data = real[library].read_bytes(), path.read_bytes()
        assert imported(path) == imported(real[library]), library
        texts = {text: text.encode() for text in (
            f"cublasLt64_{cuda}.dll", f"cublas64_{cuda}.dll", "zlibwapi.dll", "nvcuda.dll",
            "nvrtc64_%d_0.dll", "nvrtc64_130_0.dll", *made)}
        texts["version resource"] = wide("VS_VERSION_INFO")
        in_made = {text for text, data in texts.items() if data in made_data}
        in_real = {text for text, data in texts.items() if data in real_data}
        assert in_made == in_real, library
        parts = [int(part) for part in version.split(".")]
        export = cudnn.library(library, version, cuda).data
        for symbol, value in export.items():
            assert real_data.find(symbol.encode() + b"\0") > 0
            assert value == bytes([parts[2], parts[1], parts[0], 0])


@have("readelf")
def test_linux_sets_agree_with_nvidias(tmp_path):
    real = wheel("nvidia-cudnn-cu12-9.5.0.50-linux_x86_64") / "lib"
    made = make.write_set(tmp_path, "9.5.0.50", 12, "linux", links=False)
    assert {path.name for path in made} == {path.name for path in real.glob("*.so*")}
    for path in made:
        assert needed(path) == needed(real / path.name), path.name
