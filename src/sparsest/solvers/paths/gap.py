"""The duality gap of a convex penalised fit.

With ``θ = ω ℓ'(y, Xw + b)`` and a scale s that makes ``sθ`` feasible, the dual value is
``D = -Σ ω ℓ*(y, sθ/ω) - Σ_j φ*(s X_j'θ; α f_j)``.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from sparsest.arrays import Array, Indices
from sparsest.penalties import ConvexPenalty
from sparsest.solvers.paths.task import Task
from sparsest.solvers.paths.working_set import WorkingSet

# A dual point on the edge of the feasible set is moved inside by this share: rounding must not make it infeasible.
_INSIDE = 1.0 - 1e-15


def duality_gap(task: Task, fit: WorkingSet, alpha: float, checked: Indices, checked_grad: Array) -> float:
    """Primal minus dual value.

    Unpenalised directions enter by their first-order error, as if the best coefficient were no farther than this one is
    from zero, or than what moves predictions by a unit of the response.

    Parameters
    ----------
    fit : the solution on the working set.
    checked, checked_grad : features outside the working set that may exceed their limit, and their gradients.  All
        others are within their limits: they neither bind the dual point nor cost anything there.
    """
    inside = fit.grad()
    lam, w = alpha * task.factor[fit.index], fit.w
    unpenalised = lam == 0.0
    penalty = float(task.penalty.value(w, lam).sum())
    grad = np.concatenate([inside[~unpenalised], checked_grad])
    bounds = np.concatenate([lam[~unpenalised], alpha * task.factor[checked]])
    size = np.abs(w[unpenalised])
    reach = np.maximum(size, fit.unit / task.norms[fit.index[unpenalised]])
    # The signed product of slope and coefficient is in the difference of the values.
    slack = float(np.abs(inside[unpenalised]) @ (size + reach)) + fit.intercept_error()
    gap = np.inf
    if task.penalty.second_derivative(1.0, alpha) > 0.0:
        # The conjugate of a penalty with curvature is finite everywhere: nothing need be scaled, and as θ is the
        # derivative of the loss at Xw + b, the losses on both sides make up θ'Xw.
        gap = penalty + float(w @ inside) + _conjugates(task, grad, bounds) + slack
    if gap > task.tol * fit.null_loss:
        excess = float((np.abs(grad) / task.penalty.threshold(bounds)).max(initial=0.0))
        scale = 1.0 / max(1.0, excess)
        dual = -fit.conjugate_sum(scale) - _conjugates(task, scale * grad, bounds)
        gap = min(gap, fit.loss_value() + penalty - dual + slack)
    return max(gap, 0.0)


def _conjugates(task: Task, grad: Array, lam: Array) -> float:
    # The caller asks for convex penalties alone; to look at the protocol here would take as long as the sums.
    penalty = cast(ConvexPenalty, task.penalty)
    return float(penalty.conjugate(grad * _INSIDE, lam).sum())
