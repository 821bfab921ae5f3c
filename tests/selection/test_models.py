"""Models by their coefficients: together as a matrix, and one by one as scikit-learn's scorers take them."""

import numpy as np
import pytest
import scipy.sparse as sp

from sparsest.core.designs import as_design
from sparsest.core.losses import make_loss
from sparsest.selection.models import Classification, Models, Regression

rng = np.random.default_rng(0)
X = rng.standard_normal((9, 5))


def made(m):
    """A number of models, the i-th with i modulo six features, and the same models as arrays."""
    coefs, intercepts = np.zeros((5, m)), rng.standard_normal(m)
    for i in range(m):
        coefs[rng.choice(5, i % 6, replace=False), i] = rng.standard_normal(i % 6)
    models = Models.of(
        5, ((np.flatnonzero(w), w[np.flatnonzero(w)], b) for w, b in zip(coefs.T, intercepts, strict=True))
    )
    return models, coefs, intercepts


@pytest.mark.parametrize("m", [1, 64, 130])
@pytest.mark.parametrize("storage", [np.asarray, sp.csc_array])
def test_margins_of_all_models(m, storage):
    models, coefs, intercepts = made(m)
    blocks = list(models.margins(as_design(storage(X))))
    assert len(blocks) == -(-m // 64)
    np.testing.assert_allclose(np.hstack(blocks), X @ coefs + intercepts, atol=1e-12)
    assert models.n_features.tolist() == [i % 6 for i in range(m)]


def test_one_model_after_the_other():
    models, coefs, intercepts = made(7)
    found = list(models)
    np.testing.assert_array_equal(np.column_stack([coef for coef, _ in found]), coefs)
    assert [intercept for _, intercept in found] == intercepts.tolist()


@pytest.mark.parametrize("intercept", [0.5, np.linspace(-1.0, 1.0, 9)], ids=["one", "one for each row"])
def test_predictions(intercept):
    coef = np.array([1.0, 0.0, -2.0, 0.5, 0.0])
    score = X @ coef + intercept
    np.testing.assert_allclose(Regression(coef, intercept, make_loss("squared")).predict(X), score)
    np.testing.assert_allclose(Regression(coef, intercept, make_loss("poisson")).predict(X), np.exp(score))
    labels = np.array(["low", "top"])
    logistic, hinge = (Classification(coef, intercept, labels, known) for known in (True, False))
    for model in (logistic, hinge):
        np.testing.assert_allclose(model.decision_function(X), score)
        assert model.predict(X).tolist() == np.where(score > 0, "top", "low").tolist()
    np.testing.assert_allclose(
        logistic.predict_proba(X), np.column_stack([1 / (1 + np.exp(score)), 1 / (1 + np.exp(-score))])
    )
    assert not hasattr(hinge, "predict_proba")
