"""A published table with three factors: terms are chosen as a whole, all other choices are excluded by a proof."""

from itertools import combinations

import numpy as np
import pytest

from sparsest import Status, best_subset, certified_choice, near_optimal
from sparsest.datasets import load_folder

GAMMA = 0.05


@pytest.fixture
def hitters(shared_data):
    """Both levels of each factor beside the sixteen numbers, all standardised, and the term of every column."""
    data = load_folder(shared_data / "hitters")
    columns, terms = [], []
    for name, column in zip(data.feature_names, data.X.T, strict=True):
        factor, _, level = str(name).partition("_")
        columns += [1.0 - column, column] if level else [column]
        terms += [factor, factor] if level else [factor]
    X = np.column_stack(columns)
    return (X - X.mean(axis=0)) / X.std(axis=0), data.y, terms


def value(X, y, columns):
    """Losses and ridge of the best coefficients of some columns, by the normal equations."""
    part, centred = X[:, columns], y - y.mean()
    w = np.linalg.solve(part.T @ part + np.eye(len(columns)) / GAMMA, part.T @ centred)
    return 0.5 * ((centred - part @ w) ** 2).sum() + 0.5 / GAMMA * (w @ w)


@pytest.mark.shared_data
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_best_terms_of_all(hitters, k):
    X, y, terms = hitters
    names = list(dict.fromkeys(terms))
    assert len(names) == 19 and [terms.count(name) for name in names[-3:]] == [2, 2, 2]
    every = {
        chosen: value(X, y, [j for j, term in enumerate(terms) if term in chosen]) for chosen in combinations(names, k)
    }
    result = best_subset(X, y, k, gamma=GAMMA, feature_groups=terms)
    assert result.status is Status.OPTIMAL and result.certificate.verify(X, y)
    assert tuple(result.terms) == min(every, key=every.get)
    assert result.objective == pytest.approx(min(every.values()), rel=1e-9)


@pytest.mark.shared_data
def test_a_factor_is_chosen_and_all_others_are_excluded(hitters):
    X, y, terms = hitters
    result = best_subset(X, y, 5, feature_groups=terms, include=["Division=1"], feature_names=_names(terms))
    assert result.status is Status.OPTIMAL and result.certificate.verify(X, y) and "Division" in result.terms
    near = near_optimal(result, X, y, within=0.005)
    assert near.complete
    choice = certified_choice(X, y, "bic", feature_groups=terms)
    assert choice.status is Status.OPTIMAL and choice.verify(X, y)
    for factor in ("League", "Division", "NewLeague"):
        assert choice.result.terms.count(factor) == sum(terms[j] == factor for j in choice.result.support) // 2


def _names(terms):
    """Names of columns: the term, and the number of the level where there are several."""
    return [term if terms.count(term) == 1 else f"{term}={terms[:j].count(term)}" for j, term in enumerate(terms)]
