"""Rigorous against exact: of the same proof the rigorous bound is never above, and both are below the optimum."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.helpers import (
    LOSSES,
    bounds_of,
    certificate_of,
    fraction,
    indices,
    optimum_of,
    random_steps,
    rational,
    sample,
    sample_weights,
    statement_of,
)
from sparsest.proofs import exact as exact_module
from sparsest.proofs.data import Data
from sparsest.proofs.exact import _down
from sparsest.proofs.exact_algebra import is_semidefinite
from sparsest.proofs.losses import RULES
from sparsest.proofs.splits import centred_columns
from sparsest.proofs.steps import (
    LEAF,
    Branch,
    Combination,
    DualPoint,
    Leaf,
    PrimalPoint,
    Proof,
    Regression,
    RegressionTree,
    Split,
    SplitPoint,
)

P = 5
FORMS = [{"k": 0}, {"k": 2}, {"k": P + 3}, {"l0_penalty": 0.0}, {"l0_penalty": 0.7}, {"k": 2, "l0_penalty": 0.3}]
FORCED = [((), ()), ((1,), (3,)), (tuple(range(P)), ()), ((), tuple(range(P)))]
seeds = st.integers(0, 10**6)
losses = pytest.mark.parametrize("loss", LOSSES)


def drawn_problem(seed, loss, form, forced, fit_intercept, standardize, weighted, gamma, max_coef=None):
    """A problem of every kind, and random points for it; None where it is none."""
    rng = np.random.default_rng(seed)
    X, y = sample(8, P, seed, loss)
    X *= 10.0 ** rng.uniform(-2, 2, P)
    weights = None
    if weighted:
        weights = sample_weights(8, seed)
        weights[5] = 0.0
    include, exclude = forced
    if form.get("k", P) < len(include):
        include = ()
    asked = {"include": include, "exclude": exclude, "fit_intercept": fit_intercept, "standardize": standardize}
    statement = statement_of(X, y, weights, loss=loss, gamma=gamma, max_coef=max_coef, **form, **asked)
    n = statement.n
    size = 1.0 if RULES[loss].classification else 3.0
    points = [
        DualPoint(size * rng.standard_normal(n)),
        DualPoint((-0.3 * y if weights is None else -0.3 * y[weights > 0]).astype(np.float32)),
        DualPoint(np.zeros(n)),
        DualPoint(10.0 ** rng.uniform(-300, 300) * rng.standard_normal(n)),
    ]
    for _ in range(4):
        features = rng.permutation(P)[: rng.integers(P + 1)]
        points.append(PrimalPoint(features, rng.standard_normal(features.size), rng.standard_normal()))
    return rng, X, y, weights, statement, points


common = {
    "seed": seeds,
    "form": st.sampled_from(FORMS),
    "forced": st.sampled_from(FORCED),
    "fit_intercept": st.booleans(),
    "standardize": st.booleans(),
    "weighted": st.booleans(),
    "gamma": st.sampled_from([1e-3, 0.3, 50.0, 1e9, np.inf]),
    "max_coef": st.sampled_from([None, None, 1e-3, 0.4, 30.0]),
}


def assert_ordered(statement, proof, X, y, weights, only_if_accepted=False):
    """The rigorous bound, the exact bound, the optimum: in this order."""
    rigorous, exact = bounds_of(statement, proof, X, y, weights)
    if not only_if_accepted:
        assert not rigorous.complaints and not exact.complaints
    if rigorous.complaints:
        return -np.inf
    assert not exact.complaints and rigorous.bound <= exact.bound
    if statement.loss == "squared":
        assert exact.bound <= optimum_of(statement, X, y, weights)
    return rigorous.bound


@losses
@settings(max_examples=80)
@given(**common)
def test_random_proofs_by_dual_points(loss, **drawn):
    rng, X, y, weights, statement, points = drawn_problem(loss=loss, **drawn)
    free = [j for j in range(P) if j not in statement.include and j not in statement.exclude]
    proof = Proof(random_steps(rng, len(points), free), points)
    assert_ordered(statement, proof, X, y, weights)


@losses
@pytest.mark.parametrize("form", [{"k": 2}, {"l0_penalty": 0.4}], ids=str)
@pytest.mark.parametrize("max_coef", [None, 0.1])
def test_rigorous_bounds_are_near_exact_ones(loss, form, max_coef):
    """The bounds of rounding errors cost no more than some digits."""
    drawn = {"forced": ((), ()), "fit_intercept": True, "standardize": True, "weighted": True, "gamma": 0.3}
    for seed in range(5):
        _, X, y, weights, statement, points = drawn_problem(seed, loss, form, max_coef=max_coef, **drawn)
        for number in range(len(points)):
            rigorous, exact = bounds_of(statement, Proof((Leaf(number),), points), X, y, weights)
            assert exact.bound - rigorous.bound <= 1e-12 * (abs(exact.bound) + np.abs(y).sum() ** 2)


@settings(max_examples=150)
@given(part=st.sampled_from([0.3, 0.999, 1.0 - 1e-12]), **common)
def test_random_proofs_by_splits(part, **drawn):
    """Splits of what the quadratic can spare, with a ridge of any strength and without one."""
    rng, X, y, weights, statement, _ = drawn_problem(loss="squared", **drawn)
    data = Data.of(statement, X, y, weights)
    columns = centred_columns(data, np.arange(P), statement.gamma)
    M = columns.values.T @ columns.values + np.diag(columns.ridge)
    unit = np.sqrt(M.diagonal())
    scaled = part * np.linalg.eigvalsh(M / np.outer(unit, unit))[0] * unit**2
    delta = scaled * columns.units**2
    if not (delta > 0).all():
        return
    alive = np.array([j for j in range(P) if j not in statement.exclude], dtype=np.intp)
    if not alive.size:
        return
    points = []
    for _ in range(3):
        features = rng.permutation(alive)[: rng.integers(alive.size + 1)]
        points.append(SplitPoint(features, 10.0 ** rng.uniform(-3, 2) * rng.standard_normal(features.size), 0))
    proof = Proof((Leaf(0),), points, (Split(np.arange(P), delta),))
    for steps in ((Leaf(0),), (Leaf(1),), (Combination(np.arange(3), np.array([0.2, 0.5, 0.1])),)):
        assert_ordered(statement, proof._replace(steps=steps), X, y, weights, only_if_accepted=True)


@settings(max_examples=60)
@given(
    seed=seeds, part=st.floats(0.1, 0.9), form=st.sampled_from([{"k": 2}, {"l0_penalty": 0.7}]), scaled=st.booleans()
)
def test_random_proofs_by_raised_splits(seed, part, form, scaled):
    """More columns than observations: a diagonal below the ridge, and some of its features raised above it."""
    rng = np.random.default_rng(seed)
    X, y = sample(5, 7, seed)
    weights = sample_weights(5, seed)
    statement = statement_of(X, y, weights, gamma=0.4, standardize=scaled, **form)
    columns = centred_columns(Data.of(statement, X, y, weights), np.arange(7), 0.4)
    M = columns.values.T @ columns.values + np.diag((1.0 - part) * columns.ridge)
    base = part * columns.ridge
    raised = rng.permutation(7)[: rng.integers(1, 4)]
    more = 0.9 / np.linalg.eigvalsh(np.linalg.inv(M)[np.ix_(raised, raised)])[-1]
    units = columns.units**2
    splits = (Split(np.arange(7), base * units), Split(raised, (base[raised] + more) * units[raised], 0))
    points = [SplitPoint(f, rng.standard_normal(f.size), s) for s in (0, 1) for f in (indices(), indices(0, 3), raised)]
    bounds = []
    for number in range(len(points)):
        proof = Proof((Branch(2), Leaf(number), Leaf(number)), points, splits)
        bounds.append(assert_ordered(statement, proof, X, y, weights, only_if_accepted=True))
    assert max(bounds) > -np.inf


@settings(max_examples=60)
@given(**{**common, "gamma": st.sampled_from([0.3, np.inf])})
def test_random_proofs_by_regressions(**drawn):
    _, X, y, weights, statement, points = drawn_problem(loss="squared", **drawn)
    free = [j for j in range(P) if j not in statement.include and j not in statement.exclude]
    steps = (Branch(free[0]), Regression(), Leaf(0)) if free else (Regression(),)
    assert_ordered(statement, Proof(steps, points), X, y, weights)
    if statement.k is not None:
        tree = RegressionTree(indices(), np.empty(0), np.array([LEAF], dtype=np.int32))
        assert_ordered(statement, Proof((tree,)), X, y, weights, only_if_accepted=True)


@pytest.mark.parametrize("mean", [0.0, 1e6, 1e12])
@pytest.mark.parametrize("offset", [0.0, 1e6, 1e12])
@pytest.mark.parametrize("standardize", [True, False])
def test_large_means_neither_break_a_proof_nor_make_it_worthless(mean, offset, standardize):
    """The rounding error of X'α was not in the margin: column means of 1e14 gave bounds two per cent too high."""
    rng = np.random.default_rng(3)
    X, y = sample(14, P, 3)
    X, y = X + mean * rng.standard_normal(P), y + offset
    statement = statement_of(X, y, k=2, gamma=0.5, standardize=standardize)
    residual = y - y.mean()
    points = [DualPoint(-0.5 * residual), PrimalPoint(indices(0, 1), np.array([0.3, 0.4]), 0.0)]
    for number in range(2):
        bound = assert_ordered(statement, Proof((Leaf(number),), points), X, y, None)
        _, exact = bounds_of(statement, Proof((Leaf(number),), points), X, y)
        assert exact.bound - bound <= 1e-10 * (residual @ residual)


# The arithmetic of the exact check itself


def test_rounding_down():
    for value in (1 / 3, 0.1, -0.1, 5e-324, 1.7e308, -1.7e308, 0.0):
        assert _down(rational(value)) == value
        for factor in (3, 7, 10**30):
            low = _down(rational(value) / factor)
            exact = fraction(rational(value) / factor)
            assert low <= exact < np.nextafter(low, np.inf) or (value < 0 and abs(low) < 1e-300)
    assert _down(rational(1.7e308) * 10) == np.finfo(float).max
    assert _down(rational(-1.7e308) * 10) == -np.inf


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        ([[1, 1], [1, 1]], True),
        ([[1, 2], [2, 1]], False),
        ([[0, 0], [0, 1]], True),
        ([[0, 1], [1, 5]], False),
        ([[0]], True),
        ([[-1]], False),
        ([], True),
        ([[4, 2, 2], [2, 1, 1], [2, 1, 0]], False),
    ],
)
def test_exact_semidefiniteness(matrix, expected):
    assert is_semidefinite([[rational(v) for v in row] for row in matrix]) == expected


def test_the_certificate_in_exact_mode():
    X, y = sample(9, 3)
    certificate = certificate_of(X, y, Proof((Leaf(0),), (DualPoint(-0.2 * (y - y.mean())),)), support=(0,), k=1)
    verdict = certificate.verify(X, y, exact=True)
    assert verdict and verdict.lower_bound == certificate.lower_bound
    boast = replace(certificate, lower_bound=certificate.lower_bound * (1.0 + 1e-9))
    assert not boast.verify(X, y, exact=True) and not boast.verify(X, y)


def test_without_flint_the_exact_check_says_what_to_install(monkeypatch):
    X, y = sample(9, 3)
    certificate = certificate_of(X, y, Proof((Leaf(0),), (DualPoint(np.zeros(9)),)), k=1)
    monkeypatch.setattr(exact_module, "flint", None)
    assert certificate.verify(X, y)
    with pytest.raises(ValueError, match=r"sparsest\[exact\]"):
        certificate.verify(X, y, exact=True)
