"""Parts of and products with the Gram matrix, whichever part of it is stored."""

import numpy as np
import pytest

from samples import BY_REGIONS, sample_weights
from sparsest.core.problem import make_problem
from sparsest.subset.tree.gram_store import GramColumns
from sparsest.subset.tree.structured_gram import StructuredGram


@pytest.mark.parametrize("full_gram", [0, 100])
@pytest.mark.parametrize("weighted", [False, True])
def test_parts_and_products_are_those_of_the_data(full_gram, weighted):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 9)), rng.standard_normal(12)
    problem = make_problem(
        X, y, 2, feature_groups=[0, 0, 1, 1, 1, 2, 3, 3, 4], sample_weight=sample_weights(weighted, 12)
    )
    columns = problem.design.columns(np.arange(9))
    G = columns.T @ (problem.weights[:, None] * columns)
    gram = StructuredGram(problem, columns, BY_REGIONS._replace(full_gram=full_gram), np.inf)
    np.testing.assert_allclose(gram.c, columns.T @ (problem.weights * (problem.y - gram.b)), atol=1e-12)
    for _ in range(60):
        features = np.sort(rng.choice(9, rng.integers(1, 6), replace=False))
        np.testing.assert_allclose(gram.part(features), G[np.ix_(features, features)], atol=1e-12)
        w = rng.standard_normal(features.size)
        np.testing.assert_allclose(gram.product(features, w), G[:, features] @ w, atol=1e-12)
    # After this many products columns have replaced the block.
    assert isinstance(gram._store, GramColumns) and gram.nbytes() == 8 * 9 * 9
