"""The checker's losses against enclosures of their definitions, and the solver's losses written apart from them."""

from dataclasses import asdict

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.definitions import exact_conjugate, exact_loss
from proofs.helpers import LOSSES, bounds_of, indices, rational, rule_of, sample, statement_of, suited
from sparsest.core import losses as solver_losses
from sparsest.proofs.losses import ROUNDINGS, RULES
from sparsest.proofs.rounding import UNIT
from sparsest.proofs.steps import DualPoint, Leaf, PrimalPoint, Proof

KINDS = ("classification", "log_link", "positive")
losses = pytest.mark.parametrize("loss", LOSSES)
numbers = st.floats(-1e6, 1e6)


@pytest.fixture(autouse=True)
def many_bits():
    before, flint.ctx.prec = flint.ctx.prec, 200
    yield
    flint.ctx.prec = before


@losses
@pytest.mark.parametrize("decades", [0, 8])
def test_conjugates_are_within_their_error(loss, decades):
    rule, rng = rule_of(loss), np.random.default_rng(1)
    y = suited(loss, 10.0 * rng.standard_normal((400, 1)))
    y[20:30] = suited(loss, rng.choice([0.0, 1e-200, 1e-9, 1e9, 5000.0], (10, 1)))
    weights = 10.0 ** rng.uniform(-decades, decades, (400, 1))
    alpha = weights * rng.choice([1e-300, 1e-20, 1e-3, 1.0, 3.0, 1.0 - 1e-16], (400, 1)) * rng.standard_normal((400, 1))
    # Entries at the border of bounded domains, and next to it.
    alpha[:8] = -y[:8] * weights[:8] * np.array([1, 1, 1 - 2**-53, 1 - 2**-52, 0, 0.5, 1 - 2**-50, 2**-60])[:, None]
    alpha = rule.project(y, alpha, weights)
    terms, sizes = rule.conjugate(y, alpha, weights)
    for label, a, weight, term, size in zip(*map(np.ravel, (y, alpha, weights, terms, sizes)), strict=True):
        exact = exact_conjugate(loss, *map(rational, (label, a, weight)), **asdict(rule))
        assert rule.contains(*map(rational, (label, a, weight)))
        error = abs(flint.arb(rational(term)) - exact)
        assert error <= ROUNDINGS * UNIT * size + 1e-300
        # The size is one of what is computed, and no more.
        assert size <= 1e3 * weight * (1.0 + abs(label * np.log(abs(label) + 1e-300)) + abs(a / weight)) ** 2


@losses
@given(u=numbers, alpha=numbers, weight=st.floats(1e-6, 1e6))
def test_projections_are_exact_and_in_the_domain(loss, u, alpha, weight):
    rule = rule_of(loss)
    y = suited(loss, np.array([[u]]))
    inside = rule.project(y, np.array([[alpha]]), np.array([[weight]]))
    np.testing.assert_array_equal(rule.project(y, inside, np.array([[weight]])), inside)
    a, label = inside[0, 0], y[0, 0]
    assert abs(a) <= abs(alpha)
    assert rule.contains(rational(label), rational(a), rational(weight))


@losses
@given(u=st.floats(-50, 50), v=st.floats(-50, 50))
def test_values_and_slopes_are_those_of_the_definition(loss, u, v):
    """The spread bounds the rounding error, and what a change of the prediction changes."""
    rule = rule_of(loss)
    y = suited(loss, np.array([0.7, -20.0, 0.0]))
    known = solver_losses.make_loss(loss, **asdict(rule))
    change = np.full(3, abs(u - v))
    value, spread = rule.value(y, np.full(3, u), change)
    rounding = rule.value(y, np.full(3, u), np.zeros(3))[1]
    for label, *row in zip(y, value, spread, rounding, strict=True):
        near, far = (exact_loss(loss, rational(label), rational(x), **asdict(rule)) for x in (u, v))
        assert abs(flint.arb(rational(row[0])) - near) <= row[2] + 1e-300
        assert abs(flint.arb(rational(row[0])) - far) <= row[1] * (1.0 + 1e-9) + 1e-300
    np.testing.assert_allclose(value, known.value(y, u), rtol=1e-14, atol=8.0 * rounding.max() + 1e-300)
    first, second = rule.derivative(y, np.full(3, u))
    np.testing.assert_allclose(first, known.derivative(y, u), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(second, known.second_derivative(y, u), rtol=1e-10, atol=1e-12)


@losses
@given(u=st.floats(-30, 30), alpha=st.floats(-5, 5), weight=st.floats(0.1, 10))
def test_fenchel_young(loss, u, alpha, weight):
    rule = rule_of(loss)
    y = suited(loss, np.array([[1.0], [-1.0]]))
    weights = np.full((2, 1), weight)
    inside = rule.project(y, np.full((2, 1), alpha), weights)
    values, _ = rule.value(y, np.full((2, 1), u), np.zeros((2, 1)))
    left = weights * values + rule.conjugate(y, inside, weights)[0]
    assert (left >= u * inside - 1e-12 * (1.0 + np.abs(left))).all()


def test_every_loss_of_the_solvers_has_a_rule():
    assert set(RULES) == set(solver_losses.LOSSES)
    for name, loss in solver_losses.LOSSES.items():
        assert RULES[name].parameters() == loss._fields
        assert all(getattr(RULES[name], kind) == getattr(loss, kind) for kind in KINDS)


@pytest.mark.parametrize("loss", [name for name in LOSSES if not rule_of(name).shifts])
def test_an_offset_is_allowed_for_in_every_bound(loss):
    """Constants of points are below the exact ones, also where the logarithm of an exposure is rounded."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = sample(9, 3, seed, loss)
        added = {"offset": 3.0 * rng.standard_normal(9)}
        if rule_of(loss).log_link:
            added["exposure"] = 10.0 ** rng.uniform(-6, 6, 9)
        statement = statement_of(X, y, loss=loss, k=1, **added)
        points = [DualPoint(0.1 * rng.standard_normal(9)), PrimalPoint(indices(0, 2), rng.standard_normal(2), 0.1)]
        for number in range(2):
            rigorous, exact = bounds_of(statement, Proof((Leaf(number),), points), X, y, **added)
            assert not rigorous.complaints and not exact.complaints
            assert rigorous.bound <= exact.bound <= rigorous.bound + 1e-11 * (1.0 + abs(exact.bound))
