"""The checker's losses against enclosures of their definitions, and the solver's losses written apart from them."""

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.helpers import LOSSES, rational
from sparsest import losses as solver_losses
from sparsest.proofs.losses import ROUNDINGS, RULES
from sparsest.proofs.rounding import UNIT

EPSILON = 0.3
losses = pytest.mark.parametrize("loss", LOSSES)
numbers = st.floats(-1e6, 1e6)


def rule_of(loss):
    return RULES[loss](EPSILON)


def responses(rule, rng, n):
    return rng.choice([-1.0, 1.0], (n, 1)) if rule.classification else 10.0 * rng.standard_normal((n, 1))


def exact_conjugate(loss, y, alpha, weight):
    """An enclosure of ``ωℓ*(y, α/ω)`` with 200 bits."""
    a, y, w, epsilon = rational(alpha), rational(y), rational(weight), rational(EPSILON)
    if loss == "logistic":
        part = abs(a) / w
        return w * sum((x * flint.arb(x).log() for x in (part, 1 - part) if x != 0), flint.arb(0))
    value = y * a
    value += a * a / (2 * w) if "squared" in loss else 0
    value += epsilon * abs(a) if "epsilon" in loss else 0
    return flint.arb(value)


@pytest.fixture(autouse=True)
def many_bits():
    before, flint.ctx.prec = flint.ctx.prec, 200
    yield
    flint.ctx.prec = before


@losses
@pytest.mark.parametrize("decades", [0, 8])
def test_conjugates_are_within_their_error(loss, decades):
    rule, rng = rule_of(loss), np.random.default_rng(1)
    y = responses(rule, rng, 400)
    weights = 10.0 ** rng.uniform(-decades, decades, (400, 1))
    alpha = weights * rng.choice([1e-300, 1e-20, 1e-3, 1.0, 3.0, 1.0 - 1e-16], (400, 1)) * rng.standard_normal((400, 1))
    # Entries at the border of bounded domains, and next to it.
    alpha[:8] = -y[:8] * weights[:8] * np.array([1, 1, 1 - 2**-53, 1 - 2**-52, 0, 0.5, 1 - 2**-50, 2**-60])[:, None]
    alpha = rule.project(y, alpha, weights)
    terms, sizes = rule.conjugate(y, alpha, weights)
    for label, a, weight, term, size in zip(*map(np.ravel, (y, alpha, weights, terms, sizes)), strict=True):
        error = abs(flint.arb(rational(term)) - exact_conjugate(loss, label, a, weight))
        assert error <= ROUNDINGS * UNIT * size + 1e-320


@losses
@given(u=numbers, alpha=numbers, weight=st.floats(1e-6, 1e6))
def test_projections_are_exact_and_in_the_domain(loss, u, alpha, weight):
    rule = rule_of(loss)
    y = np.array([[1.0 if u > 0 else -1.0 if rule.classification else u]])
    inside = rule.project(y, np.array([[alpha]]), np.array([[weight]]))
    np.testing.assert_array_equal(rule.project(y, inside, np.array([[weight]])), inside)
    a, label = inside[0, 0], y[0, 0]
    assert abs(a) <= abs(alpha)
    if loss in ("logistic", "hinge"):
        assert -weight <= label * a <= 0.0
    if loss == "squared_hinge":
        assert label * a <= 0.0
    if loss == "epsilon_insensitive":
        assert abs(a) <= weight


@losses
@given(u=st.floats(-50, 50), v=st.floats(-50, 50))
def test_values_and_slopes_are_those_of_the_definition(loss, u, v):
    """The Lipschitz constant near u, with the curvature's ½e², bounds every change."""
    rule = rule_of(loss)
    y = np.array([1.0, -1.0]) if rule.classification else np.array([0.7, -20.0])
    kind = solver_losses.LOSSES[loss]
    known = kind(EPSILON) if "epsilon" in getattr(kind, "_fields", ()) else kind()
    value, slope = rule.value(y, np.full(2, u))
    np.testing.assert_allclose(value, known.value(y, u), rtol=1e-14, atol=1e-300)
    other, _ = rule.value(y, np.full(2, v))
    change = abs(u - v)
    assert (np.abs(other - value) <= (slope * change + 0.5 * change**2) * (1 + 1e-12) + 1e-12).all()
    first, second = rule.derivative(y, np.full(2, u))
    np.testing.assert_allclose(first, known.derivative(y, u), rtol=1e-12, atol=1e-300)
    assert (second >= 0.0).all()


@losses
@given(u=st.floats(-30, 30), alpha=st.floats(-5, 5), weight=st.floats(0.1, 10))
def test_fenchel_young(loss, u, alpha, weight):
    rule = rule_of(loss)
    y = np.array([[1.0], [-1.0]])
    weights = np.full((2, 1), weight)
    inside = rule.project(y, np.full((2, 1), alpha), weights)
    left = weights * rule.value(y, np.full((2, 1), u))[0] + rule.conjugate(y, inside, weights)[0]
    assert (left >= u * inside - 1e-12 * (1.0 + np.abs(left))).all()


def test_every_loss_of_the_solvers_has_a_rule():
    assert set(RULES) == set(solver_losses.LOSSES)
