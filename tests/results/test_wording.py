"""Sentences about what is proved: they never claim more than holds."""

import json
import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from checks import best_subset
from samples import sample
from sparsest import Result
from sparsest.results.wording import (
    Shares,
    advice_sentence,
    asked_sentence,
    choices,
    explained_sentence,
    large,
    measure_sentence,
    percent_above,
    proof_sentence,
    shares_of,
)


@pytest.mark.parametrize(
    ("share", "text"),
    # The floating-point number 1e-4 is a little more than one hundredth of a per cent, and 2^-14 is what it is.
    [
        (1e-4, "0.011 %"),
        (2.0**-14, "0.0062 %"),
        (0.000123, "0.013 %"),
        (0.0, "0.0001 %"),
        (0.25, "25 %"),
        (0.251, "26 %"),
        (np.inf, "∞ %"),
    ],
)
def test_percentages_are_rounded_up(share, text):
    assert percent_above(share) == text


@pytest.mark.parametrize("share", np.random.default_rng(0).uniform(1e-6, 1.0, 20).tolist())
def test_percentages_are_never_less_than_the_share(share):
    assert share <= float(percent_above(share).split()[0]) / 100 <= 1.11 * share


@pytest.mark.parametrize(
    ("count", "text"),
    [(93, "93"), (12345, "12,345"), (4426165368, "about 4.43 billion"), (7 * 10**20, "about 7 × 10²⁰")],
)
def test_large_numbers(count, text):
    assert large(count) == text


PAIR = np.arange(2)


def test_sentences():
    X, y = sample("squared", 30, 5)
    about = best_subset(X, y, 2, gamma=0.3, include=[0]).statement
    assert choices(about) == "5" and "Which 2 (or fewer) of 5 features predict “y” best" in asked_sentence(
        about, "y", None
    )
    assert "by more than 25 %. This is proved" in proof_sentence(about, "OPTIMAL", 0.25)
    assert "stopped by its time limit" in proof_sentence(about, "TIME_LIMIT", 0.1)
    assert proof_sentence(about, "HEURISTIC", np.inf).startswith("Nothing is proved")
    assert "squared distance" in measure_sentence(about) and "gamma = 0.3" in measure_sentence(about)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"lower": 0.0}, "No coefficient may be negative."),
        ({"upper": 0.0}, "No coefficient may be positive."),
        ({"lower": {1: 0.0}}, "Coefficients of 1 column must keep given limits."),
        ({"lower": {1: 0.0}, "upper": {1: 2.0, 3: 0.5}}, "Coefficients of 2 columns must keep given limits."),
        ({"lower": -1.0, "max_coef": 2.0}, "in absolute value. Coefficients of 5 columns must keep given limits."),
    ],
    ids=str,
)
def test_limits_of_coefficients_in_words(limits, words):
    X, y = sample("squared", 20, 5)
    result = best_subset(X, y, 2, gamma=0.3, **limits)
    assert measure_sentence(result.statement).endswith(words)
    assert "admissible choice" in result.explained_lines()[0]


def stated(result):
    """Own and largest share of a result's sentence, as numbers."""
    sentence = result.explained_lines()[0]
    return [float(text) / 100 for text in re.findall(r"([0-9.]+) %", sentence)]


def explained_by_all(X, y, k, gamma=np.inf):
    """1 - (loss + penalty) / null loss of every support of at most k centred columns, by plain linear algebra."""
    centred, target = X - X.mean(axis=0), y - y.mean()
    found = {}
    for size in range(1, k + 1):
        for support in combinations(range(X.shape[1]), size):
            Z = centred[:, support]
            w = np.linalg.solve(Z.T @ Z + np.eye(size) / gamma, Z.T @ target)
            found[support] = 1.0 - (np.sum((target - Z @ w) ** 2) + w @ w / gamma) / np.sum(target**2)
    return found


@pytest.mark.parametrize(
    ("method", "gamma"), [("tree", np.inf), ("local", np.inf), ("tree", 0.02), ("relaxation", 0.02), ("local", 0.02)]
)
def test_no_model_explains_more_than_is_said(gamma, method):
    """Against all supports; without a ridge the numbers are R²."""
    X, y = sample("squared", 40, 7, noise=1.5)
    result = best_subset(X, y, 3, gamma=gamma, method=method)
    every = explained_by_all(X, y, 3, gamma)
    own, *largest = stated(result)
    assert own <= every[tuple(result.support)] + 1e-12 < own + 2e-3
    assert not largest or max(every.values()) <= largest[0] + 1e-12
    assert ("(R²)" in result.explained_lines()[0]) == np.isinf(gamma)
    assert ("penalty" in result.explained_lines()[0]) == np.isfinite(gamma)
    if method == "tree":
        assert largest[0] <= max(every.values()) + 2e-3 and result.explained_lines()[1].startswith("A longer search")
    texts = " ".join(result.summary().splitlines()), result._repr_html_()
    assert all(line in text for line in result.explained_lines() for text in texts)


def test_with_a_ridge_the_bound_is_none_of_r_squared():
    """A model that is fitted without the penalty explains more: so the sentence has to count the penalty."""
    X, y = sample("squared", 40, 7)
    result = best_subset(X, y, 3, gamma=0.005)
    assert max(explained_by_all(X, y, 3).values()) > stated(result)[1]


@pytest.mark.parametrize("loss", ["logistic", "poisson", "gamma", "huber", "hinge"])
def test_other_losses(loss):
    X, y = sample(loss, 40, 5)
    result = best_subset(X, y, 2, loss=loss, gamma=0.1)
    words = {"huber": "huber loss that", "hinge": "hinge loss that"}.get(loss, "of the null deviance")
    assert words in result.explained_lines()[0]
    own, largest = stated(result)
    assert own <= 1.0 - result.objective / result.null_loss <= 1.0 - result.lower_bound / result.null_loss <= largest
    assert result.null_loss == pytest.approx(best_subset(X, y, 0, loss=loss, gamma=0.1).objective)


def test_the_price_of_features_is_not_part_of_the_shares():
    X, y = sample("squared", 40, 6)
    result = best_subset(X, y, l0_penalty=2.0, gamma=0.1)
    m = result.support.size
    own, largest = stated(result)
    values = [value for support, value in explained_by_all(X, y, m, 0.1).items() if len(support) == m]
    assert max(values) <= largest + 1e-12 and own <= max(values) + 1e-12
    assert f"no other choice of {m} features" in result.explained_lines()[0]


def test_what_to_do(tmp_path):
    X, y = sample("squared", 40, 6)
    result = best_subset(X, y, 2, gamma=0.1)
    about = result.statement
    assert "gain at most 0.40 percentage points" in advice_sentence(about, "TIME_LIMIT", Shares(0.5, 0.503999, 2))
    assert "up to 10.1 percentage points: search longer" in advice_sentence(about, "HEURISTIC", Shares(0.5, 0.6001, 2))
    assert "stronger ridge" in advice_sentence(about, "HEURISTIC", Shares(0.5, 1.0, 2))
    assert "no proof of how much another choice" in explained_sentence(about, Shares(0.5, 1.0, 2))
    assert "99.90 %" in explained_sentence(about, Shares(0.9899, 0.99899, 2))
    assert "99.99955 %" in explained_sentence(about, Shares(0.9, 0.9999955, 2))
    assert "no other admissible choice" in explained_sentence(replace(about, include=(1,)), Shares(0.9, 0.95, 2))
    assert "of the sum of squares" in explained_sentence(replace(about, fit_intercept=False), Shares(0.9, 0.95, 2))
    assert shares_of(about, 1.0, 0.5, None, PAIR) is None and shares_of(about, 1.0, 0.5, 0.0, PAIR) is None
    assert shares_of(about, 1.0, -3.0, 2.0, PAIR) == Shares(0.5, 1.0, 2)
    result.save(tmp_path / "model.json")
    assert Result.load(tmp_path / "model.json").explained_lines() == result.explained_lines()
    older = json.loads((tmp_path / "model.json").read_text())
    del older["null_loss"]
    (tmp_path / "model.json").write_text(json.dumps(older))
    assert Result.load(tmp_path / "model.json").explained_lines() == []
    (tmp_path / "model.json").write_text(json.dumps({**older, "null_loss": "much"}))
    with pytest.raises(ValueError, match="its null_loss is not a number"):
        Result.load(tmp_path / "model.json")
    assert best_subset(X, y, 0, gamma=0.1).explained_lines() == []
