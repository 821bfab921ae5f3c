"""What is given as data: taken exactly in double precision, or refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from core.designs.storages import twice
from sparsest.proofs.reading import ColumnBlocks, RowBlocks, as_exposure, as_labels, as_matrix, as_vector, require_exact


@pytest.mark.parametrize(
    "make",
    [np.asfortranarray, np.float32, lambda X: X.astype(np.int8), lambda X: X.tolist(), sp.csc_array, sp.csr_matrix,
     sp.coo_array, sp.bsr_array, pd.DataFrame, pl.DataFrame],
)  # fmt: skip
def test_matrices_keep_their_entries(make):
    X = np.array([[0.0, 2.0, -3.0], [1.0, 0.0, 0.0]])
    matrix = as_matrix(make(X))
    assert np.array_equal(matrix.toarray() if sp.issparse(matrix) else matrix, X)
    assert not sp.issparse(matrix) or matrix.format == "csc"


@pytest.mark.parametrize("kind", [sp.coo_array, sp.csc_array, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.int8, bool, np.float32])
def test_duplicate_entries_are_added_in_double_precision(kind, dtype):
    """Twice 100 overflows an int8, two Booleans add up to one, and twice 3e38 is infinite in single precision."""
    large = 3e38 if dtype is np.float32 else 100
    once = np.array([[0, large, -3], [1, 0, large]]).astype(dtype)
    assert np.array_equal(as_matrix(twice(once, kind)).toarray(), 2.0 * once.astype(float))


def test_duplicate_integers_that_double_precision_cannot_represent():
    for kind in (sp.coo_array, sp.csc_array):
        with pytest.raises(ValueError, match="X holds integers that double precision cannot represent"):
            as_matrix(twice(np.array([[2**53, 1]]), kind))


@pytest.mark.parametrize(
    "values", [[1, 2, 3], np.float32([1, 2, 3]), np.array([[1.0], [2.0], [3.0]]), pl.Series([1, 2, 3])]
)
def test_vectors_are_numbers_of_double_precision(values):
    vector = as_vector(values, 3, "y")
    assert vector.dtype == np.float64 and vector.tolist() == [1.0, 2.0, 3.0]


def test_a_single_number_stands_for_all_observations():
    assert as_vector(2, 3, "sample_weight").tolist() == [2.0] * 3


@pytest.mark.parametrize(
    "y",
    [np.ones(2), np.full(3, np.nan), np.full(3, -np.inf), np.ones((3, 2)), 1.0, np.full(3, 2**60), np.full(3, 1j),
     np.ones(3, dtype=np.longdouble)],
)  # fmt: skip
def test_bad_responses(y):
    with pytest.raises(ValueError, match="y "):
        as_vector(y, 3, "y")


def test_the_largest_whole_numbers():
    """Whole numbers up to 2^53 - 1 are exact floating-point numbers; 2^53 may be a rounded 2^53 + 1."""
    require_exact(np.array([2**53 - 1, 1 - 2**53]), "X")
    for bad in (2**53, -(2**53)):
        with pytest.raises(ValueError, match="X holds integers that double precision cannot represent"):
            require_exact(np.array([0, bad]), "X")


def test_labels_are_signs_in_sorted_order():
    for first, second in (("a", "b"), (0, 1), (False, True), (-2.5, -1.0)):
        assert as_labels([second, first, second], 3).tolist() == [1.0, -1.0, 1.0]


@pytest.mark.parametrize("y", [np.ones(3), np.arange(3), np.ones(2), np.array([1, "a", None], dtype=object)])
def test_bad_labels(y):
    with pytest.raises(ValueError, match=r"y must have|labels of y"):
        as_labels(y, 3)


def test_exposures_have_logarithms():
    assert as_exposure([1, 2], 2).tolist() == [1.0, 2.0]
    for bad in ([0.0, 1.0], [-1.0, 1.0], [np.inf, 1.0]):
        with pytest.raises(ValueError, match="exposure"):
            as_exposure(bad, 2)


@pytest.mark.parametrize("kind", [sp.csc_array, sp.csr_array, sp.bsr_array])
@pytest.mark.parametrize("bad", [4, -1, 10**6])
def test_sparse_indices_that_reach_outside(kind, bad):
    X = kind(np.eye(4))
    X.indices[1] = bad
    with pytest.raises(ValueError, match="ind"):
        as_matrix(X)


def test_sparse_pointers_that_do_not_fit():
    for indptr in ([0, 1, 2, 3, 9], [1, 1, 2, 3, 4], [0, 3, 2, 3, 4]):
        X = sp.csc_array(np.eye(4))
        X.indptr[:] = indptr
        with pytest.raises(ValueError, match="ind"):
            as_matrix(X)


def test_columns_that_are_read_in_blocks():
    X = np.arange(12, dtype=np.int8).reshape(3, 4)
    blocks = as_matrix(ColumnBlocks((3, 4), lambda features: X[:, features]))
    for chosen in (slice(1, 3), np.array([3, 0]), slice(0, 0)):
        assert np.array_equal(blocks.columns(chosen), X[:, chosen]) and blocks.columns(chosen).dtype == np.int8


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda features: np.ones((2, features.size)), "a block of X has shape"),
        (lambda features: np.ones((3, features.size + 1)), "a block of X has shape"),
        (lambda features: np.ones((3, features.size), dtype=complex), "real numbers"),
    ],
)
def test_blocks_that_do_not_fit(read, message):
    with pytest.raises(ValueError, match=message):
        as_matrix(ColumnBlocks((3, 4), read)).columns(slice(0, 2))
    with pytest.raises(ValueError, match="rows and columns"):
        as_matrix(ColumnBlocks((3, 0), read))


def test_blocks_of_rows():
    X = np.arange(12, dtype=np.int8).reshape(4, 3)
    blocks = RowBlocks(X.shape, lambda begin, end: X[begin:end], 3)
    assert [(rows.start, block.tolist()) for rows, block in blocks.blocks()] == [
        (0, X[:3].tolist()),
        (3, X[3:].tolist()),
    ]
    assert as_matrix(blocks) is blocks
    assert np.array_equal(blocks.columns(np.array([2, 0])), X[:, [2, 0]])
    with pytest.raises(ValueError, match=r"a block of X has shape \(2, 3\), expected \(3, 3\)"):
        RowBlocks(X.shape, lambda begin, end: X[:2], 3).columns(np.array([0]))
    with pytest.raises(ValueError, match="real numbers of at most double precision"):
        RowBlocks(X.shape, lambda begin, end: X[begin:end].astype(complex), 3).columns(np.array([0]))


def test_large_arrays_are_read_by_rows():
    X = np.arange(12.0).reshape(4, 3)
    large = as_matrix(X, many_bytes=64)
    assert isinstance(large, RowBlocks) and np.array_equal(large.columns(slice(None)), X)
    for other in (np.asfortranarray(X), X[:2], X[:, :1]):
        assert isinstance(as_matrix(other, many_bytes=64), np.ndarray)
    assert isinstance(as_matrix(X), np.ndarray)


def test_rows_from_which_columns_are_picked():
    X = np.arange(12.0).reshape(4, 3)
    blocks = RowBlocks(X.shape, lambda begin, end: X[begin:end], 3, lambda features: X[:, features])
    assert np.array_equal(blocks.columns(np.array([2, 0])), X[:, [2, 0]])
    with pytest.raises(ValueError, match="a block of X has shape"):
        RowBlocks(X.shape, blocks.read, 3, lambda features: X).columns(np.array([0]))
