"""Rules about units, and their propagation, against all choices of units."""

from itertools import pairwise, product
from math import fsum

import numpy as np
import pytest

from sparsest.core.structure.rules import Budget, Limit, Requirement, Rules

UNITS = 6


def random_rules(rng):
    """Rules of every kind, some of them contradictory."""

    def some(size):
        return tuple(sorted(rng.choice(UNITS, size, replace=False).tolist()))

    limits, requires, budgets = [], [], []
    for _ in range(rng.integers(0, 4)):
        units = some(rng.integers(1, 5))
        least = int(rng.integers(0, 2))
        limits.append(Limit(units, least, int(rng.integers(least, len(units) + 1))))
    for _ in range(rng.integers(0, 4)):
        unit, *needed = rng.permutation(UNITS)[: rng.integers(2, 4)].tolist()
        requires.append(Requirement(unit, tuple(sorted(needed)), bool(rng.random() < 0.5)))
    for _ in range(rng.integers(0, 2)):
        budgets.append(Budget(tuple((0.1 * rng.integers(0, 5, UNITS)).tolist()), 0.1 * int(rng.integers(1, 9))))
    return Rules(UNITS, tuple(limits), tuple(requires), tuple(budgets))


def kept(rules, z):
    """The rules written out once more."""
    return (
        all(limit.least <= z[list(limit.units)].sum() <= limit.most for limit in rules.limits)
        and all(
            not z[one.unit] or (z[list(one.needed)].all() if one.all else z[list(one.needed)].any())
            for one in rules.requires
        )
        and all(fsum(np.array(budget.costs)[z]) <= budget.most for budget in rules.budgets)
    )


@pytest.mark.parametrize("seed", range(80))
def test_propagation_keeps_every_choice(seed):
    """Only units that are the same in all choices of a region are decided; inadmissible single choices are found."""
    rng = np.random.default_rng(seed)
    rules, most = random_rules(rng), int(rng.integers(1, UNITS + 1))
    every = [np.array(z, dtype=bool) for z in product([False, True], repeat=UNITS)]
    fitting = [z for z in every if z.sum() <= most and kept(rules, z)]
    for z in every:
        assert rules.keeps(z) == kept(rules, z)
        assert rules.broken(z).any() == (not kept(rules, z))
        decided = np.where(z, 1, -1).astype(np.int8)
        assert rules.propagate(decided, most) == (z.sum() <= most and kept(rules, z))
    for state in (rng.choice([-1, 0, 0, 1], UNITS).astype(np.int8) for _ in range(20)):
        inside = [z for z in fitting if z[state == 1].all() and not z[state == -1].any()]
        narrowed = state.copy()
        if not rules.propagate(narrowed, most):
            assert not inside
            continue
        assert (narrowed[state != 0] == state[state != 0]).all()
        for z in inside:
            assert z[narrowed == 1].all() and not z[narrowed == -1].any()


def test_budgets_are_sums_with_correct_rounding():
    """0.1 + 0.2 + 0.3 is 0.6 if the sum is rounded once, and larger if it is rounded twice."""
    rules = Rules(3, budgets=(Budget((0.1, 0.2, 0.3), 0.6),))
    assert rules.keeps(np.ones(3, dtype=bool)) and sum((0.1, 0.2, 0.3)) > 0.6
    state = np.array([1, 1, 0], dtype=np.int8)
    assert rules.propagate(state, 3) and state[2] == 0


def test_nested_limits_are_taken_in_order():
    """Sets that overlap one taken before are left out, and so are limits that never bind."""
    limits = (
        Limit((0, 1, 2), 0, 2),
        Limit((2, 3), 0, 1),
        Limit((4, 5), 0, 2),
        Limit((0, 1), 0, 1),
        Limit((3, 4), 1, 1),
    )
    start, members, most = Rules(UNITS, limits).nested(4)
    sets = [members[a:b].tolist() for a, b in pairwise(start)]
    assert sets == [[0, 1], [3, 4], [0, 1, 2], list(range(UNITS))]
    assert most.tolist() == [1, 1, 2, 4]
