"""How kernels are compiled: once for an installation, kept under a key of all sources, and the same plain."""

import json
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

import compiled
import plain
from processes import run, run_process
from samples import LOSS_NAMES, unusual
from sparsest.core.losses import make_loss
from sparsest.runtime import jit


@pytest.mark.long
def test_kernels_run_uncompiled():
    """Plain Python gives what the compiled kernel gives."""
    uncompiled = json.loads(run("compiled.py", *LOSS_NAMES, NUMBA_DISABLE_JIT="1"))
    assert uncompiled["hits"] == uncompiled["misses"] == 0
    for name in LOSS_NAMES:
        expected = compiled.table(make_loss(name, **unusual(name)))
        np.testing.assert_allclose(uncompiled["values"][name], expected, rtol=1e-14, atol=1e-14)


def test_searches_without_the_compiler():
    """Plain Python finds what the compiled kernels find, the kernels that others call among them."""
    plain_values = json.loads(run("plain.py", NUMBA_DISABLE_JIT="1"))
    np.testing.assert_allclose(plain_values, plain.found(), rtol=1e-5, atol=1e-6)


def test_kernels_are_cached_across_processes(tmp_path):
    first = json.loads(run("compiled.py", "logistic", SPARSEST_CACHE_DIR=str(tmp_path)))
    second = json.loads(run("compiled.py", "logistic", SPARSEST_CACHE_DIR=str(tmp_path)))
    assert (first["hits"], first["misses"]) == (0, 1)
    assert (second["hits"], second["misses"]) == (1, 0)
    assert first["values"] == second["values"]


def test_compiling_is_announced_once(tmp_path):
    """One line in the process that compiles, however much it compiles; none in the next process."""
    code = (
        "import numpy as np; from sparsest.core.kernels.selection import largest_sum;"
        "from sparsest.subset.relaxation.kernels.fista import gradient_product;"
        "x = np.ones(3); gradient_product(np.eye(3), x, x.copy()); largest_sum(x, 2)"
    )
    first, second = (run_process("-c", code, SPARSEST_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first.stdout == second.stdout == second.stderr == ""
    assert first.stderr.count("\n") == 1 and first.stderr.startswith("sparsest: compiling the numerical kernels")


def test_cache_directory_that_cannot_be_made(tmp_path):
    """A file in its place sends the cache to the directory for temporary files."""
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    code = "from sparsest.runtime.jit import cache_directory; print(cache_directory())"
    directory = Path(run("-c", code, SPARSEST_CACHE_DIR=str(blocked), TMPDIR=str(tmp_path)).strip())
    assert directory.is_dir() and directory.parent == tmp_path and directory.name.startswith("sparsest-")


def test_the_cache_is_kept_under_a_key_of_the_sources(tmp_path):
    """The same sources share a directory; a change in any compiled file makes another."""
    code = """
import shutil, sys
from pathlib import Path
import sparsest
package = Path(sparsest.__file__).parent
copy = Path(sys.argv[1]) / "sparsest"
shutil.copytree(package, copy)
changed = copy / sys.argv[2]
changed.write_text(changed.read_text() + "# another line\\n")
"""
    where = "from sparsest.runtime.jit import cache_directory; print(cache_directory().name)"
    usual = run("-c", where, SPARSEST_CACHE_DIR=str(tmp_path)).strip()
    for name, differs in (
        ("core/losses/offsets.py", True),
        ("subset/tree/kernels/leaps.py", True),
        ("metrics.py", False),
    ):
        home = tmp_path / name.replace("/", "-")
        home.mkdir()
        run("-c", code, str(home), name)
        other = run("-c", where, SPARSEST_CACHE_DIR=str(tmp_path), PYTHONPATH=str(home)).strip()
        assert (other != usual) is differs, name


class Doubled(NamedTuple):
    """A class with methods of the names that kernels dispatch on."""

    factor: float

    def value(self, y, u):
        return self.factor * (y + u)


@jit.kernel
def call_value(thing, y, u):
    return jit.value(thing, y, u)


def test_a_function_calls_the_method_of_its_name(run):
    """For any NamedTuple, compiled for each class by itself."""
    assert run(call_value)(Doubled(2.0), 1.0, 3.0) == 8.0
    assert run(call_value)(make_loss("squared"), 1.0, 3.0) == 2.0


def test_compiling_seconds(monkeypatch):
    """The time during which any thread holds the compiler, once however often it is asked for."""
    now, before = [100.0], jit.compiling_seconds()
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    with global_compiler_lock:
        now[0] += 3.0
        with global_compiler_lock:
            now[0] += 4.0
        assert jit.compiling_seconds() - before == pytest.approx(7.0)
    now[0] += 50.0
    assert jit.compiling_seconds() - before == pytest.approx(7.0)
