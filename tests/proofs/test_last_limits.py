"""Trying the last features where coefficients have limits: against all faces of the box in rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.helpers import bounds_of, fraction, sample, sample_weights, statement_of
from proofs.limited_squares import LimitedSquares
from proofs.test_last_features import KINDS, P, adversarial
from sparsest.proofs.check import prove
from sparsest.proofs.data import Data
from sparsest.proofs.last_columns import LastColumns
from sparsest.proofs.last_limits import LimitedChoices, Limits, solution
from sparsest.proofs.steps import Branch, LastFeatures, Proof

LIMITS = ("positive", "signs", "box", "tight box", "both sides", "one side", "all kinds")
seeds = st.integers(0, 10**6)


def limits_of(kind, X, y, seed, standardize=False):
    """Limits of about the size of the coefficients, or below it."""
    rng = np.random.default_rng([seed, 7])
    spread = X.std(axis=0)
    unit = y.std() / np.where(spread > 0.0, spread, 1.0)
    sizes = np.clip(unit * 10.0 ** rng.uniform(-1.5, 0.5, (2, X.shape[1])), 1e-100, 1e100)
    if kind in ("box", "tight box"):
        size = y.std() if standardize else float(np.median(unit))
        return {"max_coef": float(size * (0.6 if kind == "box" else 0.1))}
    if kind == "positive":
        return {"lower": (0.0,) * X.shape[1]}
    if kind == "signs":
        up = rng.random(X.shape[1]) < 0.5
        return {"lower": tuple(np.where(up, 0.0, -np.inf).tolist()), "upper": tuple(np.where(up, np.inf, 0.0).tolist())}
    if kind == "one side":
        return {"upper": tuple(sizes[0].tolist())}
    if kind == "all kinds":
        draw = rng.random((2, X.shape[1]))
        sizes = np.where(draw < 0.3, 0.0, np.where(draw < 0.6, np.inf, sizes))
        return {"lower": tuple((-sizes[0]).tolist()), "upper": tuple(sizes[1].tolist()), "max_coef": float(unit.max())}
    return {"lower": tuple((-sizes[0]).tolist()), "upper": tuple(sizes[1].tolist())}


def proved(statement, X, y, weights, target):
    found = prove(Data.of(statement, X, y, weights), statement, Proof((LastFeatures(target),)))
    assert not found.complaints
    return found.bound


def optimum(statement, X, y, weights=None):
    return LimitedSquares(statement, X, y, weights).optimum()


@given(
    seed=seeds,
    kind=st.sampled_from(KINDS),
    limits=st.sampled_from(LIMITS),
    k=st.integers(1, 3),
    forced=st.integers(0, 2),
    gamma=st.sampled_from([0.1, 10.0, 1e6, np.inf]),
    fit_intercept=st.booleans(),
    standardize=st.booleans(),
    weighted=st.booleans(),
)
def test_no_bound_is_above_the_optimum(seed, kind, limits, k, forced, gamma, fit_intercept, standardize, weighted):
    X, y = adversarial(kind, seed)
    weights = sample_weights(11, seed) if weighted else None
    given_ = limits_of(limits, X, y, seed, standardize) | {"include": tuple(range(min(forced, k)))}
    statement = statement_of(
        X, y, weights, k=k, gamma=gamma, fit_intercept=fit_intercept, standardize=standardize, **given_
    )
    best = optimum(statement, X, y, weights)
    for factor in (0.5, 1.0 - 1e-6, 1.0, 1.0 + 1e-12, 1.0 + 1e-6, 1.5):
        bound = proved(statement, X, y, weights, factor * float(best))
        assert bound <= best
        assert bound <= factor * float(best)


@given(seed=seeds, limits=st.sampled_from(LIMITS), share=st.floats(0.01, 1.5), k=st.sampled_from([None, 2]))
def test_with_a_price_no_bound_is_above_the_optimum(seed, limits, share, k):
    X, y = sample(11, 5, seed)
    price = share * float(((y - y.mean()) ** 2).sum())
    given_ = limits_of(limits, X, y, seed)
    statement = statement_of(X, y, None, k=k, l0_penalty=price, gamma=10.0, **given_)
    sizes = range(6 if k is None else k + 1)
    values = [optimum(statement_of(X, y, None, k=size, gamma=10.0, **given_), X, y) for size in sizes]
    best = min(value + size * Fraction(price) for size, value in zip(sizes, values, strict=True))
    for factor in (0.5, 1.0 - 1e-9, 1.0, 1.0 + 1e-9, 1.5):
        assert proved(statement, X, y, None, factor * float(best)) <= best


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("gamma", [0.1, 1e4, np.inf])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_bound_is_the_optimum_but_for_rounding(limits, gamma, k):
    X, y = sample(11, P, 5)
    for include in ((), (3,)):
        given_ = limits_of(limits, X, y, 5, standardize=True) | {"include": include}
        statement = statement_of(X, y, None, k=k, gamma=gamma, standardize=True, **given_)
        target = 0.9999 * float(optimum(statement, X, y)) - 1e-12 * float((y - y.mean()) @ (y - y.mean()))
        assert proved(statement, X, y, None, target) == pytest.approx(target, rel=1e-12)


@pytest.mark.parametrize("limits", LIMITS)
def test_the_exact_check_knows_the_limits(limits):
    X, y = sample(9, 5)
    for gamma, standardize in ((0.7, False), (np.inf, False), (np.inf, True)):
        given_ = limits_of(limits, X, y, 2, standardize)
        for k in (1, 2, 3):
            statement = statement_of(X, y, k=k, gamma=gamma, standardize=standardize, **given_)
            rounded, exact = bounds_of(statement, Proof((LastFeatures(1e9),)), X, y)
            best = optimum(statement, X, y)
            assert rounded.bound <= exact.bound <= best
            assert exact.bound == pytest.approx(float(best), rel=1e-13)


def test_copies_share_a_coefficient_that_is_too_large_for_one():
    """With limits a copy of a column does explain more."""
    X, y = sample(12, 4)
    X[:, 3] = -2.0 * X[:, 0]
    y = 3.0 * X[:, 0] + 0.1 * y
    statement = statement_of(X, y, k=2, gamma=np.inf, max_coef=1.0)
    best = optimum(statement, X, y)
    assert best == fraction(LimitedSquares(statement, X, y).value([0, 3]))
    alone = float(fraction(LimitedSquares(statement, X, y).value([0])))
    assert float(best) < 0.5 * alone
    for target in (0.5 * float(best), 1.001 * float(best), alone):
        assert proved(statement, X, y, None, target) <= best
    assert proved(statement, X, y, None, 0.999 * float(best)) == 0.999 * float(best)


def test_regions_below_branches_of_features_at_their_limits():
    X, y = sample(12, P)
    given_ = limits_of("tight box", X, y, 0)
    statement = statement_of(X, y, k=4, **given_)
    best = float(optimum(statement, X, y))
    data = Data.of(statement, X, y, None)
    low = Proof((Branch(2), *[LastFeatures(0.3 * best)] * 2))
    assert prove(data, statement, low).bound <= best
    four_in = Proof((Branch(2), Branch(0), *[LastFeatures(0.999 * best)] * 3))
    assert prove(data, statement, four_in).bound <= best


def test_limits_that_underflow_are_rounded_outwards():
    X, y = sample(12, 3)
    X *= 1e-10
    weights = np.full(12, 1e100)
    statement = statement_of(
        X, y, weights, k=1, gamma=np.inf, lower=(0.0, -1e-320, -1e-323), upper=(1e-323, 0.0, 5e-324)
    )
    data = Data.of(statement, X, y, weights)
    columns = LastColumns(data, np.inf, np.arange(3))
    limits, bounds = Limits.of(data, statement, columns, 1.0), data.block(np.arange(3)).bounds
    for j in range(3):
        factor = Fraction(2) ** int(bounds.exponents[j]) * Fraction(columns.norms[j])
        assert Fraction(limits.low[j]) <= Fraction(statement.lower[j]) * factor
        assert Fraction(limits.high[j]) >= Fraction(statement.upper[j]) * factor


@given(seed=seeds, kind=st.sampled_from(["plain", "duplicated", "near"]))
def test_many_coefficients_are_as_good_as_few(seed, kind):
    """The same coefficients by LAPACK, for more than three, and by elimination, of two problems beside each other."""
    X, _ = adversarial(kind, seed)
    rng = np.random.default_rng(seed)
    A = X[:, :6] / np.linalg.norm(X[:, :6], axis=0)
    C, r = A.T @ A + 1e-6 * np.eye(6), A.T @ rng.standard_normal(11)
    C[:3, 3:] = C[3:, :3] = 0.0
    low, high = -rng.exponential(size=6), rng.exponential(size=6)

    def solved(at):
        return solution(C[at, at][None], r[at][None], low[at][None], high[at][None])[0]

    few = np.concatenate([solved(slice(0, 3)), solved(slice(3, 6))])
    many = solved(slice(0, 6))
    assert (low <= many).all() and (many <= high).all()
    assert r @ many - 0.5 * many @ C @ many >= r @ few - 0.5 * few @ C @ few - 1e-9 * (1.0 + r @ r)


def test_products_of_blocks_give_the_same_test():
    X, y = sample(30, 20)
    statement = statement_of(X, y, k=2, gamma=10.0, max_coef=0.3)
    data = Data.of(statement, X, y, None)
    columns = LastColumns(data, 10.0, np.arange(20))
    residuals = columns.residuals(np.array([3]), np.arange(20))
    for needed in (0.5, 1.0, 2.0):
        limits = Limits.of(data, statement, columns, 1.0)
        choices = LimitedChoices.of(columns, limits, residuals, np.arange(20), needed * residuals.value, 1.0)
        pairs = np.array([(i, j) for i in range(8) for j in range(8, 20)])
        np.testing.assert_array_equal(choices.pairs_hold(pairs, 0, 0, 20), choices.hold(pairs))
