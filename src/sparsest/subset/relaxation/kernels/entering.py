"""The choice of a working set: features that stay, and features whose gains exceed a threshold.

A feature has a coefficient in the solution of the relaxation if its gain exceeds ``1/(2σ²)``, with the solution's σ.
``state[j]`` is 1 for a feature forced in, -1 for a feature forced out, and 0 for a free feature.  ``alive`` lists the
features that are not forced out.
"""

from __future__ import annotations

import numpy as np

from sparsest.core.kernels.selection import largest_sum
from sparsest.runtime.jit import inlined, kernel


@inlined
def threshold_of(sigma):
    """Return the gain ``1/(2σ²)`` above which features enter; 0 if the budget restricts nothing or σ is unknown."""
    return 0.5 / (sigma * sigma) if 0.0 < sigma < np.inf else 0.0


@kernel
def sigma_of_gains(q, w, state, alive, left, price, work):
    """Return the σ whose threshold ``1/(2σ²)`` is the smallest gain in the best choice of features with coefficients.

    It replaces the σ of the coefficients, which is not determined if they are at their bounds.
    """
    count = 0
    for j in alive:
        if state[j] == 0 and w[j] != 0.0:
            work[count] = q[j]
            count += 1
    least = price
    if 0 < left <= count:
        least = max(largest_sum(work[:count], left)[1], price)
    return 1.0 / np.sqrt(2.0 * least) if least > 0.0 else np.inf


@kernel
def pick_working_set(q, stays, alive, threshold, most, work, chosen):
    """Write the features that stay, and at most ``most`` others with gains above the threshold, to ``chosen``.

    If more features exceed the threshold, those with the largest gains enter, including all ties with the last one.
    Returns the number of features chosen.
    """
    count = 0
    for j in alive:
        if not stays[j] and q[j] > threshold:
            work[count] = q[j]
            count += 1
    level = threshold
    if count > most:
        level = max(level, largest_sum(work[:count], most)[1]) if most > 0 else np.inf
    size = 0
    for j in alive:
        if stays[j] or q[j] > level or (q[j] == level and level > threshold):
            chosen[size] = j
            size += 1
    return size
