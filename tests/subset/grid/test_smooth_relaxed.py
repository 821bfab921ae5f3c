"""The relaxation of smooth losses has nearly the value that the certified method gives it."""

import numpy as np
import pytest

from checks import best_subset
from samples import SMOOTH_NAMES, sample
from sparsest.core.data import make_data
from sparsest.subset.grid import smooth_relaxed
from sparsest.subset.grid.smooth import Smooth
from sparsest.subset.relaxation.kernels.fista import Regulariser, penalty_value


@pytest.mark.parametrize("forced", [(), (3, 7)])
@pytest.mark.parametrize("loss", SMOOTH_NAMES)
def test_value_is_that_of_the_relaxation(loss, forced):
    X, y = sample(loss, 60, 150)
    data = make_data(X, y, loss=loss, standardize=True)
    smooth, inside, k, gamma = Smooth(data), np.array(forced, dtype=np.intp), 5, 0.02 / data.curvature
    free = np.ones(150, dtype=bool)
    free[inside] = False
    start = None
    for scale in (0.5, 1.0):
        start = smooth_relaxed.relax(smooth, 1.0 / (scale * gamma), k - inside.size, inside, free, start)
    features, w, _, b = start
    omega = Regulariser(np.full(w.size, gamma**-0.5), np.isin(features, inside), k - inside.size, 0.0)
    value = smooth.value(w @ smooth.columns[features] + b) + penalty_value(w, omega, 0.0)[0]
    known = best_subset(
        X, y, k, gamma=gamma, loss=loss, method="relaxation", include=forced, standardize=True,
        options={"fixing": False, "relaxation_tol": 1e-6},
    )  # fmt: skip
    summary = known.trace["relaxation"]
    assert summary["dual"] * (1.0 - 1e-9) <= value <= summary["primal"] + 5e-3 * smooth.null
