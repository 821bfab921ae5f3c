"""The sparsity rule against all choices of features."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsest.core.sparsity import Region, Sparsity

P = 7
# Small whole numbers make ties.
gains = st.lists(st.one_of(st.integers(0, 4).map(float), st.floats(0.0, 5.0)), min_size=P, max_size=P).map(np.array)
# Which features are forced in (1) and out (-1).
states = st.lists(st.sampled_from([-1, 0, 0, 0, 1]), min_size=P, max_size=P).map(np.array)


def region_of(state):
    return Region(np.flatnonzero(state == 1), np.flatnonzero(state == -1), P)


def rules(region, k, price):
    least = region.forced_in.size
    return [Sparsity(least + k), Sparsity(None, price), Sparsity(least + k, price)]


def brute_gain(rule, q, region):
    """The largest sum of gains, less prices, over all admissible supports of a region."""
    supports = (
        np.array([*region.forced_in, *chosen], dtype=np.intp)
        for size in range(region.free.size + 1)
        for chosen in combinations(region.free.tolist(), size)
    )
    return max(q[s].sum() - rule.cost(s) for s in supports if rule.admissible(np.sort(s), region))


@given(q=gains, state=states, k=st.integers(0, 6), price=st.floats(0.0, 3.0))
def test_gain_is_that_of_the_best_choice(q, state, k, price):
    region = region_of(state)
    for rule in rules(region, k, price):
        chosen = rule.choose(q, region)
        assert np.unique(chosen).size == chosen.size <= rule.budget(region)
        assert np.isin(chosen, region.free).all()
        gain = rule.gain(q, region)
        assert gain == pytest.approx(brute_gain(rule, q, region), abs=1e-12)
        taken = np.concatenate([region.forced_in, chosen])
        assert gain == pytest.approx(q[taken].sum() - rule.cost(taken), abs=1e-12)
        if not rule.price:
            assert chosen.size == rule.budget(region)


@given(q=gains, state=states, k=st.integers(0, 6), price=st.floats(0.0, 3.0))
def test_forcing_costs_are_the_loss_of_gain(q, state, k, price):
    region = region_of(state)
    for rule in rules(region, k, price):
        gain = brute_gain(rule, q, region)
        costs = rule.forcing_costs(q, region)
        assert costs.inside.shape == costs.outside.shape == region.free.shape
        for place, j in enumerate(region.free):
            without = brute_gain(rule, q, region.narrowed(region.free[:0], np.array([j])))
            assert costs.outside[place] == pytest.approx(gain - without, abs=1e-12)
            if rule.budget(region) == 0:
                assert costs.inside[place] == np.inf
            else:
                within = brute_gain(rule, q, region.narrowed(np.array([j]), region.free[:0]))
                assert costs.inside[place] == pytest.approx(gain - within, abs=1e-12)


@given(q=gains, state=states, k=st.integers(0, 6), price=st.floats(0.0, 3.0))
def test_separation_is_the_least_change_that_alters_the_choice(q, state, k, price):
    """Gains that change by less than half of it leave the choice as it is."""
    region = region_of(state)
    for rule in rules(region, k, price):
        separation = rule.separation(q, region)
        assert separation >= 0.0
        before = set(rule.choose(q, region).tolist())
        rng = np.random.default_rng(0)
        for _ in range(5):
            moved = q + 0.49 * min(separation, 10.0) * rng.uniform(-1.0, 1.0, P)
            assert separation == 0.0 or set(rule.choose(moved, region).tolist()) == before


@given(indicator=st.lists(st.floats(0.0, 1.5), min_size=P, max_size=P).map(np.array), state=states, k=st.integers(0, 6))
def test_rounding_is_admissible_and_takes_the_largest(indicator, state, k):
    region = region_of(state)
    for rule in rules(region, k, 0.3):
        support = rule.rounded(indicator, region)
        assert rule.admissible(support, region) and np.array_equal(support, np.unique(support))
        taken = np.isin(region.free, support)
        assert indicator[region.free[taken]].min(initial=np.inf) >= (0.5 if rule.price else 0.0)
        left = region.free[~taken & (indicator[region.free] > 0.5)]
        if taken.sum() < rule.budget(region):
            assert left.size == 0


@given(state=states, k=st.integers(0, 3))
def test_propagation_keeps_the_admissible_supports(state, k):
    region = region_of(state)
    rule = Sparsity(region.forced_in.size + k)
    smaller = rule.propagate(region)
    assert smaller.free.size == (region.free.size if rule.budget(region) else 0)
    for chosen in combinations(region.free.tolist(), min(k, region.free.size)):
        support = np.sort(np.array([*region.forced_in, *chosen], dtype=np.intp))
        assert rule.admissible(support, region) and rule.admissible(support, smaller)


def test_budget_cost_and_free_features():
    region = Region(np.array([4, 1]), np.array([0]), 6)
    assert region.free.tolist() == [2, 3, 5]
    assert [Sparsity(k).budget(region) for k in (1, 2, 3, 9)] == [0, 0, 1, 3]
    assert Sparsity(3).cost(np.arange(2)) == 0.0 and Sparsity(None, 0.5).cost(np.arange(3)) == 1.5
    assert Sparsity(None, 0.5).budget(region) == 3 and Sparsity(3, 0.5).most(6) == 3


@pytest.mark.parametrize("support", [[0, 1, 4], [1], [1, 2, 3, 4]])
def test_inadmissible_supports(support):
    region = Region(np.array([4, 1]), np.array([0]), 6)
    assert not Sparsity(3).admissible(np.array(support), region)
    assert Sparsity(3).admissible(np.array([1, 2, 4]), region)
