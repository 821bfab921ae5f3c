"""Best subsets over numbers of features and ridges: in the order asked for, each as if it were alone."""

import numpy as np
import pytest

from checks import best_subset, best_subset_path, check_certificate
from samples import sample
from sparsest.subset.api import METHODS


@pytest.mark.parametrize("method", METHODS)
def test_path_over_ridges(method):
    """Each result is for its own k and γ, in the order asked for, and as good as one that was asked for alone."""
    X, y = sample("squared", 30, 8)
    ks, gammas = [3, 1], [0.4, 0.05]
    results = best_subset_path(X, y, ks, gammas=gammas, method=method)
    asked = [(gamma, k) for gamma in gammas for k in ks]
    assert [(result.statement.gamma, result.statement.k) for result in results] == asked
    for (gamma, k), result in zip(asked, results, strict=True):
        check_certificate(result, X, y)
        alone = best_subset(X, y, k, gamma=gamma, method=method)
        assert result.objective <= alone.objective * (1.0 + 1e-4)


def test_automatic_ridges_end_where_nothing_changes():
    X, y = sample("squared", 60, 4)
    results = best_subset_path(X, y, [1, 2], gammas="auto", method="local")
    gammas = [result.statement.gamma for result in results[::2]]
    np.testing.assert_allclose(np.divide(gammas[1:], gammas[:-1]), 2.0)
    assert 3 < len(gammas) < 21
    for before, last in zip(results[-4:-2], results[-2:], strict=True):
        assert np.array_equal(before.support, last.support)
        assert np.linalg.norm(before.coef - last.coef) <= 0.01 * np.linalg.norm(last.coef)
    for bad, message in (({"gammas": [0.1], "gamma": 0.2}, "not both"), ({"gammas": []}, "gammas must be")):
        with pytest.raises(ValueError, match=message):
            best_subset_path(X, y, [1], **bad)
