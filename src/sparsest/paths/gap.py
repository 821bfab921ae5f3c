"""The duality gap of a convex penalised fit.

With ``θ = ω ℓ'(y, Xw + b)`` and a scale s that makes ``sθ`` feasible, the dual value is
``D = -Σ ω ℓ*(y, sθ/ω) - Σ_j φ*(s X_j'θ; λ f_j)``.  Feasible points are orthogonal to unpenalised columns, and
sum to zero if there is an intercept: if θ does not, it is projected.  If the projection cannot be scaled to be
feasible, the dual point zero is used, whose value is zero: the gap is then as large as the objective.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.strengths import held
from sparsest.paths.sides import Sides
from sparsest.paths.task import Task
from sparsest.paths.working_set import WorkingSet

# Inner products of at most this, relative to the sum of the absolute terms, are rounding errors.
_ORTHOGONAL = 1e-11
# A point that is outside the domain by at most this, relatively, is taken to be on the boundary.
_DOMAIN_ROUNDING = 1e-13
# Largest number of repeated projections to reach that: one may lose digits if columns are nearly dependent.
_MAX_PROJECTIONS = 4
# Eigenvalues of a Gram matrix below this share of the largest are those of dependent columns.
DEPENDENT = 1e-12


class DualPoint(NamedTuple):
    """A point that is orthogonal to all columns that are not penalised.

    Attributes
    ----------
    theta : the point; None if it is ``ω ℓ'(y, Xw + b)`` itself.
    inside : the gradients there of the features in the working set.
    shift : its distance from ``ω ℓ'(y, Xw + b)``, which bounds how far other gradients are from those there.
    scale : a factor that takes the point into the domain of the conjugate losses.
    """

    theta: Array | None
    inside: Array
    shift: float
    scale: float


def dual_margins(task: Task, sides: Sides, slope: Array, usable: Mask) -> tuple[float, float]:
    """The largest ratio of norm to slope of penalised columns, and the sum of norms² over twice the curvature.

    Slopes and curvatures are those of the penalty at zero for ``λ = 1``.  Norms in ratios are those of groups, if any.
    """
    penalised = usable & (slope > 0.0)
    norms, factor = task.norms[penalised], task.factor[penalised]
    with np.errstate(divide="ignore"):
        spread = 0.5 * norms**2 / np.asarray(task.plain.second_derivative(1.0, factor))
    return float((sides.norms[penalised] / slope[penalised]).max(initial=0.0)), float(spread.sum())


def duality_gap(
    task: Task,
    fit: WorkingSet,
    sides: Sides,
    alpha: float,
    checked: Indices,
    checked_grad: Array,
    margins: tuple[float, float],
) -> float:
    """Primal minus dual value.

    Parameters
    ----------
    fit : the solution on the working set.
    sides : the directions in which coefficients may move, see :class:`sparsest.paths.sides.Sides`.
    checked, checked_grad : features outside the working set that may exceed their limit, and their gradients.  All
        others are within their limits: they neither bind the dual point nor cost anything there.
    margins : what :func:`dual_margins` returned, for those others if the dual point is not θ.
    """
    lam, w = alpha * task.factor[fit.index], fit.w
    strengths = fit.strengths(lam)
    penalty = fit.penalty_of(w, strengths)
    primal = fit.loss_value() + penalty
    # Unpenalised coefficients at a limit beyond which they are pushed bind no more than penalised ones.
    free = (lam == 0.0) & ~held(w, fit.grad(), strengths)
    point = _dual_point(task, fit, np.flatnonzero(free))
    if point is None:
        return primal
    inside = sides.pushes(fit.index[~free], point.inside[~free], 0.0)
    outside = sides.pushes(checked, checked_grad, point.shift)

    def conjugates(scale: float) -> tuple[float, float]:
        ratios, costs = zip(*(part.conjugates(task.plain, alpha, scale) for part in (inside, outside)), strict=True)
        return max(ratios), sum(costs)

    gap = primal
    largest, cost = conjugates(point.scale)
    if cost < np.inf:
        # The conjugate of a penalty with curvature is finite everywhere: it does not require a scale.
        if point.theta is None:
            # As θ is the derivative of the loss at Xw + b, the losses on both sides make up θ'Xw.
            gap = min(gap, penalty + float(w @ point.inside) + cost)
        else:
            beyond = point.shift**2 * margins[1] / alpha
            gap = min(gap, primal + fit.conjugate_sum(point.scale, point.theta) + cost + beyond)
    if gap > task.tol * fit.null_loss:
        scale = min(1.0 / max(largest, 1.0 + point.shift * margins[0] / alpha), point.scale)
        cost = conjugates(scale)[1]
        gap = min(gap, primal + fit.conjugate_sum(scale, point.theta) + cost)
    return max(gap, 0.0) if gap < np.inf else np.inf


def _dual_point(task: Task, fit: WorkingSet, unpenalised: Indices) -> DualPoint | None:
    """θ, or its projection, with weights that keep it in the domain of the losses where that is possible."""
    balanced = fit.exact or not task.fit_intercept
    if balanced and unpenalised.size == 0:
        return DualPoint(None, fit.grad(), 0.0, 1.0)
    theta, root = fit.theta, np.sqrt(task.weights)
    names = fit.index[unpenalised]
    limit = task.norms[names] * float(np.linalg.norm(theta / root))
    balanced = balanced or abs(float(theta.sum())) <= _ORTHOGONAL * float(np.abs(theta).sum())
    if balanced and (np.abs(fit.grad()[unpenalised]) <= _ORTHOGONAL * limit).all():
        return DualPoint(None, fit.grad(), 0.0, 1.0)
    free = task.view.columns(names)
    if task.fit_intercept:
        free = np.column_stack([np.ones(theta.size), free])
    projected = _projection(theta, free, fit.dual_room())
    if projected is None:
        return None
    slopes = projected / task.weights
    within = task.loss.project(task.y, slopes)
    share = np.divide(within, slopes, out=np.ones(theta.size), where=within != slopes)
    scale = min(max(float(share.min()), 0.0), 1.0)
    scale = 1.0 if scale > 1.0 - _DOMAIN_ROUNDING else scale
    return DualPoint(projected, fit.pack.tdot(projected, 0), float(np.linalg.norm((projected - theta) / root)), scale)


def _projection(theta: Array, free: Array, metric: Array) -> Array | None:
    """The nearest point that is orthogonal to some columns, in units of this diagonal metric; None if there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gram = free.T @ (metric[:, None] * free)
        size = np.sqrt(gram.diagonal())
        gram /= np.outer(size, size)
    if not np.isfinite(gram).all():
        return None
    values, vectors = np.linalg.eigh(gram)
    kept = values > DEPENDENT * values[-1]
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    for _ in range(_MAX_PROJECTIONS):
        off = theta @ free
        if (np.abs(off) <= _ORTHOGONAL * (np.abs(theta) @ np.abs(free))).all():
            return theta
        theta = theta - metric * (free @ (inverse @ (off / size) / size))
    return None
