"""The consumers' wheels: what names a version, which libraries ask for cuDNN, what is bundled.

Each function returns the wheels of one kind of package, reduced to what tells them apart on disk.
"""

from __future__ import annotations

import hashlib
import json

from synth import cudnn, other
from synth.model import Library, parse_version

from .host import Host, python_release
from .wheel import Wheel


class Parts:
    """What most frameworks' wheels are made of, for one environment."""

    def __init__(self, host: Host, environment: str, wanted: dict):
        self.host = host
        self.platform = host.platform
        self.windows = host.is_windows
        self.version = wanted["version"]
        self.release = parse_version(self.version)
        self.cuda = wanted.get("cuda")
        self.cuda_major = parse_version(self.cuda)[0] if self.cuda else None
        self.cudnn = wanted.get("cudnn")
        self.elf_path = wanted.get("elf_path", "rpath")
        python = host.pythons.get(host.key(environment), "3.11")
        tag = python_release(python).replace(".", "")
        self.suffix = f".cp{tag}-win_amd64.pyd" if self.windows else \
            f".cpython-{tag}-x86_64-linux-gnu.so"

    @property
    def generation(self) -> int | None:
        return parse_version(self.cudnn)[0] if self.cudnn else None

    def wheel(self, name: str, version: str | None = None) -> Wheel:
        return Wheel(name, version or self.version, self.platform)

    def cudnn_name(self) -> str:
        return cudnn.file_name("cudnn", self.generation, self.platform)

    def cuda_name(self, part: str) -> str:
        major, minor = (parse_version(self.cuda) + (0,))[:2]
        return other.cuda_file_name(part, major, minor, self.platform)

    def library(self, name: str, imports: list[str] = (), strings: list[str] = (),
                **more) -> bytes:
        return self.host.build(other.plain(name, None, imports=imports, strings=strings,
                                           platform=self.platform, **more))

    def cuda_libraries(self, *parts: str) -> dict[str, bytes]:
        found = [other.cuda_library(part, self.cuda, self.platform) for part in parts]
        return {library.name: self.host.build(library) for library in found}

    def cudnn_libraries(self) -> dict[str, bytes]:
        found = cudnn.runtime_set(self.cudnn, self.cuda_major, self.platform)
        return {name: self.host.build(library) for name, library in found.items()}

    def nvidia_path(self) -> dict[str, str]:
        """The run path from <package>/lib to NVIDIA's wheels, under the tag the case asks for."""
        parts = ("cublas", "cuda_cupti", "cuda_nvrtc", "cuda_runtime", "cudnn", "cufft")
        folders = [f"$ORIGIN/../../nvidia/{part}/lib" for part in parts]
        if self.cuda_major and self.cuda_major >= 13:
            folders.append(f"$ORIGIN/../../nvidia/cu{self.cuda_major}/lib")
        return {self.elf_path: ":".join([*folders, "$ORIGIN"])}


def torch(host: Host, environment: str, wanted: dict) -> list[Wheel]:
    """Windows wheels bundle CUDA and cuDNN in torch\\lib; Linux ones lean on NVIDIA's wheels."""
    parts = Parts(host, environment, wanted)
    wheel = parts.wheel("torch")
    wheel.files["torch/__init__.py"] = b"from .version import __version__\n"
    wheel.files["torch/version.py"] = (
        "from typing import Optional\n\n"
        "__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']\n"
        f"__version__ = '{parts.version}'\ndebug = False\n"
        f"cuda: Optional[str] = {parts.cuda!r}\n"
        "git_version = '0000000000000000000000000000000000000000'\n"
        "hip: Optional[str] = None\n").encode()
    wheel.files[f"torch/_C{parts.suffix}"] = parts.library(f"_C{parts.suffix}")
    pattern = "torch/lib/{}.dll" if parts.windows else "torch/lib/lib{}.so"
    names = {stem: pattern.format(stem).rpartition("/")[2] for stem in (
        "c10", "torch", "torch_cpu", "torch_python", "c10_cuda", "torch_cuda")}
    for stem in ("c10", "torch", "torch_cpu", "torch_python"):
        wheel.files[pattern.format(stem)] = parts.library(names[stem])
    if parts.cuda is None:
        return [wheel]
    imports = [names["c10_cuda"], names["torch_cpu"], parts.cuda_name("cudart"),
               parts.cuda_name("cublas"), parts.cuda_name("cublasLt")]
    if parts.cudnn:
        imports.insert(0, parts.cudnn_name())
    path = {} if parts.windows else parts.nvidia_path()
    wheel.files[pattern.format("c10_cuda")] = parts.library(names["c10_cuda"])
    wheel.files[pattern.format("torch_cuda")] = parts.library(names["torch_cuda"], imports, **path)
    if parts.windows or parts.release < (1, 13):
        _bundle(wheel, "torch/lib", parts)
    elif parts.cudnn:
        wheel.requires.append(f"nvidia-cudnn-cu{parts.cuda_major}=={parts.cudnn}; "
                              'platform_system == "Linux" and platform_machine == "x86_64"')
    return [wheel]


def _bundle(wheel: Wheel, folder: str, parts: Parts) -> None:
    found = parts.cuda_libraries("cudart", "cublas", "cublasLt", "nvrtc", "nvrtc-builtins")
    if parts.cudnn:
        found.update(parts.cudnn_libraries())
        if parts.windows and (8, 3) <= parse_version(parts.cudnn) < (9, 2):
            zlib = other.plain("zlibwapi.dll", "1.2.13.0")
            found[zlib.name] = parts.host.build(zlib)
    wheel.files.update({f"{folder}/{name}": data for name, data in found.items()})


def onnxruntime(host: Host, environment: str, wanted: dict) -> list[Wheel]:
    """Bundles nothing. Its CUDA provider imports cuDNN; from 1.31 it loads it by name instead."""
    parts = Parts(host, environment, wanted)
    wheel = parts.wheel("onnxruntime-gpu")
    folder = "onnxruntime/capi"
    wheel.files["onnxruntime/__init__.py"] = f"__version__ = '{parts.version}'\n".encode()
    wheel.files[f"{folder}/__init__.py"] = b""
    about = f"package_name = 'onnxruntime-gpu'\n__version__ = '{parts.version}'\n"
    if parts.cuda:
        about += f"cuda_version = '{parts.cuda}'\n"
    wheel.files[f"{folder}/build_and_package_info.py"] = about.encode()
    state = "onnxruntime_pybind11_state" + (".pyd" if parts.windows else ".so")
    wheel.files[f"{folder}/{state}"] = parts.library(state)
    pattern = "{}.dll" if parts.windows else "lib{}.so"
    shared = pattern.format("onnxruntime_providers_shared")
    wheel.files[f"{folder}/{shared}"] = parts.library(shared)
    if parts.cuda is None:
        return [wheel]
    cublas = [parts.cuda_name("cublasLt"), parts.cuda_name("cublas")]
    asked = [parts.cudnn_name()] if parts.cudnn else []
    by_name = parts.release >= (1, 31)
    provider = pattern.format("onnxruntime_providers_cuda")
    wheel.files[f"{folder}/{provider}"] = parts.library(
        provider, cublas if by_name else [*cublas, *asked], asked if by_name else [])
    tensorrt = pattern.format("onnxruntime_providers_tensorrt")
    wheel.files[f"{folder}/{tensorrt}"] = parts.library(tensorrt, asked)
    return [wheel]


def tensorflow(host: Host, environment: str, wanted: dict) -> list[Wheel]:
    """Bundles nothing and loads cuDNN by name; build_info.py says which."""
    parts = Parts(host, environment, wanted)
    wheel = parts.wheel("tensorflow")
    info = {"is_cuda_build": parts.cuda is not None}
    strings = []
    if parts.cuda and parts.cudnn:
        strings = [parts.cudnn_name()]
        info.update(cuda_version=parts.cuda, cudnn_version=str(parts.generation))
        if parts.windows:
            info.update(cudnn_dll_name=parts.cudnn_name(),
                        cudart_dll_name=parts.cuda_name("cudart"))
        else:
            wheel.requires.append(f"nvidia-cudnn-cu{parts.cuda_major}=={parts.cudnn} ; "
                                  "extra == 'and-cuda'")
    wheel.files["tensorflow/__init__.py"] = b""
    wheel.files["tensorflow/python/platform/build_info.py"] = (
        "import collections\n\n"
        f"build_info = collections.OrderedDict({sorted(info.items())!r})\n").encode()
    name = "python/_pywrap_tensorflow_internal.pyd" if parts.windows else "libtensorflow_cc.so.2"
    wheel.files[f"tensorflow/{name}"] = parts.library(name.rpartition("/")[2], strings=strings)
    return [wheel]


def jax(host: Host, environment: str, wanted: dict) -> list[Wheel]:
    """jax and jaxlib are plain; the CUDA plugin wheels load cuDNN by name."""
    parts = Parts(host, environment, wanted)
    plain = [parts.wheel("jax"), parts.wheel("jaxlib")]
    for wheel in plain:
        text = f"_version = '{parts.version}'\n__version__ = _version\n"
        wheel.files[f"{wheel.name}/version.py"] = text.encode()
        wheel.files[f"{wheel.name}/__init__.py"] = b""
    if parts.cuda is None:
        return plain
    plugin = parts.wheel(f"jax-cuda{parts.cuda_major}-plugin")
    plugin.files[f"jax_cuda{parts.cuda_major}_plugin/__init__.py"] = b""
    if parts.cudnn:
        plugin.requires.append(f"nvidia-cudnn-cu{parts.cuda_major}<{parts.generation + 1}.0,"
                               f">={'.'.join(parts.cudnn.split('.')[:2])}; extra == 'with-cuda'")
    runtime = parts.wheel(f"jax-cuda{parts.cuda_major}-pjrt")
    name = "xla_cuda_plugin" + (".dll" if parts.windows else ".so")
    strings = [parts.cudnn_name()] if parts.cudnn else []
    runtime.files[f"jax_plugins/xla_cuda{parts.cuda_major}/{name}"] = parts.library(
        name, strings=strings)
    return [*plain, plugin, runtime]


def ctranslate2(host: Host, environment: str, wanted: dict) -> list[Wheel]:
    """Brings cuDNN's entry library alone; on Linux under a mangled name in ctranslate2.libs."""
    parts = Parts(host, environment, wanted)
    wheel = parts.wheel("ctranslate2")
    wheel.files["ctranslate2/__init__.py"] = b""
    wheel.files["ctranslate2/version.py"] = f'__version__ = "{parts.version}"\n'.encode()
    extension = f"_ext{parts.suffix}"
    strings = [parts.cuda_name("cublas"), parts.cuda_name("cublasLt")] if parts.cuda else []
    if parts.windows:
        imports = [parts.cudnn_name()] if parts.cudnn else []
        wheel.files["ctranslate2/ctranslate2.dll"] = parts.library("ctranslate2.dll", imports,
                                                                   strings)
        wheel.files[f"ctranslate2/{extension}"] = parts.library(extension, ["ctranslate2.dll"])
        if parts.cudnn:
            wheel.files[f"ctranslate2/{parts.cudnn_name()}"] = parts.cudnn_libraries()[
                parts.cudnn_name()]
        return [wheel]
    _ctranslate2_linux(wheel, parts, extension, strings)
    return [wheel]


def _ctranslate2_linux(wheel: Wheel, parts: Parts, extension: str, strings: list[str]) -> None:
    main = f"libctranslate2-{_mangled(parts.version)}.so.{parts.version}"
    imports = []
    if parts.cudnn:
        release = ".".join(parts.cudnn.split(".")[:3])
        shim = f"libcudnn-{_mangled(parts.cudnn)}.so.{release}"
        original = cudnn.library(parts.cudnn_name(), parts.cudnn, parts.cuda_major,
                                 platform="linux")
        renamed = Library(**{**original.__dict__, "name": shim})
        wheel.files[f"ctranslate2.libs/{shim}"] = parts.host.build(renamed)
        imports = [shim]
    wheel.files[f"ctranslate2.libs/{main}"] = parts.library(main, imports, strings,
                                                           rpath="$ORIGIN")
    wheel.files[f"ctranslate2/{extension}"] = parts.library(
        extension, [main], rpath="$ORIGIN/../ctranslate2.libs")


def _mangled(text: str) -> str:
    """auditwheel puts eight digits of the file's hash into its name."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def paddle(host: Host, environment: str, wanted: dict) -> list[Wheel]:
    """Bundled cuDNN in paddle\\libs before 2.5; since then it loads one by name."""
    parts = Parts(host, environment, wanted)
    wheel = parts.wheel("paddlepaddle-gpu" if parts.cuda else "paddlepaddle")
    wheel.files["paddle/__init__.py"] = b""
    wheel.files["paddle/version/__init__.py"] = (
        f"full_version = '{parts.version}'\ncuda_version = '{parts.cuda or False}'\n"
        f"cudnn_version = '{parts.cudnn or False}'\n").encode()
    package = "base" if parts.release >= (2, 6) else "fluid"
    name = "libpaddle" + (".pyd" if parts.windows else ".so")
    strings = [parts.cudnn_name()] if parts.cuda and parts.cudnn else []
    wheel.files[f"paddle/{package}/{name}"] = parts.library(name, strings=strings)
    if strings and parts.release < (2, 5) and len(parse_version(parts.cudnn)) >= 3:
        _bundle(wheel, "paddle/libs", parts)
    elif strings and not parts.windows:
        wheel.requires.append(f"nvidia-cudnn-cu{parts.cuda_major}=={parts.cudnn}; "
                              'platform_system == "Linux"')
    return [wheel]


def cupy(host: Host, environment: str, wanted: dict) -> list[Wheel]:
    """Up to 13 its cuDNN module imports the entry library; before 9 the wheel brought one along."""
    parts = Parts(host, environment, wanted)
    flavour = "111" if parts.cuda_major is None else f"{parts.cuda_major}x" \
        if parts.release >= (11,) else parts.cuda.replace(".", "")
    wheel = parts.wheel(f"cupy-cuda{flavour}")
    wheel.files["cupy/__init__.py"] = b""
    wheel.files["cupy/_version.py"] = f"__version__ = '{parts.version}'\n".encode()
    uses_cudnn = parts.cudnn is not None and parts.release < (14,)
    about = {"cuda": parts.cuda, "packaging": "pip"}
    if uses_cudnn:
        about["cudnn"] = {"version": parts.cudnn, "filenames": [parts.cudnn_name()]}
        module = f"cudnn{parts.suffix}"
        wheel.files[f"cupy_backends/cuda/libs/{module}"] = parts.library(module,
                                                                        [parts.cudnn_name()])
        if parts.release < (9,) and len(parse_version(parts.cudnn)) >= 3:
            for name, data in parts.cudnn_libraries().items():
                wheel.files[f"cupy/.data/lib/{name}"] = data
    wheel.files["cupy/.data/_wheel.json"] = json.dumps(about).encode()
    return [wheel]


WHEELS = {"torch": torch, "onnxruntime-gpu": onnxruntime, "tensorflow": tensorflow, "jax": jax,
          "ctranslate2": ctranslate2, "paddle": paddle, "cupy": cupy}
