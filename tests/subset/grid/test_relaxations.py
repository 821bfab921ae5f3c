"""Relaxations for rounding have nearly the objective of certified ones, in every space."""

import pytest

from checks import best_subset
from samples import SMOOTH_NAMES, sample
from sparsest.core.data import make_data
from sparsest.core.problem import pose
from sparsest.datasets import make_toeplitz
from sparsest.subset.grid.smooth import SmoothSpace
from sparsest.subset.grid.space import ToRounding
from sparsest.subset.grid.squared import SquaredSpace
from sparsest.subset.relaxation.engine import relax
from sparsest.subset.relaxation.kernels.regulariser import penalty_value
from sparsest.subset.relaxation.solution import Start
from sparsest.subset.relaxation.working_set import make_regulariser

forced_features = pytest.mark.parametrize("forced", [(), (3, 7)])


def relaxed_value(space, data, k, gamma, forced):
    """The objective and the solution of a relaxation that starts from that of a stronger ridge."""
    start = None
    for scale in (0.5, 1.0):
        problem = pose(data, k, gamma=scale * gamma, include=forced)
        start = start and Start(start.features, start.w, start.b, start.sigma)
        start = relax(space.source(problem), problem, problem.root, ToRounding(space), start)
    omega = make_regulariser(problem, problem.root, start.features)
    margin = data.design.columns(start.features) @ start.w + start.b
    return float(data.weights @ data.loss.value(data.y, margin)) + penalty_value(start.w, omega, 0.0)[0]


@forced_features
@pytest.mark.parametrize("gamma", [0.002, 0.02])
def test_value_in_gram_space(forced, gamma):
    sampled = make_toeplitz(100, 300, 5, rho=0.5, snr=2.0, rng=0)
    data, k = make_data(sampled.X, sampled.y), 6
    value = relaxed_value(SquaredSpace(data), data, k, gamma, forced)
    known = best_subset(
        sampled.X, sampled.y, k, gamma=gamma, method="relaxation", include=forced, options={"fixing": False}
    )
    summary = known.trace["relaxation"]
    assert summary["dual"] * (1 - 1e-9) <= value <= summary["primal"] * (1.0 + 2e-3)


@forced_features
@pytest.mark.parametrize("loss", SMOOTH_NAMES)
def test_value_of_smooth_losses(loss, forced):
    X, y = sample(loss, 60, 150)
    data = make_data(X, y, loss=loss, standardize=True)
    k, gamma, space = 5, 0.02 / data.curvature, SmoothSpace(data)
    value = relaxed_value(space, data, k, gamma, forced)
    known = best_subset(
        X, y, k, gamma=gamma, loss=loss, method="relaxation", include=forced, standardize=True,
        options={"fixing": False, "relaxation_tol": 1e-6},
    )  # fmt: skip
    summary = known.trace["relaxation"]
    assert summary["dual"] * (1.0 - 1e-9) <= value <= summary["primal"] + 5e-3 * space.null
