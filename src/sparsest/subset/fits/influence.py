"""The influence of single observations on the model of a support: degrees of freedom and leave-one-out predictions.

Let ``A = [X_S 1]``, and let ``c_i = ω_i ℓ''_i`` be the curvatures and ``g_i = ω_i ℓ'_i`` the slopes at the model with
margins u.  The leverages are ``h_i = c_i a_i'(A'diag(c)A + Λ)^{-1}a_i``, where the diagonal matrix Λ is the ridge, 0
for the intercept.  Their sum is the effective number of degrees of freedom.  One Newton step leads from the model to
the model without observation i, which predicts

    u_i + (g_i / c_i) h_i / (1 - h_i).

For the squared loss this is exact, with the residual ``(y_i - u_i) / (1 - h_i)``.  For other smooth losses it is the
approximation of Rad and Maleki (2020, JRSS B 82).  Columns are not standardised again without observation i.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.leverages import squared_lengths
from sparsest.core.losses import Loss, PiecewiseLinear
from sparsest.core.problem import Problem
from sparsest.subset.fits.support import SupportFit

# Leverage from which an observation counts as fitted exactly, whatever its response; the others do not predict it then.
_FULL_LEVERAGE = 1.0 - 1e-10


class Influence(NamedTuple):
    """The leverages of the observations, and the prediction for each by the model without it."""

    leverages: Array
    left_out: Array

    @property
    def degrees_of_freedom(self) -> float:
        """The effective number of degrees of freedom, the intercept included."""
        return float(self.leverages.sum())


def check_curved(loss: Loss) -> None:
    """Raise ValueError for losses without curvature, which have no leverages."""
    if isinstance(loss, PiecewiseLinear):
        raise ValueError(f"the {loss.name} loss has no curvature, so there are no leverages: use cross-validation")


def influence(problem: Problem, fit: SupportFit) -> Influence:
    """The influence of every observation on a model of the problem."""
    loss, y, weights = problem.loss, problem.y, problem.weights
    check_curved(loss)
    block = problem.design.columns(fit.support)
    margin = block @ fit.w + fit.b
    curvature, slope = weights * loss.second_derivative(y, margin), weights * loss.derivative(y, margin)
    h = np.minimum(curvature * squared_lengths(block, curvature, problem.ridge, problem.fit_intercept), 1.0)
    whole = h >= _FULL_LEVERAGE
    step = np.divide(slope, curvature, out=np.zeros(y.size), where=curvature > 0.0)
    left_out = margin + step * h / np.where(whole, 1.0, 1.0 - h)
    return Influence(h, np.where(whole & (curvature > 0.0), np.nan, left_out))


def leave_one_out_error(problem: Problem, fit: SupportFit) -> float:
    """The weighted mean loss of leave-one-out predictions; infinite if an observation has no prediction."""
    left_out = influence(problem, fit).left_out
    if np.isnan(left_out).any():
        return np.inf
    return float(problem.weights @ problem.loss.value(problem.y, left_out)) / float(problem.weights.sum())
