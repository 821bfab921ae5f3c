"""Grids of blocks of this process, and passes of the checker over them."""

import numpy as np
import pytest

from sparsest.proofs.columns import AllColumns
from sparsest.proofs.data import Data
from sparsest.proofs.fingerprint import fingerprint
from sparsest.proofs.grid import ArrayGrid, Call, is_sequence_of_matrices, row_chunks
from sparsest.proofs.losses import RULES

N, P = 12, 5
CUTS = {"whole": ([], []), "columns": ([], [1, 4]), "rows": ([2, 7], []), "both": ([3], [2, 3])}


def grid(X, cuts):
    rows, columns = CUTS[cuts]
    return ArrayGrid([np.split(part, columns, axis=1) for part in np.split(X, rows)])


@pytest.mark.parametrize("cuts", CUTS)
def test_columns_rows_and_calls(cuts):
    X = np.random.default_rng(0).standard_normal((N, P))
    blocks = grid(X, cuts)
    index = np.array([4, 0, 4, 2])
    assert blocks.shape == X.shape and np.array_equal(blocks.gather(index), X[:, index])
    assert all(np.array_equal(blocks.gather_row(i), X[i]) for i in range(N))
    calls = [Call(i, j, j) for i in range(blocks.size[0]) for j in range(blocks.size[1])]
    found = blocks.run(lambda block, shared, own: (block.sum(), shared, own), calls, list("abc"))
    for (i, j, _), (total, shared, own) in zip(calls, found, strict=True):
        assert total == X[blocks.row_slices[i], blocks.column_slices[j]].sum() and shared == "abc"[i] and own == j


@pytest.mark.parametrize("weights", [None, "integers", "first zero"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("cuts", CUTS)
def test_passes_are_those_over_the_array(cuts, fit_intercept, weights):
    """Entries are small integers: sums are exact in any order."""
    rng = np.random.default_rng(1)
    X, y = rng.integers(-9, 10, (N, P)).astype(np.int16), rng.integers(-9, 10, N)
    weights = {"integers": rng.integers(1, 4, N), "first zero": np.array([0] * 8 + [1] * 4), None: None}[weights]
    n = N if weights is None else np.count_nonzero(weights)
    vectors = rng.integers(-9, 10, (n, 3)).astype(float)
    found = []
    for given in (X, grid(X, cuts)):
        data = Data(given, y, weights, RULES["squared"](), fit_intercept, True)
        columns = AllColumns(data)
        found.append((columns.products(vectors), *columns.bounds, np.array(fingerprint(data))))
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)


def test_blocks_that_do_not_fit_together():
    X = np.zeros((4, 3))
    for bad in ([[X], [X[:, 1:]]], [[X, X[1:]]], [[X], [X.astype(np.float32)]]):
        with pytest.raises(ValueError, match=r"block \(\d, \d\) has shape"):
            ArrayGrid(bad)


def test_sequences_of_matrices():
    X = np.zeros((4, 3))
    assert is_sequence_of_matrices([X]) and is_sequence_of_matrices((X, X))
    assert not any(is_sequence_of_matrices(other) for other in (X, [], [[0.0, 1.0]], [X[0]], [X, 1.0]))
    assert row_chunks([X[:1], X[:0], X]).shape == (5, 3)
