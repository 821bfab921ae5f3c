"""The package as a whole: what importing it loads, its names, and its kernels with and without the compiler."""

import ast
import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import compiled
import sparsest
from samples import LOSS_NAMES, unusual
from sparsest.losses import make_loss

HEAVY = ("numba", "sklearn", "matplotlib", "rich", "typer", "pandas", "highspy")
TESTS = Path(__file__).parent


def run(*arguments, **environment):
    """Run Python in a new process, warnings as errors, and return what it prints."""
    command = [sys.executable, "-W", "error", *arguments]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, cwd=TESTS)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_nothing_heavy():
    loaded = run("-c", f"import sys, sparsest; print([name for name in {HEAVY} if name in sys.modules])")
    assert loaded.strip() == "[]"


def test_public_names_resolve():
    assert sorted(sparsest.__all__) == list(sparsest.__all__)
    for name in sparsest.__all__:
        public = getattr(sparsest, name)
        # A module has a dotted name of its own, anything else says where it was defined.
        assert public.__name__ == name or public.__name__ == f"sparsest.{name}"
        assert getattr(public, "__module__", public.__name__).split(".")[0] == "sparsest"
    assert set(sparsest.__all__) <= set(dir(sparsest))
    with pytest.raises(AttributeError, match="module 'sparsest' has no attribute 'worst_subset'"):
        _ = sparsest.worst_subset


def test_version_is_that_of_the_metadata():
    assert sparsest.__version__ == version("sparsest")


def test_kernels_run_uncompiled():
    """Plain Python gives what the compiled kernel gives."""
    plain = json.loads(run("compiled.py", *LOSS_NAMES, NUMBA_DISABLE_JIT="1"))
    assert plain["hits"] == plain["misses"] == 0
    for name in LOSS_NAMES:
        expected = compiled.table(make_loss(name, **unusual(name)))
        np.testing.assert_allclose(plain["values"][name], expected, rtol=1e-14, atol=1e-14)


def test_kernels_are_cached_across_processes(tmp_path):
    first = json.loads(run("compiled.py", "logistic", SPARSEST_CACHE_DIR=str(tmp_path)))
    second = json.loads(run("compiled.py", "logistic", SPARSEST_CACHE_DIR=str(tmp_path)))
    assert (first["hits"], first["misses"]) == (0, 1)
    assert (second["hits"], second["misses"]) == (1, 0)
    assert first["values"] == second["values"]


def test_warmup_leaves_nothing_to_compile(tmp_path):
    """In a new installation: no method, loss, penalty, storage or form needs a kernel that is not compiled yet."""
    assert json.loads(run("warmed.py", SPARSEST_CACHE_DIR=str(tmp_path))) == []


def test_cache_directory_that_cannot_be_made(tmp_path):
    """A file in its place sends the cache to the directory for temporary files."""
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    code = "from sparsest.kernels.jit import cache_directory; print(cache_directory())"
    directory = Path(run("-c", code, SPARSEST_CACHE_DIR=str(blocked), TMPDIR=str(tmp_path)).strip())
    assert directory.is_dir() and directory.parent == tmp_path and directory.name.startswith("sparsest-")


def listed(folder, depth=0):
    """Modules below a folder with the first lines of their docstrings, files before folders."""
    for path in sorted(folder.iterdir(), key=lambda path: (path.is_dir(), path.name)):
        source = path / "__init__.py" if path.is_dir() else path
        if path.name.startswith("__") or source.suffix != ".py" or not source.exists():
            continue
        name = "  " * depth + path.stem + "/" * path.is_dir()
        yield name, ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))).splitlines()[0].rstrip(".")
        if path.is_dir():
            yield from listed(path, depth + 1)


def test_contributing_lists_every_module():
    modules = list(listed(Path(sparsest.__file__).parent))
    guide = (TESTS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    text = guide.split("```text\n")[1].split("```")[0]
    width = max(len(name) for name, _ in modules) + 2
    assert text.splitlines() == [f"{name:<{width}}{purpose}" for name, purpose in modules]
