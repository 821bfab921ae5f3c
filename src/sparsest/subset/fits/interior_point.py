"""Piecewise linear losses on few columns, by a primal-dual interior-point method.

    min_{w,b,s} Σ_pieces Σ_i ω_i [a_i - σ_i (x_i'w + b)]_+ + ½ Σ_j δ_j w_j²/s_j + price Σ_j s_j,
    0 ≤ s_j ≤ 1,  Σ_free s_j ≤ budget,  s_j = 1 for forced features

With every feature forced in this is a support vector machine; otherwise its Boolean relaxation.  The slacks ``ξ ≥ 0``
and ``t = ξ - a + σ(Xw + b) ≥ 0`` have multipliers ``ν`` and ``β``, ``β + ν = ω``.  A free feature's energy is at least
``v_j`` with ``(v_j, s_j, √δ_j w_j)`` in a cone (:mod:`sparsest.subset.fits.cones`), whose dual vector is
``(1, q_j, r_j)``.  Mehrotra's predictor and corrector share one factor of a matrix of the size of w: an iteration
costs ``n|w|²/2`` multiplications, and twenty of them suffice for nearly every problem.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.subset.fits.cones import Scaling, depth, reach
from sparsest.subset.fits.linear_algebra import factor_positive, solve_positive

_MAX_ITERATIONS = 150

# Without a ridge the solution need not be unique: one far below rounding of the data picks one.
_LEAST_RIDGE = 1e-13

# The part of the way to the boundary that a step takes.
_BOLDNESS = 0.99

# Where to start: complementarity as a part of weights times offsets.
_FIRST_TARGET = 0.5

# What features that enter get of the budget together, at most, and the least of it that is left unused when they do.
_ENTRANTS_SHARE, _LEAST_UNUSED = 0.1, 1e-8


class NoStepError(ArithmeticError):
    """Rounding errors, or what is no number, leave no step."""


class Rows(NamedTuple):
    """The pieces ``ω[a - σZz]_+``, one after the other; Z has a last column for the intercept if there is one."""

    Z: Array
    a: Array
    sign: Array
    omega: Array

    def margins(self, z: Array) -> Array:
        """``σZz`` of all pieces."""
        return (self.sign.reshape(-1, self.Z.shape[0]) * (self.Z @ z)).ravel()

    def alpha(self, beta: Array) -> Array:
        """The dual point ``α_i = -Σ_pieces σ_i β_i``."""
        return -(self.sign * beta).reshape(-1, self.Z.shape[0]).sum(axis=0)

    def products(self, beta: Array) -> Array:
        """``Σ_pieces Z'σβ``."""
        return -(self.Z.T @ self.alpha(beta))

    def balanced(self, beta: Array) -> Array:
        """Multipliers whose products with the intercept, the last column, sum to zero: the larger sign is scaled down.

        Only such multipliers bound the minimum.
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
        # One array times itself takes half the work of a product of two.
        return scaled.T @ scaled


def stack(columns: Array, weights: Array, pieces: list[tuple[Array, Array]], fit_intercept: bool) -> Rows:
    """Return the pieces of a loss on some columns."""
    n, m = columns.shape
    Z = np.ones((n, m + 1), order="F") if fit_intercept else np.empty((n, m), order="F")
    Z[:, :m] = columns
    a, sign = (np.concatenate([piece[part] for piece in pieces]) for part in (0, 1))
    return Rows(Z, a, sign, np.tile(weights, len(pieces)))


class Iterate(NamedTuple):
    """Where the method stands, or a direction: all but z, v and r stay positive, and (v, s, √δw) in its cone.

    ``g = 1 - s`` has the multiplier η, what is left of the budget, h, the multiplier τ; both h and τ are empty where
    the budget is no limit.
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
        """Whether all are numbers."""
        return all(np.isfinite(part).all() for part in self)

    def positive(self) -> tuple[Array, ...]:
        """What has to stay positive."""
        return self[1:11]

    def pairs(self) -> tuple[tuple[Array, Array], ...]:
        """Slacks with their multipliers, outside of the cones."""
        return (self.beta, self.t), (self.nu, self.xi), (self.eta, self.g), (self.tau, self.h)


class InteriorPoint:
    """The method for given rows, ridges δ (0 for the intercept), free features, and their budget and price."""

    def __init__(self, rows: Rows, delta: Array, free: Mask, budget: float, price: float) -> None:
        self.rows, self.free = rows, np.flatnonzero(free)
        self.budget, self.price = budget, price
        self.root = np.sqrt(delta[free])
        # The ridges of what is not free.
        self.delta = np.where(free, 0.0, delta)

    def start(self) -> Iterate:
        """Begin with no coefficients, in the middle of all bounds."""
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

    # In extreme units squares may vanish or overflow.
    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def resume(self, x: Iterate, earlier: InteriorPoint, before: Indices) -> Iterate | None:
        """Begin near an iterate of other columns; None where there is none inside of all cones, or none alike.

        None is alike where the budget was a limit and is none now, or the reverse.

        ``before`` says where each column was among those of ``earlier``, or -1.  Features that enter take a part of the
        budget from the others and are as central as their products with the dual point allow.
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

    # In extreme units squares may vanish or overflow: a step that is no number is none.
    @np.errstate(over="ignore", divide="ignore", invalid="ignore")
    def step(self, x: Iterate) -> Iterate | None:
        """One predictor-corrector step; None if there is none."""
        now = self.complementarity(x)
        try:
            system = _System(self, x)
        except NoStepError:
            return None
        affine = system.direction(0.0, None)
        after = self.complementarity(x.moved(self._reach(x, affine), affine))
        direction = system.direction(now * min(1.0, max(after, 0.0) / now) ** 3, affine)
        following = x.moved(min(1.0, _BOLDNESS * self._reach(x, direction)), direction)
        return following if following.is_finite() else None

    def degree(self, x: Iterate) -> int:
        """How many products of slacks and multipliers there are."""
        return 2 * x.t.size + 2 * x.s.size + x.h.size

    def cones(self, x: Iterate, direction: bool = False) -> tuple[Array, Array]:
        """The vectors of the cones and their dual ones; the first entry of the latter is 1 and stays so."""
        first = np.zeros(x.s.size) if direction else np.ones(x.s.size)
        return np.array([x.v, x.s, self.root * x.z[self.free]]), np.array([first, x.q, x.r])

    def _reach(self, x: Iterate, d: Iterate) -> float:
        """The largest step that keeps all within bounds and cones, at most 1/0.99."""
        largest = 1.0 / _BOLDNESS
        for current, change in zip(x.positive(), d.positive(), strict=True):
            ratio = float((change / current).min(initial=0.0))
            if ratio < 0.0:
                largest = min(largest, -1.0 / ratio)
        for current, change in zip(self.cones(x), self.cones(d, direction=True), strict=True):
            largest = min(largest, reach(current, change))
        return largest


class _System:
    """The Newton system at an iterate, factored once for predictor and corrector.

    A cone's step is ``(ds, dw) = goal - missing``, ``(dq, dr) = P missing``, ``P = [[a + cb², cb], [cb, c]]``.  With
    all but dz and dτ eliminated there remain ``(Z'ΘZ + D) dz + e dτ = …`` and ``e'dz - κ dτ = …``, with a diagonal D.
    """

    def __init__(self, method: InteriorPoint, x: Iterate) -> None:
        self.method, self.x = method, x
        rows, free, cones = method.rows, method.free, method.cones(x)
        if not all((depth(side) > 0.0).all() for side in cones):
            # So near to the boundary that rounding errors decide.
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
        """Aim at complementarity ``target``; a predictor adds its second-order terms."""
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

    It ends before where the minimum is known to be above ``cutoff``.  Columns are in units in which their weighted
    squares sum to at most 1.
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
        beta = rows.balanced(x.beta) if fit_intercept else x.beta
        products = rows.products(beta)
        now = float(rows.omega @ np.maximum(rows.a - rows.margins(x.z), 0.0) + 0.5 * delta @ x.z**2)
        bound = float(rows.a @ beta - 0.5 * (products[:m] ** 2 / delta[:m]).sum())
        if now < primal:
            primal, best_z = now, x.z
        if bound > dual:
            dual, best_beta = bound, beta
        scale = max(primal, 1e-9 * float(rows.omega.sum()))
        # Rounding makes the dual worse again once complementarity is far below what the gap needs.
        small = method.complementarity(x) * 2 * x.t.size <= 1e-5 * tolerance * scale
        if primal - dual <= tolerance * scale or small or unit * dual > cutoff:
            break
        following = None if expired() else method.step(x)
        if following is None:
            break
        x = following
    best_z = unit * best_z
    return best_z[:m], float(best_z[m]) if fit_intercept else 0.0, rows.alpha(best_beta)
