"""Scores of many models at once are those of each."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import log_loss, mean_squared_error

from sparsest.data import make_data
from sparsest.result import probabilities
from sparsest.selection.models import Models
from sparsest.selection.scores import make_score


@pytest.mark.parametrize("store", [np.asarray, sp.csc_array])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_deviance_and_scorers_agree(store, loss):
    rng = np.random.default_rng(0)
    X, weights, rows = rng.standard_normal((40, 5)), rng.uniform(0.5, 2.0, 40), np.arange(5, 30, 2)
    y = X[:, 0] + rng.standard_normal(40)
    classes = np.array(["a", "b"]) if loss == "logistic" else None
    if classes is not None:
        y = np.where(y > 0, "b", "a")
    data = make_data(store(X), y, loss=loss, standardize=True, sample_weight=weights)
    # More models than are predicted at a time.
    coefs = rng.standard_normal((5, 70)) * (rng.uniform(size=(5, 70)) < 0.6)
    models = Models(sp.csc_array(coefs), rng.standard_normal(70))
    assert np.array_equal(models.n_features, np.count_nonzero(coefs, axis=0))
    margins = X[rows] @ coefs + models.intercepts
    if classes is None:
        expected = [-mean_squared_error(y[rows], u, sample_weight=weights[rows]) for u in margins.T]
        name = "neg_mean_squared_error"
    else:
        shares = [probabilities(u) for u in margins.T]
        expected = [-2.0 * log_loss(y[rows], share, sample_weight=weights[rows]) for share in shares]
        name = "neg_log_loss"
    np.testing.assert_allclose(make_score(None, {}, classes)(models, data, rows), expected)
    scored = make_score(name, {"sample_weight": weights}, classes)(models, data, rows)
    np.testing.assert_allclose(scored, np.array(expected) / (1.0 if classes is None else 2.0))
    with pytest.raises(ValueError, match="magic"):
        make_score("magic", {}, classes)
