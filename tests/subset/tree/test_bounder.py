"""What all bounders share: columns that are copied while there is time, and what open nodes keep."""

from itertools import count

import numpy as np
import pytest
import scipy.sparse as sp

from samples import sample
from sparsest.core.problem import make_problem
from sparsest.subset.tree.bounder import OutOfTime, WarmStart, pack


@pytest.mark.parametrize("storage", [np.asarray, sp.csc_array])
@pytest.mark.parametrize("bytes_at_once", [1, 8 * 20 * 2, 1 << 24])
def test_packed_columns(storage, bytes_at_once):
    X, y = sample("squared", 20, 9)
    problem, features = make_problem(storage(X), y, 3, standardize=True), np.array([7, 0, 4])
    columns = pack(problem, features, lambda: False, bytes_at_once=bytes_at_once)
    assert columns.flags.f_contiguous and columns.dtype == np.float64
    np.testing.assert_array_equal(columns, problem.design.columns(features))


def test_columns_are_copied_only_while_there_is_time():
    X, y = sample("squared", 20, 9)
    problem = make_problem(X, y, 3)
    looks = count()
    with pytest.raises(OutOfTime):
        pack(problem, np.arange(9), lambda: next(looks) == 2, bytes_at_once=8 * 20 * 2)
    assert next(looks) == 3


def test_memory_of_a_start():
    positions = np.arange(3)
    assert WarmStart(positions, np.ones(3), 0.0).nbytes() == 3 * 16
    assert WarmStart(positions, np.ones(3), 0.0, alpha=np.ones(10), u=np.ones(7)).nbytes() == 3 * 16 + 8 * 17
