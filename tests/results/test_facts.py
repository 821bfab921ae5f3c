"""Facts about the data beside a proof: counts, events for each feature, rare features, errors without features."""

import numpy as np
import pandas as pd
import pytest

from samples import responses_of
from sparsest import best_subset
from sparsest.results.facts import facts_of

N = 200


def columns(p=6, seed=0):
    return np.random.default_rng(seed).standard_normal((N, p))


def test_few_events_are_told():
    """7 deaths in 400 rows: a proved model of 4 features rests on fewer than two each."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 10))
    y = np.where(np.argsort(np.argsort(-X[:, 0] - rng.standard_normal(400))) < 7, "died", "lived")
    result = best_subset(X, y, 4, loss="logistic")
    found = facts_of(result, X, y)
    assert found.class_counts == {"died": 7, "lived": 393} and found.n_events == 7
    assert found.events_per_feature == 7 / 4 and found.n_features == 4
    assert found.null_error == pytest.approx(7 / 400)
    (doubt,) = found.warnings()
    assert doubt.startswith(
        "Too few data for 4 features: 1.75 rows of the rarer class for each; the usual minimum is 10."
    )
    assert "Choose at most 1," in doubt and "Rows of each class: 7 died, 393 lived." in found.sentences()
    assert found.short() == ["400 rows (7 died, 393 lived), 1.75 rows of the rarer class for each feature", doubt]


@pytest.mark.parametrize(("count", "doubtful"), [(39, True), (40, False)])
def test_the_limit_is_ten_events_for_each_feature(count, doubtful):
    X = columns()
    y = np.arange(N) < count
    found = facts_of(best_subset(X, y, 4, loss="logistic", method="local"), X, y)
    assert bool(found.warnings()) == doubtful


def test_errors_with_and_without_features():
    X = columns()
    rng = np.random.default_rng(2)
    y, weights = 3.0 + X[:, 0] + rng.standard_normal(N), rng.uniform(0.5, 2.0, N)
    result = best_subset(X, y, 2, sample_weight=weights)
    found = facts_of(result, X, y, sample_weight=weights)
    mean = np.average(y, weights=weights)
    assert found.null_error == pytest.approx(np.sqrt(np.average((y - mean) ** 2, weights=weights)))
    assert found.error == pytest.approx(np.sqrt(np.average((y - result.predict(X)) ** 2, weights=weights)))
    assert found.class_counts is None and found.n_events == N and not found.warnings()
    assert f"typical error is {found.null_error:.4g}; with them it is {found.error:.4g}" in found.error_sentence()
    labels = np.where(y > 3.5, "b", "a")
    model = best_subset(X, labels, 2, loss="logistic")
    classes = facts_of(model, X, labels)
    assert classes.error == pytest.approx((model.predict(X) != labels).mean())
    assert classes.null_error == pytest.approx(min((labels == "a").mean(), (labels == "b").mean()))


@pytest.mark.parametrize("given", ["offset", "exposure"])
def test_counts_with_offset_or_exposure(given):
    X, rng = columns(), np.random.default_rng(3)
    values = rng.uniform(0.5, 2.0, N)
    y = responses_of("poisson", 0.5 * X[:, 0] + (np.log(values) if given == "exposure" else values), rng)
    result = best_subset(X, y, 1, loss="poisson", **{given: values})
    found = facts_of(result, X, y, **{given: values})
    mean = values if given == "exposure" else np.exp(values)
    assert found.n_events == (y > 0).sum() and found.event == "rows with a response above zero"
    assert found.null_error == pytest.approx(np.sqrt(np.mean((y - mean * y.sum() / mean.sum()) ** 2)))
    assert found.error == pytest.approx(np.sqrt(np.mean((y - result.predict(X, **{given: values})) ** 2)))


def test_a_squared_offset_and_rows_of_weight_zero():
    X, rng = columns(), np.random.default_rng(4)
    offset, weights = 1e3 + rng.standard_normal(N), np.where(np.arange(N) < 20, 0.0, 1.0)
    y = offset + X[:, 1] + rng.standard_normal(N)
    found = facts_of(
        best_subset(X, y, 1, offset=offset, sample_weight=weights), X, y, offset=offset, sample_weight=weights
    )
    rest = (y - offset)[20:]
    assert found.n == N - 20 and found.null_error == pytest.approx(rest.std()) and found.effective_n == N - 20


def test_effective_sample_size():
    X, y = columns(), np.arange(N, dtype=float)
    weights = np.where(np.arange(N) < 10, 100.0, 1.0)
    found = facts_of(best_subset(X, y, 1, sample_weight=weights), X, y, sample_weight=weights)
    assert found.effective_n == pytest.approx((10 * 100 + 190) ** 2 / (10 * 100**2 + 190))
    assert any("about 14 rows of equal weight" in sentence for sentence in found.sentences())


def test_rare_features():
    """A dummy of a level that occurs once is named, one that occurs five times is not."""
    X = columns()
    X[:, 0], X[:, 1] = np.arange(N) == 7, np.arange(N) < 5
    y = 50.0 * X[:, 0] + 30.0 * X[:, 1] + np.random.default_rng(5).standard_normal(N)
    frame = pd.DataFrame(X, columns=["once", "five", "c", "d", "e", "f"])
    result = best_subset(frame, y, 2)
    found = facts_of(result, frame, y)
    assert [(one.name, one.n_rows) for one in found.rare] == [("once", 1)]
    assert found.warnings() == ["Features that differ from their usual value in a few rows only: once (1 row)."]


def test_without_features():
    X, y = columns(), np.arange(N, dtype=float)
    found = facts_of(best_subset(X, y, 0), X, y)
    assert found.events_per_feature == np.inf and not found.warnings() and found.short() == [f"{N} rows"]
    assert found.error == pytest.approx(found.null_error)
