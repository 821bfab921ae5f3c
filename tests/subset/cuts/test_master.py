"""The rows of the master problem hold for exactly the admissible supports."""

from itertools import product

import numpy as np
import pytest

from samples import sample
from sparsest import Structure
from sparsest.core.problem import make_problem
from sparsest.subset.cuts.master import master_of

P = 7


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"feature_groups": [0, 1, 0, 2, 2, 3, 3]},
        {"structure": Structure(limits=[([0, 1, 2], 1, 2), ([2, 3], 1)], requires=[(0, [5, 6], "any"), (1, [4])])},
        {
            "feature_groups": [0, 1, 0, 2, 2, 3, 3],
            "structure": Structure(costs=[1, 2, 3, 4], max_cost=5, max_columns=4),
        },
    ],
    ids=str,
)
def test_rows(settings):
    X, y = sample("squared", 12, P, 0)
    problem = make_problem(X, y, 3, l0_penalty=0.5, **settings)
    for survivors in (np.arange(P), np.array([0, 1, 2, 4, 3]), np.array([1, 5, 6])):
        master, rule = master_of(problem, survivors), problem.sparsity.among(survivors)
        for choice in product([False, True], repeat=survivors.size):
            chosen = np.array(choice)
            support = np.flatnonzero(chosen)
            assert master.admits(chosen) == rule.admits(support)
            if rule.admits(support):
                assert master.prices[chosen].sum() == pytest.approx(rule.cost(support))
