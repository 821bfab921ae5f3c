"""Regression trees: no leaf is bounded above the best of its supports, also where columns nearly depend on others."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.helpers import ExactSquares, bounds_of, fraction, indices, optimum_of, sample, sample_weights, statement_of
from sparsest.proofs.data import Data
from sparsest.proofs.regression_tree import RegressionBounds
from sparsest.proofs.steps import LEAF, Branch, Leaf, Proof, RegressionTree

P = 6
seeds = st.integers(0, 10**6)


def tree_of(*entries, features=(), values=()):
    return RegressionTree(indices(*features), np.array(values, dtype=float), np.array(entries, dtype=np.int32))


def random_entries(rng, free, depth):
    """A random tree over free features."""
    if not len(free) or not depth or rng.random() < 0.3:
        return [LEAF]
    j, *rest = rng.permutation(free).tolist()
    return [j, *random_entries(rng, rest, depth - 1), *random_entries(rng, rest, depth - 1)]


@given(
    seed=seeds,
    k=st.integers(0, P + 1),
    gamma=st.sampled_from([0.1, 1e4, np.inf]),
    fit_intercept=st.booleans(),
    standardize=st.booleans(),
    decade=st.sampled_from([0, 2, 4]),
)
def test_no_leaf_is_above_its_supports(seed, k, gamma, fit_intercept, standardize, decade):
    """Every region, against the exact values of all supports in it; the sums are taken about any coefficients."""
    rng = np.random.default_rng(seed)
    X, y = sample(11, P, seed)
    X[:, 5] = X[:, 1] + 10.0**-decade * X[:, 5]
    weights = sample_weights(11, seed)
    settings = {"gamma": gamma, "fit_intercept": fit_intercept, "standardize": standardize}
    statement = statement_of(X, y, weights, k=k, **settings)
    center = rng.permutation(P)[: rng.integers(P + 1)]
    step = RegressionTree(center, 10.0 ** rng.uniform(-2, 2) * rng.standard_normal(center.size), np.array([LEAF]))
    bounds = RegressionBounds(Data.of(statement, X, y, weights), statement, np.arange(P), step)
    exact = ExactSquares(statement, X, y, weights)
    for _ in range(3):
        order = rng.permutation(P)
        inside = order[: rng.integers(min(k, P) + 1)].tolist()
        alive = np.ones(P, dtype=bool)
        alive[order[P - rng.integers(P - len(inside) + 1) :]] = False
        free = [j for j in range(P) if alive[j] and j not in inside]
        size = min(k - len(inside), len(free))
        best = min(fraction(exact.value(sorted([*inside, *more]))) for more in combinations(free, size))
        for enough in (np.inf, float(best), 0.9 * float(best)):
            assert Fraction(bounds.bound(inside, alive.copy(), enough)) <= best


@given(seed=seeds, k=st.integers(1, P), gamma=st.sampled_from([1.0, np.inf]))
def test_random_trees_are_below_the_exact_check_and_the_optimum(seed, k, gamma):
    rng = np.random.default_rng(seed)
    X, y = sample(12, P, seed)
    statement = statement_of(X, y, k=k, gamma=gamma, include=(2,), exclude=(4,))
    entries = random_entries(rng, [0, 1, 3, 5], 3)
    proof = Proof((tree_of(*entries, features=(0, 2), values=(1.0, 0.5)),))
    rigorous, exact = bounds_of(statement, proof, X, y)
    assert not rigorous.complaints and not exact.complaints
    assert 0.0 <= rigorous.bound <= exact.bound <= optimum_of(statement, X, y)


def test_a_tree_of_all_choices_is_sharp():
    """With at most two features to choose all of them are tried, and the bound asked for is proved."""
    X, y = sample(30, P, 3)
    statement = statement_of(X, y, k=2, gamma=np.inf)
    optimum = float(optimum_of(statement, X, y))
    data = Data.of(statement, X, y, None)
    bounds = RegressionBounds(data, statement, np.arange(P), tree_of(LEAF))
    proved = bounds.prove(np.array([LEAF], dtype=np.int32), indices(), optimum * (1.0 - 1e-9))
    assert proved == pytest.approx(optimum, rel=1e-8) and proved <= optimum
    assert bounds.prove(np.array([LEAF], dtype=np.int32), indices(), optimum * 1.01) <= optimum


def test_a_tree_within_a_tree():
    X, y = sample(12, P)
    statement = statement_of(X, y, k=2, gamma=np.inf)
    proof = Proof((Branch(0), tree_of(1, LEAF, LEAF), tree_of(LEAF, features=(3,), values=(0.2,))))
    rigorous, exact = bounds_of(statement, proof, X, y)
    assert 0.0 < rigorous.bound <= exact.bound <= optimum_of(statement, X, y)


def test_a_nearly_perfect_fit_is_bounded_about_its_coefficients():
    """A small difference of large numbers: only sums about the coefficients keep its digits."""
    X, y = sample(20, 3, 1)
    w = np.array([1.0, -2.0, 0.5])
    y = X @ w + 1e-7 * y
    statement = statement_of(X, y, k=3, gamma=np.inf)
    optimum = float(optimum_of(statement, X, y))
    proof = Proof((tree_of(LEAF, features=(0, 1, 2), values=w),))
    rigorous, _ = bounds_of(statement, proof, X, y)
    assert 0.9 * optimum < rigorous.bound <= optimum


# Dependent columns


DEPENDENT = {
    "a total with its parts": lambda X: np.column_stack([X[:, :2], X[:, 0] + X[:, 1]]),
    "dummies": lambda X: (np.arange(len(X))[:, None] % 3 == np.arange(3)).astype(float),
    "a column twice": lambda X: X[:, [0, 1, 0]],
    "a hair apart": lambda X: np.column_stack([X[:, :2], X[:, 0] * (1.0 + 1e-15 * np.arange(len(X)))]),
}


@pytest.mark.parametrize("name", DEPENDENT)
@pytest.mark.parametrize("shift", [0.0, 1.0, 1e3, 1e8])
def test_dependent_columns_in_a_tree_prove_nothing_false(name, shift):
    """The margin scaled with a constant near zero: 6.75 was accepted for an optimum of 0."""
    X, y = sample(12, 3)
    X = DEPENDENT[name](np.round(X * 8.0))
    w = np.array([1.0, -1.0, 2.0])
    for response in (X @ w, y):
        for k in (2, 3):
            statement = statement_of(X, response, k=k, gamma=np.inf)
            proof = Proof((tree_of(LEAF, features=(0, 1, 2), values=w + shift),))
            rigorous, exact = bounds_of(statement, proof, X, response)
            assert rigorous.bound <= exact.bound <= optimum_of(statement, X, response)


@given(
    seed=seeds,
    scale=st.sampled_from([0.0, 1.0, 1e2, 1e6]),
    gamma=st.sampled_from([1.0, np.inf]),
)
def test_features_of_the_expansion_may_have_to_go(seed, scale, gamma):
    """Where one has to go, it is its coefficient that is zero, not its distance: 286 was proved for 0.05."""
    rng = np.random.default_rng(seed)
    X, y = sample(9, 5, seed)
    statement = statement_of(X, y, k=3, gamma=gamma)
    proof = Proof((tree_of(LEAF, features=range(5), values=scale * rng.standard_normal(5)),))
    rigorous, exact = bounds_of(statement, proof, X, y)
    assert 0.0 <= rigorous.bound <= exact.bound
    fitted = np.linalg.lstsq(X - X.mean(axis=0), y, rcond=None)[0]
    sharp, _ = bounds_of(statement, Proof((tree_of(LEAF, features=range(5), values=fitted),)), X, y)
    assert 0.0 < sharp.bound <= exact.bound


@given(seed=seeds, decade=st.integers(1, 15), shift=st.sampled_from([0.0, 1e2, 1e6]))
def test_nearly_dependent_columns_prove_nothing_false(seed, decade, shift):
    X, y = sample(9, 3, seed)
    X[:, 2] = X[:, 0] + X[:, 1] + 10.0**-decade * X[:, 2]
    response = X @ [1.0, -1.0, 2.0] + 10.0**-decade * y
    statement = statement_of(X, response, k=2, gamma=np.inf)
    proof = Proof((tree_of(LEAF, features=(0, 1, 2), values=(1.0 + shift, shift - 1.0, 2.0 - shift)),))
    rigorous, _ = bounds_of(statement, proof, X, response)
    assert rigorous.bound <= optimum_of(statement, X, response)


# Refusals


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (tree_of(), "leaves 1 region"),
        (tree_of(0, LEAF), "leaves 1 region"),
        (tree_of(0, 1, LEAF), "leaves 2 region"),
        (tree_of(LEAF, LEAF), "has entries after its end"),
        (tree_of(0, LEAF, LEAF, LEAF), "has entries after its end"),
        (tree_of(0, 0, LEAF, LEAF, LEAF), "not free"),
        (tree_of(0, LEAF, 0, LEAF, LEAF), "not free"),
        (tree_of(P, LEAF, LEAF), "not free"),
        (tree_of(-2, LEAF, LEAF), "not free"),
        (tree_of(2, LEAF, LEAF), "not free"),
        (tree_of(4, LEAF, LEAF), "not free"),
        (tree_of(LEAF, features=(0, 0), values=(1.0, 1.0)), "do not fit the region"),
        (tree_of(LEAF, features=(4,), values=(1.0,)), "do not fit the region"),
        (tree_of(LEAF, features=(9,), values=(1.0,)), "do not fit the region"),
        (tree_of(LEAF, features=(0,), values=()), "not finite"),
        (tree_of(LEAF, features=(0,), values=(np.nan,)), "not finite"),
        (tree_of(LEAF, features=(0,), values=(np.inf,)), "not finite"),
    ],
    ids=str,
)
def test_trees_that_are_none(tree, message):
    X, y = sample(12, P)
    statement = statement_of(X, y, k=3, gamma=np.inf, include=(2,), exclude=(4,))
    rigorous, _ = bounds_of(statement, Proof((tree,)), X, y)
    assert rigorous.bound == -np.inf and message in rigorous.complaints[0]


@pytest.mark.parametrize("value", [1e150, 1e200, 1e308])
def test_huge_coefficients_prove_nothing_false(value):
    X, y = sample(12, P)
    statement = statement_of(X, y, k=3, gamma=np.inf)
    rigorous, _ = bounds_of(statement, Proof((tree_of(LEAF, features=(0,), values=(value,)),)), X, y)
    assert rigorous.bound <= optimum_of(statement, X, y)


def test_trees_need_the_squared_loss_and_a_number_of_features():
    X, y = sample(12, P, loss="hinge")
    for settings in ({"k": 2, "loss": "hinge"}, {"l0_penalty": 0.1}):
        response = y if settings.get("loss") else sample(12, P)[1]
        proved = bounds_of(statement_of(X, response, **settings), Proof((tree_of(LEAF),)), X, response)
        assert all("needs the squared loss" in one.complaints[0] for one in proved)


def test_constant_columns_are_refused_and_others_not():
    X, y = sample(12, P)
    X[:, 3] = 1.0
    for exclude, holds in (((), False), ((3,), True)):
        statement = statement_of(X, y, k=2, gamma=np.inf, exclude=exclude)
        rigorous, _ = bounds_of(statement, Proof((tree_of(LEAF),)), X, y)
        assert (rigorous.bound > 0.0) == holds


def test_a_leaf_next_to_a_tree():
    X, y = sample(12, P)
    statement = statement_of(X, y, k=2, gamma=np.inf)
    rigorous, exact = bounds_of(statement, Proof((Branch(0), tree_of(LEAF), Leaf(0))), X, y)
    assert rigorous.complaints and exact.complaints
