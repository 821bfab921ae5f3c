"""Points become dual points that are exactly feasible, with constants that are lower bounds."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.helpers import (
    LOSSES,
    fraction,
    indices,
    rational,
    rule_of,
    sample,
    sample_weights,
    statement_of,
    suited,
)
from sparsest.proofs.columns import PackedColumns
from sparsest.proofs.data import Data
from sparsest.proofs.exact import _ExactChecker
from sparsest.proofs.losses import RULES
from sparsest.proofs.points import _spreads, feasible, witnesses
from sparsest.proofs.steps import DualPoint, PrimalPoint, Proof, SplitPoint

losses = pytest.mark.parametrize("loss", LOSSES)
seeds = st.integers(0, 10**6)


def exact_sum(values):
    return sum((Fraction(v) for v in values.tolist()), Fraction(0))


def assert_feasible(loss, y, weights, alpha, balanced):
    """Domains by comparisons of fractions, and a sum of exactly zero."""
    if balanced:
        assert exact_sum(alpha) == 0
    assert np.isfinite(alpha).all()
    inside = rule_of(loss).contains
    rows = zip(*(map(rational, values) for values in (y, alpha, weights)), strict=True)
    assert all(inside(*row) for row in itertools.islice(rows, 2000))


# Sums of many entries are the same for all losses.
@pytest.mark.parametrize(
    ("loss", "n"), [*itertools.product(LOSSES, [1, 2, 3, 17, 1000]), ("squared", 70000), ("quantile", 70000)]
)
def test_points_are_exactly_feasible(loss, n):
    rng = np.random.default_rng(n)
    rule = rule_of(loss)
    y = suited(loss, rng.standard_normal(n))
    weights = 10.0 ** rng.uniform(-3, 3, n)
    alpha = rng.standard_normal((n, 5)) * [1.0, 1e-200, 1e200, 1e-300, 1e8]
    alpha[rng.integers(n)] = [np.nan, np.inf, -np.inf, 1.0, 0.0]
    for balanced in (True, False):
        found = feasible(rule, y, weights, alpha, balanced)
        for column in found.T:
            assert_feasible(loss, y, weights, column, balanced)
    if n >= 17 and rule.shifts:
        # Little is lost: the points of ordinary size are not taken for zero.
        assert np.abs(feasible(rule, y, weights, alpha, True)[:, 0]).max() > 0.05 * min(weights.max(), 1.0)


@losses
@given(seeds, st.integers(1, 30), st.integers(-320, 300))
def test_points_of_every_scale_are_feasible(loss, seed, n, decade):
    rng = np.random.default_rng(seed)
    rule = rule_of(loss)
    y = suited(loss, rng.choice([-1.0, 1.0], n))
    weights = 10.0 ** rng.uniform(-50, 50, n)
    alpha = rng.standard_normal((n, 1)) * 10.0 ** float(decade) * 10.0 ** rng.uniform(-6, 6, (n, 1))
    for balanced in (True, False):
        with np.errstate(over="ignore", invalid="ignore"):
            found = feasible(rule, y, weights, alpha, balanced)[:, 0]
        assert_feasible(loss, y, weights, found, balanced)
        peak = np.abs(found).max()
        # Smaller ones are taken for zero: an error bound that underflows would call a column orthogonal to them.
        assert peak == 0.0 or peak >= 1e-251


def test_a_good_point_is_hardly_changed():
    rng = np.random.default_rng(0)
    y = rng.standard_normal(500)
    alpha = (y - y.mean())[:, None]
    found = feasible(RULES["squared"](), y, np.ones(500), alpha, True)
    assert np.abs(found - alpha).max() <= 1e-13 * np.abs(alpha).max()


@losses
@given(seeds, st.booleans(), st.sampled_from([0.0, 1e6, 1e12]), st.sampled_from([1.0, 1e-50, 1e50]))
def test_constants_are_lower_bounds_and_near(loss, seed, fit_intercept, offset, scale):
    """``-Σωℓ*(α/ω)`` in rational arithmetic, with large offsets of the response."""
    rule = rule_of(loss)
    rng = np.random.default_rng(seed)
    X, y = sample(9, 3, seed, loss)
    fixed = not rule.shifts
    y = y if fixed else (y + offset) * scale
    weights = sample_weights(9)
    statement = statement_of(X, y, weights, loss=loss, k=1, fit_intercept=fit_intercept)
    data = Data.of(statement, X, y, weights)
    points = [
        DualPoint(rng.standard_normal(9) * (1.0 if fixed else scale)),
        PrimalPoint(indices(0, 2), rng.standard_normal(2) * (1.0 if fixed else scale), 0.1),
    ]
    found = witnesses(data, rule, points, PackedColumns(data, np.arange(3)))
    exact = _ExactChecker(data, statement, Proof(()))
    for i in range(2):
        alpha = found.alpha[:, i].tolist()
        assert_feasible(loss, data.response, weights, found.alpha[:, i], fit_intercept)
        value = fraction(-exact._conjugate([rational(a) for a in alpha]))
        size = float(np.abs(data.y * found.alpha[:, i]).sum() + np.square(found.alpha[:, i]).sum() + 10.0)
        assert Fraction(found.constants[i]) <= value
        assert float(value) - found.constants[i] <= 1e-13 * size
        squares = sum(Fraction(a) ** 2 / Fraction(w) for a, w in zip(alpha, weights.tolist(), strict=True))
        assert Fraction(found.norms[i]) ** 2 >= squares


@pytest.mark.parametrize(
    ("point", "message"),
    [
        (DualPoint(np.ones(3)), "must have 9 finite entries"),
        (DualPoint(np.ones((9, 1))), "must have 9 finite entries"),
        (DualPoint(np.full(9, np.nan)), "must have 9 finite entries"),
        (DualPoint(np.full(9, np.inf, dtype=np.float32)), "must have 9 finite entries"),
        (PrimalPoint(indices(3), np.ones(1), 0.0), "do not fit the columns"),
        (PrimalPoint(indices(-1), np.ones(1), 0.0), "do not fit the columns"),
        (PrimalPoint(indices(1, 1), np.ones(2), 0.0), "do not fit the columns"),
        (PrimalPoint(indices(0, 1), np.ones(1), 0.0), "do not fit the columns"),
        (PrimalPoint(indices(0), np.array([np.nan]), 0.0), "not finite"),
        (SplitPoint(indices(0), np.array([np.inf]), 0), "not finite"),
    ],
)
def test_points_that_are_none(point, message):
    X, y = sample(9, 3)
    data = Data(X, y, None, RULES["squared"](), True, False)
    with pytest.raises(ValueError, match=message):
        witnesses(data, RULES["squared"](), [point], PackedColumns(data, np.arange(3)))


def test_split_points_are_for_the_squared_loss_only():
    X, y = sample(9, 3, loss="logistic")
    data = Data(X, y, None, RULES["logistic"](), True, False)
    with pytest.raises(ValueError, match="a split needs the squared loss"):
        witnesses(data, RULES["logistic"](), [SplitPoint(indices(0), np.ones(1), 0)], PackedColumns(data, np.arange(3)))


@pytest.mark.parametrize("intercept", [np.nan, np.inf, 1e300, -5.0])
def test_any_intercept_gives_a_feasible_point(intercept):
    X, y = sample(12, 3, loss="logistic")
    data = Data(X, y, None, RULES["logistic"](), True, False)
    points = [PrimalPoint(indices(0, 1), np.array([0.3, -0.4]), intercept)]
    with np.errstate(all="ignore"):
        found = witnesses(data, RULES["logistic"](), points, PackedColumns(data, np.arange(3)))
    assert_feasible("logistic", y, data.weights, found.alpha[:, 0], True)


@given(seeds, st.booleans(), st.floats(0.0, 1e3))
def test_spreads_bound_how_far_the_exact_residual_is(seed, fit_intercept, size):
    """``‖Ω^{-½}(α* - α)‖`` for the residual α* in rational arithmetic."""
    rng = np.random.default_rng(seed)
    X, y = sample(8, 3, seed)
    X += 1e6 * rng.standard_normal(3)
    weights = sample_weights(8)
    data = Data(X, y, weights, RULES["squared"](), fit_intercept, False)
    statement = statement_of(X, y, weights, k=1, fit_intercept=fit_intercept)
    point = SplitPoint(np.arange(3), size * rng.standard_normal(3), 0)
    found = witnesses(data, RULES["squared"](), [point], PackedColumns(data, np.arange(3)))
    exact = _ExactChecker(data, statement, Proof(()))
    fitted = [rational(0.0)] * 8
    for j, w in enumerate(found.coefficients[0]):
        fitted = [f + rational(w) * x for f, x in zip(fitted, exact.column(j), strict=True)]
    residual = exact.centred([v - f for v, f in zip(exact.y, fitted, strict=True)])
    far = sum(
        fraction(-w * r - rational(a)) ** 2 / fraction(w)
        for w, r, a in zip(exact.weights, residual, found.alpha[:, 0], strict=True)
    )
    assert far <= Fraction(found.spreads[0]) ** 2
    assert found.spreads[0] <= 1e-10 * (1.0 + size) * 1e7


def test_what_is_not_known_of_an_offset_is_taken_from_the_constants():
    """Logarithms of exposures are known up to an error, here a large one."""
    X, y = sample(9, 2)
    y = np.round(np.abs(3.0 * y))
    rule = rule_of("poisson")
    data = Data(X, y, None, rule, True, False, exposure=np.linspace(1.0, 3.0, 9))
    columns, point = PackedColumns(data, indices(0, 1)), DualPoint(np.linspace(-0.2, 0.2, 9))
    before = witnesses(data, rule, [point], columns)
    data.offset_error = np.full(9, 1e-3)
    after = witnesses(data, rule, [point], columns)
    assert np.array_equal(after.alpha, before.alpha)
    lowered = before.constants[0] - after.constants[0]
    assert lowered >= 1e-3 * np.abs(after.alpha).sum() * (1.0 - 1e-6) > 0.0


@pytest.mark.parametrize("moved", [1e-6, 0.1, 2.0])
def test_what_a_moved_residual_costs_has_its_square(moved):
    """Along the gradient the constant ``-y'α - ½Σα²/ω`` falls by the length times the slope and half the square."""
    X, y = sample(9, 2)
    weights = sample_weights(9)
    data = Data(X, y, weights, rule_of("squared"), False, False)
    exact = (0.3 * data.weights * data.y)[:, None]
    alpha = exact + moved * (data.weights * data.y)[:, None]
    spreads, lost = _spreads(data, alpha, exact, np.zeros(1), [indices()])

    def constant(point):
        return -data.y @ point - 0.5 * (point * point / data.weights).sum()

    length = moved * np.sqrt(data.weights @ data.y**2)
    assert length <= spreads[0] <= 1.001 * length + 1e-12
    difference = constant(exact[:, 0]) - constant(alpha[:, 0])
    assert difference <= lost[0] <= 1.02 * difference + 1e-12
