"""Python interpreters and environments: python.org homes, venvs, conda, the embeddable zip."""

from __future__ import annotations

import json

from synth import other

from .host import Host, python_release


def make(host: Host, root: str, wanted: dict, is_dir: bool) -> None:
    version = wanted["version"]
    host.pythons[host.key(root)] = version
    KINDS[wanted["kind"]](host, root, version, wanted.get("base"))


def _make_home(host: Host, root: str, version: str, base: str | None) -> None:
    """python.org's installer, which also writes the registry; on Linux a prefix such as /usr."""
    _interpreter(host, root, version)
    _standard_library(host, root, version)
    if host.is_windows:
        company = f"HKLM\\SOFTWARE\\Python\\PythonCore\\{python_release(version)}"
        host.registry[f"{company}\\InstallPath"] = {
            "": root.rstrip("\\") + "\\",
            "ExecutablePath": host.tree.join(root, "python.exe"),
        }


def _make_venv(host: Host, root: str, version: str, base: str | None) -> None:
    programs = host.tree.join(root, "Scripts" if host.is_windows else "bin")
    base = base or ("C:\\Python311" if host.is_windows else "/usr")
    home = base if host.is_windows else host.tree.join(base, "bin")
    executable = host.tree.join(home, "python.exe" if host.is_windows
                                else f"python{python_release(version)}")
    host.write_text(root, "pyvenv.cfg", f"home = {home}\ninclude-system-site-packages = false\n"
                    f"version = {version}\nexecutable = {executable}\n"
                    f"command = {executable} -m venv {root}\n")
    _activation(host, programs)
    if host.is_windows:
        _program(host, programs, "python.exe", version)
    else:
        host.tree.link(host.tree.join(programs, "python"), executable)
        host.tree.link(host.tree.join(programs, "python3"), "python")
    host.tree.make_dir(host.site_packages(root))


def _make_conda(host: Host, root: str, version: str, base: str | None) -> None:
    """With a base: one of its environments. Without: the base itself, which holds conda."""
    _interpreter(host, root, version)
    _standard_library(host, root, version)
    record(host, root, "python", version, "h0000000_0", [], {})
    host.write_text(host.tree.join(root, "conda-meta"), "history", "==> 2024-01-01 00:00:00 <==\n")
    if base is None:
        record(host, root, "conda", "24.5.0", "py_0", [], {})
        scripts = host.tree.join(root, "Scripts" if host.is_windows else "bin")
        if host.is_windows:
            _program(host, scripts, "conda.exe", "24.5.0.0")
            host.write_text(host.tree.join(root, "condabin"), "conda.bat", "@echo off\r\n")
        else:
            host.write_text(scripts, "conda", "#!/bin/sh\n", 0o755)
        host.tree.make_dir(host.tree.join(root, "envs"))


def _make_embed(host: Host, root: str, version: str, base: str | None) -> None:
    """The embeddable zip: no Lib, a ._pth file instead; only Windows has it."""
    if not host.is_windows:
        raise ValueError("the embeddable Python exists on Windows only")
    _interpreter(host, root, version)
    tag = f"python{python_release(version).replace('.', '')}"
    host.write_text(root, f"{tag}._pth", f"{tag}.zip\r\n.\r\nLib\\site-packages\r\nimport site\r\n")
    host.tree.write(host.tree.join(root, f"{tag}.zip"), b"PK\x05\x06" + bytes(18))


def _interpreter(host: Host, root: str, version: str) -> None:
    release = python_release(version)
    if host.is_windows:
        dll = f"python{release.replace('.', '')}.dll"
        host.write_library(root, dll, other.plain(dll, f"{version}.0", product="Python"))
        _program(host, root, "python.exe", f"{version}.0", [dll])
        return
    programs = host.tree.join(root, "bin")
    _program(host, programs, f"python{release}", version)
    host.tree.link(host.tree.join(programs, "python3"), f"python{release}")


def _program(host: Host, directory: str, name: str, version: str, imports: list[str] = ()) -> None:
    program = other.plain(name, version, imports=imports, product="Python",
                          platform=host.platform, program=True)
    host.write_library(directory, name, program)


def _standard_library(host: Host, root: str, version: str) -> None:
    library = host.tree.parent(host.site_packages(root))
    host.write_text(library, "os.py", "# Synthesised for tests.\n")
    host.tree.make_dir(host.site_packages(root))


def _activation(host: Host, programs: str) -> None:
    name = "activate.bat" if host.is_windows else "activate"
    host.write_text(programs, name, "rem venv\r\n" if host.is_windows else "# venv\n")


def record(host: Host, root: str, name: str, version: str, build: str, depends: list[str],
           files: dict[str, dict]) -> None:
    """conda's own note of an installed package; `files`: path from the root -> sha256, size."""
    document = {
        "name": name,
        "version": version,
        "build": build,
        "build_number": 0,
        "channel": "https://conda.anaconda.org/conda-forge/"
                   + ("win-64" if host.is_windows else "linux-64"),
        "subdir": "win-64" if host.is_windows else "linux-64",
        "fn": f"{name}-{version}-{build}.conda",
        "depends": depends,
        "files": list(files),
        "paths_data": {
            "paths": [{"_path": path, "path_type": facts.get("type", "hardlink"),
                       "sha256": facts["sha256"], "sha256_in_prefix": facts["sha256"],
                       "size_in_bytes": facts["size"]} for path, facts in files.items()],
            "paths_version": 1,
        },
    }
    host.write_text(host.tree.join(root, "conda-meta"), f"{name}-{version}-{build}.json",
                    json.dumps(document, indent=2) + "\n")


KINDS = {"python": _make_home, "venv": _make_venv, "conda": _make_conda, "embed": _make_embed}
