"""The relaxation of a quadratic on few columns: restarted FISTA, and Newton steps on the active set.

    min_w ½w'Hw - c'w + Ω(w)

Given the active set, the signs of its coefficients, and its saturated features (s = 1), Ω is a quadratic as well: the
sum of ½δw² over saturated features, plus ``(Σ √δ|w|)²/(2r)`` over the other active features, where r is the budget that
the saturated ones leave, or ``√(2 price) Σ √δ|w|`` if the price limits them instead of the budget.  One linear system
then gives the solution, to which FISTA converges slowly if H is ill-conditioned.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsest.core.arrays import Array
from sparsest.runtime.faults import reach
from sparsest.subset.fits.linear_algebra import factor_positive, solve_positive
from sparsest.subset.relaxation.kernels.fista import Momentum, largest_eigenvalue, relax_further
from sparsest.subset.relaxation.kernels.nested import NestedRegulariser
from sparsest.subset.relaxation.kernels.regulariser import Regulariser
from sparsest.subset.relaxation.nested import alternate_shares
from sparsest.subset.relaxation.regularisers import AnyRegulariser, value_of
from sparsest.subset.relaxation.working_solution import Stop, WorkingSolution

# Largest number of FISTA iterations.
_MOST_ITERATIONS = 20_000
# Number of FISTA iterations before the first Newton step.  It doubles after every Newton step that fails and is halved
# after every one that succeeds, down to the second number.  Alternations with nested limits, which take longer, replace
# Newton steps there; for them the number is not reduced below the first one.
_FIRST_ITERATIONS, _LEAST_ITERATIONS = 60, 15
# A Newton step is tried only if at most this share of the active set has changed since the last attempt: before, it
# hardly ever succeeds, and with thousands of active features it takes as long as hundreds of iterations.  Alternations
# do not depend on a settled active set.
_MOST_CHANGES = 0.02
# Lengths of a Newton step that are tried, relative to the full step.
_STEP_LENGTHS = (1.0, 0.5, 0.25, 0.1)


def solve_quadratic(
    H: Array,
    c: Array,
    omega: AnyRegulariser,
    w: Array,
    stop: Stop,
    most_iterations: int = _MOST_ITERATIONS,
    newton: bool = True,
) -> tuple[float, float, int]:
    """Minimise from ``w``, which is overwritten; return the primal and the dual value and the number of iterations.

    Newton steps speed up precise solutions; for a coarse solution that is only rounded they take longer.  With nested
    limits w and s are alternated instead.
    """
    L = 1.02 * float(largest_eigenvalue(H, 12)) + 1e-300
    at_once = int(stop.stretch / max(c.size, 1) ** 2) + 1
    best, iterations, since = -np.inf, 0, 0
    # The momentum is kept between calls; restarting it took 4 to 5 times as long with a weak ridge.
    momentum = Momentum(np.empty(c.size), np.empty(c.size), np.zeros(1))
    active = np.zeros(c.size, dtype=bool)
    nested = isinstance(omega, NestedRegulariser)
    patience, least = _FIRST_ITERATIONS, _FIRST_ITERATIONS if nested else _LEAST_ITERATIONS
    if not newton or not _can_jump(omega):
        patience = most_iterations
    while True:
        most = min(at_once, patience - since, most_iterations - iterations)
        reach("relax")
        primal, dual, count, L, levels = relax_further(H, c, omega, w, L, stop.tolerance, stop.cutoff, most, momentum)
        best, iterations, since = max(best, dual), iterations + count, since + count
        if count < most or iterations >= most_iterations or primal - best <= stop.tolerance or stop.expired():
            return primal, best, iterations
        if since >= patience:
            since = 0
            before, active = active, w != 0.0
            if not nested and np.count_nonzero(active != before) > _MOST_CHANGES * np.count_nonzero(active):
                continue
            if _jump(H, c, omega, w, levels, primal):
                momentum.size[0], patience = 0.0, max(least, patience // 2)
            else:
                patience *= 2


def solve_in_gram_space(
    H: Array, c: Array, constant: float, b: float, omega: AnyRegulariser, w: Array, stop: Stop, **options: Any
) -> WorkingSolution:
    """Minimise ``constant + ½w'Hw - c'w + Ω(w)``; the solution has no dual point, as its bound needs none."""
    w, stop = w.copy(), stop._replace(cutoff=stop.cutoff - constant)
    primal, dual, iterations = solve_quadratic(H, c, omega, w, stop, **options)
    return WorkingSolution(w, b, np.empty(0), primal + constant, dual + constant, iterations, (w, b))


def _can_jump(omega: AnyRegulariser) -> bool:
    """Whether :func:`_jump` supports these bounds: Newton steps do not support finite ones other than 0."""
    if isinstance(omega, NestedRegulariser):
        return True
    return all(((side == 0.0) | np.isinf(side)).all() for side in (omega.low, omega.high))


def _jump(H: Array, c: Array, omega: AnyRegulariser, w: Array, levels: Array, value: float) -> bool:
    """Move w to a better point found by linear systems; return whether there is one."""
    if isinstance(omega, NestedRegulariser):
        return alternate_shares(H, c, omega, w)
    return newton_step(H, c, omega, w, float(levels[0]), value)


def newton_step(H: Array, c: Array, omega: Regulariser, w: Array, sigma: float, value: float) -> bool:
    """Move w to the minimum with the same active set, signs and saturated features, if the value decreases there.

    ``sigma`` and ``value`` are those of w.  Coefficients whose sign would change become zero, and so do those of forced
    features beyond a bound of 0.
    """
    bounded = omega.low.size > 0
    movable = omega.forced & ((omega.low < 0.0) & (omega.high > 0.0)) if bounded else omega.forced
    used = np.flatnonzero(movable | (w != 0.0))
    root, forced = omega.root_delta[used], omega.forced[used]
    saturated = forced | (root * np.abs(w[used]) * min(sigma, 1e200) >= 1.0)
    slope = np.where(saturated, 0.0, np.sign(w[used]) * root)
    A, right = H[np.ix_(used, used)], c[used]
    A.flat[:: used.size + 1] += np.where(saturated, root**2, 0.0)
    remaining = omega.budget - np.count_nonzero(saturated & ~forced)
    if omega.price > 0.0 and sigma >= (1.0 - 1e-9) / np.sqrt(2.0 * omega.price):
        right = right - np.sqrt(2.0 * omega.price) * slope
    elif not saturated.all():
        if remaining <= 0:
            return False
        A += np.outer(slope, slope / remaining)
    factor = factor_positive(A)
    if factor is None:
        return False
    direction = np.zeros(w.size)
    direction[used] = solve_positive(factor, right) - w[used]
    for part in _STEP_LENGTHS:
        trial = w + part * direction
        trial[(trial * w < 0.0) & ~omega.forced] = 0.0
        trial = np.clip(trial, omega.low, omega.high) if bounded else trial
        at_trial = 0.5 * float(trial @ (H @ trial)) - float(c @ trial) + value_of(trial, omega)
        if at_trial < value:
            w[:] = trial
            return True
    return False
