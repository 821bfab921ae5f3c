"""Every registered loss, and every smoothed form, obeys the laws."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import compiled
import laws
from laws import suited as response
from samples import UNUSUAL, unusual
from sparsest.core.losses import (
    LOSSES,
    PARAMETERS,
    EpsilonInsensitive,
    Loss,
    PiecewiseLinear,
    Quantile,
    Squared,
    dual_from_margin,
    make_loss,
    with_offset,
)
from sparsest.runtime import jit

EVERY = [make_loss(name, **unusual(name)) for name in LOSSES]
KINKED = [loss for loss in EVERY if isinstance(loss, PiecewiseLinear)]
ALL = EVERY + [loss.smoothed(mu) for loss in KINKED for mu in (0.05, 2.0)]
QUADRATIC_GROWTH = ("squared", "squared_hinge", "squared_epsilon_insensitive")

every_loss = pytest.mark.parametrize("loss", ALL, ids=repr)
numbers = st.floats(-8.0, 8.0)


@every_loss
@given(y=numbers, u=numbers, v=numbers, alpha=numbers)
def test_inequalities(loss, y, u, v, alpha):
    y = response(loss, y)
    laws.fenchel_young(loss, y, u, alpha)
    laws.fenchel_young_equality(loss, y, u)
    laws.subgradient(loss, y, u, v)
    laws.smoothness(loss, y, u, v)


@every_loss
@given(y=numbers, u=numbers)
def test_numeric_derivatives(loss, y, u):
    y = response(loss, y)
    assume(laws.is_smooth_at(loss, y, u))
    laws.numeric_derivative(loss, y, u)
    laws.numeric_second_derivative(loss, y, u)


@every_loss
@given(y=numbers, alpha=numbers)
def test_conjugate_is_the_largest_value(loss, y, alpha):
    laws.numeric_conjugate(loss, response(loss, y), alpha)


@every_loss
@given(y=numbers, u=numbers, alpha=numbers, other=numbers)
def test_derivative_of_the_conjugate(loss, y, u, alpha, other):
    y = response(loss, y)
    laws.conjugate_derivative(loss, y, alpha, other)
    laws.conjugate_derivative_is_the_inverse(loss, y, u)


@every_loss
@given(y=numbers, alpha=numbers, other=numbers, t=st.floats(0.0, 5.0))
def test_domain(loss, y, alpha, other, t):
    y = response(loss, y)
    laws.projection(loss, y, alpha, other)
    laws.domain(loss, y, alpha, t)


@pytest.mark.parametrize("loss", [loss for loss in ALL if loss.conjugate_is_quadratic], ids=repr)
@given(y=numbers, alpha=numbers, t=st.floats(0.0, 5.0))
def test_quadratic_conjugate(loss, y, alpha, t):
    laws.quadratic_conjugate(loss, response(loss, y), alpha, t)


@pytest.mark.parametrize("loss", EVERY, ids=repr)
@given(y=numbers, u=numbers, alpha=numbers, mu=st.floats(1e-3, 10.0))
def test_smoothing(loss, y, u, alpha, mu):
    laws.smoothing(loss, response(loss, y), u, alpha, mu)


@pytest.mark.parametrize("loss", KINKED, ids=repr)
@given(y=numbers, u=numbers)
def test_pieces(loss, y, u):
    laws.pieces(loss, np.array([response(loss, y)]), np.array([u]))


@every_loss
def test_finite_at_extreme_arguments(loss):
    """Also without a warning; the square of 1e300 overflows, so quadratics are tested up to 1e150."""
    largest = 1e150 if loss.name in QUADRATIC_GROWTH else 1e300
    u = np.array([-largest, -1e3, 1e3, largest])
    for y in (response(loss, -np.ones(4)), response(loss, np.zeros(4))):
        slope = loss.derivative(y, u)
        values = [loss.value(y, u), slope, loss.second_derivative(y, u), loss.conjugate(y, slope), loss.project(y, u)]
        assert np.isfinite(values).all()
        # A negative loss would make a diverging fit look perfect.
        assert (values[0] >= 0.0).all()


def test_logistic_is_finite_at_the_border_of_its_domain():
    loss = make_loss("logistic")
    y = np.array([-1.0, 1.0, -1.0, 1.0])
    assert np.array_equal(loss.conjugate(y, np.array([0.0, 0.0, 1.0, -1.0])), np.zeros(4))
    assert loss.value(1.0, 800.0) < 1e-300 < loss.value(1.0, 600.0)


@every_loss
def test_compiled_numbers_equal_arrays(loss):
    y, u, alpha = compiled.points(loss)
    arrays = [loss.value(y, u), loss.derivative(y, u), loss.second_derivative(y, u), loss.conjugate(y, alpha)]
    np.testing.assert_allclose(compiled.table(loss), arrays, rtol=1e-14, atol=1e-14)
    plain = [jit.value(loss, y, u), jit.derivative(loss, y, u), jit.second_derivative(loss, y, u)]
    assert np.array_equal([*plain, jit.conjugate(loss, y, alpha)], arrays)


@pytest.mark.parametrize("loss", EVERY, ids=repr)
def test_dual_from_margin_is_in_the_domain(loss):
    rng = np.random.default_rng(1)
    y = response(loss, rng.standard_normal(50))
    u, weights = rng.standard_normal(50), rng.uniform(0.1, 3.0, 50)
    np.testing.assert_allclose(dual_from_margin(loss, y, u, weights), weights * loss.derivative(y, u), rtol=1e-14)
    for mu in (0.0, 1e-3, 1.0):
        ratio = dual_from_margin(loss, y, u, weights, mu) / weights
        np.testing.assert_allclose(loss.project(y, ratio), ratio, rtol=1e-14)


def test_make_loss():
    assert make_loss("squared") == Squared()
    assert make_loss("epsilon_insensitive", epsilon=0.7) == EpsilonInsensitive(0.7)
    assert make_loss("epsilon_insensitive", epsilon=None) == EpsilonInsensitive()
    assert make_loss("quantile", quantile=0.9, epsilon=None) == Quantile(0.9)
    assert set(PARAMETERS) == set(UNUSUAL)
    assert all(make_loss(loss) is loss for loss in ALL)
    assert all(isinstance(loss, Loss) for loss in ALL)
    assert all(loss.name == name for loss, name in zip(EVERY, LOSSES, strict=True))


@pytest.mark.parametrize("epsilon", [-0.1, np.nan, np.inf])
def test_bad_epsilon(epsilon):
    with pytest.raises(ValueError, match="epsilon must be a finite number >= 0"):
        make_loss("squared_epsilon_insensitive", epsilon=epsilon)


@pytest.mark.parametrize(
    ("loss", "parameters", "message"),
    [
        ("quantile", {"quantile": 1.0}, "quantile must be a number > 0 and < 1, got 1.0"),
        ("quantile", {"quantile": 90}, "quantile must be a number > 0 and < 1, got 90"),
        ("huber", {"delta": 0.0}, "delta must be a finite number > 0, got 0.0"),
        ("negative_binomial", {"theta": -1.0}, r"theta must be a number >= 1e-08 and <= 1e\+08, got -1.0"),
        ("negative_binomial", {"theta": "2"}, "theta must be a number"),
        ("poisson", {"quantile": 0.9}, "loss 'poisson' has no parameter quantile, got 0.9.*choose 'quantile'"),
        ("squared", {"epsilon": 0.1}, "choose 'epsilon_insensitive' or 'squared_epsilon_insensitive'"),
        ("huber", {"width": 1.0}, "loss 'huber' has no parameter width, got 1.0: it has delta"),
        (Quantile(0.5), {"quantile": 0.9}, "quantile must be given to the loss itself"),
        (Quantile(1.5), {}, "quantile must be a number > 0 and < 1, got 1.5"),
    ],
)
def test_wrong_parameters_are_named_with_a_remedy(loss, parameters, message):
    with pytest.raises(ValueError, match=message):
        make_loss(loss, **parameters)


@pytest.mark.parametrize("loss", [loss for loss in EVERY if loss.classification or loss.log_link], ids=repr)
def test_an_offset_is_a_part_of_the_loss(loss):
    """The laws of a conjugate hold with it, and the pieces are those of what it moves."""
    rng = np.random.default_rng(3)
    y, u, v, offset = (rng.uniform(-3.0, 3.0, 40) for _ in range(4))
    y, shifted = response(loss, y), with_offset(loss, offset)
    alpha = loss.project(y, rng.standard_normal(40))
    np.testing.assert_array_equal(shifted.value(y, u), loss.value(y, u + offset))
    laws.fenchel_young(shifted, y, u, alpha)
    laws.fenchel_young_equality(shifted, y, u)
    laws.subgradient(shifted, y, u, v)
    slope, other = shifted.conjugate_derivative(y, 0.9 * alpha), 0.8 * alpha
    line = shifted.conjugate(y, 0.9 * alpha) + slope * (other - 0.9 * alpha)
    assert (shifted.conjugate(y, other) >= line - 1e-12 * (1.0 + np.abs(line))).all()
    assert isinstance(shifted, PiecewiseLinear) == isinstance(loss, PiecewiseLinear)
    if isinstance(loss, PiecewiseLinear):
        laws.pieces(shifted, y, u)
        np.testing.assert_array_equal(shifted.smoothed(0.5).value(y, u), loss.smoothed(0.5).value(y, u + offset))


def test_unknown_loss_lists_the_losses():
    with pytest.raises(ValueError, match=r"unknown loss 'cubic'.*squared, logistic, hinge"):
        make_loss("cubic")
