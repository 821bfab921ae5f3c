"""Bounds from dual points: never above the best support of a region, and the best over all multiples of the point."""

import numpy as np
import pytest

from covering import every_pair
from oracles import best_of, loss_value, sample_values
from samples import LOSS_NAMES, sample
from sparsest.core.problem import make_problem
from sparsest.core.sparsity import Region
from sparsest.subset.dual import best_bound, bound_from_gains, bound_of_zero, null_value, scaled_bound
from sparsest.subset.fits.support import fit_support

N, P = 14, 6
losses = pytest.mark.parametrize("loss", LOSS_NAMES)
FORMS = [{"k": 3}, {"l0_penalty": 0.3}, {"k": 2, "l0_penalty": 0.1}]
forms = pytest.mark.parametrize("form", FORMS, ids=str)
REGIONS = [((), ()), ((2,), (0, 3)), ((1, 4), (5,))]


def starts(y):
    rng = np.random.default_rng(1)
    return [*rng.standard_normal((4, N)), -0.5 * y, 1e3 * y, np.zeros(N), np.full(N, 1e300)]


def region_of(inside, outside):
    return Region(np.array(inside, dtype=np.intp), np.array(outside, dtype=np.intp), P)


@every_pair(loss=LOSS_NAMES, form=FORMS, fit_intercept=[True, False])
def test_the_best_bound_of_any_point(loss, form, fit_intercept):
    """The point is feasible; its bound follows from its gains and is between that of zero and the optimum."""
    X, y = sample(loss, N, P)
    problem = make_problem(X, y, **form, loss=loss, gamma=0.3, fit_intercept=fit_intercept)
    values = sample_values(loss, N, P, 0, 0.3, fit_intercept, False)
    for inside, outside in REGIONS:
        region = region_of(inside, outside)
        optimum, _ = best_of(values, **form, include=inside, exclude=outside)
        for start in starts(y):
            with np.errstate(over="ignore", invalid="ignore"):
                found = best_bound(problem, start, region)
            assert bound_of_zero(problem, region) <= found.value <= optimum * (1.0 + 1e-9)
            np.testing.assert_allclose(problem.feasible(found.alpha), found.alpha, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(found.q, problem.gains(found.alpha), rtol=1e-9, atol=1e-12)
            again = bound_from_gains(problem, found.alpha, found.q, region)
            assert found.value == pytest.approx(max(again, bound_of_zero(problem, region)), rel=1e-9)


@losses
@forms
def test_no_other_factor_is_better(loss, form):
    X, y = sample(loss, N, P)
    problem = make_problem(X, y, **form, loss=loss, gamma=0.3)
    # Points outside of the domain are not feasible.
    most = 2.0 if problem.loss.domain_is_cone else 1.0
    for start in starts(y)[:5]:
        alpha = problem.feasible(start)
        q = problem.gains(alpha)
        found = scaled_bound(problem, alpha, problem.design.tdot(alpha), problem.root).value
        grid = [bound_from_gains(problem, t * alpha, t * t * q, problem.root) for t in np.linspace(0.0, most, 201)]
        assert found >= max(grid) - 1e-9 * (1.0 + abs(max(grid)))


@losses
def test_the_point_of_a_support_proves_its_value(loss):
    """The bound is that of the region that contains only this support."""
    X, y = sample(loss, N, P)
    problem = make_problem(X, y, 3, loss=loss, gamma=0.3)
    fit = fit_support(problem, np.array([0, 2, 5]))
    found = best_bound(problem, fit.alpha, region_of((0, 2, 5), (1, 3, 4)))
    assert found.value <= fit.primal and found.value == pytest.approx(fit.primal, rel=1e-6)


def test_zero_is_the_only_point_without_a_ridge():
    X, y = sample("squared", N, P)
    problem = make_problem(X, y, 3, l0_penalty=0.7, include=[1, 2])
    found = best_bound(problem, -y, problem.root)
    assert found.value == bound_of_zero(problem, problem.root) == pytest.approx(1.4)
    assert not found.alpha.any() and not found.q.any()


def test_a_bound_that_is_nan_becomes_minus_infinity():
    X, y = sample("squared", N, P)
    problem = make_problem(X, y, 3, gamma=0.3)
    with np.errstate(over="ignore", invalid="ignore"):
        assert bound_from_gains(problem, np.full(N, -1e200), np.full(P, -np.inf), problem.root) == -np.inf
        assert scaled_bound(problem, np.full(N, 1e200), np.full(P, np.inf), problem.root).value == 0.0


@losses
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_value_without_features(loss, fit_intercept):
    """Compared with the best constant on a grid."""
    X, y = sample(loss, N, P)
    weights = np.linspace(0.5, 2.0, N)
    problem = make_problem(X, y, 3, loss=loss, gamma=0.3, fit_intercept=fit_intercept, sample_weight=weights)
    constants = np.linspace(y.min() - 1.0, y.max() + 1.0, 4001) if fit_intercept else [0.0]
    least = min(weights @ loss_value(loss, y, b) for b in constants)
    assert null_value(problem) == pytest.approx(least, rel=1e-4) and null_value(problem) <= least * (1.0 + 1e-12)
