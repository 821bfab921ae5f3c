"""Bounds of the coefficients of columns that solvers work on: units, questions, and gains."""

import numpy as np
import pytest

from samples import sample
from sparsest.core.bounds import UNBOUNDED, Bounds, bounds_of
from sparsest.core.problem import make_problem


def test_bounds_of_standardised_columns_have_their_units():
    X, y = sample("squared", 20, 3)
    X = X * [1.0, 10.0, 1e-100]
    data = make_problem(X, y, 2, standardize=True).data
    bounds = bounds_of(data.design, np.array([-2.0, 0.0, -1e-100]), np.array([np.inf, 0.5, np.inf]), 3.0)
    scale = X.std(axis=0)
    np.testing.assert_allclose(bounds.low, [max(-2.0 * scale[0], -3.0), 0.0, 0.0])
    np.testing.assert_allclose(bounds.high, [3.0, min(0.5 * scale[1], 3.0), 3.0])
    assert bounds_of(data.design, None, None, None) is UNBOUNDED


def test_questions_to_bounds():
    bounds = Bounds(np.array([-1.0, 0.0, -np.inf]), np.array([2.0, np.inf, 0.0]))
    assert bounds.exist and not bounds.conic and not UNBOUNDED.exist and UNBOUNDED.conic
    assert bounds.closed(np.array([0])) and not bounds.closed(slice(None)) and not UNBOUNDED.closed(slice(None))
    assert bounds.of(np.array([1, 2])).conic
    assert bounds.clip(np.array([5.0, -1.0, -7.0])).tolist() == [2.0, 0.0, -7.0]
    assert bounds.limits(np.array([-0.1, 1.0, 1.0])).tolist() == [1.0, np.inf, 0.0]
    assert bounds.times(np.array([2.0, 3.0, 4.0])).low.tolist() == [-2.0, 0.0, -np.inf]
    mirrored = bounds.mirrored()
    assert mirrored.low.tolist() == [-2.0, -np.inf, 0.0] and mirrored.high.tolist() == [1.0, 0.0, np.inf]
    w = np.array([1.0])
    assert UNBOUNDED.clip(w) is w and UNBOUNDED.limits(w).tolist() == [np.inf]


def test_gains_are_the_best_within_the_bounds():
    """Against a grid, with and without a ridge; columns whose bounds are both 0 are excluded."""
    X, y = sample("squared", 20, 4)
    lower, upper = [-0.3, 0.0, -2.0, 0.0], [0.1, 0.7, 0.0, 0.0]
    alpha = np.random.default_rng(0).standard_normal(20)
    for gamma in (0.2, np.inf):
        problem = make_problem(X, y, 2, gamma=gamma, lower=lower, upper=upper, fit_intercept=False)
        assert problem.exclude.tolist() == [3] and problem.has_dual_bounds
        for j, (u, gain) in enumerate(zip(X.T @ alpha, problem.gains(alpha), strict=True)):
            w = np.linspace(lower[j], upper[j], 10001)
            assert gain == pytest.approx((-u * w - 0.5 * w**2 / gamma).max(), abs=1e-6)
    assert not make_problem(X, y, 2, gamma=np.inf, lower=0.0).has_dual_bounds
    assert make_problem(X, y, 2, gamma=np.inf, lower=0.0, upper=[1, 1, np.inf, 1], exclude=[2]).has_dual_bounds
    assert make_problem(X, y, 2, gamma=np.inf, exclude=range(4)).has_dual_bounds
