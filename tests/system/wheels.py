"""NVIDIA's real files, as scripts/fetch_cudnn unpacked them."""
import os
import pathlib

import pytest

WHEELS = pathlib.Path(os.environ.get(
    "CUDNND_TEST_WHEELS",
    pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"))
    / "cudnnd" / "wheels"))


def wheel(name: str) -> pathlib.Path:
    """The directory of nvidia/cudnn in a wheel; the test is skipped when it was not fetched."""
    directory = WHEELS / name / "nvidia" / "cudnn"
    if not directory.is_dir():
        pytest.skip(f"{name} was not fetched (scripts/fetch_cudnn)")
    return directory
