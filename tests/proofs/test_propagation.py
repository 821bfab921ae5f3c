"""Propagation against a plain fixpoint of the rules, and against all admissible supports."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.helpers import indices, sample, statement_of
from proofs.structures import admits, random_rules, supports
from sparsest.proofs.propagation import IN, OUT, Lists, Propagation
from sparsest.proofs.structure import Rules

COUNT = 7
KINDS = ("limits", "nested", "requires", "budgets")


def fixpoint(rules, k, state):
    """The rules one after the other until nothing changes; None for an empty region."""
    state = list(state)

    def decide(units, side):
        for unit in units:
            if state[unit] == -side:
                raise ValueError
            state[unit] = side

    def once():
        inside = [unit for unit in range(COUNT) if state[unit] == IN]
        free = [unit for unit in range(COUNT) if state[unit] == 0]
        if k is not None and len(inside) > k:
            raise ValueError
        if k is not None and len(inside) == k:
            decide(free, OUT)
        for units, least, most in rules.limits:
            n_in, left = sum(state[u] == IN for u in units), [u for u in units if state[u] == 0]
            if n_in > most or n_in + len(left) < least:
                raise ValueError
            if n_in == most:
                decide(left, OUT)
            elif n_in + len(left) == least:
                decide(left, IN)
        for unit, needed, every in rules.requires:
            possible = [u for u in needed if state[u] != OUT]
            if len(possible) < (len(needed) if every else 1):
                decide([unit], OUT)
            elif state[unit] == IN and (every or len(possible) == 1):
                decide(possible, IN)
        for costs, most in rules.budgets:
            used = [costs[u] for u in range(COUNT) if state[u] == IN]
            if math.fsum(used) > most:
                raise ValueError
            decide([u for u in range(COUNT) if state[u] == 0 and math.fsum([*used, costs[u]]) > most], OUT)

    try:
        while True:
            before = list(state)
            once()
            if state == before:
                return state
    except ValueError:
        return None


@given(seed=st.integers(0, 10**6))
def test_states_are_those_of_the_fixpoint(seed):
    """Also after steps back, which restore all counts."""
    rng = np.random.default_rng(seed)
    rules = random_rules(rng, COUNT, [kind for kind in KINDS if rng.random() < 0.7], (0, 2))
    k = int(rng.integers(0, COUNT + 1)) if rng.random() < 0.7 else None
    found = Propagation(rules, COUNT, k)
    fits = found.start(indices(), indices())
    assert_states(found, fits, fixpoint(rules, k, [0] * COUNT))
    marks = []
    while fits and len(marks) < 6:
        before, mark = found.states(), found.mark
        chosen, side = rng.permutation(COUNT)[: rng.integers(1, 3)], int(rng.choice([IN, OUT]))
        marks.append((before, mark))
        wanted = before.copy()
        conflict = (before[chosen] == -side).any()
        wanted[chosen] = side
        fits = found.force(chosen, side)
        assert_states(found, fits, None if conflict else fixpoint(rules, k, wanted))
    for before, mark in reversed(marks):
        found.undo(mark)
        assert (found.states() == before).all()


def assert_states(found, fits, expected):
    assert fits == (expected is not None)
    if fits:
        assert found.states().tolist() == expected


@given(seed=st.integers(0, 10**6))
def test_no_admissible_support_is_lost(seed):
    rng = np.random.default_rng(seed)
    rules = random_rules(rng, COUNT, KINDS, (0, 1))
    statement = statement_of(*sample(8, COUNT), k=int(rng.integers(1, COUNT)), structure=rules)
    every = supports(statement)
    for _ in range(5):
        order = rng.permutation(COUNT)
        inside, outside = order[: rng.integers(0, 3)], order[3 : 3 + rng.integers(0, 4)]
        left = [chosen for chosen in every if chosen >= set(inside.tolist()) and not chosen & set(outside.tolist())]
        found = Propagation(rules, COUNT, statement.k)
        fits = found.start(inside, outside)
        assert fits or not left
        states = found.states()
        for chosen in left:
            assert admits(statement, chosen)
            assert all(states[unit] != OUT for unit in chosen)
            assert all(unit in chosen for unit in np.flatnonzero(states == IN))


def test_budgets_are_decided_by_the_rounded_sum():
    """0.1 + 0.2 is above 0.3 in floating point; ten times 0.1 is exactly 1 as a rounded sum."""
    found = Propagation(Rules(budgets=(((0.1, 0.2, 0.3), 0.3),)), 3, None)
    assert found.start(indices(), indices()) and found.states().tolist() == [0, 0, 0]
    assert found.force(indices(0), IN) and found.states().tolist() == [1, -1, -1]
    tenths = Propagation(Rules(budgets=(((0.1,) * 11, 1.0),)), 11, None)
    assert tenths.start(np.arange(9), indices()) and tenths.states()[9:].tolist() == [0, 0]
    assert tenths.force(indices(9), IN) and tenths.states()[10] == OUT
    huge = Propagation(Rules(budgets=(((1e308, 1e308, 0.0), 1.5e308),)), 3, None)
    assert huge.start(indices(0), indices()) and huge.states().tolist() == [1, -1, 0]
    both = Propagation(Rules(budgets=(((1e308, 1e308, 0.0), 1.5e308),)), 3, None)
    assert not both.start(indices(0, 1), indices())


def test_the_last_support_of_a_full_region_must_be_complete():
    every = Rules(requires=((0, (1, 2), False),), limits=(((3, 4), 1, 2),))
    found = Propagation(every, 5, 2)
    assert found.start(indices(), indices())
    assert not found.force(indices(0, 1), IN)
    found.undo(0)
    assert not found.force(indices(0, 3), IN)
    found.undo(0)
    assert found.force(indices(1, 3), IN) and found.states().tolist() == [-1, 1, -1, 1, -1]


@pytest.mark.parametrize("rows", [[], [0], [1], [2, 0], [0, 1, 2]])
def test_lists(rows):
    lists = [[3, 1], [], [1, 2, 0]]
    found = Lists(lists, 5)
    assert found.of(indices(*rows)).tolist() == [value for row in rows for value in lists[row]]
    assert sorted(found.rows_with(indices(1, 4, 0)).tolist()) == [0, 2, 2]
