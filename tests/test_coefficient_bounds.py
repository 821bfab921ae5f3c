"""Bounds of coefficients: every method and loss against enumeration, fits and relaxations against other solvers."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from covering import every_pair
from oracles import EXPONENTIAL, relaxation_value, support_value
from samples import DIFFERENCES, LOSS_NAMES, sample, sample_weights
from sparsest.core.problem import make_problem
from sparsest.subset.fits.support import fit_support
from sparsest.subset.relaxation.relaxer import relax_problem

N, P = 14, 6
INF = np.inf
# Signs of either kind, one-sided and two-sided limits, a coefficient that has to be zero, and all of these together.
SHAPES = {
    "positive": ([0.0] * P, [INF] * P),
    "negative": ([-INF] * P, [0.0] * P),
    "above": ([-0.3] * P, [INF] * P),
    "two-sided": ([-0.2] * P, [0.5] * P),
    "mixed": ([0.0, -INF, -0.4, -INF, 0.0, -0.1], [INF, 0.0, 0.2, INF, 0.0, 2.0]),
}
FORMS = [{"k": 2}, {"l0_penalty": 0.3}, {"k": 3, "l0_penalty": 0.1}]


def bounds_of(shape, loss):
    """Bounds that some coefficients of the samples reach, and others do not."""
    factor = 1.0 if loss in DIFFERENCES else 0.4
    return [np.array(side) * factor for side in SHAPES[shape]]


def within(w, bounds):
    return (w >= bounds[0]).all() and (w <= bounds[1]).all()


@every_pair(loss=LOSS_NAMES, gamma=[0.3, INF], fit_intercept=[True, False], size=[(N, 4), (5, 6)], shape=list(SHAPES))
def test_the_value_of_a_support(loss, gamma, fit_intercept, size, shape):
    """Against conic programming, also with more features than observations."""
    n, m = size
    X, y = sample(loss, n, m, 3)
    weights, bounds = sample_weights(True, n), [side[:m] for side in bounds_of(shape, loss)]
    settings = {"loss": loss, "gamma": gamma, "fit_intercept": fit_intercept, "sample_weight": weights}
    problem = make_problem(X, y, m, lower=bounds[0], upper=bounds[1], **settings)
    fit = fit_support(problem, np.arange(m))
    if np.isinf(gamma) and not problem.has_dual_bounds and n < m:
        # There need not be a smallest value; the model is one of the problem in any case.
        assert within(fit.w, bounds) and np.isfinite(fit.primal)
        return
    expected = support_value(loss, X, y, gamma, fit_intercept, weights, bounds=bounds)
    assert within(fit.w, bounds)
    assert fit.primal <= expected * (1.0 + 1e-6) + 1e-7
    assert fit.primal >= expected * (1.0 - (1e-6 if loss not in EXPONENTIAL else 1e-4)) - 1e-7
    if problem.has_dual_bounds:
        assert -1e-15 <= fit.primal - fit.dual <= max(1e-8 * fit.primal, 1e-9 * weights.sum())


@pytest.mark.parametrize("correlation", [0.0, 0.9, 1.0 - 1e-8])
@pytest.mark.parametrize("shape", list(SHAPES))
def test_least_squares_against_scipy(correlation, shape):
    """With columns that are nearly the same, and without a ridge."""
    rng = np.random.default_rng(0)
    X = np.sqrt(1.0 - correlation**2) * rng.standard_normal((30, P)) + correlation * rng.standard_normal((30, 1))
    y = X @ rng.standard_normal(P) + rng.standard_normal(30)
    bounds = bounds_of(shape, "squared")
    problem = make_problem(X, y, P, gamma=INF, lower=bounds[0], upper=bounds[1], fit_intercept=False)
    fit = fit_support(problem, np.arange(P))
    movable = bounds[0] < bounds[1]
    expected = lsq_linear(X[:, movable], y, (bounds[0][movable], bounds[1][movable]), method="bvls", tol=1e-14)
    assert within(fit.w, bounds)
    assert fit.primal == pytest.approx(expected.cost, rel=1e-8)


@every_pair(
    loss=LOSS_NAMES, gamma=[0.3, INF], form=FORMS, forced=[{}, {"include": (2, 4), "exclude": (0,)}],
    shape=list(SHAPES),
)  # fmt: skip
def test_the_relaxation(loss, gamma, form, forced, shape):
    """Its value, and a bound that is below it and near; a forced feature may have no other coefficient than zero."""
    X, y = sample(loss, N, P)
    bounds = bounds_of(shape, loss)
    problem = make_problem(X, y, loss=loss, gamma=gamma, lower=bounds[0], upper=bounds[1], **form, **forced)
    if not problem.has_dual_bounds:
        assert np.isinf(gamma) and shape != "two-sided"
        return
    relaxed, _ = relax_problem(problem, 1e-6)
    expected = relaxation_value(loss, X, y, gamma, True, bounds=bounds, **form, **forced)
    assert relaxed.dual <= expected * (1.0 + 1e-6) and relaxed.primal >= expected * (1.0 - 1e-6)
    assert relaxed.dual >= expected * (1.0 - 3e-5)
