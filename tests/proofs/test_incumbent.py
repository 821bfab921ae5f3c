"""Bounds of a model's objective contain the exact value for all scales, means and weights."""

from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.definitions import enclosed, ends, exact_loss
from proofs.helpers import LOSSES, indices, rational, rule_of, sample, statement_of
from sparsest.proofs.data import Data
from sparsest.proofs.incumbent import Incumbent, _plain_margins, _precise_margins, objective_bounds

losses = pytest.mark.parametrize("loss", LOSSES)
seeds = st.integers(0, 10**6)


def exact_objective(statement, model, X, y, weights, offset=0.0, exposure=1.0):
    """A pair of fractions that enclose the objective."""
    kept = np.flatnonzero(weights)
    X, y, weights = X[kept], y[kept], weights[kept]
    offset, exposure = (np.broadcast_to(added, len(kept)) for added in (offset, exposure))
    w = [rational(v) for v in model.coef]
    low = high = Fraction(0)
    total = sum(Fraction(v) for v in weights.tolist())
    for row, label, weight, shift, factor in zip(X[:, model.support], y, weights, offset, exposure, strict=True):
        u = rational(model.intercept)
        for v, x, c in zip(w, row, model.center, strict=True):
            u += v * (rational(x) - rational(c))
        shifted = u + rational(shift) if factor == 1.0 else enclosed(lambda u=u, o=shift, f=factor: _moved(u, o, f))
        below, above = ends(exact_loss(statement.loss, rational(label), shifted, **statement.parameters))
        low, high = low + Fraction(weight) * below, high + Fraction(weight) * above
    ridge = Fraction(0)
    for j, v in zip(model.support, model.coef, strict=True):
        x = [Fraction(value) for value in X[:, j].tolist()]
        o = [Fraction(value) for value in weights.tolist()]
        d = Fraction(1)
        if statement.standardize:
            mean = sum(a * b for a, b in zip(o, x, strict=True)) / total if statement.fit_intercept else 0
            d = sum(a * (b - mean) ** 2 for a, b in zip(o, x, strict=True)) / total or Fraction(1)
        ridge += d * Fraction(float(v)) ** 2
    if np.isfinite(statement.gamma):
        ridge /= 2 * Fraction(statement.gamma)
    else:
        ridge = Fraction(0)
    price = Fraction(statement.price) * model.support.size
    return low + ridge + price, high + ridge + price


def _moved(u, offset, factor):
    return u + rational(offset) + flint.arb(rational(factor)).log()


@losses
@given(
    seed=seeds,
    mean=st.sampled_from([0.0, 1.0, 1e12]),
    scale=st.sampled_from([1e-150, 1e-8, 1.0, 1e8, 1e150]),
    offset=st.sampled_from([0.0, 1e12]),
    decades=st.sampled_from([0, 8]),
    standardize=st.booleans(),
    fit_intercept=st.booleans(),
    gamma=st.sampled_from([1e-12, 0.3, 1e12, np.inf]),
)
def test_bounds_contain_the_exact_objective(
    loss, seed, mean, scale, offset, decades, standardize, fit_intercept, gamma
):
    """Means of 1e12 times the spread, weights from 1e-8 to 1e8 and zero, scales from 1e-150 to 1e150."""
    rng = np.random.default_rng(seed)
    X, y = sample(7, 3, seed, loss)
    X = (X + mean * rng.standard_normal(3)) * scale
    offset = offset if rule_of(loss).shifts else 0.0
    y = y + offset
    weights = 10.0 ** rng.uniform(-decades, decades, 7)
    weights[3] = 0.0
    settings = {"standardize": standardize, "fit_intercept": fit_intercept, "gamma": gamma, "loss": loss}
    statement = statement_of(X, y, weights, l0_penalty=0.3, **settings)
    data = Data.of(statement, X, y, weights)
    center = X[:, [0, 2]].mean(axis=0) if fit_intercept else np.zeros(2)
    model = Incumbent(indices(0, 2), rng.standard_normal(2) / scale, center, offset if fit_intercept else 0.0)
    low, high = objective_bounds(data, statement, model)
    if (low, high) == (-np.inf, np.inf):
        assert not 1e-9 < scale < 1e9 or rule_of(loss).log_link
        return
    below, above = exact_objective(statement, model, X, y, weights)
    assert Fraction(low) <= below and above <= Fraction(high)
    if 1e-9 < scale < 1e9:
        # Without a centre near the mean, or with a response far from its own, digits are lost that were never there.
        far = 0.0 if fit_intercept else mean * (1.0 + mean * weights.sum())
        lost = 1e-16 * (1.0 + far + offset * (1.0 + offset * weights.sum() * (not fit_intercept)))
        assert high - low <= 1e-9 * high + 1e3 * lost * weights.sum()


@pytest.mark.parametrize("loss", [name for name in LOSSES if not rule_of(name).shifts])
@pytest.mark.parametrize("size", [1.0, 30.0])
def test_bounds_with_an_offset_contain_the_exact_objective(loss, size):
    """Logarithms of exposures are rounded to floating-point numbers; the bounds include this error."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = sample(7, 3, seed, loss)
        added = {"offset": size * rng.standard_normal(7)}
        if rule_of(loss).log_link:
            added["exposure"] = 10.0 ** rng.uniform(-3, 3, 7)
        statement = statement_of(X, y, loss=loss, l0_penalty=0.3, **added)
        model = Incumbent(indices(0, 2), rng.standard_normal(2), X[:, [0, 2]].mean(axis=0), rng.standard_normal())
        low, high = objective_bounds(Data.of(statement, X, y, None, **added), statement, model)
        below, above = exact_objective(statement, model, X, y, np.ones(7), **added)
        assert Fraction(low) <= below <= above <= Fraction(high)
        assert high - low <= 1e-11 * (1.0 + size) * high


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize(("scale", "gamma"), [(1e-180, 1e300), (1e-160, 1e308), (1e170, 1e-300), (1e-200, 1.0)])
def test_extreme_ridges_are_not_understated(scale, gamma, standardize):
    """A ridge of tiny columns was cut off at the largest power of two."""
    X, y = sample(6, 2)
    X = X * scale
    statement = statement_of(X, y, k=1, gamma=gamma, standardize=standardize)
    data = Data.of(statement, X, y, None)
    model = Incumbent(indices(1), np.array([0.7 / scale]), np.zeros(1), 0.0)
    low, high = objective_bounds(data, statement, model)
    below, above = exact_objective(statement, model, X, y, np.ones(6))
    assert high == np.inf or (Fraction(low) <= below and above <= Fraction(high))


@pytest.mark.parametrize("coef", [1e160, 1e308, -1e200])
def test_an_objective_that_overflows_is_unknown(coef):
    X, y = sample(6, 2)
    statement = statement_of(X, y, k=1, gamma=1.0)
    model = Incumbent(indices(0), np.array([coef]), np.zeros(1), 0.0)
    assert objective_bounds(Data.of(statement, X, y, None), statement, model) == (-np.inf, np.inf)


@pytest.mark.parametrize("size", [1e-150, 1e-162, 1e-170, 1e-200, 5e-324])
@pytest.mark.parametrize("loss", ["squared", "epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("coef", [0.0, 1.0, 1.0 + 2**-50])
def test_an_objective_that_underflows_is_not_zero(size, loss, coef):
    """Squares below 1e-308 times weights of 1e90 are numbers again."""
    x = np.array([1.0, 2.0, -4.0])
    X, y, weights = x[:, None], size * x, np.full(3, 1e90)
    for settings in ({"gamma": np.inf}, {"gamma": 1e300}):
        statement = statement_of(X, y, weights, k=1, fit_intercept=False, loss=loss, **settings, epsilon=0.0)
        data = Data.of(statement, X, y, weights)
        model = Incumbent(indices(0), np.array([coef * size]), np.zeros(1), 0.0)
        low, high = objective_bounds(data, statement, model)
        below, above = exact_objective(statement, model, X, y, weights)
        assert Fraction(low) <= below and above <= Fraction(high)


def test_an_objective_of_zero_is_zero():
    X = sample(6, 2)[0]
    for y, intercept in ((np.zeros(6), 0.0), (np.full(6, 0.1), 0.1)):
        statement = statement_of(X, y, k=1)
        model = Incumbent(indices(), np.empty(0), np.empty(0), intercept)
        assert objective_bounds(Data.of(statement, X, y, None), statement, model) == (0.0, 0.0)


def test_an_empty_model():
    X, y = sample(6, 2)
    statement = statement_of(X, y, k=0, fit_intercept=False)
    model = Incumbent(indices(), np.empty(0), np.empty(0), 0.0)
    low, high = objective_bounds(Data.of(statement, X, y, None), statement, model)
    assert low <= 0.5 * (y @ y) <= high and high - low < 1e-12 * high


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Incumbent(indices(0, 0), np.ones(2), np.zeros(2), 0.0), "not a set of columns"),
        (Incumbent(indices(0, 5), np.ones(2), np.zeros(2), 0.0), "not a set of columns"),
        (Incumbent(indices(-1), np.ones(1), np.zeros(1), 0.0), "not a set of columns"),
        (Incumbent(indices(0)[None], np.ones(1), np.zeros(1), 0.0), "not a set of columns"),
        (Incumbent(indices(0, 2), np.ones(1), np.zeros(2), 0.0), "1 coefficients for 2"),
        (Incumbent(indices(0, 2), np.ones(2), np.zeros(1), 0.0), "coefficients for 2"),
        (Incumbent(indices(0), np.array([np.nan]), np.zeros(1), 0.0), "not finite"),
        (Incumbent(indices(0), np.ones(1), np.array([np.inf]), 0.0), "not finite"),
        (Incumbent(indices(0), np.ones(1), np.zeros(1), np.nan), "not finite"),
        (Incumbent(indices(2), np.ones(1), np.zeros(1), 0.0), "include and exclude"),
        (Incumbent(indices(0, 3), np.ones(2), np.zeros(2), 0.0), "include and exclude"),
        (Incumbent(indices(0, 1, 2), np.ones(3), np.zeros(3), 0.0), "more than k = 2"),
        (Incumbent(indices(0), np.ones(1), np.zeros(1), 0.5), "intercept where none"),
        (Incumbent(indices(0), np.ones(1), np.ones(1), 0.0), "intercept where none"),
    ],
)
def test_models_that_are_not_admissible(model, message):
    X, y = sample(8, 4)
    statement = statement_of(X, y, k=2, include=(0,), exclude=(3,), fit_intercept=False)
    assert any(message in reason for reason in model.complaints(statement))
    good = Incumbent(indices(0, 2), np.ones(2), np.zeros(2), 0.0)
    assert not good.complaints(statement)


def test_the_constant_is_the_prediction_where_all_columns_are_zero():
    """Added up without rounding in between: centres of 1e15 leave the digits of what remains."""
    model = Incumbent(indices(0, 2), np.array([2.0, -3.0]), np.array([1e15, 0.5]), 2e15, 0.25)
    assert model.constant() == 2e15 + 0.25 - (2.0 * 1e15 - 3.0 * 0.5) == 1.75


@pytest.mark.parametrize("margins", [_plain_margins, _precise_margins])
@given(seed=seeds, mean=st.sampled_from([0.0, 1.0, 1e8]), size=st.sampled_from([1.0, 1e9]))
def test_errors_of_predictions_are_bounded(margins, seed, mean, size):
    """Also where coefficients cancel, of which the precise ones lose nothing."""
    rng = np.random.default_rng(seed)
    raw = mean + rng.standard_normal((6, 4))
    raw[:, 1] = raw[:, 0] + 1e-9 * raw[:, 1]
    coef = size * rng.standard_normal(4)
    coef[1] = -coef[0]
    model = Incumbent(indices(0, 1, 2, 3), coef, raw.mean(axis=0), 3.0 + mean, rng.standard_normal())
    margin, error = margins(model, raw, mean)
    for row, found, off in zip(raw, margin, error, strict=True):
        exact = rational(model.intercept) + rational(model.rest) - rational(mean)
        for x, c, v in zip(row, model.center, coef, strict=True):
            exact += rational(v) * (rational(x) - rational(c))
        exact = Fraction(int(exact.p), int(exact.q))
        assert abs(Fraction(float(found)) - exact) <= Fraction(float(off))
    if margins is _precise_margins:
        assert (error <= 1e-15 * np.abs(margin) + 1e-28 * size * (1.0 + mean)).all()
