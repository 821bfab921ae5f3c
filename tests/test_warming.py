"""Kernels compiled beforehand: ``warmup`` leaves nothing to compile, and later processes only load."""

import json
import os
import shutil

import pytest

from processes import run


@pytest.mark.long
def test_warmup_leaves_nothing_to_compile(tmp_path):
    """In a new installation: no method, loss, penalty, storage or form needs a kernel that is not compiled yet.

    The fits run in a later process, which does without numba's compiler: its registries are not even filled.
    ``.ci/run`` calls ``warmup`` before the tests, and names a copy of what it has compiled.
    """
    warmed = os.environ.get("SPARSEST_WARMED")
    if warmed:
        shutil.copytree(warmed, tmp_path, dirs_exist_ok=True)
    else:
        run("-c", "from sparsest.warming import warmup; warmup()", SPARSEST_CACHE_DIR=str(tmp_path))
    assert json.loads(run("warmed.py", SPARSEST_CACHE_DIR=str(tmp_path))) == {"compiled": [], "registries": []}
