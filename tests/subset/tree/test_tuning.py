"""Tuning: the optimum is found and proved with any tuning constants."""

import numpy as np
import pytest

from checks import best_subset, solve
from oracles import best_of, squared_values
from samples import hard
from sparsest.runtime.events import Status
from sparsest.subset.tree.tuning import DEFAULT_TUNING, Tuning

ODD = [
    Tuning(adapt_first=1, adapt_first_per_survivor=0.0, adapt_levels=0, adapt_trial=1),
    Tuning(adapt_first=2, adapt_first_per_survivor=10.0, adapt_levels=1, adapt_trial=10**9),
    Tuning(adapt_first=2, adapt_first_per_survivor=0.0, adapt_levels=0),
    Tuning(full_gram=0, gram_columns=1),
    Tuning(full_gram=0, column_operations=0.0),
    Tuning(full_gram=0, gram_columns=10**6, packed_bytes=1),
    Tuning(leaps_slice=1),
    Tuning(leaps_slice=0),
    Tuning(leaps_slice=10**9),
    Tuning(last_features=-1),
    Tuning(last_features=10**9),
]


@pytest.mark.parametrize("tuning", ODD, ids=lambda tuning: str([new for new in tuning if new not in DEFAULT_TUNING]))
@pytest.mark.parametrize("n", [10, 40], ids=["wide", "tall"])
def test_odd_numbers_change_no_result(tuning, n):
    X, y = hard(n, 12)
    gamma = 0.1 if n == 10 else 10.0
    optimum, _ = best_of(squared_values(X, y, gamma), 4)
    result = solve(X, y, 4, gamma=gamma, method="tree", n_jobs=1, options={"tuning": tuning})
    assert result.status is Status.OPTIMAL and result.objective == pytest.approx(optimum, rel=1.1e-4)
    assert result.lower_bound <= optimum * (1.0 + 1e-9)


def test_tuning_is_a_setting_of_the_tree():
    X, y = hard(10, 12)
    with pytest.raises(ValueError, match="tuning must be a Tuning, got 3"):
        best_subset(X, y, 4, options={"tuning": 3})
    with pytest.raises(ValueError, match="method 'cuts' has no option 'tuning'"):
        best_subset(X, y, 4, gamma=np.float64(1.0), method="cuts", options={"tuning": DEFAULT_TUNING})
