"""Fits whose columns differ in units or nearly depend on each other, against rational and extended arithmetic."""

from operator import mul

import numpy as np
import pytest

from covering import every_pair
from exact import least_squares_value, rationals
from samples import DIFFERENCES, LOSS_NAMES, sample
from sparsest.core.losses import LOSSES
from sparsest.core.problem import make_problem
from sparsest.subset.fits.linear_algebra import coordinates, factor_positive, residual, row_space, solve_positive
from sparsest.subset.fits.support import fit_support

RIDGES = (0.0, 1e-12, 1e-6, 1.0, 1e6)
UNITS = np.array([1e7, 1e-3, 1.0, 1e-8])


def mixed_units(n=60, seed=0):
    """Columns in realistic units: incomes, rates, ages, masses of particles; y depends on the second."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.lognormal(size=n), rng.uniform(size=n), rng.uniform(20, 80, n), rng.uniform(size=n)])
    return UNITS * X, 3.0 * X[:, 1] + 0.2 * rng.standard_normal(n)


def near_pair(difference, n=12, seed=0):
    """Two nearly equal columns with a given relative difference, and a y along the difference."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    X = np.column_stack([x, x * (1.0 + difference * rng.standard_normal(n))])
    apart = X[:, 1] - X[:, 0]
    return X, 2.0 * apart / np.abs(apart).max() + 1e-2 * rng.standard_normal(n)


def dependent(n=30, seed=0):
    """A column that is the sum of others, and a pair of equal columns."""
    X = np.random.default_rng(seed).standard_normal((n, 3))
    return np.column_stack([X, X[:, 0] + X[:, 1], X[:, 2]])


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("support", [[0, 1], [1, 2, 3], [0, 1, 2, 3]], ids=str)
def test_units_of_columns(support, ridge, standardize):
    X, y = mixed_units()
    problem = make_problem(X, y, 4, gamma=1.0 / ridge if ridge else np.inf, standardize=standardize)
    deviation = X[:, support].std(axis=0) if standardize else np.ones(len(support))
    fit = fit_support(problem, support)
    assert fit.primal == pytest.approx(least_squares_value(X[:, support] / deviation, y, ridge), rel=1e-12)
    # A dual point in floating point is orthogonal to columns of size 1e7 only up to rounding.
    assert fit.dual == pytest.approx(fit.primal, rel=1e-8 if standardize else 1e-3)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_units_do_not_matter_without_a_ridge(loss, fit_intercept):
    X, y = sample(loss, 40, 4, 6, noise=1.5)
    settings = {"loss": loss, "gamma": np.inf, "fit_intercept": fit_intercept}
    expected = fit_support(make_problem(X, y, 4, **settings), np.arange(4)).primal
    scaled = fit_support(make_problem(UNITS * X, y, 4, **settings), np.arange(4))
    assert scaled.primal == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("loss", DIFFERENCES)
@pytest.mark.parametrize("unit", [1e-9, 1e9])
@pytest.mark.parametrize("gamma", [1.0, np.inf])
def test_unit_of_the_response(loss, unit, gamma):
    """If the loss is homogeneous of degree d, the objective scales with unit^d."""
    X, y = sample(loss, 40, 3, 6, noise=1.5)
    degree = 1 if loss in ("epsilon_insensitive", "quantile") else 2
    scaled = {name: value for name, value in LOSSES[loss]._field_defaults.items() if name != "quantile"}
    values = []
    for t in (1.0, unit):
        ridge = t ** (degree - 2)
        problem = make_problem(
            X, t * y, 3, loss=loss, gamma=gamma / ridge, **{name: value * t for name, value in scaled.items()}
        )
        values.append(fit_support(problem, np.arange(3)).primal / t**degree)
    assert values[1] == pytest.approx(values[0], rel=1e-7)


@pytest.mark.parametrize("difference", [1e-3, 1e-6, 1e-9, 1e-11])
@pytest.mark.parametrize("ridge", [0.0, 1e-20, 1e-9])
def test_nearly_equal_columns(difference, ridge):
    X, y = near_pair(difference)
    problem = make_problem(X, y, 2, gamma=1.0 / ridge if ridge else np.inf, fit_intercept=False)
    expected = least_squares_value(X, y, ridge, center=False)
    assert fit_support(problem, [0, 1]).primal == pytest.approx(expected, rel=1e-5)


@every_pair(loss=LOSS_NAMES, standardize=[True, False], seed=range(3))
def test_the_last_digits_of_columns_are_used(loss, standardize, seed):
    """With coefficients of 1e13, predictions are as precise as rounded coefficients allow, far better than no fit."""
    X, y = near_pair(1e-13, seed=seed)
    target = np.where(y > np.median(y), 1.0, -1.0) if LOSSES[loss].classification else y
    target = np.exp(y) if LOSSES[loss].log_link else target
    own = {"epsilon": 0.05} if "epsilon" in loss else {}
    problem = make_problem(X, target, 2, loss=loss, gamma=np.inf, standardize=standardize, **own)
    null = fit_support(problem, []).primal
    assert fit_support(problem, [0]).primal > 0.2 * null
    assert fit_support(problem, [0, 1]).primal < 0.02 * null


def test_objective_is_that_of_the_coefficients():
    """It is computed in doubled precision if large coefficients cancel."""
    X, y = near_pair(1e-13)
    problem = make_problem(X, y, 2, gamma=np.inf, fit_intercept=False)
    fit = fit_support(problem, [0, 1])
    w = rationals(fit.w)
    rest = [z - a * w[0] - b * w[1] for z, a, b in zip(*map(rationals, (y, *X.T)), strict=True)]
    assert fit.primal == pytest.approx(float(sum(r**2 for r in rest) / 2), rel=1e-12)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("ridge", [0.0, 1e-30])
def test_dependent_columns(loss, ridge):
    """Residuals of dependent columns are rounding errors and must not be used as directions."""
    X = dependent()
    _, y = sample(loss, 30, 2)
    gamma = 1.0 / ridge if ridge else np.inf
    whole = fit_support(make_problem(X, y, 5, loss=loss, gamma=gamma), np.arange(5))
    part = fit_support(make_problem(X, y, 5, loss=loss, gamma=gamma), np.arange(3))
    assert whole.primal == pytest.approx(part.primal, rel=1e-6)


@every_pair(loss=LOSS_NAMES, fit_intercept=[True, False], gamma=[1.0, np.inf])
def test_a_column_of_zeros_changes_nothing(loss, fit_intercept, gamma):
    X, y = sample(loss, 20, 2)
    X = np.column_stack([X, np.zeros(20)])
    problem = make_problem(X, y, 3, loss=loss, gamma=gamma, fit_intercept=fit_intercept)
    for support in ([], [0, 1]):
        with_zeros = fit_support(problem, [*support, 2])
        assert with_zeros.primal == pytest.approx(fit_support(problem, support).primal, rel=1e-7)
        assert with_zeros.w[-1] == 0.0


@pytest.mark.parametrize("ridge", [0.0, 1e-8, 1.0])
@pytest.mark.parametrize("make", [lambda: mixed_units()[0], lambda: near_pair(1e-9)[0], dependent])
def test_coordinates(make, ridge):
    """Predictions and ridge at t equal those of its coefficients; the matrix of ``solve`` is the Hessian."""
    X = make()
    weights = np.random.default_rng(1).uniform(0.5, 2.0, X.shape[0])
    for basis in coordinates(X, weights, ridge):
        C, mu, _ = basis.coordinates
        t = np.random.default_rng(2).standard_normal(C.shape[1])
        w = basis.coefficients(t)
        np.testing.assert_allclose(basis.margin(X, w, 0.25), C @ t + 0.25, atol=1e-6)
        assert ridge * w @ w == pytest.approx(mu @ t**2, rel=1e-6)
        H = C.T @ (weights[:, None] * C) + np.diag(mu)
        np.testing.assert_allclose(H @ basis.coordinates.solve(t), t, atol=1e-8)
        np.testing.assert_allclose(basis.inverse(w), t, atol=1e-6)


@pytest.mark.parametrize("scale", [True, False])
def test_row_space(scale):
    X = np.random.default_rng(0).standard_normal((5, 9)) * 10.0 ** np.arange(-4, 5)
    X[4] = X[0] + X[1]
    packed, rotation = row_space(X, scale)
    assert packed.shape == (5, 4)
    np.testing.assert_allclose(X @ rotation, packed, atol=1e-10 * np.abs(packed).max())
    solution = rotation @ np.linalg.lstsq(packed, np.array([1.0, 2.0, 3.0, 4.0, 3.0]), rcond=None)[0]
    np.testing.assert_allclose(X @ solution, [1.0, 2.0, 3.0, 4.0, 3.0], rtol=1e-9)


def test_residual_in_doubled_precision():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((20, 3))
    A[:, 1] = A[:, 0] * (1.0 + 1e-14 * rng.standard_normal(20))
    w, z = np.array([1e14, -1e14, 0.3]), rng.standard_normal(20)
    exact = [c - sum(map(mul, rationals(row), rationals(w))) for c, row in zip(rationals(z), A, strict=True)]
    np.testing.assert_allclose(residual(z, A, w), [float(e) for e in exact], rtol=1e-14)


@pytest.mark.parametrize(
    "H", [np.eye(2), np.zeros((2, 2)), np.diag([1.0, 0.0]), np.array([[1.0, 1.0], [1.0, 1.0]]), np.diag([1.0, -1e-9])]
)
def test_factors_of_singular_matrices(H):
    factor = factor_positive(H.copy())
    solved = solve_positive(factor, H @ np.array([1.0, 0.5]))
    np.testing.assert_allclose(H @ solved, H @ np.array([1.0, 0.5]), atol=1e-7)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_no_factor_without_a_shift(bad):
    assert factor_positive(np.diag([bad, 1.0]) if np.isnan(bad) or bad > 0 else np.diag([bad, bad])) is None
