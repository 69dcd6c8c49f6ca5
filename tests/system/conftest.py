"""System tests start the real programs on free ports in temporary directories, and end only their
own children."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from system.program import LINUX, WINDOWS, Service, build_of  # noqa: E402
from system.wine import Wine  # noqa: E402


@pytest.fixture
def linux():
    """The directory of the native build."""
    if not (LINUX / "cudnnd").exists():
        pytest.fail(f"{LINUX} is not built (make)")
    return LINUX


@pytest.fixture
def service(tmp_path):
    """A factory of services; those still running are killed at the end."""
    started = []

    def start(**options) -> Service:
        one = Service(build_of(LINUX), tmp_path, **options)
        started.append(one)
        return one

    yield start
    for one in started:
        one.kill()


@pytest.fixture(scope="session")
def wine(tmp_path_factory):
    """A Wine prefix of its own; its server is ended at the end."""
    prefix = Wine(tmp_path_factory.mktemp("wine"))
    if not prefix.available:
        pytest.skip("wine is not installed")
    if not (WINDOWS / "cudnnd.exe").exists():
        pytest.fail(f"{WINDOWS} is not built (make windows)")
    prefix.create()
    yield prefix
    prefix.end()
