"""The conjugate of a convex penalty ``λ(ρ|w| + (1-ρ)w²/2)`` of coefficients with limits, for duality gaps.

A slope pushes a coefficient away from zero to a side on which it may go as far as its limit.  What exceeds the
threshold of the penalty is the excess e; with r the curvature of the penalty, the conjugate of the penalty on that side
is ``max_{0 ≤ w ≤ limit} ew - rw²/2``.  Without curvature and limit it is infinite where there is any excess: such
slopes have to be scaled to their thresholds.
"""

from __future__ import annotations

import numpy as np

from sparsest.core.kernels.descent import threshold
from sparsest.runtime.jit import kernel, second_derivative

# A dual point on the edge of the feasible set is moved inside by this share: rounding must not make it infeasible.
INSIDE = 1.0 - 1e-15


@kernel
def side_terms(penalty, push, lam, limit, scale):
    """The push relative to the largest feasible one (0 if any is feasible), and the conjugate at ``scale · push``."""
    most, ratio, cost = threshold(penalty, lam), 0.0, 0.0
    if push > 0.0 and limit == np.inf:
        ratio = push / most
    excess = scale * push * INSIDE - most
    if excess > 0.0 and limit > 0.0:
        curvature = second_derivative(penalty, 1.0, lam)
        at = min(excess / curvature, limit) if curvature > 0.0 else limit
        cost = at * (excess - 0.5 * curvature * at) if at < np.inf else np.inf
    return ratio, cost


@kernel
def sum_of_sides(penalty, pushes, lam, limits, scale):
    """The largest of the ratios of :func:`side_terms`, and the sum of the conjugates."""
    largest, total = 0.0, 0.0
    for q in range(pushes.size):
        ratio, cost = side_terms(penalty, pushes[q], lam[q], limits[q], scale)
        largest = max(largest, ratio)
        total += cost
    return largest, total
