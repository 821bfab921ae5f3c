"""Kernels compiled beforehand: ``warmup`` leaves nothing to compile, and later processes only load."""

import json

import pytest

from processes import run


@pytest.mark.long
def test_warmup_leaves_nothing_to_compile(tmp_path):
    """In a new installation: no method, loss, penalty, storage or form needs a kernel that is not compiled yet.

    The fits run in a later process, which does without numba's compiler: its registries are not even filled.
    """
    run("-c", "from sparsest.warming import warmup; warmup()", SPARSEST_CACHE_DIR=str(tmp_path))
    assert json.loads(run("warmed.py", SPARSEST_CACHE_DIR=str(tmp_path))) == {"compiled": [], "registries": []}
