"""The parts of a proof: what memory they take, and which lists of columns they may name."""

import numpy as np
import pytest

from proofs.helpers import indices
from sparsest.proofs.steps import DualPoint, PrimalPoint, Proof, SplitPoint, is_column_set


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memory_of_points(dtype):
    values, size = np.ones(5, dtype=dtype), np.dtype(dtype).itemsize
    assert DualPoint(values).nbytes() == 5 * size
    features = np.arange(5, dtype=np.int32)
    assert PrimalPoint(features, values, 0.5).nbytes() == SplitPoint(features, values, 0).nbytes() == 5 * (4 + size)


@pytest.mark.parametrize(
    ("features", "holds"),
    [
        (indices(), True),
        (indices(0), True),
        (indices(4, 0, 2), True),
        (indices(0, 5), False),
        (indices(-1, 2), False),
        (indices(2, 0, 2), False),
        (np.array([[0, 1]]), False),
        (np.array(3), False),
    ],
    ids=str,
)
def test_sets_of_columns(features, holds):
    assert is_column_set(features, 5) is holds


def test_a_proof_may_do_without_points_splits_and_prices():
    assert Proof(()) == ((), (), (), ())
