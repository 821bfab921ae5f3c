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
    """Primal minus dual value; unpenalised directions enter by their first-order error.

    Parameters
    ----------
    fit : the solution on the working set.
    checked, checked_grad : features outside the working set that may exceed their limit, and their gradients.  All
        others are within their limits: they neither bind the dual point nor cost anything there.
    """
    inside = fit.grad()
    lam, w = alpha * task.factor[fit.index], fit.w
    unpenalised = lam == 0.0
    primal = fit.loss_value() + float(task.penalty.value(w, lam).sum())
    grad = np.concatenate([inside[~unpenalised], checked_grad])
    bounds = np.concatenate([lam[~unpenalised], alpha * task.factor[checked]])
    excess = float((np.abs(grad) / task.penalty.threshold(bounds)).max(initial=0.0))
    # Scaled to be feasible, and as it is: a penalty with curvature has an infinite domain, where that is better.
    dual = max(_dual_value(task, fit, scale, bounds, grad) for scale in {1.0 / max(1.0, excess), 1.0})
    slack = float(np.abs(inside[unpenalised] * w[unpenalised]).sum()) + fit.intercept_error()
    return max(primal - dual + slack, 0.0)


def _dual_value(task: Task, fit: WorkingSet, scale: float, lam: Array, grad: Array) -> float:
    # The caller asks for convex penalties alone; to look at the protocol here would take as long as the sums.
    penalty = cast(ConvexPenalty, task.penalty)
    cost = float(penalty.conjugate(scale * grad * _INSIDE, lam).sum())
    return -fit.conjugate_sum(scale) - cost if np.isfinite(cost) else -np.inf
