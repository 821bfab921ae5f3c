"""What all bounders share: columns that are copied while there is time, and what open nodes keep."""

import numpy as np
import pytest
import scipy.sparse as sp

from samples import sample
from sparsest.problem import make_problem
from sparsest.solvers.exact.bounder import OutOfTime, Warm, pack


@pytest.mark.parametrize("storage", [np.asarray, sp.csc_array])
def test_packed_columns(storage):
    X, y = sample("squared", 20, 9)
    problem, features = make_problem(storage(X), y, 3, standardize=True), np.array([7, 0, 4])
    columns = pack(problem, features, lambda: False)
    assert columns.flags.f_contiguous and columns.dtype == np.float64
    np.testing.assert_array_equal(columns, problem.design.columns(features))


def test_columns_are_copied_only_while_there_is_time():
    X, y = sample("squared", 20, 9)
    problem = make_problem(X, y, 3)
    with pytest.raises(OutOfTime):
        pack(problem, np.arange(9), lambda: True)


def test_memory_of_a_start():
    positions = np.arange(3)
    assert Warm(positions, np.ones(3), 0.0).nbytes() == 3 * 16
    assert Warm(positions, np.ones(3), 0.0, alpha=np.ones(10), u=np.ones(7)).nbytes() == 3 * 16 + 8 * 17
