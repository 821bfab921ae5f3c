"""Piecewise linear losses on few columns, by a primal-dual interior-point method.

    min_{w,b,s} Σ_pieces Σ_i ω_i [a_i - σ_i (x_i'w + b)]_+ + ½ Σ_j δ_j w_j²/s_j + price Σ_j s_j,
    0 ≤ s_j ≤ 1,  Σ_free s_j ≤ budget,  s_j = 1 for forced features

With every feature forced in this is a support vector machine; otherwise it is the Boolean relaxation of one.  The
slacks ``ξ ≥ 0`` and ``t = ξ - a + σ(Xw + b) ≥ 0`` have multipliers ``ν`` and ``β`` with ``β + ν = ω``.  For a free
feature, v_j bounds the term ½δ_j w_j²/s_j: ``(v_j, s_j, √δ_j w_j)`` is in a cone
(:mod:`sparsest.subset.fits.cones`) with the dual vector ``(1, q_j, r_j)``.  Mehrotra's predictor and corrector share
one Cholesky factor of the size of w.  With m columns an iteration takes ``nm²/2`` multiplications, and twenty
iterations suffice for nearly every problem.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.subset.fits.cones import Scaling, depth, largest_step
from sparsest.subset.fits.linear_algebra import factor_positive, solve_positive

# Largest number of iterations.
_MAX_ITERATIONS = 150

# Ridge used if there is none, far below the rounding errors of the data: without it the solution need not be unique.
_LEAST_RIDGE = 1e-13

# Length of a step as a share of the distance to the boundary.
_BOUNDARY_SHARE = 0.99

# Complementarity of the cold start as a share of the mean of ω(1 + |a|), weights times one plus the absolute offset.
_FIRST_TARGET = 0.5

# Largest share of the budget that all entering features together get in a warm start, and smallest share of the budget
# that stays unused.
_ENTRANTS_SHARE, _LEAST_UNUSED = 0.1, 1e-8


class NoStepError(ArithmeticError):
    """There is no step, because of rounding errors or values that are not finite."""


class Rows(NamedTuple):
    """The pieces ``ω[a - σZz]_+``, concatenated; the last column of Z is that of the intercept, if there is one."""

    Z: Array
    a: Array
    sign: Array
    omega: Array

    def margins(self, z: Array) -> Array:
        """``σZz`` for all pieces."""
        return (self.sign.reshape(-1, self.Z.shape[0]) * (self.Z @ z)).ravel()

    def alpha(self, beta: Array) -> Array:
        """The dual point ``α_i = -Σ_pieces σ_i β_i``."""
        return -(self.sign * beta).reshape(-1, self.Z.shape[0]).sum(axis=0)

    def products(self, beta: Array) -> Array:
        """``Σ_pieces Z'σβ``."""
        return -(self.Z.T @ self.alpha(beta))

    def balanced(self, beta: Array) -> Array:
        """Scale down positive or negative multipliers so that their products with the intercept column sum to zero.

        Only such multipliers are dual feasible and bound the minimum.
        """
        share = (self.sign.reshape(-1, self.Z.shape[0]) * self.Z[:, -1]).ravel() * beta
        up, down = np.maximum(share, 0.0).sum(), np.maximum(-share, 0.0).sum()
        if up > down:
            return np.where(share > 0.0, beta * (down / up), beta)
        return np.where(share < 0.0, beta * (up / down), beta) if down > up else beta

    def gram(self, theta: Array) -> Array:
        """``Σ_pieces Z'σ²ΘZ``."""
        weights = (self.sign**2 * theta).reshape(-1, self.Z.shape[0]).sum(axis=0)
        scaled = np.sqrt(weights)[:, None] * self.Z
        # A symmetric product A'A takes half the operations of a general product.
        return scaled.T @ scaled


def stack(columns: Array, weights: Array, pieces: list[tuple[Array, Array]], fit_intercept: bool) -> Rows:
    """Return the pieces of a loss for these columns."""
    n, m = columns.shape
    Z = np.ones((n, m + 1), order="F") if fit_intercept else np.empty((n, m), order="F")
    Z[:, :m] = columns
    a, sign = (np.concatenate([piece[part] for piece in pieces]) for part in (0, 1))
    return Rows(Z, a, sign, np.tile(weights, len(pieces)))


class Iterate(NamedTuple):
    """An iterate or a direction; in an iterate all but z, v and r are positive, and (v, s, √δw) is in its cone.

    ``g = 1 - s`` has the multiplier η.  The unused budget h has the multiplier τ; both are empty if the budget does
    not restrict anything.
    """

    z: Array
    beta: Array
    nu: Array
    xi: Array
    t: Array
    s: Array
    g: Array
    eta: Array
    q: Array
    h: Array
    tau: Array
    v: Array
    r: Array

    def moved(self, step: float, d: Iterate) -> Iterate:
        """The iterate after a step."""
        return Iterate(*(x + step * dx for x, dx in zip(self, d, strict=True)))

    def is_finite(self) -> bool:
        """Whether all entries are finite."""
        return all(np.isfinite(part).all() for part in self)

    def positive(self) -> tuple[Array, ...]:
        """The parts that must stay positive."""
        return self[1:11]

    def pairs(self) -> tuple[tuple[Array, Array], ...]:
        """Multipliers and slacks of all constraints except the cones."""
        return (self.beta, self.t), (self.nu, self.xi), (self.eta, self.g), (self.tau, self.h)


class InteriorPoint:
    """The method for given rows, ridges δ (0 for the intercept), free features, and their budget and price."""

    def __init__(self, rows: Rows, delta: Array, free: Mask, budget: float, price: float) -> None:
        self.rows, self.free = rows, np.flatnonzero(free)
        self.budget, self.price = budget, price
        self.root = np.sqrt(delta[free])
        # The ridges of features that are not free.
        self.delta = np.where(free, 0.0, delta)

    def start(self) -> Iterate:
        """The cold start: zero coefficients, in the middle of all bounds."""
        rows, m = self.rows, self.free.size
        mu = _FIRST_TARGET * float(rows.omega @ (1.0 + np.abs(rows.a))) / rows.a.size
        width = mu / rows.omega
        root = np.hypot(rows.a, 2.0 * width)
        xi, t = width + 0.5 * (root + rows.a), width + 0.5 * (root - rows.a)
        s = np.full(m, min(0.5, 0.5 * self.budget / m) if m else 0.5)
        h = np.full(int(self.budget < m), self.budget - s.sum())
        return Iterate(
            np.zeros(rows.Z.shape[1]), mu / t, mu / xi, xi, t, s, 1.0 - s, mu / (1.0 - s), 0.5 * mu / s,
            h, mu / h, np.full(m, 0.5 * mu), np.zeros(m),
        )  # fmt: skip

    # In extreme units squares may underflow or overflow.
    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def resume(self, x: Iterate, earlier: InteriorPoint, before: Indices) -> Iterate | None:
        """The warm start near an iterate for other columns; None if it is not inside all cones.

        Also None if the budget restricts only one of the two problems.  ``before`` is the position of each column
        among those of ``earlier``, or -1.  Entering features take a share of the budget from the others, and are as
        central as their products with the dual point allow.
        """
        limited = self.budget < self.free.size
        if limited != bool(x.h.size):
            return None
        place = np.full(earlier.rows.Z.shape[1] + 1, -1)
        place[earlier.free] = np.arange(earlier.free.size)
        at = place[before[self.free]]
        new = np.flatnonzero(at < 0)
        mu = earlier.complementarity(x)
        kept = [part[at] for part in (x.s, x.g, x.eta, x.q, x.v, x.r)] if x.s.size else [np.empty(at.size)] * 6
        s, g, eta, q, v, r = (part.copy() for part in kept)
        total = self.budget if limited else max(float(x.s.sum()), 1.0)
        share = min(0.5, total * min(0.5 / max(at.size, 1), _ENTRANTS_SHARE / max(new.size, 1)))
        r[new] = -self.rows.products(x.beta)[self.free[new]] / self.root[new]
        room = 2.0 * (self.price + float(x.tau.sum())) - r[new] ** 2
        s[new] = np.where(share * room > mu, mu / np.maximum(room, 1e-300), share)
        unused = self.budget - float(s.sum())
        if limited and unused < (least := max(min(float(x.h[0]), 0.05 * self.budget), _LEAST_UNUSED * self.budget)):
            shrink = (self.budget - least) / (self.budget - unused)
            s, g, v, unused = shrink * s, g + (1.0 - shrink) * s, v / shrink, least
        z = np.zeros(self.rows.Z.shape[1])
        z[: before.size][before >= 0] = x.z[before[before >= 0]]
        z[before.size :] = x.z[x.z.size - (z.size - before.size) :]
        q[new], g[new] = 0.5 * (r[new] ** 2 + mu / s[new]), 1.0 - s[new]
        v[new], eta[new] = q[new] * s[new], mu / g[new]
        z[self.free[new]] = -r[new] * s[new] / self.root[new]
        h = np.full(int(limited), unused)
        resumed = x._replace(z=z, s=s, g=g, eta=eta, q=q, h=h, v=v, r=r)
        inside = all((depth(side) > 0.0).all() for side in self.cones(resumed))
        return resumed if inside and resumed.is_finite() else None

    def complementarity(self, x: Iterate) -> float:
        """Mean product of the slacks and their multipliers."""
        total = sum(float(slack @ multiplier) for slack, multiplier in x.pairs())
        primal, dual = self.cones(x)
        return (total + float((primal * dual).sum())) / self.degree(x)

    # In extreme units squares may underflow or overflow; a step that is not finite is rejected.
    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def step(self, x: Iterate) -> Iterate | None:
        """One predictor-corrector step; None if it fails."""
        now = self.complementarity(x)
        try:
            system = _System(self, x)
        except NoStepError:
            return None
        affine = system.direction(0.0, None)
        after = self.complementarity(x.moved(self._largest_step(x, affine), affine))
        direction = system.direction(now * min(1.0, max(after, 0.0) / now) ** 3, affine)
        following = x.moved(min(1.0, _BOUNDARY_SHARE * self._largest_step(x, direction)), direction)
        return following if following.is_finite() else None

    def degree(self, x: Iterate) -> int:
        """The number of products of slacks and multipliers; a cone counts as two."""
        return 2 * x.t.size + 2 * x.s.size + x.h.size

    def cones(self, x: Iterate, direction: bool = False) -> tuple[Array, Array]:
        """The vectors of the cones and of their duals; the first entry of the latter is 1, and 0 in a direction."""
        first = np.zeros(x.s.size) if direction else np.ones(x.s.size)
        return np.array([x.v, x.s, self.root * x.z[self.free]]), np.array([first, x.q, x.r])

    def _largest_step(self, x: Iterate, d: Iterate) -> float:
        """The largest step that keeps all parts within bounds and cones, at most 1/0.99."""
        largest = 1.0 / _BOUNDARY_SHARE
        for current, change in zip(x.positive(), d.positive(), strict=True):
            ratio = float((change / current).min(initial=0.0))
            if ratio < 0.0:
                largest = min(largest, -1.0 / ratio)
        for current, change in zip(self.cones(x), self.cones(d, direction=True), strict=True):
            largest = min(largest, largest_step(current, change))
        return largest


class _System:
    """The Newton system at an iterate, factored once for predictor and corrector.

    The step of a cone is ``(ds, dw) = goal - missing``, ``(dq, dr) = P missing``, ``P = [[a + cb², cb], [cb, c]]``.
    Eliminating all variables except dz and dτ leaves ``(Z'ΘZ + D) dz + e dτ = …`` and ``e'dz - κ dτ = …``, where D is a
    diagonal matrix.
    """

    def __init__(self, method: InteriorPoint, x: Iterate) -> None:
        self.method, self.x = method, x
        rows, free, cones = method.rows, method.free, method.cones(x)
        if not all((depth(side) > 0.0).all() for side in cones):
            # The iterate is so close to the boundary that rounding errors dominate.
            raise NoStepError
        self.theta = 1.0 / (x.t / x.beta + x.xi / x.nu)
        self.scaling = Scaling(*cones)
        self.a, self.b, c = self.scaling.block()
        steepness = x.eta / x.g + self.a
        self.E = steepness + c * self.b**2
        self.slant, self.flat = c * self.b / self.E, c * steepness / self.E
        diagonal = method.delta.copy()
        diagonal[free] = method.root**2 * self.flat
        H = rows.gram(self.theta)
        H.flat[:: H.shape[0] + 1] += diagonal
        factor = factor_positive(H)
        if factor is None:
            raise NoStepError
        self.factor = factor
        self.e, self.kappa = np.zeros(x.z.size), np.inf
        if x.h.size:
            self.e[free] = -method.root * self.slant
            self.kappa = float(x.h[0] / x.tau[0] + (1.0 / self.E).sum())
        solved = solve_positive(factor, self.e)
        self.solved = solved / (self.kappa + self.e @ solved)

    def direction(self, target: float, affine: Iterate | None) -> Iterate:
        """The direction to complementarity ``target``, with the second-order terms of the predictor ``affine``."""
        method, x, rows, free = self.method, self.x, self.method.rows, self.method.free
        excess = [slack * multiplier - target for multiplier, slack in x.pairs()]
        if affine is not None:
            excess = [e + slack * multiplier for e, (multiplier, slack) in zip(excess, affine.pairs(), strict=True)]
        over_t, over_xi, over_g, over_h = excess
        cone = self.scaling.goal(target, None if affine is None else method.cones(affine, direction=True))
        rho = -over_t / x.beta + over_xi / x.nu + (x.t - x.xi + rows.a - rows.margins(x.z))
        tau = float(x.tau.sum())
        k = (x.eta * cone[1] - over_g) / x.g + (method.price + tau + x.eta - x.q)
        right = rows.products(x.beta + self.theta * rho) - method.delta * x.z
        right[free] += method.root * (x.r + self.slant * k + self.flat * cone[2])
        kappa = float((cone[1] - k / self.E + self.slant * cone[2]).sum() - over_h.sum() / tau) if x.h.size else 0.0
        d_z = solve_positive(self.factor, right - self.e * (kappa / self.kappa))
        d_z = d_z - self.solved * (self.e @ d_z)
        d_tau = (kappa + float(self.e @ d_z)) / self.kappa
        missing_w = cone[2] - method.root * d_z[free]
        missing_s = (k + d_tau) / self.E - self.slant * missing_w
        d_s, d_r = cone[1] - missing_s, self.slant * (k + d_tau) + self.flat * missing_w
        d_beta = self.theta * (rho - rows.margins(d_z))
        return Iterate(
            d_z, d_beta, -d_beta, (-over_xi + x.xi * d_beta) / x.nu, (-over_t - x.t * d_beta) / x.beta,
            d_s, -d_s, (x.eta * d_s - over_g) / x.g, self.a * missing_s + self.b * d_r,
            np.full(x.h.size, -d_s.sum()), np.full(x.h.size, d_tau),
            cone[0] - self.scaling.first(missing_s, d_r), d_r,
        )  # fmt: skip


def minimise(
    rows: Rows,
    ridge: Array,
    fit_intercept: bool,
    tolerance: float,
    expired: Callable[[], bool],
    cutoff: float = np.inf,
) -> tuple[Array, float, Array]:
    """Fit all columns (a support vector machine) to a relative gap, or until ``expired``; return w, b and α.

    The fit ends early if the dual value shows that the minimum is above ``cutoff``.  The weighted sum of squares of
    each column must be at most 1.
    """
    m = rows.Z.shape[1] - int(fit_intercept)
    # Work in units of a typical offset: scaling w, the offsets and 1/δ by the same factor gives an equivalent problem.
    unit = float(rows.omega @ np.abs(rows.a)) / float(rows.omega.sum()) or 1.0
    rows = rows._replace(a=rows.a / unit)
    delta = np.zeros(rows.Z.shape[1])
    delta[:m] = np.where(ridge > 0.0, ridge * unit, _LEAST_RIDGE)
    method = InteriorPoint(rows, delta, np.zeros(delta.size, dtype=bool), 0, 0.0)
    x = method.start()
    best_z, best_beta, primal, dual = x.z, x.beta, np.inf, -np.inf
    for _ in range(_MAX_ITERATIONS):
        beta = rows.balanced(x.beta) if fit_intercept else x.beta
        products = rows.products(beta)
        now = float(rows.omega @ np.maximum(rows.a - rows.margins(x.z), 0.0) + 0.5 * delta @ x.z**2)
        bound = float(rows.a @ beta - 0.5 * (products[:m] ** 2 / delta[:m]).sum())
        if now < primal:
            primal, best_z = now, x.z
        if bound > dual:
            dual, best_beta = bound, beta
        scale = max(primal, 1e-9 * float(rows.omega.sum()))
        # Rounding errors make the dual value worse again once complementarity is far below the requested gap.
        small = method.complementarity(x) * 2 * x.t.size <= 1e-5 * tolerance * scale
        if primal - dual <= tolerance * scale or small or unit * dual > cutoff:
            break
        following = None if expired() else method.step(x)
        if following is None:
            break
        x = following
    best_z = unit * best_z
    return best_z[:m], float(best_z[m]) if fit_intercept else 0.0, rows.alpha(best_beta)
