"""Laws that every penalty obeys, and the closed forms that single ones have."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsest.core.kernels.descent import prox as compiled_prox
from sparsest.core.kernels.descent import threshold
from sparsest.core.penalties import (
    L1,
    MCP,
    PENALTIES,
    SCAD,
    Bounded,
    ElasticNet,
    Penalty,
    Rescaled,
    WithRidge,
    make_penalty,
    path_penalty,
)
from sparsest.core.strengths import make_strengths
from sparsest.runtime.jit import derivative, kernel, value

CASES = [
    L1(), ElasticNet(0.3), ElasticNet(0.95), MCP(3.0), MCP(1.2), SCAD(3.7), SCAD(2.1), WithRidge(MCP(3.0), 0.6),
    WithRidge(SCAD(2.3), 0.9),
]  # fmt: skip
numbers = st.floats(-8.0, 8.0)
strengths = st.floats(0.0, 3.0)
steps = st.floats(0.05, 9.0)
limits = st.sampled_from([0.0, 0.3, 1.0, 4.0, np.inf])


def test_cases_cover_the_registry():
    assert {type(penalty) for penalty in CASES} == {*PENALTIES.values(), WithRidge}
    assert all(isinstance(penalty, Penalty) for penalty in CASES)


@pytest.mark.parametrize("penalty", CASES)
@settings(deadline=None, max_examples=60)
@given(z=numbers, lam=strengths, step=steps)
def test_prox_beats_a_grid(penalty, z, lam, step):
    w = penalty.prox(z, lam, step)
    grid = np.concatenate([np.linspace(-10.0, 10.0, 4001), [0.0, z]])

    def cost(v):
        return 0.5 * (v - z) ** 2 + step * penalty.value(v, lam)

    assert cost(w) <= cost(grid).min() + 1e-9
    assert w * z >= 0.0 and abs(w) <= abs(z) + 1e-12


@pytest.mark.parametrize("penalty", CASES)
def test_derivatives_match_differences(penalty):
    lam, eps = 0.7, 1e-6
    w = np.linspace(-5.0, 5.0, 1003)
    w = w[np.abs(w) > 1e-3]
    concave, share = (penalty.penalty, penalty.l1_ratio) if isinstance(penalty, WithRidge) else (penalty, 1.0)
    kinks = share * lam * np.array([1.0, getattr(concave, "concavity", 1.0)])
    w = w[(np.abs(np.abs(w)[:, None] - kinks) > 1e-3).all(axis=1)]
    slope = (penalty.value(w + eps, lam) - penalty.value(w - eps, lam)) / (2 * eps)
    np.testing.assert_allclose(penalty.derivative(w, lam), slope, atol=1e-8)
    curvature = (penalty.derivative(w + eps, lam) - penalty.derivative(w - eps, lam)) / (2 * eps)
    np.testing.assert_allclose(penalty.second_derivative(w, lam), curvature, atol=1e-8)
    assert penalty.second_derivative(w, lam).min() >= -penalty.concavity_bound(lam) - 1e-15
    assert penalty.threshold(lam) == pytest.approx(penalty.value(1e-9, lam) / 1e-9, rel=1e-6)
    assert penalty.derivative(0.0, lam) == 0.0 and penalty.value(0.0, lam) == 0.0


@pytest.mark.parametrize("penalty", CASES)
def test_value_is_continuous_even_and_rising(penalty):
    w = np.linspace(0.0, 6.0, 60001)
    v = penalty.value(w, 0.9)
    assert (np.diff(v) >= -1e-15).all() and np.diff(v).max() < 1e-3
    np.testing.assert_array_equal(v, penalty.value(-w, 0.9))


def test_concavity():
    for penalty in CASES:
        assert (penalty.concavity_bound(0.3) == 0.0) == penalty.convex
        assert penalty.concavity_bound(0.0) == 0.0


@pytest.mark.parametrize("cls", [MCP, SCAD])
def test_no_concavity_is_the_lasso(cls):
    z = np.linspace(-5, 5, 101)
    np.testing.assert_allclose(cls(1e12).prox(z, 0.8, 1.3), L1().prox(z, 0.8, 1.3), atol=1e-10)
    np.testing.assert_allclose(cls(1e12).value(z, 0.8), L1().value(z, 0.8), atol=1e-10)


def test_unit_step_closed_forms():
    z, lam = np.linspace(-6, 6, 241), 1.1
    soft = np.sign(z) * np.maximum(np.abs(z) - lam, 0)
    np.testing.assert_allclose(
        MCP(3.0).prox(z, lam, 1.0), np.where(np.abs(z) <= 3 * lam, soft / (1 - 1 / 3), z), atol=1e-14
    )
    g = 3.7
    middle = ((g - 1) * z - np.sign(z) * g * lam) / (g - 2)
    scad = np.where(np.abs(z) <= 2 * lam, soft, np.where(np.abs(z) <= g * lam, middle, z))
    np.testing.assert_allclose(SCAD(g).prox(z, lam, 1.0), scad, atol=1e-14)


@kernel
def _all_at(penalty, w, lam):
    return (
        value(penalty, w, lam),
        derivative(penalty, w, lam),
        compiled_prox(penalty, w, lam, 0.8),
        threshold(penalty, lam),
    )


@pytest.mark.parametrize("penalty", [L1(), ElasticNet(0.3), MCP(3.0), SCAD(3.7), WithRidge(SCAD(3.7), 0.4)])
def test_compiled_equals_plain(penalty):
    for w in (-4.0, -1.3, 0.0, 0.4, 1.0, 2.9):
        plain = penalty.value(w, 0.7), penalty.derivative(w, 0.7), penalty.prox(w, 0.7, 0.8), penalty.threshold(0.7)
        np.testing.assert_allclose(_all_at(penalty, w, 0.7), plain, rtol=1e-13)


def test_make_penalty_defaults_and_complaints():
    assert make_penalty("l1") == L1()
    assert type(make_penalty("elastic_net", 1.0)) is L1
    assert make_penalty("elastic_net", 0.4) == ElasticNet(0.4)
    assert make_penalty("mcp") == MCP(3.0) and make_penalty("scad") == SCAD(3.7)
    assert make_penalty(MCP(2.0)) == MCP(2.0)
    for arguments, message in [
        (("lasso",), "unknown penalty"),
        (("elastic_net", 0.0), "l1_ratio"),
        (("elastic_net", 1.2), "l1_ratio"),
        (("l1", 0.5), "elastic_net"),
        (("l1", 1.0, 3.0), "no concavity"),
        (("mcp", 1.0, 1.0), "> 1"),
        (("scad", 1.0, 2.0), "> 2"),
        (("scad", 1.0, np.inf), "finite"),
    ]:
        with pytest.raises(ValueError, match=message):
            make_penalty(*arguments)


@pytest.mark.parametrize("penalty", [MCP(3.0), SCAD(3.7), WithRidge(MCP(2.0), 0.5)])
@pytest.mark.parametrize("v", [0.1, 1.0, 4.0])
def test_rescaled_penalties_act_on_coefficients_times_a_curvature(penalty, v):
    scaled, lam, w = Rescaled(penalty), 0.7, np.linspace(-9.0, 9.0, 401)
    pair = make_strengths(np.array([lam]), v)[0]
    np.testing.assert_allclose(scaled.derivative(w, pair), penalty.derivative(v * w, lam), atol=1e-15)
    away = w[np.abs(w) > 0.1]
    slope = (scaled.value(away + 1e-6, pair) - scaled.value(away - 1e-6, pair)) / 2e-6
    np.testing.assert_allclose(scaled.derivative(away, pair), slope, atol=1e-5)
    assert scaled.threshold(pair) == penalty.threshold(lam)
    assert scaled.second_derivative(w, pair).min() >= -scaled.concavity_bound(pair) - 1e-15
    # The minimiser over one coordinate of curvature c, against a grid.
    grid = np.linspace(-12.0, 12.0, 24001)
    for z in (-4.0, 0.3, 1.0, 2.5, 8.0):
        for step in (0.3, 1.0 / v):
            cost = 0.5 * (grid - z) ** 2 + step * scaled.value(grid, pair)
            assert scaled.prox(z, pair, step) == pytest.approx(grid[cost.argmin()], abs=2e-3)
    for number in (-3.0, 0.4, 5.0):
        np.testing.assert_allclose(_all_at(scaled, number, pair), _all_at.py_func(scaled, number, pair), rtol=1e-12)


@pytest.mark.parametrize("penalty", CASES)
@settings(deadline=None, max_examples=60)
@given(z=numbers, lam=strengths, step=steps, v=st.sampled_from([1.0, 0.2, 3.0]), low=limits, high=limits)
def test_prox_within_limits_beats_a_grid(penalty, z, lam, step, v, low, high):
    bounded, record = Bounded(Rescaled(penalty)), make_strengths(np.array([lam]), v, -low, high)[0]
    w = bounded.prox(z, record, step)
    grid = np.concatenate([np.linspace(max(-low, -10.0), min(high, 10.0), 4001), [0.0, np.clip(z, -low, high)]])

    def cost(x):
        return 0.5 * (x - z) ** 2 + step * bounded.value(x, record)

    assert -low <= w <= high
    assert cost(w) <= cost(grid).min() + 1e-9
    if abs(z) > 0.01 and lam > 0.01:
        np.testing.assert_allclose(_all_at(bounded, z, record), _all_at.py_func(bounded, z, record), atol=1e-12)


@pytest.mark.parametrize("penalty", CASES)
def test_distances_from_subdifferentials(penalty):
    """At limits and at zero, any slope that pushes outwards is right."""
    lam, slope = 0.5, penalty.derivative(1.5, 0.5)
    bounded, record = Bounded(Rescaled(penalty)), make_strengths(np.array([lam]), 1.0, 0.0, 1.5)[0]
    for grad, w, expected in (
        (-slope - 1.0, 1.5, -1.0),
        (-slope + 1.0, 1.5, 1.0),
        (3.0, 0.0, -penalty.threshold(lam)),
        (-3.0, 0.0, 3.0 - penalty.threshold(lam)),
        (0.25, 1.0, abs(0.25 + penalty.derivative(1.0, lam))),
    ):
        assert bounded.distance(grad, w, record) == pytest.approx(expected, abs=1e-12)
    mirrored = make_strengths(np.array([lam]), 1.0, -1.5, 0.0)[0]
    assert bounded.distance(slope + 1.0, -1.5, mirrored) == pytest.approx(-1.0)
    for grad, w in ((0.2, 0.0), (-2.0, 0.0), (0.3, 1.1)):
        free = make_strengths(np.array([lam]), 1.0, -np.inf, np.inf)[0]
        assert bounded.distance(grad, w, free) == pytest.approx(penalty.distance(grad, w, lam), abs=1e-12)


def test_names_stand_for_rescaled_penalties_and_objects_for_themselves():
    assert path_penalty("mcp") == Rescaled(MCP(3.0)) and path_penalty("scad", concavity=5.0) == Rescaled(SCAD(5.0))
    assert path_penalty("scad", 0.5) == Rescaled(WithRidge(SCAD(3.7), 0.5))
    assert path_penalty(MCP(12.0)) == MCP(12.0) and path_penalty("elastic_net", 0.5) == ElasticNet(0.5)
