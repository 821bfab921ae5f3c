"""Penalty, proximal step and gain over units with nested limits, against a conic solver and all choices of units."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest

from oracles import precise
from sparsest.core.structure.rules import make_sets
from sparsest.subset.relaxation.kernels import nested as kernels

UNIT = np.array([0, 1, 1, 2, 3, 3, 3, 4, 5])
SIZE, UNITS = UNIT.size, 6
SETS = [[0, 1], [2, 3, 4], [0, 1, 2, 3, 4, 5]]


def regulariser(rng, bounded=False, priced=False, room=(1, 2, 2), forced=()):
    """Ω with two disjoint sets within all units; bounds differ by side, and ridges by unit unless there are bounds."""
    mask = np.isin(np.arange(UNITS), forced)
    sets = make_sets([[g for g in some if not mask[g]] for some in SETS])
    roots = rng.uniform(0.5, 2.0, SIZE) if bounded else rng.uniform(0.5, 2.0, UNITS)[UNIT]
    infinite = np.full(SIZE, np.inf)
    low, high = (-rng.uniform(0.0, 1.0, SIZE), rng.uniform(0.1, 1.0, SIZE)) if bounded else (-infinite, infinite)
    prices = rng.choice([0.0, 0.1, 0.5], UNITS) if priced else np.zeros(UNITS)
    return kernels.NestedRegulariser(
        roots, UNIT, mask, prices, *sets, np.array(room, dtype=np.int64), low, high, bounded
    )  # fmt: skip


def conic(omega, w, s):
    """The terms and the limits of Ω for cvxpy."""
    value = sum(
        0.5 * cp.quad_over_lin(cp.multiply(omega.root_delta[of], w[of]), 1 if omega.forced[g] else s[g])
        for g, of in ((g, np.flatnonzero(np.equal(UNIT, g))) for g in range(UNITS))
    )
    limits = [s >= 0, s <= 1, *(s[g] == 1 for g in np.flatnonzero(omega.forced))]
    for a, b, room in zip(omega.start[:-1], omega.start[1:], omega.room, strict=True):
        limits.append(cp.sum(s[omega.members[a:b]]) <= room)
    if omega.bounded:
        limits += [w <= cp.multiply(omega.high, s[UNIT]), w >= cp.multiply(omega.low, s[UNIT])]
    return value + omega.price @ s, limits


CASES = [(seed, bounded, priced, forced) for seed in range(3) for bounded in (False, True) for priced in (False, True)
         for forced in ((), (3,))]  # fmt: skip


@pytest.mark.parametrize(("seed", "bounded", "priced", "forced"), CASES)
def test_proximal_step_and_value(run, seed, bounded, priced, forced):
    rng = np.random.default_rng(seed)
    omega, L = regulariser(rng, bounded, priced, forced=forced), float(rng.uniform(0.5, 3.0))
    v = rng.standard_normal(SIZE) * rng.choice([0.2, 1.0, 3.0], SIZE)
    out, levels, shares = np.empty(SIZE), np.zeros(3), np.empty(UNITS)
    run(kernels.nested_proximal)(v, L, omega, levels, shares, out)
    value = run(kernels.nested_penalty)(out, omega, np.zeros(3), np.empty(UNITS))
    assert np.isfinite(value)
    w, s = cp.Variable(SIZE), cp.Variable(UNITS)
    terms, limits = conic(omega, w, s)
    expected = precise(0.5 * L * cp.sum_squares(w - v) + terms, limits, 1e-8)
    assert 0.5 * L * np.sum((out - v) ** 2) + value == pytest.approx(expected, rel=1e-6, abs=1e-8)
    # Old multipliers are only starting points.
    again = np.empty(SIZE)
    run(kernels.nested_proximal)(v, L, omega, rng.exponential(size=3), shares, again)
    np.testing.assert_allclose(again, out, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("seed", "bounded", "priced", "forced"), CASES)
def test_gain_is_the_conjugate(run, seed, bounded, priced, forced):
    """It is the largest worth of all choices, and with Ω it satisfies Fenchel's inequality."""
    rng = np.random.default_rng(seed)
    omega, u = regulariser(rng, bounded, priced, forced=forced), rng.standard_normal(SIZE)
    delta = omega.root_delta**2
    best = np.clip(u / delta, omega.low, omega.high)
    q = u * best - 0.5 * delta * best**2
    worth = np.bincount(UNIT, weights=q) - omega.price
    choices = (np.array(z) for z in product([0, 1], repeat=UNITS))
    expected = max(
        worth @ z
        for z in choices
        if z[omega.forced].all()
        and all(
            z[omega.members[a:b]].sum() <= room
            for a, b, room in zip(omega.start[:-1], omega.start[1:], omega.room, strict=True)
        )
    )
    gain = run(kernels.nested_gain)(u, omega)
    assert gain == pytest.approx(expected, rel=1e-12, abs=1e-14)
    for _ in range(20):
        w = rng.standard_normal(SIZE) * rng.choice([0.01, 0.3, 1.0])
        assert u @ w <= gain + run(kernels.nested_penalty)(w, omega, np.zeros(3), np.empty(UNITS)) + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_proximal_step_without_a_ridge(run, seed):
    """Bounds alone determine the shares."""
    rng = np.random.default_rng(seed)
    omega = regulariser(rng, bounded=True, priced=seed % 2 == 1)._replace(root_delta=np.zeros(SIZE))
    v, L = 2.0 * rng.standard_normal(SIZE), float(rng.uniform(0.5, 3.0))
    out, levels, shares = np.empty(SIZE), np.zeros(3), np.empty(UNITS)
    run(kernels.nested_proximal)(v, L, omega, levels, shares, out)
    value = run(kernels.nested_penalty)(out, omega, np.zeros(3), np.empty(UNITS))
    w, s = cp.Variable(SIZE), cp.Variable(UNITS)
    _, limits = conic(omega, w, s)
    expected = precise(0.5 * L * cp.sum_squares(w - v) + omega.price @ s, limits, 1e-9)
    assert 0.5 * L * np.sum((out - v) ** 2) + value == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_values_outside_of_bounds_are_infinite(run):
    omega = regulariser(np.random.default_rng(0), bounded=True)
    w = np.zeros(SIZE)
    w[0] = 1.1 * omega.high[0]
    assert run(kernels.nested_penalty)(w, omega, np.zeros(3), np.empty(UNITS)) == np.inf
    # Within the bounds of every unit, but not within the limits.
    assert run(kernels.nested_penalty)(omega.high.copy(), omega, np.zeros(3), np.empty(UNITS)) == np.inf
