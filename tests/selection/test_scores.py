"""Scores of many models at once are those of each."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import log_loss, mean_absolute_error, mean_poisson_deviance, mean_squared_error

from samples import sample
from sparsest.core.data import make_data
from sparsest.results.result import probabilities
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


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_offsets_and_exposures_are_added_to_the_rows_they_belong_to(loss):
    X, y = sample(loss, 20, 3)
    rng, rows = np.random.default_rng(0), np.array([17, 3, 4, 8, 12, 1, 0, 9])
    added = {"offset": 0.3 * rng.standard_normal(20)}
    if loss == "poisson":
        added["exposure"] = rng.uniform(0.5, 2.0, 20)
    coefs, intercepts = 0.3 * rng.standard_normal((3, 2)), np.array([0.2, -0.1])
    u = X @ coefs + intercepts + (added["offset"] + np.log(added.get("exposure", np.ones(20))))[:, None]
    means, metric = (u, mean_squared_error) if loss == "squared" else (np.exp(u), mean_poisson_deviance)
    data, models = make_data(X, y, loss=loss, standardize=True, **added), Models(sp.csc_array(coefs), intercepts)
    for score, error in (
        (make_score(None, {}, None), metric),
        (make_score("neg_mean_absolute_error", {}, None), mean_absolute_error),
    ):
        expected = [-error(y[rows], mean) for mean in means[rows].T]
        np.testing.assert_allclose(score(models, data, rows), expected, rtol=1e-10)
