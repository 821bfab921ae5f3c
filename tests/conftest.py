"""Settings and fixtures that all tests share, and the way to data that are not part of the repository."""

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from report import chromium

settings.register_profile("seeded", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("seeded")

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def pytest_configure():
    """Processes of pytest-xdist use all cores: threads of BLAS beside them would only wait for each other."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
            os.environ.setdefault(name, "1")


def pytest_collection_modifyitems(items):
    """Run long tests first, so that no process is still running one when the others have finished."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


def pytest_runtest_setup(item):
    """Skip tests that need files outside of the repository if these are absent; fail them if the files are required."""
    if item.get_closest_marker("shared_data") is not None and not SHARED_DATA.is_dir():
        _lacks("there is no folder ../shared/data beside the repository", "SPARSEST_SHARED_DATA")
    if item.get_closest_marker("chromium") is not None and chromium.PROGRAM is None:
        _lacks("Chromium is not installed", "SPARSEST_CHROMIUM")


def _lacks(reason, variable):
    if os.environ.get(variable) == "required":
        pytest.fail(f"{reason}, and {variable}=required asks for it", pytrace=False)
    pytest.skip(reason)


@pytest.fixture
def shared_data():
    """The folder beside the repository that holds the larger data sets; for tests marked ``shared_data``."""
    return SHARED_DATA


@pytest.fixture
def keyboard():
    """Ctrl-C as at a terminal: a process started in the background ignores it."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """An empty folder of compiled kernels, in place of the usual one."""
    from sparsest.runtime.jit import cache_directory

    monkeypatch.setenv("SPARSEST_CACHE_DIR", str(tmp_path))
    cache_directory.cache_clear()
    yield cache_directory()
    monkeypatch.undo()
    cache_directory.cache_clear()


@pytest.fixture(params=["compiled", "plain"])
def run(request):
    """How to call a kernel: compiled, or the plain function it was compiled from."""
    return (lambda kernel: kernel) if request.param == "compiled" else (lambda kernel: kernel.py_func)
