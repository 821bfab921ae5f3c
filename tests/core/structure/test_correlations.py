"""Sets of correlated features cover exactly the pairs above the limit."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from sparsest.core.data import make_data
from sparsest.core.structure.correlations import exclusive_sets


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("most", [0.2, 0.5, 0.9])
def test_pairs_above_the_limit(weighted, sparse, most):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 9)) + rng.choice([0.0, 1.0], 9) * rng.standard_normal((40, 1))
    X[:, 8] = 2.0
    weights = rng.uniform(0.5, 2.0, 40) if weighted else np.ones(40)
    data = make_data(sp.csc_array(X) if sparse else X, X[:, 0], sample_weight=weights, standardize=weighted)
    groups = np.array([0, 1, 2, 3, 3, 4, 5, 6, 7])
    C = np.cov(X[:, :8].T, aweights=weights)
    C = np.abs(C) / np.sqrt(np.outer(np.diag(C), np.diag(C)))
    expected = {
        tuple(sorted((groups[i], groups[j])))
        for i, j in combinations(range(8), 2)
        if C[i, j] > most and groups[i] != groups[j]
    }
    sets = exclusive_sets(data, groups, most)
    assert {pair for some in sets for pair in combinations(some, 2)} == expected
    assert len(sets) <= max(len(expected), 0)
