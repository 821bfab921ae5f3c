"""Methods of other packages: what is done with them, and what is said where they are not installed."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from sparsest.studies.procedures import PROCEDURES
from studies.procedures.samples import PLAN, check_models, sample_of


class Correlated:
    """Stands in for a model of abess: least squares on the features with the largest products."""

    def __init__(self, support_size, fit_intercept):
        self.k, self.intercept_ = support_size, 0.0

    def fit(self, X, y):
        assert set(np.unique(y)) == {0, 1} or y.dtype == np.float64
        chosen = np.argsort(-np.abs(X.T @ y))[: self.k]
        self.coef_ = np.zeros(X.shape[1])
        self.coef_[chosen] = np.linalg.lstsq(X[:, chosen], y, rcond=None)[0]
        return self


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_rows(task, monkeypatch):
    models = SimpleNamespace(LinearRegression=Correlated, LogisticRegression=Correlated)
    monkeypatch.setitem(sys.modules, "abess", models)
    check_models(list(PROCEDURES["abess"].run(sample_of(task), PLAN)))


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "abess", None)
    with pytest.raises(ValueError, match="pip install abess"):
        next(PROCEDURES["abess"].run(sample_of(), PLAN))
