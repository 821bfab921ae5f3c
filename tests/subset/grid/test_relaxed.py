"""The relaxation in Gram space is that of the method "relaxation"."""

import numpy as np
import pytest

from checks import best_subset
from sparsest.core.data import make_data
from sparsest.datasets import make_toeplitz
from sparsest.subset.grid import relaxed
from sparsest.subset.grid.gram import Gram
from sparsest.subset.relaxation.kernels.fista import Regulariser, penalty_value


@pytest.mark.parametrize("forced", [(), (3, 7)])
@pytest.mark.parametrize("gamma", [0.002, 0.02])
def test_value_is_that_of_the_relaxation(forced, gamma):
    data = make_toeplitz(100, 300, 5, rho=0.5, snr=2.0, rng=0)
    gram, inside = Gram(make_data(data.X, data.y)), np.array(forced, dtype=np.intp)
    free = np.ones(300, dtype=bool)
    free[inside] = False
    k, start = 6, None
    for scale in (0.5, 1.0):
        start = relaxed.relax(gram, 1.0 / (scale * gamma), k - inside.size, inside, free, start)
    features, w, *_ = start
    root = np.full(w.size, gamma**-0.5)
    penalty = penalty_value(w, Regulariser(root, np.isin(features, inside), k - inside.size, 0.0), 0.0)[0]
    quadratic = 0.5 * gram.square - gram.c[features] @ w + 0.5 * w @ gram.between(features) @ w
    known = best_subset(data.X, data.y, k, gamma=gamma, method="relaxation", include=forced, options={"fixing": False})
    summary = known.trace["relaxation"]
    assert summary["dual"] * (1 - 1e-9) <= quadratic + penalty <= summary["primal"] * (1.0 + 2e-3)
