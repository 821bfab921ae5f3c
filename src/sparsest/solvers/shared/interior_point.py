"""Piecewise linear losses on few columns, by a primal-dual interior-point method.

    min_{w,b,s} Σ_pieces Σ_i ω_i [a_i - σ_i (x_i'w + b)]_+ + ½ Σ_j δ_j w_j²/s_j + price Σ_j s_j,
    0 ≤ s_j ≤ 1,  Σ_free s_j ≤ budget,  s_j = 1 for forced features

With every feature forced in this is a support vector machine; otherwise its Boolean relaxation.  The slacks ``ξ ≥ 0``
and ``t = ξ - a + σ(Xw + b) ≥ 0`` have multipliers ``ν`` and ``β``, ``β + ν = ω``.  The indicators s, with a
logarithmic barrier for their bounds, are minimised out exactly at every iterate (Newton's method in (w, s) jointly
takes tiny steps near s = 0), so an iteration costs ``n|s|²``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparsest.arrays import Array, Mask
from sparsest.kernels.relaxation import central_indicator, central_price
from sparsest.solvers.shared.linear_algebra import factor_positive, solve_positive

_MAX_ITERATIONS = 150

# Without a ridge the solution need not be unique: one far below rounding of the data picks one.
_LEAST_RIDGE = 1e-13


class NotFiniteError(ArithmeticError):
    """A step has left the numbers."""


class Rows(NamedTuple):
    """The stacked pieces: ``ω[a - Zz]_+`` for the rows of Z, whose last column is the intercept's if there is one."""

    Z: Array
    a: Array
    sign: Array
    omega: Array

    def alpha(self, beta: Array, n: int) -> Array:
        """The dual point ``α_i = -Σ_pieces σ_i β_i``."""
        return -(self.sign * beta).reshape(-1, n).sum(axis=0)


def stack(columns: Array, weights: Array, pieces: list[tuple[Array, Array]], fit_intercept: bool) -> Rows:
    """Return all pieces as rows of one matrix."""
    n, m = columns.shape
    Z = np.ones((n, m + 1), order="F") if fit_intercept else np.empty((n, m), order="F")
    Z[:, :m] = columns
    a = np.concatenate([piece[0] for piece in pieces])
    sign = np.concatenate([piece[1] for piece in pieces])
    return Rows(sign[:, None] * np.tile(Z, (len(pieces), 1)), a, sign, np.tile(weights, len(pieces)))


class Iterate(NamedTuple):
    """Where the method stands, or a direction: the last four entries stay positive."""

    z: Array
    beta: Array
    nu: Array
    xi: Array
    t: Array

    def moved(self, step: float, d: Iterate) -> Iterate:
        """The iterate after a step."""
        return Iterate(*(x + step * dx for x, dx in zip(self, d, strict=True)))

    def complementarity(self) -> float:
        """Mean product of the slacks and their multipliers."""
        return float(self.beta @ self.t + self.nu @ self.xi) / (2 * self.t.size)


class _Regulariser(NamedTuple):
    """Gradient and Hessian ``diag(d) + hh'/c`` of the regulariser."""

    gradient: Array
    diagonal: Array
    h: Array
    c: float

    def curvature(self, d: Array) -> float:
        """``d'Hd``."""
        return float(self.diagonal @ d**2 + (self.h @ d) ** 2 / self.c)


class InteriorPoint:
    """The method for given rows, ridges δ (0 for the intercept), free features, and their budget and price."""

    def __init__(self, rows: Rows, delta: Array, free: Mask, budget: float, price: float) -> None:
        self.rows, self.delta, self.free = rows, delta, np.flatnonzero(free)
        self.budget, self.price = budget, price
        # The price and what the budget adds to it.
        self._full_price = price
        self.mu = np.inf
        m = self.free.size
        self._s = np.full(m, min(0.5, budget / m) if m else 0.5)

    def start(self) -> Iterate:
        """Begin in the middle of all bounds."""
        rows = self.rows
        spread = 1.0 + np.abs(rows.a)
        half = 0.5 * rows.omega
        xi, t = np.maximum(rows.a, 0.0) + spread, np.maximum(-rows.a, 0.0) + spread
        return Iterate(np.zeros(rows.Z.shape[1]), half, half.copy(), xi, t)

    def step(self, x: Iterate) -> Iterate | None:
        """One predictor-corrector step, or with free features a damped one along the central path; None if neither."""
        try:
            return self._predictor_corrector(x) if self.free.size == 0 else self._follow_path(x)
        except NotFiniteError:
            return None

    def _predictor_corrector(self, x: Iterate) -> Iterate:
        now = x.complementarity()
        system = _System(self.rows, x, self._regulariser(x.z, now))
        affine = system.direction(0.0, None)
        after = x.moved(_reach(x, affine), affine).complementarity()
        direction = system.direction(now * min(1.0, max(after, 0.0) / now) ** 3, affine)
        return x.moved(min(1.0, 0.995 * _reach(x, direction)), direction)

    def _follow_path(self, x: Iterate) -> Iterate:
        """Aim at the centre of the present μ; lower μ only when the Newton decrement shows that it is near."""
        self.mu = min(self.mu, 2.0 * x.complementarity())
        regulariser = self._regulariser(x.z, self.mu)
        direction = _System(self.rows, x, regulariser).direction(self.mu, None)
        decrement = regulariser.curvature(direction.z) / self.mu
        damping = 1.0 / (1.0 + 0.5 * np.sqrt(decrement)) if decrement > 1.0 else 1.0
        reach = min(1.0, 0.99 * _reach(x, direction))
        if decrement < 1.0 and reach > 0.5:
            self.mu *= 0.25
        return x.moved(min(reach, damping), direction)

    def _regulariser(self, z: Array, mu: float) -> _Regulariser:
        """The central regulariser at z, with s eliminated exactly."""
        gradient, diagonal = self.delta * z, self.delta.copy()
        h, c = np.zeros(z.size), 1.0
        free = self.free
        if free.size == 0:
            return _Regulariser(gradient, diagonal, h, c)
        w, delta, s = z[free], self.delta[free], self._s
        energy = 0.5 * delta * w**2
        binding = self.price == 0.0 or central_indicator(energy, mu, self.price, s)[0] > self.budget
        if binding:
            self._full_price = central_price(energy, mu, self.budget, self._full_price, s)
        bounds = mu / s**2 + mu / (1.0 - s) ** 2
        A = 2.0 * energy / s**3 + bounds
        gradient[free] /= s
        diagonal[free] = (delta / s) * (bounds / A)
        if binding:
            h[free] = delta * w / s**2 / A
            c = float((1.0 / A).sum())
        return _Regulariser(gradient, diagonal, h, c)


class _System:
    """The Newton system at an iterate, factored once for predictor and corrector."""

    def __init__(self, rows: Rows, x: Iterate, regulariser: _Regulariser) -> None:
        self.rows, self.x, self.gradient, self.h = rows, x, regulariser.gradient, regulariser.h
        self.theta = 1.0 / (x.t / x.beta + x.xi / x.nu)
        H = rows.Z.T @ (self.theta[:, None] * rows.Z)
        H.flat[:: H.shape[0] + 1] += regulariser.diagonal
        factor = factor_positive(H)
        if factor is None:
            raise NotFiniteError
        self.factor = factor
        solved = solve_positive(factor, self.h)
        self.solved = solved / (regulariser.c + self.h @ solved)

    def direction(self, target: float, affine: Iterate | None) -> Iterate:
        """Aim at complementarity ``target``; a predictor adds its second-order terms."""
        rows, x = self.rows, self.x
        t_product, xi_product = x.beta * x.t - target, x.nu * x.xi - target
        if affine is not None:
            t_product, xi_product = t_product + affine.beta * affine.t, xi_product + affine.nu * affine.xi
        rho = -t_product / x.beta + xi_product / x.nu + (x.t - x.xi + rows.a - rows.Z @ x.z)
        d_z = solve_positive(self.factor, rows.Z.T @ (x.beta + self.theta * rho) - self.gradient)
        d_z = d_z - self.solved * (self.h @ d_z)
        d_beta = self.theta * (rho - rows.Z @ d_z)
        d_xi = (-xi_product + x.xi * d_beta) / x.nu
        return Iterate(d_z, d_beta, -d_beta, d_xi, (-t_product - x.t * d_beta) / x.beta)


def _reach(x: Iterate, d: Iterate) -> float:
    """The largest step that keeps every slack and multiplier positive, at most 1/0.995."""
    reach = 1.0 / 0.995
    for current, change in zip(x[1:], d[1:], strict=True):
        ratio = float((change / current).min())
        if ratio < 0:
            reach = min(reach, -1.0 / ratio)
    return reach


def minimise(
    rows: Rows, n: int, ridge: Array, fit_intercept: bool, tolerance: float, expired: Callable[[], bool]
) -> tuple[Array, float, Array]:
    """Fit all columns (a support vector machine) to a relative gap, or until ``expired``; return w, b and α.

    Columns are in units in which their weighted squares sum to at most 1.
    """
    m = rows.Z.shape[1] - int(fit_intercept)
    # In units of a typical offset: with w, offsets and 1/δ times as large the solution stays what it is.
    unit = float(rows.omega @ np.abs(rows.a)) / float(rows.omega.sum()) or 1.0
    rows = rows._replace(a=rows.a / unit)
    delta = np.zeros(rows.Z.shape[1])
    delta[:m] = np.where(ridge > 0.0, ridge * unit, _LEAST_RIDGE)
    method = InteriorPoint(rows, delta, np.zeros(delta.size, dtype=bool), 0, 0.0)
    x = method.start()
    best_z, best_beta, primal, dual = x.z, x.beta, np.inf, -np.inf
    for _ in range(_MAX_ITERATIONS):
        products = rows.Z.T @ x.beta
        now = float(rows.omega @ np.maximum(rows.a - rows.Z @ x.z, 0.0) + 0.5 * delta @ x.z**2)
        bound = float(rows.a @ x.beta - 0.5 * (products[:m] ** 2 / delta[:m]).sum())
        # What the intercept's multipliers miss counts against the bound.
        bound -= np.abs(products[m:]).sum() * (1.0 + np.abs(x.z[m:]).sum())
        if now < primal:
            primal, best_z = now, x.z
        if bound > dual:
            dual, best_beta = bound, x.beta
        scale = max(primal, 1e-9 * float(rows.omega.sum()))
        # Rounding makes the dual worse again once complementarity is far below what the gap needs.
        if primal - dual <= tolerance * scale or x.complementarity() * 2 * x.t.size <= 1e-5 * tolerance * scale:
            break
        following = None if expired() else method.step(x)
        if following is None:
            break
        x = following
    best_z = unit * best_z
    return best_z[:m], float(best_z[m]) if fit_intercept else 0.0, rows.alpha(best_beta, n)
