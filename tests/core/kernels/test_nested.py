"""Choices and forcing costs under nested limits against all choices of units."""

from itertools import pairwise, product

import numpy as np
import pytest

from sparsest.core.kernels.nested import choose_nested, nested_costs
from sparsest.core.structure.rules import Limit, Rules

UNITS = 7


def nested_limits(rng, k):
    """Limits of up to three levels, among them sets that are full and sets that are never full."""
    order = rng.permutation(UNITS).tolist()
    sets = [order[:5], order[5:], order[:2], order[2:4]]
    chosen = [some for some in sets if rng.random() < 0.7]
    limits = tuple(Limit(tuple(sorted(some)), 0, int(rng.integers(0, len(some) + 1))) for some in chosen)
    return Rules(UNITS, limits).nested(k)


def best(worth, state, limits, forced=None):
    """The largest worth of all choices, with one unit forced in or out if it is given; -inf if there is none."""
    start, members, most = limits
    found = -np.inf
    for choice in product([0, 1], repeat=UNITS):
        z = np.array(choice)
        fits = (z[state == 1] == 1).all() and (z[state == -1] == 0).all()
        counts = [z[members[a:b]].sum() for a, b in pairwise(start)]
        if fits and (counts <= most).all() and (forced is None or z[forced[0]] == forced[1]):
            found = max(found, float(worth @ z))
    return found


@pytest.mark.parametrize("seed", range(60))
def test_gain_and_costs_are_those_of_the_best_choices(seed):
    rng = np.random.default_rng(seed)
    # Whole numbers make ties; prices make negative worths.
    worth = rng.integers(-2, 5, UNITS).astype(float) if seed % 2 else rng.standard_normal(UNITS)
    state = rng.choice([-1, 0, 0, 0, 1], UNITS).astype(np.int8)
    limits = nested_limits(rng, int(rng.integers(1, UNITS + 1)))
    expected = best(worth, state, limits)
    if np.isinf(expected):
        return
    chosen, inside, outside = np.empty(UNITS, dtype=bool), np.empty(UNITS), np.empty(UNITS)
    assert choose_nested(worth, state, *limits, chosen) == pytest.approx(expected, abs=1e-12)
    assert worth[chosen].sum() + worth[state == 1].sum() == pytest.approx(expected, abs=1e-12)
    nested_costs(worth, state, *limits, chosen, inside, outside)
    for g in np.flatnonzero(state == 0):
        assert inside[g] == pytest.approx(expected - best(worth, state, limits, (g, 1)), abs=1e-12)
        assert outside[g] == pytest.approx(expected - best(worth, state, limits, (g, 0)), abs=1e-12)
