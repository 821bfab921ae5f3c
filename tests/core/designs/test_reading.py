"""The user's data become a design; they are copied only if necessary, and never changed."""

import sys
import types

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from checks import best_subset
from core.designs.storages import CONVERTED, DENSE, NAMES, SPARSE, STORAGES, WEIGHTS, N, P, dense, matrix, twice
from sparsest.core.designs import Dense, Sparse, as_design, feature_names
from sparsest.core.designs.dense import STORED_TYPES
from sparsest.core.designs.reading import READERS
from sparsest.runtime.events import Status


@pytest.mark.parametrize("name", STORAGES)
def test_the_design_is_the_matrix(name):
    X = STORAGES[name](matrix())
    design = as_design(X)
    assert isinstance(design, Sparse if sp.issparse(X) else Dense)
    assert np.array_equal(design.columns(np.arange(P)), dense(X))
    if isinstance(design, Sparse):
        assert design.matrix.has_canonical_format and design.matrix.dtype in (np.float32, np.float64)
    else:
        assert design.array.dtype in STORED_TYPES


@pytest.mark.parametrize("name", DENSE)
def test_dense_is_not_copied(name):
    X = DENSE[name](matrix())
    design = as_design(X)
    assert isinstance(design, Dense) and np.shares_memory(design.array, X)


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_is_not_copied(name):
    X = SPARSE[name](matrix())
    design = as_design(X)
    assert isinstance(design, Sparse) and np.shares_memory(design.matrix.data, X.data)


def test_data_frame_is_not_copied():
    frame = pd.DataFrame(matrix())
    assert np.shares_memory(as_design(frame).array, frame.to_numpy())


def test_numbers_that_float32_holds_take_no_more_room():
    assert as_design(CONVERTED["float16"](matrix())).array.dtype == np.float32
    assert as_design(CONVERTED["int64"](matrix())).array.dtype == np.float64


@pytest.mark.parametrize("claimed", [True, False])
def test_entries_that_claim_to_be_in_order(claimed):
    """The order of the entries is checked, whatever the flags of the matrix say."""
    X = sp.csc_array((np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1]), np.array([0, 3])), shape=(3, 1))
    X.has_canonical_format = X.has_sorted_indices = claimed
    design = as_design(X)
    assert design.columns([0]).ravel().tolist() == [2.0, 4.0, 0.0] and design.matrix.has_canonical_format
    assert X.data.tolist() == [1.0, 2.0, 3.0]


def test_a_design_is_taken_as_it_is():
    design = as_design(matrix())
    assert as_design(design) is design


def test_names_of_the_columns():
    X = matrix()
    for frame in (pd.DataFrame(X, columns=NAMES), pl.DataFrame(X, schema=NAMES)):
        assert feature_names(frame) == NAMES
    for nameless in (X, X.tolist(), sp.csc_array(X), pd.DataFrame(X), pd.DataFrame(X, columns=[*NAMES[1:], 7])):
        assert feature_names(nameless) is None

    class Query:
        def columns(self):
            """A method of that name is not a list of names."""

    assert feature_names(Query()) is None


@pytest.mark.parametrize("name", ["read-only", "strided", "int8", *SPARSE, *CONVERTED])
def test_fit_changes_nothing(name):
    X = STORAGES[name](matrix())
    before, y = dense(X).copy(), np.arange(N, dtype=float)
    best_subset(X, y, 2, standardize=True, sample_weight=WEIGHTS)
    assert np.array_equal(dense(X), before)
    assert np.array_equal(y, np.arange(N))
    if name == "COO duplicates":
        assert X.nnz == 2 * np.count_nonzero(before)


@pytest.mark.parametrize("name", ["int8", "int32", "booleans", "float32", "CSC", "uint8 Fortran order"])
def test_proof_of_a_fit_on_any_type(name):
    X = STORAGES[name](np.random.default_rng(8).standard_normal((40, P)) * 3.0)
    y = dense(X) @ np.arange(P) + np.random.default_rng(9).standard_normal(40)
    result = best_subset(X, y, 2)
    assert result.status is Status.OPTIMAL
    assert result.certificate.verify(X, y).valid
    assert result.objective == pytest.approx(best_subset(dense(X), y, 2).objective, rel=1e-12)


@pytest.mark.parametrize("kind", [sp.coo_array, sp.csc_array, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.int8, bool, np.float32])
def test_duplicate_entries_are_added_in_double_precision(kind, dtype):
    """Twice 100 overflows an int8, and two Booleans add up to one; the solver and the checker read the same numbers."""
    rng = np.random.default_rng(10)
    once = (rng.integers(-100, 101, (40, P)) * (rng.random((40, P)) < 0.5)).astype(dtype)
    X, wanted = twice(once, kind), 2.0 * once
    y = wanted @ np.arange(P) + rng.standard_normal(40)
    assert np.array_equal(as_design(X).columns(np.arange(P)), wanted)
    result = best_subset(X, y, 2)
    verdict = result.certificate.verify(X, y)
    assert verdict.valid, verdict.reasons
    assert result.certificate.verify(wanted, y).valid


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones(3), r"two dimensions, got 1; reshape a single column"),
        (np.ones((2, 2, 2)), "two dimensions, got 3"),
        (np.ones((0, 3)), r"at least one row and one column, got shape \(0, 3\)"),
        (np.ones((3, 0)), "at least one row and one column"),
        (sp.csc_array((0, 3)), "at least one row and one column"),
        ([["a", "b"]], "X must hold real numbers"),
        (pd.DataFrame({"a": ["x", "y"]}), "X must hold real numbers"),
        (np.ones((2, 2), dtype=complex), "X must hold real numbers"),
        (sp.csc_array(np.ones((2, 2), dtype=complex)), "X must hold real numbers"),
        (np.ones((2, 2), dtype="datetime64[D]"), "X must hold real numbers"),
        ([[1.0, None]], "NaN or infinity"),
    ],
    ids=str,
)
def test_bad_matrix(X, message):
    with pytest.raises(ValueError, match=message):
        as_design(X).survey(np.ones(1))


class TestReaders:
    """Objects of a package that has a reader."""

    @pytest.fixture
    def package(self, monkeypatch):
        """A package "elsewhere" whose objects hold a matrix, or None; and its reader."""
        kind = type("Stored", (), {"__module__": "elsewhere.arrays", "matrix": None})
        reader = types.ModuleType("elsewhere_reader")
        reader.read = lambda X: None if X.matrix is None else Dense(X.matrix)
        monkeypatch.setitem(sys.modules, "elsewhere_reader", reader)
        monkeypatch.setitem(READERS, "elsewhere", "elsewhere_reader")
        return kind

    def test_the_reader_makes_the_design(self, package):
        stored = package()
        stored.matrix = matrix()
        assert as_design(stored).array is stored.matrix

    def test_derived_classes_are_read_too(self, package):
        stored = type("Derived", (package,), {"__module__": "somewhere"})()
        stored.matrix = matrix()
        assert as_design(stored).array is stored.matrix

    def test_a_reader_may_leave_an_object_to_numpy(self, package):
        package.__array__ = lambda self, dtype=None, copy=None: matrix()
        assert np.array_equal(as_design(package()).array, matrix())

    def test_empty_matrices_are_refused(self, package):
        stored = package()
        stored.matrix = np.empty((0, 3))
        with pytest.raises(ValueError, match="at least one row and one column"):
            as_design(stored)
