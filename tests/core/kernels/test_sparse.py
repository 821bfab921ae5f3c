"""The kernels of compressed columns, compiled and plain, against NumPy."""

import numpy as np
import pytest

from sparsest.core.designs.compressed import make_stored
from sparsest.core.kernels import sparse as kernels

from .quadratics import Case, M, N


def centrings(function):
    return pytest.mark.parametrize("centred", [True, False])(function)


@centrings
def test_stored_columns_are_those_of_the_array(run, centred):
    case = Case(centred, seed=4)
    model = case.stored()
    columns = model.entries, model.rows, model.starts
    for j in range(M):
        column = case.matrix[:, [j]].toarray()[:, 0]
        assert run(kernels.gathered)(*columns, j, case.h) == pytest.approx(column @ case.h, abs=1e-12)
    active = np.array([0, 2, 7])
    d = np.zeros(M)
    d[active] = case.rng.standard_normal(3)
    fit, out = np.full(N, np.nan), np.zeros(M)
    run(kernels.stored_image)(model, d, active, fit, out)
    np.testing.assert_allclose(fit, model.root * (case.X @ d), atol=1e-12)
    np.testing.assert_allclose(out[active], (case.G @ d)[active], atol=1e-11)
    run(kernels.stored_step)(model, d)
    grad = np.empty(M)
    model.refresh(grad)
    np.testing.assert_allclose(grad, case.gradient + case.G @ d, atol=1e-10)


@centrings
def test_conjugate_gradients_solve_the_active_part(run, centred):
    case = Case(centred, seed=5)
    active, goal = np.array([1, 2, 4, 8]), case.rng.standard_normal(M)
    kappa = np.where(np.arange(M) == 2, -0.1, 0.3)
    expected = np.zeros(M)
    expected[active] = np.linalg.solve((case.G + np.diag(kappa))[np.ix_(active, active)], goal[active])
    found = run(kernels.stored_solve)(
        case.stored(), np.where(np.isin(np.arange(M), active), goal, 0.0), active, kappa, 1e-12, 50
    )
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_negative_curvature_ends_conjugate_gradients(run):
    case = Case(seed=6)
    active, goal, kappa = np.arange(M), case.rng.standard_normal(M), np.full(M, -1e3)
    found = run(kernels.stored_solve)(case.stored(), goal, active, kappa, 1e-12, 50)
    np.testing.assert_allclose(found, goal / np.diagonal(case.G), rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_in_use_are_scaled_and_weighted(run, dtype):
    case = Case(seed=7)
    matrix = case.matrix.astype(dtype)
    names, scale = np.array([3, 0, 5]), case.stored().scale_of
    model = make_stored(matrix, np.zeros(M), scale, case.h, True)
    counts = np.diff(matrix.indptr)[names]
    model.names[:3], model.begins[1:4] = names, counts.cumsum()
    run(kernels.stored_take_in)(model, 0, 3)
    for place in range(3):
        part = slice(model.begins[place], model.begins[place + 1])
        dense = np.zeros(N)
        dense[model.places[part]] = model.values[part]
        expected = matrix[:, [names[place]]].toarray()[:, 0] / scale[names[place]]
        np.testing.assert_allclose(dense, np.sqrt(case.h) * expected, rtol=1e-6)
        assert model.mass[place] == pytest.approx(case.h @ expected, rel=1e-6)
        centred = expected - case.h @ expected / case.h.sum()
        assert model.curvature[place] == pytest.approx(case.h @ centred**2, rel=1e-6)


def test_kept_columns_move_to_the_front(run):
    case = Case(seed=8)
    model, kept = case.stored(), np.array([1, 2, 6])
    columns = [model.values[model.begins[j] : model.begins[j + 1]].copy() for j in kept]
    run(kernels.stored_keep)(model.values, model.places, model.begins, kept)
    for q, column in enumerate(columns):
        np.testing.assert_array_equal(model.values[model.begins[q] : model.begins[q + 1]], column)
