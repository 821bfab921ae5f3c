"""The best intercept, at any distance, in any unit, for every loss."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from oracles import loss_value
from samples import DIFFERENCES, LOSS_NAMES, sample
from sparsest.core.intercepts import best_intercept
from sparsest.core.losses import LOSSES, PiecewiseLinear, make_loss


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_best_intercept(loss, seed):
    _, y = sample(loss, 21, 1, seed)
    rng = np.random.default_rng(seed)
    margin, weights = 3.0 * rng.standard_normal(21), rng.uniform(0.1, 2.0, 21)
    chosen = make_loss(loss)

    def total(b):
        return weights @ loss_value(loss, y, margin + b)

    best = minimize_scalar(total, bounds=(-40.0, 40.0), method="bounded", options={"xatol": 1e-12}).fun
    for start in (0.0, 17.0, -1e4):
        assert total(best_intercept(chosen, y, weights, margin, start)) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("shift", [-1e8, 1e8])
def test_best_intercept_far_away(shift):
    y = np.array([0.0, 1.0, 5.0]) + shift
    assert best_intercept(make_loss("squared"), y, np.ones(3), np.zeros(3)) == pytest.approx(shift + 2.0, rel=1e-15)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_best_intercept_in_any_unit(loss, unit):
    X, y = sample(loss, 25, 1)
    scaled = {
        name: value * unit for name, value in LOSSES[loss]._field_defaults.items() if name in ("epsilon", "delta")
    }
    made = make_loss(loss, **scaled)
    if loss not in DIFFERENCES:
        unit = 1.0
    margin, target = unit * X[:, 0], unit * y
    b = best_intercept(made, target, np.ones(25), margin)
    value = float(made.value(target, margin + b).sum())
    for step in (-1e-3, 1e-3):
        assert value <= (1.0 + 1e-14) * float(made.value(target, margin + b + step * unit).sum())
    if not isinstance(made, PiecewiseLinear):
        slopes = made.derivative(target, margin + b)
        assert abs(slopes.sum()) <= 1e-12 * np.abs(slopes).sum()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_best_intercept_ends_where_nothing_is_a_number(bad):
    margin, y = np.where(np.arange(9) == 3, bad, 0.0), np.linspace(-1.0, 1.0, 9)
    with np.errstate(invalid="ignore"):
        assert np.isnan(best_intercept(make_loss("squared"), y, np.ones(9), margin))


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge"])
def test_margins_that_dwarf_the_labels(loss):
    """The bracket reaches as far as the margins: both slopes vanish only there."""
    y, margin = np.array([1.0, -1.0, 1.0, -1.0]), np.full(4, -1e5)
    b = best_intercept(make_loss(loss), y, np.ones(4), margin)
    assert abs(b - 1e5) <= 1.0
    assert float(make_loss(loss).value(y, margin + b).sum()) <= float(make_loss(loss).value(y, 0.0 * y).sum()) + 1e-9


def test_an_optimal_start_is_kept():
    y = np.array([-2.0, 0.0, 5.0])
    assert best_intercept(make_loss("squared"), y, np.ones(3), np.zeros(3), start=1.0) == 1.0
