"""What users say of single features."""

import numpy as np
import pytest

from sparsest.core.data import make_data
from sparsest.paths.features import FeatureRules, make_rules


def test_limits_scale_with_columns():
    X = np.random.default_rng(0).standard_normal((20, 3)) * [1.0, 5.0, 1.0]
    X[:, 2] = 7.0
    rules = make_rules(3, lower=[0.0, -1.0, -np.inf], upper=2.0)
    data = make_data(X, X[:, 0], standardize=True)
    low, high = rules.limits_of(data.design)
    scale = X.std(axis=0)
    np.testing.assert_allclose(low[:2], [0.0, -scale[1]])
    np.testing.assert_allclose(high[:2], 2.0 * scale[:2])
    assert low[2] == -np.inf and not np.isnan(high[2])
    low, high = rules.limits_of(make_data(X, X[:, 0], standardize=False).design)
    np.testing.assert_array_equal([low, high], [rules.lower, rules.upper])
    assert FeatureRules(np.ones(3)).limits_of(data.design) == (None, None)


def test_the_usual_factor_is_the_median_of_those_that_are_not_zero():
    assert make_rules(3, penalty_factor=[0.0, 2.0, 4.0]).usual_factor == 3.0
    assert make_rules(2, penalty_factor=[0.0, 0.0]).usual_factor == 1.0


@pytest.mark.parametrize(
    ("factor", "message"),
    [([1.0], "must have 2 entries"), ([1.0, -1.0], "not negative"), ([1.0, np.inf], "finite"), ([1.0, 1e-9], "use 0")],
)
def test_factors_that_are_refused(factor, message):
    with pytest.raises(ValueError, match=message):
        make_rules(2, penalty_factor=factor)
