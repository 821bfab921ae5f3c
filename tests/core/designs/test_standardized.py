"""The lazily standardised view has the products of the explicit matrix, and copies only what is necessary."""

import numpy as np
import pytest
import scipy.sparse as sp

from core.designs.storages import STORAGES, WEIGHTS, Foreign, N, dense, matrix, offset_columns, standardized
from design_contract import DesignContract
from exact import exact_deviations, exact_moments
from sparsest.core.designs import (
    Standardized,
    as_design,
    in_units_of_data,
    shift_and_scale,
    stored_matrix,
    stores_matrix,
    take_apart,
    unstandardized,
)
from sparsest.runtime.memory import limiting_memory

VIEWS = {"centred": (True, False), "scaled": (False, True), "standardised": (True, True)}
CASES = [(name, "standardised") for name in ("C order", "float32 Fortran order", "strided", "booleans", "CSC float32")]
CASES += [(name, view) for name in ("C order", "CSC") for view in VIEWS]
makers = pytest.mark.parametrize("make", [np.ascontiguousarray, np.asfortranarray, sp.csc_array])
both = pytest.mark.parametrize("make", [np.asarray, sp.csc_array])


def explicit(X, center, scale):
    """The standardised matrix, written out."""
    X = dense(X)
    if center:
        X = X - np.average(X, axis=0, weights=WEIGHTS)
    if scale:
        size = np.sqrt(np.average(X**2, axis=0, weights=WEIGHTS))
        X = X / np.where(size > 1e-9, size, 1.0)
    return X


class TestStandardized(DesignContract):
    """Views of several storages."""

    @pytest.fixture(params=dict.fromkeys(CASES), ids=", ".join)
    def pair(self, request):
        storage, view = request.param
        center, scale = VIEWS[view]
        X = STORAGES[storage](matrix())
        return standardized(as_design(X), WEIGHTS, center=center, scale=scale), explicit(X, center, scale)


class TestColumnsOfLargeMeans(DesignContract):
    """Views that keep columns apart."""

    @pytest.fixture(params=["C order", "float32 Fortran order", "CSC"])
    def pair(self, request):
        X = matrix()
        X[:, [0, 6]] += 2.0**15
        X = STORAGES[request.param](X)
        view = standardized(as_design(X), WEIGHTS, center=True, scale=True)
        assert view.far.tolist() == [0, 2, 6]
        return view, explicit(X, True, True)


def test_nothing_to_do_is_no_view():
    design = as_design(matrix())
    assert standardized(design, WEIGHTS, center=False, scale=False) is design
    view = standardized(design, WEIGHTS, center=True, scale=True)
    assert isinstance(view, Standardized) and view.base is design
    assert unstandardized(view) is unstandardized(design) is design


def test_constant_columns_keep_their_scale():
    X = np.full((N, 2), 1e6) + np.array([0.0, 1e-3]) * np.arange(N)[:, None]
    view = standardized(as_design(X), WEIGHTS, center=True, scale=True)
    assert view.scale[0] == 1.0
    assert view.scale[1] == pytest.approx(1e-3 * np.sqrt(np.cov(np.arange(N), aweights=WEIGHTS, ddof=0)), rel=1e-6)


@makers
@pytest.mark.parametrize("scale", [False, True])
def test_products_with_columns_of_large_means(make, scale):
    """They are right to a few roundings of the centred column, as far as means of a thousand deviations allow."""
    X = offset_columns()
    view = standardized(as_design(make(X)), WEIGHTS, center=True, scale=scale)
    exact = np.column_stack([exact_deviations(column, WEIGHTS) for column in X.T])
    if scale:
        exact /= np.sqrt([float(exact_moments(column, WEIGHTS)[1]) or 1.0 for column in X.T])
    norms = np.linalg.norm(exact, axis=0)
    rng = np.random.default_rng(4)
    r, w = rng.standard_normal((N, 2)), rng.standard_normal(X.shape[1])
    assert (np.abs(view.columns(np.arange(X.shape[1])) - exact) <= 1e-13 * norms).all()
    assert (np.abs(view.tdot(r) - exact.T @ r) <= 1e-12 * norms[:, None]).all()
    assert (np.abs(view.tdot(r[:, 0]) - exact.T @ r[:, 0]) <= 1e-12 * norms).all()
    assert (np.abs(view.dot(w) - exact @ w) <= 1e-12 * norms.sum()).all()
    moments = view.moments(WEIGHTS)
    assert (np.abs(moments.mean) <= 1e-13 * norms).all()
    np.testing.assert_allclose(moments.variance * WEIGHTS.sum(), WEIGHTS @ exact**2, rtol=1e-12)


@both
def test_only_columns_with_large_means_are_copied(make):
    design = as_design(make(offset_columns()))
    view = standardized(design, WEIGHTS, center=True, scale=True)
    assert view.base is design
    assert view.far.tolist() == [2, 3, 4, 5, 6, 7] and view.packed.shape == (N, 6)
    assert standardized(as_design(make(matrix()[:, :5] / 3.0)), WEIGHTS, center=True, scale=True).far.tolist() == [2]
    assert standardized(design, WEIGHTS, center=False, scale=True).far.size == 0


@both
def test_a_view_taken_apart_is_the_view(make):
    view = standardized(as_design(make(offset_columns())), WEIGHTS, center=True, scale=True)
    stored, shift, scale = take_apart(view)
    every = np.arange(view.shape[1])
    np.testing.assert_allclose((stored.columns(every) - shift) / scale, view.columns(every), atol=1e-13)


@both
@pytest.mark.parametrize("view", VIEWS)
def test_coefficients_in_units_of_the_data(make, view):
    X = matrix()
    design = standardized(as_design(make(X)), WEIGHTS, center=VIEWS[view][0], scale=VIEWS[view][1])
    index, w = np.array([4, 0, 5]), np.array([0.5, -2.0, 3.0])
    coef, constant = in_units_of_data(design, index, w)
    np.testing.assert_allclose(X[:, index] @ coef + constant, design.dot(w, index), atol=1e-11)
    shift, scale = shift_and_scale(design, index)
    np.testing.assert_allclose((X[:, index] - shift) / scale, design.columns(index), atol=1e-13)
    plain = as_design(make(X))
    assert in_units_of_data(plain, index, w) == (w, 0.0)
    assert [part.tolist() for part in shift_and_scale(plain, index)] == [[0.0] * 3, [1.0] * 3]


def test_the_stored_matrix():
    """Of a design that has one; a view has none, and neither has what computes its columns."""
    array, columns = matrix(), sp.csc_array(matrix())
    assert stored_matrix(as_design(array)) is array
    assert np.shares_memory(stored_matrix(as_design(columns)).data, columns.data)
    view = standardized(as_design(array), WEIGHTS, center=True, scale=True)
    for design in (view, Foreign(array)):
        assert not stores_matrix(design)
        with pytest.raises(ValueError, match="does not store a matrix"):
            stored_matrix(design)


def test_copies_that_do_not_fit_are_refused():
    X = offset_columns()
    with limiting_memory(8 * N), pytest.raises(ValueError, match="columns have means of more than 1000 standard dev"):
        standardized(as_design(X), WEIGHTS, center=True, scale=True)
    with limiting_memory(8 * N):
        assert standardized(as_design(X), WEIGHTS, center=False, scale=True).shape == X.shape
