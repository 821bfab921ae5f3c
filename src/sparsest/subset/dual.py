"""Bounds from dual points, after scaling the point by the best factor."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region, Sparsity

# Share of the absolute terms by which bounds are lowered; it exceeds their rounding errors.
ROUNDING = 1e-12
# Ratio of golden-section search.
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


class DualBound(NamedTuple):
    """A feasible dual point, the bound it proves for a region, and the gains q of all features."""

    alpha: Array
    value: float
    q: Array


def best_bound(problem: Problem, alpha: Array, region: Region) -> DualBound:
    """Make ``alpha`` feasible, scale it by the best factor, and return the bound, or that of α = 0 if it is better."""
    if not problem.has_dual_bounds:
        return DualBound(np.zeros(problem.n), bound_of_zero(problem, region), np.zeros(problem.p))
    alpha = problem.feasible(alpha)
    return scaled_bound(problem, alpha, problem.design.tdot(alpha), region)


def bound_from_gains(problem: Problem, alpha: Array, q: Array, region: Region) -> float:
    """``-Σωℓ*(α/ω) - gain(q)`` minus a margin for rounding errors; -inf if an overflow gives NaN."""
    terms = problem.weights * problem.loss.conjugate(problem.y, alpha / problem.weights)
    gain = problem.sparsity.gain(q, region)
    bound = float(-terms.sum() - gain - ROUNDING * (np.abs(terms).sum() + abs(gain)))
    return -np.inf if np.isnan(bound) else bound


def scaled_bound(problem: Problem, alpha: Array, products: Array, region: Region) -> DualBound:
    """Scale a feasible dual point with products ``X'α`` by the best factor and return the bound."""
    gains = _scaled_gains(problem, products)
    t = _best_scale(problem, alpha, gains, region)
    q = gains(t)
    value = bound_from_gains(problem, t * alpha, q, region)
    zero = bound_of_zero(problem, region)
    if np.isfinite(value) and value > zero:
        return DualBound(t * alpha, value, q)
    return DualBound(np.zeros(problem.n), zero, np.zeros(problem.p))


def bound_of_zero(problem: Problem, region: Region) -> float:
    """The bound of α = 0: losses are nonnegative, and each forced feature costs its price."""
    return problem.sparsity.cost(region.forced_in)


def null_value(problem: Problem) -> float:
    """The objective without features."""
    margin = np.full(problem.n, problem.data.null.b)
    return problem.primal(margin, np.empty(0), np.empty(0, dtype=np.intp))


def _scaled_gains(problem: Problem, products: Array) -> Callable[[float], Array]:
    """The gains of t times these products, as a function of t: t² times those at t = 1 if bounds are 0 or infinite."""
    q = problem.gains_from(products)
    return lambda t: t * t * q if problem.bounds.conic else problem.gains_from(t * products)


def _best_scale(problem: Problem, alpha: Array, gains: Callable[[float], Array], region: Region) -> float:
    """Maximise ``t → D(tα)``, in closed form if conjugate and gains are (piecewise) quadratic in t."""
    total = problem.conjugate_sum(alpha)
    most = np.inf if problem.loss.domain_is_cone else 1.0
    priced_units = problem.sparsity.priced and not isinstance(problem.sparsity, Sparsity)
    if problem.loss.conjugate_is_quadratic and problem.bounds.conic and not priced_units:
        half = problem.conjugate_sum(0.5 * alpha)
        linear, quadratic = 4.0 * half - total, 2.0 * total - 4.0 * half
        best = _scale_of_quadratics(problem, linear, quadratic, gains(1.0), region)
        return float(np.clip(best, 0.0, min(most, 1e6)))

    def value(t: float) -> float:
        return -problem.conjugate_sum(t * alpha) - problem.sparsity.gain(gains(t), region)

    return _maximise(value, min(most, 2.0))


def _scale_of_quadratics(problem: Problem, linear: float, quadratic: float, q: Array, region: Region) -> float:
    """Maximise ``-linear t - quadratic t² - gain(t²q)`` over t; infinite if the function has no curvature.

    With a price λ0 the features with ``t²q_j > λ0`` count, and their number increases with t.  The slope therefore
    decreases, and the maximum is where it changes its sign.
    """
    sparsity = problem.sparsity
    if not sparsity.priced:
        curvature = quadratic + sparsity.gain(q, region)
        return -linear / (2.0 * curvature) if curvature > 0.0 else np.inf
    assert isinstance(sparsity, Sparsity)
    curvature = quadratic + float(q[region.forced_in].sum())
    furthest = -linear / (2.0 * curvature) if curvature > 0.0 else np.inf
    if furthest <= 0.0:
        return 0.0
    free = q[region.free]
    counting = np.sort(free[free > sparsity.price / furthest**2])[::-1][: sparsity.budget(region)]
    curvatures = curvature + np.concatenate([[0.0], np.cumsum(counting)])
    # The t from which on each feature counts, and whether the function decreases from there on.
    begin = np.append(np.sqrt(sparsity.price / counting), np.inf)
    falls = np.append(-linear <= 2.0 * begin[:-1] * curvatures[1:], True)
    first = int(np.argmax(falls))
    return min(-linear / (2.0 * curvatures[first]) if curvatures[first] > 0.0 else np.inf, float(begin[first]))


def _maximise(function: Callable[[float], float], most: float) -> float:
    """Golden-section search for the maximum of a concave function on [0, most]; the value 1 is tried as well."""
    low, high = 0.0, most
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_a, at_b = function(a), function(b)
    for _ in range(40):
        if at_a < at_b:
            low, a, at_a = a, b, at_b
            b = low + _GOLDEN * (high - low)
            at_b = function(b)
        else:
            high, b, at_b = b, a, at_a
            a = high - _GOLDEN * (high - low)
            at_a = function(a)
    best, at_best = (a, at_a) if at_a > at_b else (b, at_b)
    return best if at_best > function(1.0) else 1.0
