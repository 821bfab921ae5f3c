"""Bounds of regions against the enumeration of all their supports, in fractions."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.helpers import indices, sample, statement_of
from sparsest.proofs.regions import RegionBounds, region_bounds

P = 6
FORMS = [
    *({"k": k} for k in (0, 1, 3, P, P + 5)),
    *({"l0_penalty": price} for price in (0.0, 0.4, 3.0)),
    {"k": 3, "l0_penalty": 0.4},
    {"k": 1, "l0_penalty": 1e-3},
]
seeds = st.integers(0, 10**6)


def statement(form):
    return statement_of(*sample(8, P), **form)


def least(asked, constant, gains, state):
    """The least of ``constant - Σ q + price`` over the supports of a region; None where there is none."""
    forced = [j for j in range(P) if state[j] == 1]
    free = [j for j in range(P) if state[j] == 0]
    most = len(free) if asked.k is None else asked.k - len(forced)
    values = [
        Fraction(constant)
        - sum((Fraction(gains[j]) for j in (*forced, *choice)), Fraction(0))
        + Fraction(asked.price) * (len(forced) + len(choice))
        for size in range(max(min(most, len(free)) + 1, 0))
        for choice in combinations(free, size)
    ]
    return min(values, default=None)


@pytest.mark.parametrize("form", FORMS, ids=str)
@given(seed=seeds, scale=st.sampled_from([1e-150, 1e-3, 1.0, 1e6, 1e150]))
def test_no_bound_of_a_region_is_above_all_its_supports(form, seed, scale):
    asked, rng = statement(form), np.random.default_rng(seed)
    gains = rng.exponential(size=(4, P)) * scale * 10.0 ** rng.uniform(-8, 2, (4, P))
    gains[0, :3] = gains[0, 0]
    states = rng.choice([-1, 0, 0, 1], (4, P)).astype(np.int8)
    constants = rng.standard_normal(4) * 10.0 ** rng.uniform(-3, 3, 4) * scale
    found = region_bounds(asked, gains, states, constants)
    for i in range(4):
        exact = least(asked, constants[i], gains[i], states[i])
        if exact is None:
            continue
        floor = Fraction(asked.price) * int((states[i] == 1).sum())
        assert Fraction(found.bounds[i]) <= max(exact, floor)
        size = abs(constants[i]) + float(gains[i].sum()) + asked.price * P
        assert float(max(exact, floor)) - found.bounds[i] <= 1e-14 * size


@pytest.mark.parametrize("form", FORMS, ids=str)
@given(seed=seeds)
def test_no_bound_of_a_fix_is_above_what_it_closes(form, seed):
    """Also for points that prove nothing themselves: costs are not added to their floor."""
    asked, rng = statement(form), np.random.default_rng(seed)
    gains = rng.exponential(size=(1, P)) * 10.0 ** rng.uniform(-3, 6, (1, P))
    state = rng.choice([-1, 0, 0, 0, 1], (1, P)).astype(np.int8)
    constant = rng.choice([-1e6, 0.0, 1.0, 1e3, 1e7]) * rng.uniform(0.5, 1.0, 1)
    found = region_bounds(asked, gains, state, constant)
    free = rng.permutation(np.flatnonzero(state[0] == 0))
    if not free.size:
        return
    cut = rng.integers(free.size + 1)
    inside, outside = free[:cut], free[cut:]
    closed = []
    for features, side in ((inside, -1), (outside, 1)):
        for j in features:
            other = state[0].copy()
            other[j] = side
            exact = least(asked, constant[0], gains[0], other)
            if exact is not None:
                closed.append(max(exact, Fraction(asked.price) * int((other == 1).sum())))
    bound = found.closed_by(0, gains[0], inside, outside)
    if closed:
        assert Fraction(bound) <= min(closed)
        scale = abs(constant[0]) + float(gains.sum()) + asked.price * P
        exact_or_floor = max(min(closed), Fraction(0))
        assert float(exact_or_floor) - bound <= asked.price + 1e-14 * scale
    else:
        assert asked.k is not None


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_what_is_not_finite_proves_only_the_floor(form, bad):
    asked = statement(form)
    state = np.array([[1, 1, 0, 0, 0, -1]], dtype=np.int8)
    floor = asked.price * 2
    gains = np.ones((1, P))
    for constant in (bad, -np.inf):
        assert region_bounds(asked, gains, state, np.array([constant])).bounds[0] <= floor
    for j in (0, 3):
        spoiled = gains.copy()
        spoiled[0, j] = bad
        found = region_bounds(asked, spoiled, state, np.array([1e9]))
        assert found.bounds[0] <= floor
        assert found.closed_by(0, spoiled[0], indices(2), indices(3)) <= floor
    spoiled = gains.copy()
    spoiled[0, 5] = bad
    assert region_bounds(asked, spoiled, state, np.array([1e9])).bounds[0] > 1e8


def test_no_features_at_all():
    asked = statement({"k": 2})
    found = region_bounds(asked, np.empty((1, 0)), np.empty((1, 0), dtype=np.int8), np.array([3.0]))
    assert found.bounds[0] == pytest.approx(3.0)


@pytest.mark.parametrize("value", [1.0, -3.0, 1e8])
def test_the_sum_of_a_value_and_a_cost_is_not_rounded_up(value):
    """Costs of three quarters of a unit in the last place would round to a whole one."""
    cost = 0.75 * np.spacing(abs(value))
    one = np.array([value])
    found = RegionBounds(one, one, np.array([cost]), np.zeros(1), np.abs(one), np.array([-np.inf]), 0.0, 1.0)
    assert value + cost != value
    bound = found.closed_by(0, np.zeros(2), indices(), indices(0, 1))
    assert value * (1.0 - np.sign(value) * 1e-14) <= bound and Fraction(bound) <= Fraction(value) + Fraction(cost)
