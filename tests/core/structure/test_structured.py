"""The rule of problems with a structure: units, supports, gains and roundings."""

from itertools import product

import numpy as np
import pytest

from core.structure.test_rules import kept, random_rules
from sparsest.core.sparsity import Region, Sparsity
from sparsest.core.structure.rules import Requirement, Rules
from sparsest.core.structure.structured import StructuredSparsity

GROUPS = np.array([0, 1, 0, 2, 3, 3, 4, 5, 5, 5])


def rule_of(rules, k=3, prices=None):
    return StructuredSparsity(k, np.zeros(6) if prices is None else prices, GROUPS, rules)


def everything(p):
    return Region(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), p)


def admissible(rule):
    """All supports that keep a rule."""
    for choice in product([False, True], repeat=6):
        z = np.array(choice)
        if z.sum() <= rule.most_units and kept(rule.rules, z):
            yield np.flatnonzero(z[GROUPS]), z


@pytest.mark.parametrize("seed", range(40))
def test_supports_gains_and_costs(seed):
    rng = np.random.default_rng(seed)
    rule = rule_of(random_rules(rng), int(rng.integers(1, 7)), rng.choice([0.0, 0.3, 1.0], 6))
    region, q = rule.propagate(everything(GROUPS.size)), rng.exponential(size=GROUPS.size)
    found = list(admissible(rule))
    if region is None:
        assert not found
        return
    values = {tuple(support): q[support].sum() - rule.prices[z].sum() for support, z in found}
    for support, z in found:
        assert rule.admissible(support, region) and rule.admits(support)
        assert rule.cost(support) == pytest.approx(rule.prices[z].sum())
        if support.size:
            assert not rule.admits(support[1:]) or np.bincount(GROUPS)[GROUPS[support[0]]] == 1
    if not found:
        return
    gain, costs = rule.gain(q, region), rule.forcing_costs(q, region)
    assert gain >= max(values.values()) - 1e-12
    chosen = np.concatenate([region.forced_in, rule.choose(q, region)])
    assert gain == pytest.approx(q[chosen].sum() - rule.cost(chosen), abs=1e-12)
    # Bounds of the sides of every free column.
    for j, inside, outside in zip(region.free, costs.inside, costs.outside, strict=True):
        with_j = [value for support, value in values.items() if j in support]
        without = [value for support, value in values.items() if j not in support]
        assert gain - inside >= max(with_j, default=-np.inf) - 1e-12
        assert gain - outside >= max(without, default=-np.inf) - 1e-12
    rounded = rule.rounded(rng.random(GROUPS.size) * (rng.random(GROUPS.size) < 0.7), region)
    assert rule.admits(rounded) or rule.rules.wants_more


def test_without_a_structure_it_is_the_plain_rule():
    """Units of one column, a common price and a number: the same answers to all questions."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        p, k, price = 8, int(rng.integers(1, 9)), float(rng.choice([0.0, 0.4]))
        plain = Sparsity(k, price)
        rule = StructuredSparsity(k, np.full(p, price), np.arange(p), Rules(p), price)
        state = rng.choice([-1, 0, 0, 0, 1], p)
        if (state == 1).sum() >= k:
            continue
        region, q = Region(np.flatnonzero(state == 1), np.flatnonzero(state == -1), p), rng.exponential(size=p)
        assert rule.gain(q, region) == pytest.approx(plain.gain(q, region))
        assert rule.budget(region) == plain.budget(region) and rule.most(p) == plain.most(p)
        assert sorted(rule.choose(q, region)) == sorted(plain.choose(q, region))
        for one, other in zip(rule.forcing_costs(q, region), plain.forcing_costs(q, region), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)
        indicator = rng.random(p)
        assert rule.rounded(indicator, region).tolist() == plain.rounded(indicator, region).tolist()


def test_moves_take_along_what_is_required():
    rule = rule_of(Rules(6, requires=(Requirement(5, (0, 2), True), Requirement(2, (1,), True))), k=4)
    nothing, everywhere = np.zeros(6, dtype=bool), np.ones(6, dtype=bool)
    grown = rule.with_unit(nothing, 5, everywhere)
    assert np.flatnonzero(grown).tolist() == [0, 1, 2, 5]
    assert np.flatnonzero(rule.without_unit(grown, 1)).tolist() == [0]
    assert rule.with_k(3).with_unit(nothing, 5, everywhere) is None
    assert rule.with_unit(nothing, 5, np.arange(6) != 1) is None


def test_some_columns_keep_the_numbers_of_their_units():
    rule = rule_of(Rules(6, requires=(Requirement(5, (0,), True),)))
    # Unit 0 has lost its columns, so it is out, and unit 5 with it.
    some = rule.among(np.flatnonzero(GROUPS != 0))
    region = some.propagate(everything(8))
    assert some.units[region.forced_out].tolist() == [5, 5, 5]
