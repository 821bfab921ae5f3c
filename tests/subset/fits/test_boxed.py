"""Quadratics with bounds against SciPy, and bounds as pieces of a loss."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear, nnls

from sparsest.core.bounds import Bounds
from sparsest.subset.fits.boxed import minimise_in_box, with_bounds
from sparsest.subset.fits.interior_point import minimise, stack


@pytest.mark.parametrize("shape", [(10, 1), (10, 6), (4, 6), (30, 25)], ids=str)
@pytest.mark.parametrize("width", [1e-3, 0.3, 5.0])
def test_quadratics_against_scipy(shape, width):
    """Compare unique minima; with fewer rows than columns compare the values only."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        A, z = rng.standard_normal(shape), rng.standard_normal(shape[0])
        low, high = -width * rng.uniform(0.5, 1.0, shape[1]), width * rng.uniform(0.5, 1.0, shape[1])
        low[0] = -np.inf
        x = minimise_in_box(A.T @ A, A.T @ z, low, high)
        expected = lsq_linear(A, z, (low, high), method="bvls", tol=1e-14)
        assert (x >= low).all() and (x <= high).all()
        assert 0.5 * np.sum((A @ x - z) ** 2) <= expected.cost + 1e-10
        if shape[0] > shape[1]:
            np.testing.assert_allclose(x, expected.x, atol=1e-8)


@pytest.mark.parametrize("shape", [(10, 6), (4, 6), (30, 25), (60, 40)], ids=str)
@pytest.mark.parametrize("correlation", [0.0, 0.99, 1.0 - 1e-10])
def test_signs_against_nonnegative_least_squares(shape, correlation):
    """Also with nearly equal columns, and with one coefficient that has to be 0."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        A = np.sqrt(1.0 - correlation**2) * rng.standard_normal(shape) + correlation * rng.standard_normal(
            (shape[0], 1)
        )
        z = A @ np.where(np.arange(shape[1]) % 3 == 0, 1.0, -0.3) + rng.standard_normal(shape[0])
        low, high = np.zeros(shape[1]), np.full(shape[1], np.inf)
        high[1] = 0.0
        x = minimise_in_box(A.T @ A + 1e-9 * np.eye(shape[1]), A.T @ z, low, high)
        kept = np.arange(shape[1]) != 1
        rows, target = np.vstack([A, np.sqrt(1e-9) * np.eye(shape[1])])[:, kept], np.append(z, np.zeros(shape[1]))
        _, residual = nnls(rows, target, maxiter=10_000)
        assert (x >= low).all() and (x <= high).all()
        assert np.sum((A @ x - z) ** 2) + 1e-9 * x @ x <= residual**2 * (1.0 + 1e-9)


def test_coefficients_that_are_fixed_at_zero_do_not_hold_the_others():
    H, c = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, 3.0])
    low, high = np.array([0.0, -np.inf]), np.array([0.0, np.inf])
    np.testing.assert_allclose(minimise_in_box(H, c, low, high), [0.0, 3.0])


def test_a_quadratic_without_any_curvature_ends_at_a_corner():
    x = minimise_in_box(np.diag([1.0, 0.0, 0.0]), np.array([0.2, 1.0, -1.0]), np.full(3, -0.5), np.full(3, 0.5))
    np.testing.assert_allclose(x, [0.2, 0.5, -0.5])


def test_a_step_that_overflows_is_halved():
    """The coefficient has no box, and the quadratic has almost no curvature."""
    low, high = np.array([-1.0, -np.inf]), np.array([1.0, np.inf])
    x = minimise_in_box(np.diag([1.0, 1e-300]), np.array([0.5, 1e8]), low, high)
    assert np.isfinite(x).all() and abs(x[0] - 0.5) <= 1e-12 and x[1] > 0.0


def test_input_that_is_not_finite_gives_none():
    assert minimise_in_box(np.full((2, 2), np.nan), np.ones(2), np.full(2, -1.0), np.ones(2)) is None


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_pieces", [1, 2])
def test_pieces_keep_coefficients_in_the_box(fit_intercept, n_pieces):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 4)) / 6.0
    y = np.sign(A @ [9.0, -9.0, 1.0, 0.0] + 0.3 * rng.standard_normal(30))
    pieces = [(np.ones(30), y), (0.1 - 3.0 * y, -np.ones(30))][:n_pieces]
    box = np.array([0.5, 0.5, 0.5, 40.0])
    rows = stack(A, np.ones(30), pieces, fit_intercept)
    boxed = with_bounds(rows, Bounds(-box, box))
    assert boxed.Z.shape == (34, 4 + fit_intercept) and boxed.a.size == boxed.sign.size == boxed.omega.size == 68
    free, *_ = minimise(rows, np.full(4, 1e-3), fit_intercept, 1e-9, lambda: False)
    w, _, alpha = minimise(boxed, np.full(4, 1e-3), fit_intercept, 1e-9, lambda: False)
    assert np.abs(free[:2]).max() > 0.6
    assert (np.abs(w) <= box * (1.0 + 1e-6)).all() and np.abs(w[:2]).max() >= 0.5 - 1e-6
    assert alpha.size == 34


def test_pieces_of_infinite_bounds_are_always_zero():
    """One bound on one side of each of two coefficients, and none for the third."""
    rng = np.random.default_rng(1)
    A = rng.standard_normal((30, 3)) / 6.0
    y = np.sign(A @ [9.0, -9.0, 4.0] + 0.3 * rng.standard_normal(30))
    rows = stack(A, np.ones(30), [(np.ones(30), y)], True)
    bounds = Bounds(np.array([-np.inf, 0.0, -np.inf]), np.array([0.5, np.inf, np.inf]))
    free, *_ = minimise(rows, np.full(3, 1e-3), True, 1e-9, lambda: False)
    w, *_ = minimise(with_bounds(rows, bounds), np.full(3, 1e-3), True, 1e-9, lambda: False)
    assert free[0] > 0.6 and free[1] < -0.1
    np.testing.assert_allclose(w[:2], [0.5, 0.0], atol=1e-6)
    assert w[2] > 0.1


@pytest.mark.parametrize("columns", [[1.0, 0.0], [0.0, 0.0]])
def test_columns_of_zeros_have_a_box_like_others(columns):
    """A very small slope would exceed the numerical range of the interior-point method."""
    rows = stack(np.outer([1.0, -2.0, 3.0], columns), np.ones(3), [(np.ones(3), np.ones(3))], True)
    boxed = with_bounds(rows, Bounds(np.full(2, -0.5), np.full(2, 0.5)))
    w, *_ = minimise(boxed, np.full(2, 1e-3), True, 1e-9, lambda: False)
    assert np.isfinite(w).all() and (np.abs(w) <= 0.5 * (1.0 + 1e-6)).all() and abs(w[1]) <= 1e-6
