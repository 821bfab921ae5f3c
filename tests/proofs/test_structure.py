"""Rules of a structure: what they admit by their definition, and the rows that follow from them."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.helpers import sample, statement_of
from proofs.structures import KINDS, admits, random_rules, supports, units_by_definition
from sparsest.proofs.structure import Rules, fsum

P = 6
WHOLE = Rules(
    (0, 0, 1, 2, 1, 3),
    (0.0, 0.5, 1.0, 2.0),
    (((0, 1), 0, 1), ((3, 2, 1), 1, 2)),
    ((3, (0, 1), True), (2, (0, 1), False)),
    (((1.0, 0.1, 0.2, 0.0), 1.1), ((2.0, 2.0, 1.0, 1.0), 4.0)),
)


def test_json_round_trip():
    for rules in (WHOLE, Rules(), Rules(units=(0, 1, 0))):
        again = Rules.from_json(json.loads(json.dumps(rules.to_json(), allow_nan=False)))
        assert again == rules
    assert WHOLE.count(P) == 4 and Rules().count(P) == P
    assert WHOLE.unit_of(P).tolist() == [0, 0, 1, 2, 1, 3] and Rules().unit_of(3).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "changes",
    [
        {"units": (1, 0)},
        {"units": (0, 2)},
        {"units": [0, 0]},
        {"units": (0, -1)},
        {"units": (0, 1.0)},
        {"units": (0, True)},
        {"prices": (1.0, -0.5)},
        {"prices": (1.0, np.nan)},
        {"prices": (1.0, np.inf)},
        {"prices": ("1",)},
        {"prices": 1.0},
        {"limits": (((0, 0), 0, 1),)},
        {"limits": (((), 0, 1),)},
        {"limits": (((0,), 2, 1),)},
        {"limits": (((0,), -1, 1),)},
        {"limits": (((0,), 0.0, 1),)},
        {"limits": (((0,), 0),)},
        {"limits": ((0, 0, 1),)},
        {"limits": [((0,), 0, 1)]},
        {"limits": None},
        {"requires": ((0, (0, 1), True),)},
        {"requires": ((0, (), True),)},
        {"requires": ((0, (1, 1), True),)},
        {"requires": ((0, (1,), 1),)},
        {"requires": ((True, (1,), True),)},
        {"requires": ((0, 1, True),)},
        {"requires": (0,)},
        {"budgets": (((1.0, -1.0), 1.0),)},
        {"budgets": (((1.0, np.inf), 1.0),)},
        {"budgets": (((1.0, 1.0), np.inf),)},
        {"budgets": (((1.0, 1.0), -1.0),)},
        {"budgets": (((1.0, 1.0), np.nan),)},
        {"budgets": (((1.0, 1.0),),)},
    ],
    ids=str,
)
def test_what_is_no_rule(changes):
    with pytest.raises(ValueError, match="a problem cannot have structure with"):
        Rules(**changes)


@pytest.mark.parametrize(
    "rules",
    [
        Rules(units=(0, 1)),
        Rules(prices=(1.0,)),
        Rules(units=(0, 0, 1, 1, 1, 1), prices=(1.0,) * P),
        Rules(limits=(((P,), 0, 1),)),
        Rules(requires=((0, (P,), True),)),
        Rules(requires=((10**15, (0,), True),)),
        Rules(budgets=(((1.0,), 1.0),)),
    ],
    ids=str,
)
def test_rules_about_other_columns(rules):
    with pytest.raises(ValueError, match="a problem cannot have"):
        statement_of(*sample(8, P), k=2, structure=rules)


@pytest.mark.parametrize("data", [None, [], {}, {"units": None}, {**Rules().to_json(), "more": 1}])
def test_what_describes_no_structure(data):
    with pytest.raises(ValueError, match="must be described by"):
        Rules.from_json(data)


@given(seed=st.integers(0, 10**6))
def test_complaints_are_about_what_is_not_admitted(seed):
    rng = np.random.default_rng(seed)
    rules = random_rules(rng, P, [kind for kind in KINDS if rng.random() < 0.5], (0,))
    statement = statement_of(*sample(8, P), k=P, structure=rules)
    unit_of = units_by_definition(rules, P)
    for _ in range(10):
        support = np.flatnonzero(rng.random(P) < 0.4)
        chosen = {unit_of[j] for j in support}
        whole = [j for j in range(P) if unit_of[j] in chosen] == support.tolist()
        assert bool(rules.complaints(support, P)) == (not (whole and admits(statement, chosen)))


@given(seed=st.integers(0, 10**6))
def test_rows_hold_for_all_that_is_admitted(seed):
    rng = np.random.default_rng(seed)
    rules = random_rules(rng, P, ("limits", "nested", "requires", "budgets"), (0, 2))
    statement = statement_of(*sample(8, P), k=P, structure=rules)
    for chosen in supports(statement):
        for units, coefficients, right in rules.rows():
            total = sum(
                (Fraction(c) for unit, c in zip(units, coefficients, strict=True) if unit in chosen), Fraction(0)
            )
            assert total <= Fraction(right)


def test_a_rounded_sum_within_a_budget_is_below_the_row():
    """Three tenths cost more than 0.3, but their rounded sum does not."""
    rules = Rules(budgets=(((0.1, 0.1, 0.1), 0.30000000000000004),))
    assert not rules.complaints(np.arange(3), 3)
    tight = Rules(budgets=(((0.1, 0.2, 3.0 * 2.0**-56), 0.1 + 0.2),))
    [(_, _, right)] = list(tight.rows())
    exact = Fraction(0.1) + Fraction(0.2) + Fraction(3.0 * 2.0**-56)
    assert not tight.complaints(np.arange(3), 3) and Fraction(0.1 + 0.2) < exact <= Fraction(right)


def test_the_order_of_rows():
    rows = [(units, right) for units, _, right in WHOLE.rows()]
    assert rows[:6] == [
        ([0, 1], 1.0),
        ([3, 2, 1], 2.0),
        ([3, 2, 1], -1.0),
        ([3, 0], 0.0),
        ([3, 1], 0.0),
        ([2, 0, 1], 0.0),
    ]
    assert [units for units, _ in rows[6:]] == [[0, 1, 2], [0, 1, 2, 3]]
    assert [coefficients for _, coefficients, _ in WHOLE.rows()][5] == [1.0, -1.0, -1.0]


def test_order_does_not_matter_for_what_is_expected():
    other = replace(WHOLE, limits=(((1, 2, 3), 1, 2), ((1, 0), 0, 1)), requires=WHOLE.requires[::-1])
    assert other != WHOLE and other.sorted_parts() == WHOLE.sorted_parts()
    assert replace(WHOLE, limits=()).sorted_parts()["limits"] is None
    assert Rules.part("limits", [[[1, 0], 0, 1]]) == [((0, 1), 0, 1)] and Rules.part("budgets", None) is None


def test_prices():
    assert WHOLE.price_of(np.array([1, 3]), None) == 2.5
    assert Rules().price_of(np.array([1, 3]), 0.5) == 1.0 and Rules().price_of(np.array([1, 3]), None) == 0.0
    assert fsum([1e308, 1e308]) == np.inf


def test_rules_in_words():
    assert WHOLE.words() == ["2 limits", "2 requirements", "1 budget", "at most 4 columns"] and Rules().words() == []
    assert Rules(limits=(((0,), 0, 0),)).words() == ["1 limit"]
