"""Structures of supports: every method, loss and kind of structure against enumeration by an independent solver."""

from functools import cache
from itertools import product
from math import fsum

import numpy as np
import pytest
import scipy.sparse as sp

from checks import best_subset, best_subset_path, check_certificate
from covering import every_pair
from oracles import EXPONENTIAL, conic_values, support_value
from samples import LOSS_NAMES, sample, sample_weights
from sparsest import Structure
from sparsest.core.settings import METHODS
from sparsest.runtime.events import Status
from sparsest.subset import api

N, P = 18, 8
GROUPS = ["a", "b", "a", "c", "d", "d", "e", "b"]
UNITS = np.array([0, 1, 0, 2, 3, 3, 4, 1])
ALONE = np.arange(P)
COSTS = [1.0, 0.5, 2.0, 1.5, 0.25]
# The settings, the units of the columns, and which units are admissible together, written out once more.
STRUCTURES = {
    "groups": ({"feature_groups": GROUPS}, UNITS, lambda z: True),
    "limits": (
        {"structure": Structure(limits=[([0, 1, 2], 1), ([0, 1, 2, 3, 4], 0, 2), ([4, 5], 1)])},
        ALONE,
        lambda z: z[:3].sum() <= 1 and z[:5].sum() <= 2 and z[4:6].sum() <= 1,
    ),
    "at least": (
        {"structure": Structure(limits=[([5, 6, 7], 1, 2)])},
        ALONE,
        lambda z: 1 <= z[5:].sum() <= 2,
    ),
    "limits on groups": (
        {"feature_groups": GROUPS, "structure": Structure(limits=[(["a", "b"], 1), (["b", "c"], 1)])},
        UNITS,
        lambda z: z[:2].sum() <= 1 and z[1:3].sum() <= 1,
    ),
    "heredity": (
        {"structure": Structure(requires=[(0, [6, 7]), (1, [5, 6], "any")])},
        ALONE,
        lambda z: (not z[0] or z[6:].all()) and (not z[1] or z[5:7].any()),
    ),
    "exclusive": (
        {"structure": Structure(exclusive=[[0, 1], [1, 2, 3]])},
        ALONE,
        lambda z: z[:2].sum() <= 1 and z[1:4].sum() <= 1,
    ),
    "budgets": (
        {"feature_groups": GROUPS, "structure": Structure(costs=COSTS, max_cost=2.75, max_columns=4)},
        UNITS,
        lambda z: fsum(np.array(COSTS)[z]) <= 2.75 and np.bincount(UNITS)[z].sum() <= 4,
    ),
}
SIZES = {
    "k": {"k": 2},
    "prices": {"l0_penalty": "prices"},
    "both": {"k": 3, "l0_penalty": 0.2},
    "forced": {"k": 3, "include": [6], "exclude": [3]},
}


@cache
def values(loss, gamma, fit_intercept, weighted):
    """The objective of every union of units of any structure, by conic programming."""
    X, y = sample(loss, N, P, 1)
    chosen = set()
    for units in (UNITS, ALONE):
        # Larger supports are not reached by the sizes below.
        choices = (z for z in product([False, True], repeat=int(units.max()) + 1) if sum(z) <= 3)
        chosen |= {tuple(np.flatnonzero(np.array(z)[units]).tolist()) for z in choices}
    return conic_values(loss, X, y, gamma, fit_intercept, sorted(chosen), sample_weights(weighted, N, 1))


def prices_of(units):
    return np.linspace(0.05, 1.0, int(units.max()) + 1).tolist()


def optimum(structure, size, found):
    """The best objective over all admissible supports, and these supports."""
    _, units, admits = STRUCTURES[structure]
    asked = SIZES[size]
    count = int(units.max()) + 1
    price = asked.get("l0_penalty", 0.0)
    prices = np.array(prices_of(units)) if price == "prices" else np.full(count, price)
    best, supports = np.inf, set()
    for choice in product([False, True], repeat=count):
        z = np.array(choice)
        support = tuple(np.flatnonzero(z[units]).tolist())
        forced = set(asked.get("include", ())) <= set(support) and not set(asked.get("exclude", ())) & set(support)
        if admits(z) and forced and z.sum() <= asked.get("k", 3):
            supports.add(support)
            best = min(best, found[support] + prices[z].sum())
    return best, supports


def settings_of(structure, size):
    given, units, _ = STRUCTURES[structure]
    asked = dict(SIZES[size])
    if asked.get("l0_penalty") == "prices":
        # At most three units, so that few supports have to be enumerated.
        asked |= {"l0_penalty": prices_of(units), "k": 3}
    return {**given, **asked}


@every_pair(
    structure=STRUCTURES,
    loss=LOSS_NAMES,
    method=METHODS,
    size=SIZES,
    fit=[(True, False), (False, True)],
)
def test_against_enumeration(structure, loss, method, size, fit):
    """No objective is below the optimum, no bound above it, and a proof is a proof."""
    fit_intercept, weighted = fit
    X, y = sample(loss, N, P, 1)
    weights = sample_weights(weighted, N, 1)
    best, supports = optimum(structure, size, values(loss, 0.3, fit_intercept, weighted))
    asked = {"loss": loss, "gamma": 0.3, "fit_intercept": fit_intercept, "sample_weight": weights}
    result = best_subset(X, y, method=method, time_limit=np.inf, **asked, **settings_of(structure, size))
    check_certificate(result, X, y, weights)
    tolerance = 1e-4 if loss in EXPONENTIAL else 1e-6
    assert tuple(result.support.tolist()) in supports
    assert result.objective >= best * (1.0 - tolerance) - 1e-8
    assert result.lower_bound <= best * (1.0 + tolerance) + 1e-8
    if method in ("tree", "cuts"):
        assert result.status is Status.OPTIMAL
    if result.status is Status.OPTIMAL:
        assert result.objective <= best * (1.0 + 1.1e-4 + tolerance) + 1e-8


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("box", [None, 0.3])
def test_without_a_ridge_all_supports_are_tried(structure, box):
    X, y = sample("squared", N, P, 1)
    given, units, admits = STRUCTURES[structure]
    result = best_subset(X, y, 2, gamma=np.inf, max_coef=box, time_limit=np.inf, **given)
    check_certificate(result, X, y)
    best = np.inf
    for choice in product([False, True], repeat=int(units.max()) + 1):
        z = np.array(choice)
        if z.sum() <= 2 and admits(z):
            best = min(best, support_value("squared", X[:, z[units]], y, np.inf, True, max_coef=box))
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(best, rel=1.1e-4)


@every_pair(method=METHODS, loss=["squared", "logistic", "hinge"], size=["k", "both", "forced"])
def test_groups_of_one_column_change_nothing(method, loss, size):
    X, y = sample(loss, N, P, 3)
    asked = {**SIZES[size], "loss": loss, "gamma": 0.3, "method": method, "time_limit": np.inf}
    plain, grouped = best_subset(X, y, **asked), best_subset(X, y, **asked, feature_groups=list(range(P)))
    assert grouped.lower_bound <= plain.objective * (1.0 + 1e-9)
    if Status.OPTIMAL is plain.status is grouped.status:
        assert grouped.objective == pytest.approx(plain.objective, rel=2e-4)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("screen_by", ["relaxation", "path"])
def test_screening_keeps_whole_groups(structure, screen_by):
    X, y = sample("squared", N, P, 1)
    best, supports = optimum(structure, "k", values("squared", 0.3, True, False))
    result = best_subset(
        X, y, 2, gamma=0.3, screen=6, screen_by=screen_by, time_limit=np.inf, **STRUCTURES[structure][0]
    )
    check_certificate(result, X, y)
    assert tuple(result.support.tolist()) in supports and result.lower_bound <= best * (1.0 + 1e-6)
    units = STRUCTURES[structure][1]
    for unit in set(units[result.screening.kept].tolist()):
        assert set(np.flatnonzero(units == unit)) <= set(result.screening.kept.tolist())


@pytest.mark.parametrize("structure", STRUCTURES)
def test_paths_have_the_structure_at_every_size(structure):
    X, y = sample("squared", N, P, 1)
    given, units, admits = STRUCTURES[structure]
    for k, result in zip((1, 2, 3), best_subset_path(X, y, [1, 2, 3], gamma=0.3, **given), strict=True):
        check_certificate(result, X, y)
        alone = best_subset(X, y, k, gamma=0.3, **given)
        assert result.status is alone.status is Status.OPTIMAL
        assert result.objective == pytest.approx(alone.objective, rel=2e-4)
        assert admits(np.isin(np.arange(units.max() + 1), units[result.support]))


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("size", ["k", "prices"])
def test_near_optimal_sets_are_complete(structure, size):
    X, y = sample("squared", N, P, 1)
    found = values("squared", 0.3, True, False)
    result = best_subset(X, y, gamma=0.3, **settings_of(structure, size))
    near = api.near_optimal(result, X, y, within=0.1)
    _, supports = optimum(structure, size, found)
    units = STRUCTURES[structure][1]
    prices = np.array(prices_of(units)) if size == "prices" else np.zeros(units.max() + 1)
    expected = {
        support
        for support in supports
        if found[support] + prices[np.unique(units[list(support)])].sum() <= 1.1 * result.objective
    }
    assert near.complete and {tuple(one.tolist()) for one in near.supports} == expected


def test_storage_does_not_matter():
    X, y = sample("squared", N, P, 1)
    given = STRUCTURES["limits on groups"][0]
    dense = best_subset(X, y, 2, gamma=0.3, standardize=True, **given)
    sparse = best_subset(sp.csc_array(X), y, 2, gamma=0.3, standardize=True, **given)
    assert sparse.support.tolist() == dense.support.tolist()
    assert sparse.objective == pytest.approx(dense.objective, rel=1e-9)
