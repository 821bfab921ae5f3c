"""Columns in compiled forms: products, copies and inner products are those of the view."""

import numpy as np
import pytest
import scipy.sparse as sp

from core.designs.storages import standardized
from sparsest.core.designs import as_design, columns
from sparsest.core.kernels.lines import Lines, fits, products, residual, restart, slopes, take_in
from sparsest.core.kernels.sparse import Stored

N, P = 20, 9
WEIGHTS = np.random.default_rng(1).dirichlet(np.full(N, 5.0))
NAMES = np.array([4, 0, 7])
STORAGES = {
    "fortran": np.asfortranarray,
    "rows": np.ascontiguousarray,
    "float32": lambda X: X.astype(np.float32),
    "bool": lambda X: X > 0.0,
    "sparse": sp.csc_array,
    "sparse float32": lambda X: sp.csc_array(X.astype(np.float32)),
    "large means": lambda X: sp.csc_array(X + 1e6),
}


def make_view(storage, center=True):
    X = np.random.default_rng(0).standard_normal((N, P))
    X[np.abs(X) < 0.3] = 0.0
    return standardized(as_design(STORAGES[storage](X)), WEIGHTS, center=center, scale=True)


def take(form, names):
    """Mark these columns as in use."""
    for place, name in enumerate(names):
        assert fits(form, place, name)
        form.names[place] = name
    take_in(form, 0, names.size)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("center", [True, False])
def test_columns_in_use(storage, center):
    view = make_view(storage, center)
    form = columns.path_columns(view, WEIGHTS, center)
    assert isinstance(form, Stored if storage in ("sparse", "sparse float32", "large means") else Lines)
    take(form, NAMES)
    E = view.columns(NAMES)
    gram = E.T @ (WEIGHTS[:, None] * E)
    np.testing.assert_allclose(form.curvature[:3], np.diagonal(gram), rtol=1e-6)
    np.testing.assert_allclose(form.step[:3] * form.curvature[:3], 1.0)
    theta, out = np.random.default_rng(2).standard_normal(N), np.empty(P)
    theta -= theta.mean()
    products(form, np.arange(P), P, theta, theta.sum(), out)
    np.testing.assert_allclose(out, view.tdot(theta), atol=1e-6)
    y = theta - WEIGHTS @ theta
    w, target, grad = np.array([0.5, 0.0, -2.0]), np.sqrt(WEIGHTS) * y, np.empty(3)
    restart(form, w, np.zeros(3), target, grad)
    slopes(form, w, 0, view.tdot(-WEIGHTS * y), grad)
    np.testing.assert_allclose(grad, gram @ w - E.T @ (WEIGHTS * y), atol=1e-5)
    tau = np.empty(N)
    residual(form, w, target, tau)
    np.testing.assert_allclose(tau, np.sqrt(WEIGHTS) * (E @ w - y), atol=1e-5)


@pytest.mark.parametrize("storage", ["fortran", "sparse"])
def test_columns_move_when_others_are_dropped(storage):
    view = make_view(storage)
    form = columns.enlarged(columns.path_columns(view, WEIGHTS, True), 0)
    take(form, NAMES)
    before = form.curvature[:3].copy()
    places = np.array([0, 2])
    columns.keep(form, places)
    np.testing.assert_array_equal(form.names[:2], NAMES[places])
    np.testing.assert_array_equal(form.curvature[:2], before[places])
    larger, E = columns.enlarged(form, 2), view.columns(NAMES[places])
    np.testing.assert_allclose(larger.image(np.ones(2)), E.T @ (WEIGHTS * E.sum(axis=1)), atol=1e-12)


def test_entries_that_do_not_fit_are_refused():
    """There is room for 4,096 entries at first, that is for 204 columns of 20."""
    X = sp.csc_array(np.random.default_rng(0).standard_normal((N, 900)))
    view = standardized(as_design(X), WEIGHTS, center=True, scale=True)
    form, place = columns.path_columns(view, WEIGHTS, True), 0
    while fits(form, place, place):
        form.begins[place + 1] = form.begins[place] + N
        place += 1
    assert form.values.size == 4096 and place == 204
    larger = columns.enlarged(form, place)
    assert larger.values.size == 8192 and fits(larger, place, place)


@pytest.mark.parametrize(("storage", "taken"), [("rows", 0), ("fortran", 1), ("float32", 0), ("sparse", 1)])
def test_large_matrices_are_not_copied(storage, taken):
    form = columns.path_columns(make_view(storage), WEIGHTS, True, copy_bytes=100)
    assert (form is not None) == taken
