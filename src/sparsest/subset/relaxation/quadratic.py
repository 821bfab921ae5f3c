"""The relaxation of a quadratic on few columns: restarted FISTA, and Newton steps on the features that are in use.

    min_w ½w'Hw - c'w + Ω(w)

Where it is known which features are in use, which of them whole (s = 1), and their signs, Ω is a quadratic too: ½δw² of
the whole ones and ``(Σ √δ|w|)²/(2r)`` of the others, where r is what the whole ones leave of the budget, or
``√(2 price) Σ √δ|w|`` where the price is the limit.  Then one linear system gives the solution, which FISTA only
approaches slowly where H is ill conditioned.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparsest.core.arrays import Array
from sparsest.runtime.faults import reach
from sparsest.subset.fits.linear_algebra import factor_positive, solve_positive
from sparsest.subset.relaxation.kernels.fista import (
    Momentum,
    Regulariser,
    largest_eigenvalue,
    penalty_value,
    relax_further,
)

_MOST_ITERATIONS = 20_000
# Multiplications of one call of the kernel: about a tenth of a second, after which the clock is asked.
STRETCH = 1e8
# Iterations of FISTA before a Newton step; twice as many after one that does not help.
_FIRST_ITERATIONS = 60
# Parts of a Newton step that are tried.
_PARTS = (1.0, 0.5, 0.25, 0.1)


def solve_quadratic(
    H: Array,
    c: Array,
    omega: Regulariser,
    w: Array,
    tolerance: float,
    cutoff: float,
    expired: Callable[[], bool] = lambda: False,
    stretch: float = STRETCH,
    most_iterations: int = _MOST_ITERATIONS,
    newton: bool = True,
) -> tuple[float, float, int]:
    """Minimise from ``w``, which is overwritten; return the primal and the dual value and the number of iterations.

    ``expired`` is asked after every ``stretch`` multiplications.  Newton steps are for precise solutions; they make one
    that is to be rounded slower.
    """
    L = 1.02 * largest_eigenvalue(H, 12) + 1e-300
    at_once = int(stretch / max(c.size, 1) ** 2) + 1
    best, iterations, since = -np.inf, 0, 0
    # Without it all progress of the last stretch would have to be made again: with a weak ridge 4 to 5 times the time.
    momentum = Momentum(np.empty(c.size), np.empty(c.size), np.zeros(1))
    # Newton steps know nothing of a box.
    patience = _FIRST_ITERATIONS if newton and omega.box == np.inf else most_iterations
    while True:
        most = min(at_once, patience - since, most_iterations - iterations)
        reach("relax")
        primal, dual, count, L, sigma = relax_further(H, c, omega, w, L, tolerance, cutoff, most, momentum)
        best, iterations, since = max(best, dual), iterations + count, since + count
        if count < most or iterations >= most_iterations or primal - best <= tolerance or expired():
            return primal, best, iterations
        if since >= patience:
            since = 0
            if newton_step(H, c, omega, w, sigma, primal):
                momentum.size[0] = 0.0
            else:
                patience *= 2


def newton_step(H: Array, c: Array, omega: Regulariser, w: Array, sigma: float, value: float) -> bool:
    """Move w to the minimum with the same features in use, whole, and of the same signs, if that has a smaller value.

    ``sigma`` and ``value`` are those of w; features whose sign would change become zero.
    """
    used = np.flatnonzero(omega.forced | (w != 0.0))
    root, forced = omega.root_delta[used], omega.forced[used]
    whole = forced | (root * np.abs(w[used]) * min(sigma, 1e200) >= 1.0)
    slope = np.where(whole, 0.0, np.sign(w[used]) * root)
    M, right = H[np.ix_(used, used)], c[used]
    M.flat[:: used.size + 1] += np.where(whole, root**2, 0.0)
    room = omega.budget - np.count_nonzero(whole & ~forced)
    if omega.price > 0.0 and sigma >= (1.0 - 1e-9) / np.sqrt(2.0 * omega.price):
        right = right - np.sqrt(2.0 * omega.price) * slope
    elif not whole.all():
        if room <= 0:
            return False
        M += np.outer(slope, slope / room)
    factor = factor_positive(M)
    if factor is None:
        return False
    direction = np.zeros(w.size)
    direction[used] = solve_positive(factor, right) - w[used]
    for part in _PARTS:
        trial = w + part * direction
        trial[(trial * w < 0.0) & ~omega.forced] = 0.0
        at_trial = 0.5 * float(trial @ (H @ trial)) - float(c @ trial) + penalty_value(trial, omega, 0.0)[0]
        if at_trial < value:
            w[:] = trial
            return True
    return False
