"""Newton's methods of the fuzz's oracle: all supports at once in float64, single supports in decimals.

Both minimise ``Σ ω ψ(a - s A v) + ½ v'Mv`` over the coordinates v of a basis A that is orthonormal under the weights:
by damped Newton steps where ψ is smooth, by an interior-point method where ψ is the positive part.  The same text
serves arrays of float64 and of decimals, of shapes (B, n, r) for A, (B, r, r) for M and (B, r) for v.
"""

from __future__ import annotations

from decimal import Decimal, DivisionByZero, InvalidOperation, localcontext

import numpy as np

# Relative errors of a value that are aimed at, in float64 and in decimals: far below any tolerance of a judgement.
FLOAT_TOLERANCE, DECIMAL_TOLERANCE = 1e-13, Decimal("1e-20")
POLISH_DIGITS = 50
STEPS, HALVINGS, INTERIOR_STEPS = 60, 40, 60
# Part of the predicted decrease that a step has to reach (Armijo).
SUFFICIENT = Decimal("1e-4")
# An interior step reduces complementarity to this part and stops at this part of the way to the boundary.
REDUCTION, TO_BOUNDARY = Decimal("0.05"), Decimal("0.98")
# Complementarity from which decimals go on where float64 has ended, in units of the response's size.
WARM = Decimal("1e-6")
# What is added to the diagonal of a scaled Hessian, so that directions without curvature do no harm.
FLOAT_SHIFT, DECIMAL_SHIFT = 1e-14, Decimal("1e-38")


class Fit:
    """Supports to be fitted together, and where their fits are."""

    def __init__(self, pieces, omega, bases, ridges, start, vanished):
        self.pieces, self.omega, self.bases, self.ridges = pieces, omega, bases, ridges
        self.decimal = bases.dtype == object
        self.tolerance = DECIMAL_TOLERANCE if self.decimal else FLOAT_TOLERANCE
        self.vanished = vanished
        self.v = start
        self.value = self.value_at(start)
        self.beta = None
        # Whether Newton's steps have come to their end: without a ridge nothing is known from a fit that has not.
        self.settled = np.ones(len(start), dtype=bool)

    def _number(self, constant):
        """The constant in the arithmetic of the data."""
        return constant if self.decimal else float(constant)

    def rows(self, active):
        """The supports of these positions."""
        return Fit(self.pieces, self.omega, self.bases[active], self.ridges[active], self.v[active], self.vanished)

    def arguments(self, v):
        """``z = a - s A v``."""
        return self.pieces.arguments(_times(self.bases, v))

    def value_at(self, v):
        """The objective, without smoothing."""
        losses = self.pieces.value(self.arguments(v)).sum(axis=2)
        ridge = self._number(Decimal("0.5")) * (v * _times(self.ridges, v)).sum(axis=1)
        return (losses * self.omega).sum(axis=1) + ridge

    def gather(self, per_piece):
        """``A'`` times the sum over the pieces of ``s`` times something."""
        return _times(self.bases.transpose(0, 2, 1), (self.pieces.s * per_piece).sum(axis=2))

    def hessian(self, curvature):
        """``A' diag(Σ s² curvature) A + M``, summed over the pieces."""
        total = (self.pieces.s * self.pieces.s * curvature).sum(axis=2)
        return np.matmul(self.bases.transpose(0, 2, 1), self.bases * total[:, :, None]) + self.ridges

    def minimise(self, complementarity):
        """Minimise; a loss with kinks starts from that complementarity per unit of weight."""
        if self.v.shape[1]:
            if self.pieces.kind == "plus":
                self._interior(complementarity)
            else:
                self._newton()
        if self.beta is None:
            self.beta = self.pieces.slopes(self.arguments(self.v))[0]
        return self

    def _newton(self):
        active = np.arange(len(self.v))
        self.settled[:] = False
        for _ in range(STEPS):
            part = self.rows(active)
            first, second = self.pieces.slopes(part.arguments(part.v))
            weights = self.omega[:, None]
            gradient = _times(part.ridges, part.v) - part.gather(weights * first)
            step = -solve_scaled(part.hessian(weights * second), gradient)
            decrease = -(gradient * step).sum(axis=1)
            moved = part.search(step, decrease)
            self.v[active], self.value[active] = part.v, part.value
            near = np.asarray((decrease <= self.tolerance * part.value) | (part.value <= self.vanished), dtype=bool)
            self.settled[active[near]] = True
            active = active[moved & ~near]
            if not active.size:
                break

    def search(self, step, decrease):
        """Halve every step until it decreases its value enough, and take it; return which did."""
        moved = np.zeros(len(step), dtype=bool)
        length = self._number(Decimal(1))
        for _ in range(HALVINGS):
            waiting = np.flatnonzero(~moved)
            if not waiting.size:
                break
            part = self if waiting.size == len(step) else self.rows(waiting)
            trial = self.v[waiting] + length * step[waiting]
            value = part.value_at(trial)
            enough = value <= self.value[waiting] - self._number(SUFFICIENT) * length * decrease[waiting]
            taken = waiting[np.asarray(enough, dtype=bool)]
            self.v[taken], self.value[taken] = trial[np.isin(waiting, taken)], value[np.isin(waiting, taken)]
            moved[taken] = True
            length = length / 2
        return moved

    def _interior(self, complementarity):
        """Primal-dual steps for ``Σ ω p + ½v'Mv, z = p - q``, with multipliers β of q and ω - β of p."""
        weights = self.omega[:, None]
        p, q, self.beta = _on_the_path(self.arguments(self.v), weights, complementarity * weights)
        iterates = [self.v.copy(), p, q, self.beta]
        active = np.arange(len(self.v))
        for _ in range(INTERIOR_STEPS):
            part = self.rows(active)
            v, p, q, beta = (iterate[active] for iterate in iterates)
            gap = (beta * q + (weights - beta) * p).sum(axis=(1, 2))
            moved = part.interior_step(v, p, q, beta, self._number(REDUCTION) * gap / (2 * beta[0].size))
            value = part.value_at(moved[0])
            better = np.asarray(value < part.value, dtype=bool)
            self.v[active[better]], self.value[active[better]] = moved[0][better], value[better]
            # Entries that have become NaN keep their previous value.
            going = np.asarray((value >= 0) & (gap > np.maximum(self.tolerance * value, self.vanished)), dtype=bool)
            active = active[going]
            for iterate, to in zip(iterates, moved, strict=True):
                iterate[active] = to[going]
            if not active.size:
                break
        self.beta = iterates[3] / weights

    def interior_step(self, v, p, q, beta, target):
        """Return v, p, q and β after a step towards the point whose complementarity is ``target``."""
        target = target[:, None, None]
        rest = self.omega[:, None] - beta
        theta = 1 / (q / beta + p / rest)
        shift = p - q - target / rest + target / beta
        gradient = _times(self.ridges, v) - self.gather(beta)
        dv = solve_scaled(self.hessian(theta), self.gather(theta * shift) - gradient)
        dbeta = theta * (shift - self.pieces.s * _times(self.bases, dv)[:, :, None])
        dq = (target - beta * q - q * dbeta) / beta
        dp = (target - rest * p + p * dbeta) / rest
        length = self._room(p, dp, q, dq, beta, dbeta, rest, -dbeta)
        wide = length[:, :, None]
        return v + length * dv, p + wide * dp, q + wide * dq, beta + wide * dbeta

    def _room(self, *pairs):
        """The longest steps, up to 1, that keep everything positive."""
        longest = np.full(len(self.v), self._number(Decimal(1)))
        for at, change in zip(pairs[::2], pairs[1::2], strict=True):
            limits = np.where(change < 0, at / -np.where(change < 0, change, -1), 1)
            longest = np.minimum(longest, self._number(TO_BOUNDARY) * limits.min(axis=(1, 2)))
        return longest[:, None]

    def dual(self, n_free):
        """The dual values of β, less what the first ``n_free`` coordinates, without a ridge, could still gain near v.

        Ten times the coordinates found is a generous guess of where a better model could be.
        """
        weights = self.omega[:, None]
        bounds = (weights * (self.pieces.a * self.beta - self.pieces.conjugate(self.beta))).sum(axis=(1, 2))
        if not self.v.shape[1]:
            return bounds
        t = self.gather(weights * self.beta)
        bounds = bounds - 10 * (abs(t) * abs(self.v))[:, :n_free].sum(axis=1)
        if n_free < t.shape[1]:
            inner = self.ridges[:, n_free:, n_free:]
            bounds = bounds - (t[:, n_free:] * solve_scaled(inner, t[:, n_free:], shifted=False)).sum(axis=1) / 2
        return bounds


def _times(matrices, vectors):
    return np.matmul(matrices, vectors[:, :, None])[:, :, 0]


def _on_the_path(z, weights, mu):
    """The p, q and β with ``p - q = z`` and ``βq = (ω - β)p = μ``."""
    root = square_root(weights * weights * z * z + 4 * mu * mu)
    q = (2 * mu - weights * z + root) / (2 * weights)
    p = (2 * mu + weights * z + root) / (2 * weights)
    return p, q, mu / q


def square_root(z):
    """The square roots, of floats or decimals."""
    return np.vectorize(Decimal.sqrt, otypes=[object])(z) if z.dtype == object else np.sqrt(z)


def solve_scaled(matrices, vectors, shifted=True):
    """Solve positive definite systems whose diagonals may differ by many orders of magnitude."""
    m = vectors.shape[1]
    diagonal = np.stack([matrices[:, i, i] for i in range(m)], axis=1)
    exact = matrices.dtype == object
    scale = 1 / square_root(np.where(diagonal > 0, diagonal, diagonal * 0 + 1))
    scaled = matrices * scale[:, :, None] * scale[:, None, :]
    if shifted:
        shift = DECIMAL_SHIFT if exact else FLOAT_SHIFT
        scaled = scaled + np.where(np.eye(m, dtype=bool), shift, shift * 0)
    right = (vectors * scale)[:, :, None]
    if exact:
        solved = np.stack([solve_positive(*pair) for pair in zip(scaled, right, strict=True)])
    else:
        usable = np.isfinite(scaled).all(axis=(1, 2))[:, None, None]
        solved = np.linalg.solve(np.where(usable, scaled, np.eye(m)), right)
    return solved[:, :, 0] * scale


def solve_positive(matrix, right):
    """Solve a symmetric positive definite system of decimals; ``right`` has columns."""
    rows = np.concatenate([matrix, right], axis=1)
    m = len(matrix)
    for i in range(m):
        rows[i] = rows[i] / rows[i, i]
        for j in range(m):
            if j != i and rows[j, i]:
                rows[j] = rows[j] - rows[j, i] * rows[i]
    return rows[:, m:]


def fit_all(pieces, omega, bases, ridges, size, vanished):
    """Fit many supports in float64; return their objectives and coordinates.

    ``size`` is that of the response; values below ``vanished`` count as zero.
    """
    with np.errstate(all="ignore"):
        fit = Fit(pieces, omega, bases, ridges, np.zeros(bases.shape[::2]), vanished).minimise(size)
    return fit.value, fit.v


def polish(pieces, omega, basis, ridge, n_free, start, size, vanished):
    """Fit one support in decimals; return a number below all its values (-inf if none is known), the lowest, and where.

    The first ``n_free`` coordinates are without a ridge; the rest as in ``fit_all``.
    """
    with localcontext(prec=POLISH_DIGITS) as context:
        # What divides by zero or overflows becomes infinite or NaN, which is never better than what was there.
        context.traps[DivisionByZero] = context.traps[InvalidOperation] = False
        fit = Fit(pieces, omega, basis[None], ridge[None], start[None], Decimal(vanished))
        fit.minimise(Decimal(size) * WARM)
        low, high = fit.dual(n_free)[0], fit.value[0]
        known = low.is_finite() and (fit.settled[0] or not n_free)
        return float(low) if known else -np.inf, float(high), fit.v[0]
