"""Trying the last features: never a bound above the exact one, and the exact one but for rounding."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.helpers import ExactSquares, bounds_of, fraction, optimum_of, sample, sample_weights, statement_of
from sparsest.proofs.check import prove
from sparsest.proofs.data import Data, Room
from sparsest.proofs.last_features import ByTrying, most_features
from sparsest.proofs.steps import Branch, LastFeatures, Leaf, Proof

P = 7
seeds = st.integers(0, 10**6)


def proved(statement, X, y, weights, target, **settings):
    data = Data.of(statement, X, y, weights)
    found = prove(data, statement, Proof((LastFeatures(target),)), **settings)
    assert not found.complaints
    return found.bound


def adversarial(kind, seed):
    """Columns that depend on others, exactly or nearly, that are constant, or far from zero."""
    rng = np.random.default_rng(seed)
    X, y = sample(11, P, seed)
    if kind == "duplicated":
        X[:, 4], X[:, 5] = X[:, 1], -2.0 * X[:, 0]
    elif kind == "near":
        X[:, 5] = X[:, 1] + 10.0 ** rng.uniform(-14, -2) * X[:, 5]
        X[:, 6] = X[:, 2] - X[:, 3] + 10.0 ** rng.uniform(-14, -2) * X[:, 6]
    elif kind == "dependent":
        X = np.round(4.0 * X)
        X[:, 6] = X[:, 2] - X[:, 3]
    elif kind == "constant":
        X[:, 2], X[:, 5] = 3.0, 0.0
    elif kind == "far":
        X += 10.0 ** rng.uniform(0, 9, P)
    elif kind == "scales":
        X *= 10.0 ** rng.uniform(-12, 12, P)
    elif kind == "perfect":
        y = X[:, 1] - 2.0 * X[:, 4] + 10.0 ** rng.uniform(-9, -1) * y
    return X, y


KINDS = ("plain", "duplicated", "near", "dependent", "constant", "far", "scales", "perfect")


@given(
    seed=seeds,
    kind=st.sampled_from(KINDS),
    k=st.integers(0, 4),
    forced=st.integers(0, 2),
    gamma=st.sampled_from([0.1, 10.0, 1e6, np.inf]),
    fit_intercept=st.booleans(),
    standardize=st.booleans(),
    weighted=st.booleans(),
)
def test_no_bound_is_above_the_optimum(seed, kind, k, forced, gamma, fit_intercept, standardize, weighted):
    X, y = adversarial(kind, seed)
    weights = sample_weights(11, seed) if weighted else None
    include = tuple(range(min(forced, k)))
    settings = {"gamma": gamma, "fit_intercept": fit_intercept, "standardize": standardize, "include": include}
    statement = statement_of(X, y, weights, k=k, **settings)
    best = optimum_of(statement, X, y, weights)
    for factor in (0.5, 1.0 - 1e-6, 1.0, 1.0 + 1e-12, 1.0 + 1e-6, 1.5):
        bound = proved(statement, X, y, weights, factor * float(best))
        assert bound <= best
        assert bound <= factor * float(best)


@given(seed=seeds, kind=st.sampled_from(KINDS), share=st.floats(0.01, 1.5), k=st.sampled_from([None, 2, 3]))
def test_with_a_price_no_bound_is_above_the_optimum(seed, kind, share, k):
    X, y = adversarial(kind, seed)
    price = share * float(((y - y.mean()) ** 2).sum())
    statement = statement_of(X, y, None, k=k, l0_penalty=price, gamma=10.0)
    sizes = range(P + 1 if k is None else k + 1)
    values = [optimum_of(statement_of(X, y, None, k=size, gamma=10.0), X, y) for size in sizes]
    best = min(value + size * Fraction(price) for size, value in zip(sizes, values, strict=True))
    for factor in (0.5, 1.0 - 1e-9, 1.0, 1.0 + 1e-9, 1.5):
        assert proved(statement, X, y, None, factor * float(best)) <= best


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gamma", [0.1, 1e4, np.inf])
@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_the_bound_is_the_optimum_but_for_rounding(kind, gamma, k):
    X, y = adversarial(kind, 5)
    for include in ((), (3,)):
        if len(include) > k:
            continue
        statement = statement_of(X, y, None, k=k, gamma=gamma, include=include, standardize=True)
        best = float(optimum_of(statement, X, y))
        rounding = 1e-12 * float((y - y.mean()) @ (y - y.mean()))
        bound = proved(statement, X, y, None, 0.9999 * best - rounding)
        assert bound == pytest.approx(0.9999 * best - rounding, rel=1e-12)


def test_four_features_are_too_many():
    X, y = sample(11, P)
    statement = statement_of(X, y, k=4)
    assert proved(statement, X, y, None, 1e-3) == 0.0


def test_the_exact_check_tries_everything():
    X, y = sample(9, 5)
    for settings in ({"k": 2}, {"k": 3, "include": (1,)}, {"k": None, "l0_penalty": 4.0}, {"k": 1, "l0_penalty": 0.1}):
        statement = statement_of(X, y, gamma=0.7, **settings)
        float_bound, exact = bounds_of(statement, Proof((LastFeatures(1e9),)), X, y)
        best = optimum_of(statement, X, y) if "l0_penalty" not in settings else None
        if best is not None:
            assert exact.bound <= best
            assert exact.bound == pytest.approx(float(best), rel=1e-14)
        assert float_bound.bound <= exact.bound


def test_only_the_squared_loss_is_tried():
    X, y = sample(9, 5, loss="hinge")
    statement = statement_of(X, y, k=2, loss="hinge")
    for found in bounds_of(statement, Proof((LastFeatures(0.1),)), X, y):
        assert "squared loss" in found.complaints[0]


def test_regions_below_branches():
    """The two sides of a branch, each tried by itself."""
    X, y = sample(12, P)
    statement = statement_of(X, y, k=3)
    best = float(optimum_of(statement, X, y))
    data = Data.of(statement, X, y, None)
    proof = Proof((Branch(2), LastFeatures(0.999 * best), LastFeatures(0.999 * best)))
    assert prove(data, statement, proof).bound == 0.999 * best
    low = Proof((Branch(2), LastFeatures(0.999 * best), LastFeatures(0.5 * best)))
    assert prove(data, statement, low).bound == 0.5 * best
    open_ = prove(data, statement, Proof((Branch(2), LastFeatures(0.5 * best))))
    assert "open" in open_.complaints[0]
    after = prove(data, statement, Proof((LastFeatures(0.5 * best), Leaf(0))))
    assert "after its end" in after.complaints[0]


@pytest.mark.parametrize("threads", [1, 2])
def test_many_regions_are_tried_side_by_side(threads):
    """A chain of branches; a region whose bound is claimed too high gives its own, and what is wrong names its step."""
    X, y = sample(30, 14)
    statement = statement_of(X, y, k=3)
    best = float(optimum_of(statement, X, y))
    data = Data.of(statement, X, y, None)
    target = 0.999 * best
    steps = [step for j in range(11) for step in (Branch(j), LastFeatures(target))]
    found = prove(data, statement, Proof((*steps, LastFeatures(target))), threads=threads)
    assert found.bound == target and not found.complaints
    high = prove(data, statement, Proof((*steps, LastFeatures(2.0 * best))), threads=threads)
    assert target >= high.bound > 0.0 or high.bound <= best
    refused = prove(data, statement, Proof((*steps[:-1], Leaf(3), LastFeatures(target))), threads=threads)
    assert "a point that does not exist" in refused.complaints[0]


def test_supports_may_be_excepted():
    """With the best support excepted the bound is that of the second one."""
    X, y = sample(12, P)
    statement = statement_of(X, y, k=2, gamma=0.5)
    exact = ExactSquares(statement, X, y)
    values = sorted(
        (fraction(exact.value(list(choice))), choice) for size in range(3) for choice in combinations(range(P), size)
    )
    data = Data.of(statement, X, y, None)
    for count in range(4):
        excepted = frozenset(choice for _, choice in values[:count])
        target = float(values[count][0]) * (1.0 - 1e-6)
        assert prove(data, statement, Proof((LastFeatures(target),)), excepted=excepted).bound == target
        above = float(values[count][0]) * (1.0 + 1e-6)
        assert prove(data, statement, Proof((LastFeatures(above),)), excepted=excepted).bound <= values[count][0]


def test_more_caution_proves_less():
    X, y = adversarial("near", 3)
    statement = statement_of(X, y, k=3, gamma=np.inf)
    best = float(optimum_of(statement, X, y))
    usual, careful = (proved(statement, X, y, None, best, caution=caution) for caution in (1.0, 8.0))
    assert careful <= usual <= best


def test_prices_limit_the_number_of_features():
    X, y = sample(11, P)
    statement = statement_of(X, y, k=None, l0_penalty=1.0)
    assert most_features(statement, 0, P, 2.5) == 2
    assert most_features(statement, 1, P, 2.5) == 1
    assert most_features(statement, 0, P, 100.0) == P
    assert most_features(statement_of(X, y, k=2, l0_penalty=1.0), 0, P, 100.0) == 2


def test_indices_are_by_feature():
    """Features that are forced in and out need not be the first ones."""
    X, y = sample(12, P)
    statement = statement_of(X, y, k=3, include=(4,), exclude=(0, 6))
    best = float(optimum_of(statement, X, y))
    assert proved(statement, X, y, None, 0.999 * best) == 0.999 * best
    assert proved(statement, X, y, None, 1.001 * best) <= optimum_of(statement, X, y)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("copies", [1, 2, 3])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_spanned_features_leave_fewer_than_k(copies, k, fit_intercept):
    """Multiples of the forced feature add nothing; the only feature that explains the response comes after them."""
    rng = np.random.default_rng(copies)
    s, b = rng.standard_normal((2, 12))
    X = np.column_stack([s, *(-(2.0**i) * s for i in range(copies)), b])
    y = b + 0.1 * rng.standard_normal(12)
    statement = statement_of(X, y, k=k, gamma=np.inf, include=(0,), fit_intercept=fit_intercept)
    best = optimum_of(statement, X, y)
    for factor in (1.0 - 1e-6, 1.0 + 1e-6, 1.5, 10.0):
        bound = proved(statement, X, y, None, factor * float(best))
        assert bound <= best
        assert bound == pytest.approx(min(factor, 1.0) * float(best), rel=1e-9)


@given(seed=seeds, rank=st.integers(1, 4), n_forced=st.integers(0, 2), more=st.integers(2, 3))
def test_dependent_features_in_any_order(seed, rank, n_forced, more):
    """All columns are combinations of a few; targets are between the objectives of supports."""
    rng = np.random.default_rng(seed)
    base = np.round(64.0 * rng.standard_normal((8, rank))) / 64.0
    X = base @ np.where(rng.random((rank, 4)) < 0.5, rng.choice([-1.0, 0.5, 1.0, 2.0], (rank, 4)), 0.0)
    y = base @ rng.standard_normal(rank) + 10.0 ** rng.uniform(-4, 0) * rng.standard_normal(8)
    include = tuple(rng.permutation(4)[:n_forced].tolist())
    statement = statement_of(X, y, k=n_forced + more, gamma=np.inf, include=include)
    best, alone = optimum_of(statement, X, y), ExactSquares(statement, X, y).value(list(include))
    for share in (1e-9, 1e-3, 0.5, 0.99):
        target = float(best + Fraction(share) * (fraction(alone) - best))
        assert proved(statement, X, y, None, target) <= best


def test_nearly_equal_features_with_a_third_one():
    """Two features that differ by 1e-6 explain the response only together with the third, which resembles them."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        u, v, w, noise = np.linalg.qr(rng.standard_normal((10, 4)))[0].T
        angle, turn = 10.0 ** rng.uniform(-2.5, -1.5), rng.uniform(0.5, 1.0)
        second = np.cos(angle) * u + np.sin(angle) * v
        across = np.cos(angle) * v - np.sin(angle) * u
        third = second + 10.0 ** rng.uniform(-6, -5.3) * (np.cos(turn) * across + np.sin(turn) * w)
        X, y = np.column_stack([u, second, third]), w + 0.01 * noise
        statement = statement_of(X, y, k=3, gamma=np.inf, fit_intercept=False)
        best = optimum_of(statement, X, y)
        # No pair explains more than about sin²(turn) of the sum of squares.
        target = 0.5 * float(y @ y) * (1.0 - 1.05 * np.sin(turn) ** 2)
        assert target > 100 * best
        assert proved(statement, X, y, None, target) <= best


@pytest.mark.parametrize("limits", [{}, {"max_coef": 0.3}], ids=["free", "limited"])
def test_the_work_of_a_step_is_limited(limits):
    """A target that every choice misses: trials end when their work does, which grows with the forced features."""
    X, y = sample(40, 26)
    for forced in (4, 12):
        statement = statement_of(X, y, k=forced + 2, include=tuple(range(forced)), **limits)
        trial = 1e3 * 40 * (forced + 2) ** 2
        for admitted in (3, 1000):
            data, tried = Data.of(statement, X, y, None, room=Room(work=admitted * trial)), []

            def by_dual(support, alpha, tried=tried):
                tried.append(support)
                return 1e-3

            everything = ByTrying(data, statement, np.arange(26), by_dual)
            found = everything.prove(np.arange(forced), np.arange(forced, 26), float(y @ y))
            choices = (26 - forced) * (25 - forced) // 2
            assert 0 < len(tried) <= min(admitted + 1, choices)
            assert (found > 0.0) == (admitted > choices)
