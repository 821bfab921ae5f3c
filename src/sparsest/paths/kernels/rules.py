"""Rules that the compiled walk and the walk in Python share: which features enter, and to which violation to solve."""

from __future__ import annotations

import numpy as np

from sparsest.runtime.jit import kernel

# With at most this many features, checking all of them costs little.
FEW_FEATURES = 256
# Rounds of minimising and checking for one λ; one or two are usual.
MAX_ROUNDS = 200
# Violation, relative to λ, to which passing solutions and working sets that still grow are minimised.
GROWING_VIOLATION = 1e-2
_NEARLY_TIGHT = 0.05
# Features whose gradient exceeds this share of its limit join together with violators: most would be needed soon.
NEAR_SHARE = 0.96
# Columns at zero are dropped when the set has more than this many for each that is in use, and some more: dropping
# costs a copy of the Gram matrix, and keeping them a part of every sweep.  With 1.0 and 3.0 a logistic path takes up to
# 30 and 15 % more time.
MAX_CROWDING = 1.3
# The violation to solve to is chosen such that the gap will be at most this share of the tolerance.  Most gaps are much
# smaller: with 2 a third of the tolerance, and a logistic path takes up to a tenth less time than with 0.4.
_GAP_SHARE = 2.0
# If the gap is too large, the violation is lowered by the ratio of gap and tolerance and by the first factor, but at
# most by the second factor in one step.
_TIGHTER, _LEAST_FACTOR = 0.3, 1e-3
# Violations below this share of λ are rounding errors.
_ROUNDING = 1e-15


@kernel
def first_goal(goal, alpha):
    """The violation to solve to while the working set may grow; the final goal, if that is not much smaller."""
    return goal if goal >= _NEARLY_TIGHT * GROWING_VIOLATION * alpha else GROWING_VIOLATION * alpha


@kernel
def largest_violation(alpha, tol):
    """The largest violation accepted at a small gap: with curvature, gaps are small far from the optimum too."""
    return min(GROWING_VIOLATION, 0.5 * tol ** (2.0 / 3.0)) * alpha


@kernel
def violation_for_gap(alpha, allowed, size, n_active, curvature, most):
    """The violation at which the gap will be about ``allowed``; never more than ``most``.

    The gap is about the violation times 2‖w‖₁, or its square times the number of active features over twice the
    penalty's curvature.

    Parameters
    ----------
    allowed : the absolute gap that is allowed.
    size, n_active : ``‖w‖₁`` and the number of nonzero coefficients.
    """
    allowed *= _GAP_SHARE
    by_curvature = np.sqrt(2.0 * allowed * curvature / max(n_active, 1))
    return max(min(max(allowed / max(size, 1e-300), by_curvature), most), _ROUNDING * alpha)


@kernel
def tighter(violation, gap, tol):
    """The next violation to solve to, after this one has led to a gap above the tolerance."""
    return _TIGHTER * max(tol / gap, _LEAST_FACTOR) * violation
