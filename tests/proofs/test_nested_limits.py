"""Limits that nest, by their definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sparsest.proofs.nested_limits import levels, nested_sets
from sparsest.proofs.structure import Rules

COUNT = 6


def random_limits(rng):
    """Many sets that nest, and some that do not."""
    sets = []
    for _ in range(rng.integers(1, 9)):
        if sets and rng.random() < 0.6:
            base = list(sets[rng.integers(len(sets))])
            others = [unit for unit in range(COUNT) if unit not in base]
            grown = rng.random() < 0.5
            chosen = base + others[: rng.integers(len(others) + 1)] if grown else base[: rng.integers(1, len(base) + 1)]
        else:
            chosen = rng.permutation(COUNT)[: rng.integers(1, COUNT + 1)].tolist()
        sets.append(tuple(int(unit) for unit in chosen))
    return tuple((units, 0, int(rng.integers(len(units) + 1))) for units in sets)


def by_definition(limits):
    taken = []
    for number, (units, _, most) in enumerate(limits):
        one = set(units)
        others = [set(limits[other][0]) for other in taken]
        if most < len(one) and all(not one & other or one <= other or one >= other for other in others):
            taken.append(number)
    return taken


@given(seed=st.integers(0, 10**6))
def test_the_sets_that_nest(seed):
    limits = random_limits(np.random.default_rng(seed))
    assert nested_sets(Rules(limits=limits)) == by_definition(limits)


@given(seed=st.integers(0, 10**6))
def test_levels_are_disjoint_and_go_from_the_inside_out(seed):
    limits = random_limits(np.random.default_rng(seed))
    found = levels(Rules(limits=limits), COUNT)
    sets = [
        (frozenset(np.flatnonzero(level.set_of == i).tolist()), int(most))
        for level in found
        for i, most in enumerate(level.most)
    ]
    wanted = [(frozenset(limits[number][0]), limits[number][2]) for number in by_definition(limits)]
    assert sorted(map(str, sets)) == sorted(map(str, wanted))
    for i, (inner, _) in enumerate(sets):
        assert not any(outer < inner for outer, _ in sets[i + 1 :])
    for level in found:
        for units in ([], [0, 2, 5]):
            assert level.counts(np.array(units, dtype=np.intp)).sum() == sum(level.set_of[unit] >= 0 for unit in units)


def test_many_sets_take_little_time():
    """Pairs of 40,000 units: comparing every two sets would take minutes."""
    pairs = tuple(((2 * i, 2 * i + 1), 0, 1) for i in range(20000))
    whole = (tuple(range(40000)), 0, 3)
    rules = Rules(limits=(*pairs, whole, ((1, 2), 0, 1)))
    assert nested_sets(rules) == list(range(20001))
    assert [level.most.size for level in levels(rules, 40000)] == [20000, 1]
