"""Data that are read by rows: the same sums, fingerprints and verdicts as of the matrix, in one pass."""

import numpy as np
import pytest

from checks import best_subset
from proofs.helpers import rule_of
from proofs.test_data import data_of
from samples import sample
from sparsest.proofs.data import Data
from sparsest.proofs.fingerprint import fingerprint
from sparsest.proofs.reading import RowBlocks
from sparsest.proofs.row_blocks import row_sums

# More columns than are converted at a time.
P = 600


class Counted:
    """Blocks of rows, and how many rows were read."""

    def __init__(self, X, height=7):
        self.X, self.n_read = X, 0
        self.blocks = RowBlocks(X.shape, self._read, height)

    def _read(self, begin, end):
        self.n_read += end - begin
        return self.X[begin:end]


@pytest.mark.parametrize("shifted", [False, True])
def test_sums(shifted):
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((20, P)), 3).astype(np.float32)
    weights = np.where(np.arange(20) % 5 == 2, 0.0, rng.uniform(0.5, 2.0, 20))
    kept = np.flatnonzero(weights)
    counted = Counted(X)
    data = data_of(counted.blocks, np.arange(20.0), weights)
    rows = rng.standard_normal((3, kept.size))
    products, squares, _ = row_sums(data, rows, shifted=shifted, keys=None)
    values = X[kept].astype(float) - (X[kept[0]].astype(float) if shifted else 0.0)
    np.testing.assert_allclose(products, rows @ values, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(squares, weights[kept] @ values**2, rtol=1e-12)
    assert counted.n_read == 20


@pytest.mark.parametrize("weighted", [False, True])
def test_the_fingerprint_is_that_of_the_columns(weighted):
    X, y = sample("squared", 30, P)
    X[3, 2] = -0.0
    weights = np.where(np.arange(30) < 4, 0.0, 1.0) if weighted else None
    rule = rule_of("squared")
    by_rows, by_columns = (fingerprint(Data(matrix, y, weights, rule, True, True)) for matrix in (Counted(X).blocks, X))
    assert by_rows == by_columns


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_proof_of_one_leaf_is_verified_in_one_pass(loss):
    X, y = sample(loss, 60, 12)
    result = best_subset(X, y, k=3, loss=loss, method="relaxation", options={"fixing": False})
    counted = Counted(X)
    assert result.certificate.verify(counted.blocks, y)
    assert counted.n_read == 60
    wrong = X.copy()
    wrong[5, 5] += 1e-9
    assert not result.certificate.verify(Counted(wrong).blocks, y)


def test_columns_that_are_wanted_are_kept_by_a_pass():
    X = np.arange(10.0 * P).reshape(10, P)
    counted = Counted(X, 3)
    data = data_of(counted.blocks, np.arange(10.0), np.where(np.arange(10) == 4, 0.0, 1.0))
    data.want(np.array([4, 1, P + 70, -1]))
    row_sums(data, np.empty((0, 9)), shifted=True, keys=None)
    kept = np.delete(X, 4, axis=0)
    assert np.array_equal(data.raw(np.array([1])), kept[:, [1]]) and counted.n_read == 10
    assert np.array_equal(data.raw(np.array([1, 4, 1])), kept[:, [1, 4, 1]]) and counted.n_read == 10
    assert np.array_equal(data.raw(np.array([1, 2])), kept[:, [1, 2]]) and counted.n_read == 20


def test_a_proof_by_the_tree_is_verified():
    X, y = sample("squared", 60, 12)
    result = best_subset(X, y, k=3)
    assert result.certificate.verify(Counted(X).blocks, y)


def test_entries_that_are_not_finite_are_refused():
    X, y = sample("squared", 60, 12)
    result = best_subset(X, y, k=3, method="relaxation")
    X[50, 3] = np.nan
    verdict = result.certificate.verify(Counted(X).blocks, y)
    assert not verdict and "NaN" in " ".join(verdict.reasons)
