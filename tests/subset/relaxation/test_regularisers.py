"""Value and gain of both kinds of regularisers agree where a structure says nothing."""

import numpy as np
import pytest

from samples import sample
from sparsest.core.problem import make_problem
from sparsest.core.sparsity import Region
from sparsest.subset.relaxation.regularisers import gain_at, sigma_of, value_of
from sparsest.subset.relaxation.working_set import make_regulariser

P = 7


@pytest.mark.parametrize("form", [{"k": 3}, {"l0_penalty": 0.4}, {"k": 3, "l0_penalty": 0.1}], ids=str)
@pytest.mark.parametrize("bounds", [{}, {"max_coef": 0.5}, {"lower": 0.0}, {"lower": -0.3, "upper": 0.6}], ids=str)
def test_units_of_one_column(form, bounds):
    X, y = sample("squared", 15, P, 0)
    plain, grouped = (
        make_problem(X, y, **form, **bounds, gamma=0.3, feature_groups=labels) for labels in (None, list(range(P)))
    )
    region = Region(np.array([2]), np.array([5]), P)
    features = region.alive
    one, other = (make_regulariser(problem, region, features) for problem in (plain, grouped))
    rng = np.random.default_rng(1)
    for _ in range(20):
        # Half of the largest admissible size keeps the limits within reach.
        w = plain.bounds.of(features).clip(0.3 * rng.standard_normal(features.size)) * 0.5
        w[rng.random(features.size) < 0.5] = 0.0
        assert value_of(w, other) == pytest.approx(value_of(w, one), rel=1e-9)
        products = rng.standard_normal(features.size)
        assert gain_at(products, other) == pytest.approx(gain_at(products, one), rel=1e-12)
        assert sigma_of(w, one)[1] is None and sigma_of(w, other)[1] is not None
