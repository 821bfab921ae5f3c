"""The gaps of the general walk against the excess over a precise solution, for every smooth loss."""

import numpy as np
import pytest

from samples import sample, sample_weights
from sparsest.data import make_data
from sparsest.losses import LOSSES
from sparsest.penalties import make_penalty
from sparsest.solvers.paths.general_walk import GeneralWalk
from sparsest.solvers.paths.task import make_task

SMOOTH = [name for name, loss in LOSSES.items() if not hasattr(loss, "pieces")]


@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("penalty", [make_penalty("l1"), make_penalty("elastic_net", 0.5)], ids=lambda p: p.name)
@pytest.mark.parametrize("intercept", [True, False])
def test_the_gap_bounds_the_excess(loss, penalty, intercept):
    """The objective is recomputed from the data; a precise walk tells the minimum."""
    X, y = sample(loss, 80, 40)
    data = make_data(
        X, y, loss=loss, fit_intercept=intercept, standardize=True, sample_weight=sample_weights(True, y.size)
    )
    factor = np.ones(40)
    # One feature is never penalised.
    factor[2] = 0.0
    rough, precise = (GeneralWalk(make_task(data, penalty, factor, tol, 10_000)) for tol in (1e-2, 1e-10))
    task = rough.task

    def objective(fit, alpha):
        w = np.zeros(40)
        w[fit.features] = fit.w
        values = task.loss.value(task.y, task.view.dot(w) + fit.b)
        return task.weights @ values + penalty.value(w, alpha * factor).sum()

    excesses = []
    for alpha in np.geomspace(0.9, 0.05, 8) * rough.alpha_max:
        fit, best = rough.advance(alpha), precise.advance(alpha)
        excesses.append((objective(fit, alpha) - objective(best, alpha)) / rough.null_loss)
        assert -1e-9 <= excesses[-1] <= fit.gap + 1e-9 and fit.gap <= 1e-2
    assert max(excesses) > 1e-8
