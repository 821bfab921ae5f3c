"""The candidate features of a local search: how promising they are, and the moves among a pool of them.

Scores are those of :mod:`sparsest.subset.moves`.  Columns are divided by their norms first.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg as la

from sparsest.core.arrays import Array, Indices
from sparsest.core.losses import PiecewiseLinear, Squared
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region
from sparsest.subset.fits.linear_algebra import inverse_semidefinite
from sparsest.subset.fits.support import SupportFit, fit_support
from sparsest.subset.moves import (
    DEPENDENT,
    LocalModel,
    addition_gains,
    decrease,
    held_at_zero,
    remainder,
    removal_losses,
    swap_gains,
    variances,
)

# Predicted decrease, and positions in the pool of the feature that leaves and of the one that enters.
Move = tuple[float, int | None, int | None]

# Number of products between features and the support that are computed at a time.
_PRODUCTS_AT_ONCE = 4_000_000
# Share of its norm below which the part of a column orthogonal to the support is rounding error.
_NO_DIRECTION = 1e-14


def slopes(problem: Problem, fit: SupportFit) -> Array:
    """The dual point of a fit; for a piecewise linear loss, the slopes of its smoothed form.

    With tied responses the dual point at kinks is not unique, and moves based on it could differ between a row given
    twice and a row with weight 2.
    """
    if not isinstance(problem.loss, PiecewiseLinear):
        return fit.alpha
    margin = problem.design.columns(fit.support) @ fit.w + fit.b
    return problem.weights * problem.loss.smoothed(1.0).derivative(problem.y, margin)


def forward_scores(problem: Problem, fit: SupportFit, candidates: Indices) -> Array:
    """Approximate gains ``g²/(2d)`` of adding each candidate, with the curvature d of its column alone."""
    known = fit.support.size == 0 and not isinstance(problem.loss, PiecewiseLinear)
    products = problem.data.null.products if known else problem.design.tdot(slopes(problem, fit))
    gradient = products[candidates]
    curvature = problem.column_norms[candidates] ** 2 * problem.data.curvature + problem.ridge
    return decrease(gradient, curvature, problem.bounds.of(candidates))


def promise_of_adding(problem: Problem, fit: SupportFit) -> Array:
    """The promise of adding each feature: its absolute product with the dual point, divided by its norm.

    It is zero if a bound excludes coefficients of the sign that would help.
    """
    products = problem.design.tdot(slopes(problem, fit))
    promise = np.abs(products) / np.maximum(problem.column_norms, 1e-300)
    return np.where(problem.bounds.limits(-products) > 0.0, promise, 0.0) if problem.bounds.exist else promise


def promise_of_swapping(problem: Problem, fit: SupportFit) -> Array:
    """The promise of swapping in each feature: the largest decrease of the quadratic model by its swaps.

    Products with the residuals do not reveal features that can replace a similar feature of the support.
    """
    if not fit.support.size:
        return promise_of_adding(problem, fit)
    design, scale = problem.design, np.where(problem.column_norms > 0.0, problem.column_norms, 1.0)
    inside = scale[fit.support]
    columns = design.columns(fit.support)
    curvature = _curvature(problem, columns @ fit.w + fit.b)
    columns /= inside
    weighted = curvature[:, None] * columns
    if problem.fit_intercept and curvature.sum() > 0:
        weighted -= np.outer(curvature, weighted.sum(axis=0) / curvature.sum())
    H = columns.T @ weighted
    H.flat[:: inside.size + 1] += problem.ridge / inside**2 + 1e-12
    w = fit.w * inside
    N = held_at_zero(inverse_semidefinite(H), w, problem.bounds)
    gradient = design.tdot(slopes(problem, fit)) / scale
    mean_curvature = float(curvature.sum() / problem.weights.sum())
    promise = np.empty(problem.p)
    width = max(1, _PRODUCTS_AT_ONCE // inside.size)
    for begin in range(0, problem.p, width):
        part = np.arange(begin, min(begin + width, problem.p))
        cross = design.tdot(weighted, None if part.size == problem.p else part) / scale[part, None]
        own = mean_curvature + problem.ridge / scale[part] ** 2
        # Coefficients of nearly dependent columns may overflow; their promise is then not finite.
        with np.errstate(over="ignore", invalid="ignore"):
            rest = remainder(LocalModel(N, cross, own, gradient[part], w))
            rest = rest._replace(d=np.maximum(rest.d, DEPENDENT), bounds=problem.bounds.of(part).times(scale[part]))
            promise[part] = swap_gains(rest, w, variances(N)).max(axis=1)
    return promise


def _curvature(problem: Problem, margin: Array) -> Array:
    """``ωℓ''`` at given predictions; for a piecewise linear loss, the curvature of its smoothed form."""
    return problem.weights * problem.loss.smoothed(1.0).second_derivative(problem.y, margin)


class Pool:
    """The candidate features of a round of moves: packed columns, and their products with columns of supports."""

    def __init__(self, problem: Problem, region: Region, features: Indices) -> None:
        self.problem, self.features = problem, features
        self.columns = problem.design.columns(features)
        self.movable = ~np.isin(features, region.forced_in)
        norms = problem.column_norms[features]
        self.scale = np.where(norms > 0.0, norms, 1.0)
        # Positions of features that must not enter.
        self.banned: list[int] = []
        # Cached products for the squared loss, whose curvatures are the weights.
        self._gram, self._known = np.empty((0, 0)), np.zeros(features.size, dtype=bool)
        self._squares = (norms / self.scale) ** 2

    def products(self, fit: SupportFit) -> tuple[Array, Array]:
        """``X'DX_S`` and the diagonal of ``X'DX`` over the pool, in units of the columns' norms.

        With an intercept the columns are centred with the weights D.
        """
        inside = self.positions(fit.support)
        if not isinstance(self.problem.loss, Squared):
            curvature = _curvature(self.problem, self.columns[:, inside] @ fit.w + fit.b)
            sums, total = self.columns.T @ curvature / self.scale, float(curvature.sum())
            centred = sums / np.sqrt(total) if self.problem.fit_intercept and total > 0 else np.zeros(sums.size)
            squares = curvature @ np.square(self.columns / self.scale) - centred**2
            return self._cross(curvature, inside) - np.outer(centred, centred[inside]), squares
        if not self._gram.size:
            self._gram = np.empty((self.features.size, self.features.size), order="F")
        missing = inside[~self._known[inside]]
        # Columns of the design are centred by the weights.
        self._gram[:, missing] = self._cross(self.problem.weights, missing)
        self._known[missing] = True
        return self._gram[:, inside], self._squares

    def _cross(self, curvature: Array, some: Indices) -> Array:
        """``X'DX_some`` in units of the columns' norms."""
        weighted = curvature[:, None] * (self.columns[:, some] / self.scale[some])
        return self.columns.T @ weighted / self.scale[:, None]

    def positions(self, support: Indices) -> Indices:
        """The positions of a support in the pool."""
        return np.searchsorted(self.features, support)

    def _outside(self, inside: Indices) -> Indices:
        free = np.ones(self.features.size, dtype=bool)
        free[inside] = False
        free[self.banned] = False
        return np.flatnonzero(free)

    @np.errstate(over="ignore", invalid="ignore")
    def by_removal_loss(self, fit: SupportFit) -> list[int]:
        """The positions of the features that may leave the support, in increasing order of the cost of removal.

        Costs of nearly dependent columns may overflow; these features come last.
        """
        inside, (cross, _) = self.positions(fit.support), self.products(fit)
        H = cross[inside]
        H.flat[:: inside.size + 1] += self.problem.ridge / self.scale[inside] ** 2 + 1e-12
        w = fit.w * self.scale[inside]
        losses = removal_losses(w, variances(held_at_zero(inverse_semidefinite(H), w, self.problem.bounds)))
        order = inside[np.argsort(losses, kind="stable")]
        return [int(at) for at in order if self.movable[at]]

    def refit(
        self,
        fit: SupportFit,
        out: int | None,
        into: int | None,
        expired: Callable[[], bool] = lambda: False,
        cutoff: float = np.inf,
    ) -> SupportFit:
        """Fit the support without feature ``out`` and with feature ``into`` (positions in the pool, or None)."""
        keep = np.ones(fit.support.size, dtype=bool)
        if out is not None:
            keep &= fit.support != self.features[out]
        support, w = fit.support[keep], fit.w[keep]
        if into is not None:
            at = int(np.searchsorted(support, self.features[into]))
            support, w = np.insert(support, at, self.features[into]), np.insert(w, at, 0.0)
        columns = self.columns[:, self.positions(support)]
        return fit_support(self.problem, support, (w, fit.b), columns, expired, cutoff)

    @np.errstate(over="ignore", invalid="ignore")
    def moves(self, fit: SupportFit, count: int) -> list[Move]:
        """The ``count`` most promising moves; predicted gains that overflow are ignored."""
        problem, (cross, squares) = self.problem, self.products(fit)
        inside = self.positions(fit.support)
        outside = self._outside(inside)
        gradient = self.columns[:, outside].T @ slopes(problem, fit) / self.scale[outside]
        ridge = problem.ridge / self.scale**2
        w = fit.w * self.scale[inside]
        H = cross[inside]
        H.flat[:: inside.size + 1] += ridge[inside] + 1e-12
        N = held_at_zero(inverse_semidefinite(H), w, problem.bounds)
        own = squares[outside] + ridge[outside]
        bounds = problem.bounds.of(self.features[outside]).times(self.scale[outside])
        rest = remainder(LocalModel(N, cross[outside], own, gradient, w))._replace(bounds=bounds)
        dependent = np.flatnonzero(rest.d <= DEPENDENT * np.maximum(own, 1e-300))
        rest.d[dependent] = np.inf
        if np.isinf(problem.gamma) and isinstance(problem.loss, Squared):
            rest.d[dependent], gradient[dependent] = self._remainders(fit, inside, outside[dependent])
        price, variance = problem.plain_sparsity.price, variances(N)
        movable = np.flatnonzero(self.movable[inside])
        found: list[Move] = []
        if outside.size and inside.size < problem.sparsity.most(problem.p):
            found += _top(addition_gains(rest) - price, count, lambda i: (None, int(outside[i])))
        if price > 0:
            losses = removal_losses(w, variance)[movable]
            found += _top(price - losses, count, lambda j: (int(inside[movable[j]]), None))
        if movable.size and outside.size:
            swaps, m = swap_gains(rest, w, variance, movable).ravel(), movable.size
            found += _top(swaps, count, lambda c: (int(inside[movable[c % m]]), int(outside[c // m])))
        found.sort(key=lambda move: -move[0])
        return found[:count]

    def _remainders(self, fit: SupportFit, inside: Indices, features: Indices) -> tuple[Array, Array]:
        """Squares and slopes of the parts of nearly dependent columns orthogonal to the support.

        They are computed from the columns themselves, because Gram entries lose these digits.
        """
        if features.size == 0 or inside.size == 0:
            return np.full(features.size, np.inf), np.zeros(features.size)
        root = np.sqrt(self.problem.weights)
        basis = la.qr(root[:, None] * self.columns[:, inside] / self.scale[inside], mode="economic")[0]
        rest = root[:, None] * self.columns[:, features] / self.scale[features]
        for _ in range(2):  # The second projection removes the rounding errors of the first.
            rest = rest - basis @ (basis.T @ rest)
        squares = np.einsum("ij,ij->j", rest, rest)
        return np.where(squares > _NO_DIRECTION**2, squares, np.inf), rest.T @ (fit.alpha / root)


def _top(scores: Array, count: int, name: Callable[[int], tuple[int | None, int | None]]) -> list[Move]:
    """The largest scores with their moves."""
    if scores.size == 0:
        return []
    count = min(count, scores.size)
    scores = np.where(np.isnan(scores), -np.inf, scores)
    chosen = np.argpartition(-scores, count - 1)[:count]
    return [(float(scores[c]), *name(int(c))) for c in chosen]
