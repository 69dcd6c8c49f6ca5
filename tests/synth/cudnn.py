"""cuDNN's own libraries, as NVIDIA ships them, in miniature.

Every row was read in real files (wheels 8.9.7.29, 9.5.0.50, 9.19.0.56, 9.28.1.4): who imports
whom, who has a version resource, which names are plain strings because they are loaded by name at
run time. What differs between releases is in functions named after the difference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from . import elf, pe
from .model import Library, parse_version


@dataclass(frozen=True)
class Component:
    """One library of a generation; `title` None = shipped without a version resource."""

    stem: str
    title: str | None = None
    version_export: str | None = None
    imports: tuple[str, ...] = ()
    loads: tuple[str, ...] = ()
    cublas: tuple[str, ...] = ()
    zlib_name: bool = False
    nvrtc: str | None = None
    functions: tuple[str, ...] = ()
    since: tuple[int, ...] = ()


CORE = ("cudnnGetVersion", "cudnnGetCudartVersion", "cudnnGetMaxDeviceVersion",
        "cudnnGetErrorString", "cudnnGetProperty", "cudnnCreate", "cudnnDestroy")
BACKEND = ("cudnnBackendCreateDescriptor", "cudnnBackendDestroyDescriptor", "cudnnBackendFinalize",
           "cudnnBackendSetAttribute", "cudnnBackendGetAttribute", "cudnnBackendExecute")
CONVOLUTION = ("cudnnConvolutionForward", "cudnnGetConvolutionForwardWorkspaceSize",
               "cudnnCreateConvolutionDescriptor", "cudnnDestroyConvolutionDescriptor")
OPS = ("cudnnCreateTensorDescriptor", "cudnnSetTensor4dDescriptor", "cudnnDestroyTensorDescriptor",
       "cudnnActivationForward", "cudnnSoftmaxForward")
ADV = ("cudnnRNNForward", "cudnnMultiHeadAttnForward")
CHECKS_8 = tuple(f"cudnn{part}VersionCheck" for part in (
    "OpsInfer", "OpsTrain", "CnnInfer", "CnnTrain", "AdvInfer", "AdvTrain"))
CHECKS_9 = tuple(f"cudnn{part}VersionCheck" for part in ("Graph", "Ops", "Cnn", "Adv"))

GENERATION_7 = (
    Component("cudnn", "NVIDIA cuDNN Library", functions=CORE + OPS + CONVOLUTION),
)
GENERATION_8 = (
    Component("cudnn", "NVIDIA cuDNN Library", zlib_name=True,
              loads=("cudnn_ops_infer", "cudnn_ops_train", "cudnn_cnn_infer", "cudnn_cnn_train",
                     "cudnn_adv_infer", "cudnn_adv_train"),
              functions=CORE + BACKEND + OPS + CONVOLUTION + ADV + CHECKS_8),
    Component("cudnn_ops_infer", "NVIDIA cuDNN Ops Infer Library", "cudnn_ops_infer_version",
              loads=("cudnn_cnn_infer",), cublas=("cublas", "cublasLt"), zlib_name=True,
              nvrtc="pattern", functions=CORE + OPS + CHECKS_8[:1]),
    Component("cudnn_ops_train", "NVIDIA cuDNN Ops Train Library", "cudnn_ops_train_version",
              imports=("cudnn_ops_infer",), functions=CHECKS_8[1:2]),
    Component("cudnn_cnn_infer", "NVIDIA cuDNN CNN Infer Library", "cudnn_cnn_infer_version",
              imports=("cudnn_ops_infer",), loads=("cudnn_cnn_train",), zlib_name=True,
              functions=BACKEND + CONVOLUTION + CHECKS_8[2:3]),
    Component("cudnn_cnn_train", "NVIDIA cuDNN CNN Train Library",
              imports=("cudnn_ops_infer", "cudnn_ops_train", "cudnn_cnn_infer"),
              functions=CHECKS_8[3:4]),
    Component("cudnn_adv_infer", "NVIDIA cuDNN Adv Infer Library", "cudnn_adv_infer_version",
              imports=("cudnn_ops_infer",), functions=ADV + CHECKS_8[4:5]),
    Component("cudnn_adv_train", "NVIDIA cuDNN Adv Train Library",
              imports=("cudnn_ops_infer", "cudnn_ops_train", "cudnn_adv_infer"),
              functions=CHECKS_8[5:6]),
)
GENERATION_9 = (
    Component("cudnn", "NVIDIA cuDNN Library", zlib_name=True,
              loads=("cudnn_graph", "cudnn_ops", "cudnn_cnn", "cudnn_adv"),
              functions=CORE + BACKEND + OPS + CONVOLUTION + ADV + CHECKS_9),
    Component("cudnn_graph", None, "cudnn_graph_version", zlib_name=True, nvrtc="pattern",
              loads=("cudnn_engines_precompiled", "cudnn_engines_runtime_compiled",
                     "cudnn_heuristic", "cudnn_cnn"),
              functions=CORE + BACKEND + CHECKS_9[:1]),
    Component("cudnn_ops", "NVIDIA cuDNN Ops Library", "cudnn_ops_infer_version",
              imports=("cudnn_graph",), functions=OPS + CHECKS_9[1:2]),
    Component("cudnn_cnn", "NVIDIA cuDNN CNN Library",
              imports=("cudnn_ops", "cudnn_graph"), functions=CONVOLUTION + CHECKS_9[2:3]),
    Component("cudnn_adv", "NVIDIA cuDNN Adv Library", "cudnn_adv_infer_version",
              imports=("cudnn_ops", "cudnn_graph"), loads=("cudnn_cnn",), cublas=("cublasLt",),
              zlib_name=True, functions=ADV + CHECKS_9[3:4]),
    Component("cudnn_engines_precompiled", "NVIDIA cuDNN Precompiled Engines Library",
              imports=("cudnn_graph",), loads=("cudnn_cnn",), cublas=("cublasLt",), zlib_name=True,
              nvrtc="exact", functions=("dummyBackendEnginesPreCompiledSymbol",)),
    Component("cudnn_engines_runtime_compiled", "NVIDIA cuDNN ENGINES_RUNTIME_COMPILED Library",
              imports=("cudnn_graph",), functions=("dummyBackendEnginesRuntimeCompiledSymbol",)),
    Component("cudnn_heuristic", None, imports=("cudnn_graph",),
              functions=("dummyHeuristicSymbol",)),
    Component("cudnn_engines_tensor_ir", None, imports=("cudnn_graph",),
              functions=("dummyBackendEnginesTensorIrSymbol",), since=(9, 21)),
    Component("cudnn_ext", "NVIDIA cuDNN Extensions Library",
              functions=("cudnnSubquadraticOpsVersionCheck",), since=(9, 24)),
)
GENERATIONS = {7: GENERATION_7, 8: GENERATION_8, 9: GENERATION_9}

WITHOUT_DRIVER_NAME = ("cudnn", "cudnn_heuristic", "cudnn_engines_tensor_ir", "cudnn_ext")

WINDOWS_NAME = re.compile(r"(cudnn\w*?)64_(\d+)\.dll", re.IGNORECASE)
LINUX_NAME = re.compile(r"lib(cudnn\w*?)\.so(?:\.(\d+)(?:\.\d+)*)?")


def parse_name(name: str) -> tuple[str, int | None] | None:
    """'cudnn_ops64_9.dll' or 'libcudnn_ops.so.9.5.0' -> ('cudnn_ops', 9); None for any other."""
    match = WINDOWS_NAME.fullmatch(name) or LINUX_NAME.fullmatch(name)
    if match is None:
        return None
    return match[1].lower(), int(match[2]) if match[2] else None


def file_name(stem: str, generation: int, platform: str) -> str:
    return f"{stem}64_{generation}.dll" if platform == "windows" else f"lib{stem}.so.{generation}"


def components(version: tuple[int, ...]) -> list[Component]:
    """What a whole runtime of this version consists of."""
    if version[0] not in GENERATIONS:
        raise ValueError(f"no cuDNN generation {version[0]} is known")
    return [row for row in GENERATIONS[version[0]] if row.since <= version]


def default_cuda(version: tuple[int, ...]) -> int:
    return {7: 10, 8: 11}.get(version[0], 12)


def cudnn_version_number(version: tuple[int, ...]) -> int:
    major, minor, patch = version[:3]
    return major * (1000 if major < 9 else 10000) + minor * 100 + patch


def cudart_version(version: tuple[int, ...], cuda: int) -> int:
    """The CUDA runtime linked in; only some pairs are known, the rest answer a plausible one."""
    known = {11: 11080, 12: 12020 if version < (9,) else 12060,
             13: 13010 if version < (9, 28) else 13050}
    return known.get(cuda, cuda * 1000)


def _function_value(name: str, version: tuple[int, ...], cuda: int) -> int | str:
    values = {
        "cudnnGetVersion": cudnn_version_number(version),
        "cudnnGetCudartVersion": cudart_version(version, cuda),
        "cudnnGetMaxDeviceVersion": 900 if version < (9, 7) else 1210,
        "cudnnGetErrorString": "CUDNN_STATUS_SUCCESS",
        "cudnnCreate": 1 if version < (9,) else 1001,
    }
    return values.get(name, 0)


def usual_symbol(stem: str, generation: int) -> str:
    """A symbol that siblings really take from this library: its version export when it has one."""
    for row in GENERATIONS.get(generation, ()):
        if row.stem == stem:
            return row.version_export or row.functions[0]
    return "cudnnGetVersion"


def wheel_runpath(stem: str, version: tuple[int, ...], cuda: int) -> str:
    """The entry library looks beside itself only; the others, for CUDA's wheels as well."""
    if stem == "cudnn":
        return "$ORIGIN"
    if version < (9, 12):
        return "$ORIGIN:$ORIGIN/../../cublas/lib:$ORIGIN/../../nvrtc/lib"
    folders = ("cublas", "cuda_nvrtc", f"cu{cuda}")
    return ":".join(["$ORIGIN", *(f"$ORIGIN/../../{folder}/lib" for folder in folders)])


def _strings(row: Component, version: tuple[int, ...], cuda: int, platform: str) -> list[str]:
    """The names that this library loads at run time, spelled as the real file spells them."""
    windows = platform == "windows"
    generation = version[0]
    loads = list(row.loads)
    if row.stem == "cudnn_graph" and version >= (9, 20):
        loads.append("cudnn_engines_tensor_ir")  # asked for one release before it is shipped
    if row.stem == "cudnn" and version >= (9, 24):
        loads.append("cudnn_ext")
    has_zlib_name = row.zlib_name
    if row.stem == "cudnn_engines_runtime_compiled" and version >= (9, 28):
        loads.append("cudnn_cnn")
        has_zlib_name = True
    # Linux files spell the siblings without the major, which is added at run time.
    found = [file_name(stem, generation, platform) if windows else f"lib{stem}.so"
             for stem in loads]
    found += [f"{name}64_{cuda}.dll" if windows else f"lib{name}.so.{cuda}" for name in row.cublas]
    if windows and has_zlib_name and version >= (8, 3):
        found.append("zlibwapi.dll")
    if row.nvrtc == "pattern":
        found += ["nvrtc64_%d_0.dll"] if windows else ["libnvrtc.so", "libnvrtc.so.%d"]
    if row.nvrtc == "exact" and cuda >= 13:
        found.append(f"nvrtc64_{cuda}0_0.dll" if windows else f"libnvrtc.so.{cuda}")
    if row.stem not in WITHOUT_DRIVER_NAME:
        found.append("nvcuda.dll" if windows else "libcuda.so.1")
    return found


def _imports(row: Component, version: tuple[int, ...], platform: str) -> dict[str, list[str]]:
    generation = version[0]
    imports = {file_name(stem, generation, platform): [usual_symbol(stem, generation)]
               for stem in row.imports}
    if platform == "linux":
        has_zlib = version >= (9, 12) and row.stem != "cudnn"
        if has_zlib or row.stem in ("cudnn_graph", "cudnn_ops_infer"):
            imports["libz.so.1"] = []
        if row.stem == "cudnn_engines_runtime_compiled" and version >= (9, 28):
            imports["libcuda.so.1"] = []
        imports.update({name: [] for name in ("libdl.so.2", "libm.so.6", "libc.so.6")})
    return imports


def _resource(row: Component, name: str, version_text: str) -> dict[str, str] | None:
    if row.title is None:
        return None
    newest = parse_version(version_text) >= (9, 28)
    return {
        "CompanyName": "Windows (R) Win 7 DDK provider" if newest else "NVIDIA Corporation",
        "FileDescription": row.title,
        "FileVersion": version_text,
        "InternalName": row.stem,
        "LegalCopyright": "Synthesised for tests",
        "OriginalFilename": name,
        "ProductName": row.title,
        "ProductVersion": version_text,
    }


def library(name: str, version_text: str, cuda: int | None = None, arch: str = "x86_64",
            platform: str = "windows") -> Library:
    """One cuDNN library of that internal name; a name NVIDIA never shipped is made all the same."""
    version = parse_version(version_text)
    parsed = parse_name(name)
    if parsed is None or len(version) < 3:
        raise ValueError(f"not a cuDNN library with a version: '{name}' {version_text}")
    stem, generation = parsed
    if generation is not None and generation != version[0]:
        raise ValueError(f"'{name}' cannot be of version {version_text}")
    cuda = cuda or default_cuda(version)
    rows = [row for row in GENERATIONS.get(version[0], ()) if row.stem == stem]
    row = rows[0] if rows else Component(stem, f"NVIDIA {stem} Library")
    real_name = file_name(stem, version[0], platform)
    data = {}
    if row.version_export is not None:
        data[row.version_export] = bytes([version[2], version[1], version[0], 0])
    return Library(
        name=real_name,
        arch=arch,
        functions={name: _function_value(name, version, cuda) for name in row.functions},
        data=data,
        imports=_imports(row, version, platform),
        strings=_strings(row, version, cuda, platform),
        resource=_resource(row, real_name, version_text) if platform == "windows" else None,
        version=version,
        runpath=wheel_runpath(stem, version, cuda) if platform == "linux" else None,
    )


def runtime_set(version_text: str, cuda: int | None = None, platform: str = "windows",
                arch: str = "x86_64", omit: list[str] = (), only: list[str] | None = None
                ) -> dict[str, Library]:
    """File name -> library, for a whole runtime less `omit`, or just `only`.

    Names may be spelled for either platform, so that one case can be turned into the other.
    """
    version = parse_version(version_text)
    stems = [row.stem for row in components(version)]
    wanted = _stems(only, stems) if only is not None else stems
    unwanted = _stems(omit, stems)
    names = [file_name(stem, version[0], platform) for stem in stems
             if stem in wanted and stem not in unwanted]
    return {name: library(name, version_text, cuda, arch, platform) for name in names}


def _stems(names: list[str], known: list[str]) -> list[str]:
    stems = [(parse_name(name) or (name, None))[0] for name in names]
    for name, stem in zip(names, stems):
        if stem not in known:
            raise ValueError(f"'{name}' is not part of this cuDNN release")
    return stems


def build(item: Library, platform: str) -> bytes:
    return pe.build(item) if platform == "windows" else elf.build(item)


def versioned_links(name: str, version_text: str) -> tuple[str, dict[str, str]]:
    """NVIDIA's archives and Debian packages: the real file's name, and link name -> target.

    'libcudnn_ops.so.9' -> 'libcudnn_ops.so.9.5.0' with the links .so.9 and .so before it.
    """
    release = ".".join(version_text.split(".")[:3])
    base = name[:name.index(".so")]
    real = f"{base}.so.{release}"
    return real, {name: real, f"{base}.so": name}
