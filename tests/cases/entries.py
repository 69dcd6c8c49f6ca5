"""Makes the entries of a case's `files`: one function per kind of entry in FORMAT.md."""

from __future__ import annotations

from synth import cudnn, headers, other

from . import packages, pythons, toolkit
from .host import Host, Unavailable, cache_directory


def make_all(host: Host, files: list[dict]) -> None:
    for entry in files:
        place = entry.get("dir") or entry.get("path")
        kind = next(key for key in entry if key not in ("dir", "path"))
        MAKERS[kind](host, place, entry[kind], "dir" in entry)


def make_cudnn(host: Host, directory: str, wanted: dict, is_dir: bool) -> None:
    """A whole set; on Linux with the version links of NVIDIA's archives and Debian packages."""
    libraries = cudnn.runtime_set(
        wanted["version"], wanted.get("cuda"), host.platform, wanted.get("arch", "x86_64"),
        wanted.get("omit", ()), wanted.get("only"))
    for name, library in libraries.items():
        if host.is_windows:
            host.write_library(directory, name, library)
            continue
        real, links = cudnn.versioned_links(name, wanted["version"])
        host.write_library(directory, real, library)
        for link, target in links.items():
            host.tree.link(host.tree.join(directory, link), target)


def make_library(host: Host, path: str, wanted: dict, is_dir: bool) -> None:
    name, version, arch = wanted["as"], wanted.get("version"), wanted.get("arch", "x86_64")
    if cudnn.parse_name(name) is not None:
        if version is None:
            raise ValueError(f"'{name}' needs a version")
        library = cudnn.library(name, version, wanted.get("cuda"), arch, host.platform)
    else:
        library = other.plain(name, version, arch, platform=host.platform)
    if "imports" in wanted:
        imports = other.imports_of(wanted["imports"])
        library = type(library)(**{**library.__dict__, "imports": imports})
    host.tree.write(path, host.build(library), 0o755)


def make_headers(host: Host, directory: str, wanted: dict, is_dir: bool) -> None:
    for name, text in headers.header_set(wanted["version"]).items():
        host.write_text(directory, name, text)


def make_import_libraries(host: Host, directory: str, wanted: dict, is_dir: bool) -> None:
    for name, data in headers.import_library_set(wanted["generation"], host.platform).items():
        host.tree.write(host.tree.join(directory, name), data)


def make_real(host: Host, place: str, wanted: str, is_dir: bool) -> None:
    """NVIDIA's own files, copied: a case must not be able to alter the fetched ones."""
    source, _, file_name = wanted.partition(":")
    name, _, version = source.partition("==")
    tag = "win_amd64" if host.is_windows else "linux_x86_64"
    wheel = cache_directory() / "wheels" / f"{name}-{version}-{tag}"
    folder = wheel / "nvidia" / "cudnn" / ("bin" if host.is_windows else "lib")
    libraries = sorted(path for path in folder.glob("*") if ".so" in path.name
                       or path.suffix == ".dll")
    if not libraries:
        raise Unavailable(f"{source} for {tag} has not been fetched")
    if is_dir:
        for library in libraries:
            host.tree.copy_in(host.tree.join(place, library.name), library)
        return
    if folder / file_name not in libraries:
        raise ValueError(f"{source} has no '{file_name}'")
    host.tree.copy_in(place, folder / file_name)


def make_text(host: Host, path: str, wanted: str, is_dir: bool) -> None:
    host.tree.write(path, wanted.encode())


def make_hex(host: Host, path: str, wanted: str, is_dir: bool) -> None:
    host.tree.write(path, bytes.fromhex(wanted))


def truncate(host: Host, path: str, size: int, is_dir: bool) -> None:
    data = host.tree.read(path)
    if size > len(data):
        raise ValueError(f"'{path}' has {len(data)} bytes, fewer than {size}")
    host.tree.replace(path, data[:size])


def append_hex(host: Host, path: str, wanted: str, is_dir: bool) -> None:
    host.tree.replace(path, host.tree.read(path) + bytes.fromhex(wanted))


def delete(host: Host, path: str, wanted: bool, is_dir: bool) -> None:
    host.tree.remove(path)


def copy_of(host: Host, path: str, source: str, is_dir: bool) -> None:
    host.tree.copy(path, source)


def make_link(host: Host, path: str, target: str, is_dir: bool) -> None:
    host.tree.link(path, target)


def deny_read(host: Host, directory: str, wanted: bool, is_dir: bool) -> None:
    """Remembered only: later entries must still be able to put files there."""
    host.tree.make_dir(directory)
    host.denied.append(directory)


def apply_denials(host: Host) -> None:
    for directory in host.denied:
        host.tree.host(directory, follow=True).chmod(0)


def lift_denials(host: Host) -> None:
    for directory in host.denied:
        at = host.tree.host(directory, follow=True)
        if at.exists():
            at.chmod(0o755)


MAKERS = {
    "cudnn": make_cudnn,
    "library": make_library,
    "headers": make_headers,
    "import_libraries": make_import_libraries,
    "toolkit": toolkit.make,
    "python": pythons.make,
    "package": packages.make,
    "text": make_text,
    "hex": make_hex,
    "truncate": truncate,
    "append_hex": append_hex,
    "delete": delete,
    "copy_of": copy_of,
    "link": make_link,
    "deny_read": deny_read,
    "real": make_real,
}
