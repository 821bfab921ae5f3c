"""The walk through the steps of a proof: what is covered, and what the smallest bound is."""

from fractions import Fraction

import numpy as np
import pytest

from proofs.helpers import ExactSquares, bounds_of, fraction, indices, optimum_of, sample, sample_weights, statement_of
from sparsest.proofs import points
from sparsest.proofs.check import prove
from sparsest.proofs.columns import PackedColumns
from sparsest.proofs.data import Data, Room
from sparsest.proofs.gains import Gains
from sparsest.proofs.splits import Diagonals
from sparsest.proofs.steps import (
    Branch,
    Combination,
    DualPoint,
    Fix,
    Leaf,
    PrimalPoint,
    Proof,
    Regression,
    Split,
    SplitPoint,
)

N, P, GAMMA = 14, 6, 0.05


def fitted(X, y, *features):
    """The point of the ridge regression on some features."""
    Z = X[:, list(features)] - X[:, list(features)].mean(axis=0)
    w = np.linalg.solve(Z.T @ Z + np.eye(len(features)) / GAMMA, Z.T @ (y - y.mean()))
    return PrimalPoint(indices(*features), w, 0.0)


@pytest.fixture(scope="module")
def problem():
    X, y = sample(N, P, 1)
    statement = statement_of(X, y, k=2, gamma=GAMMA)
    points = [fitted(X, y, 0, 1), fitted(X, y, 1, 2), fitted(X, y, 0, 1, 2), DualPoint(np.zeros(N))]
    return statement, points, X, y


ROOM = Room()


def bound(problem, *steps, room=ROOM, **changes):
    statement, points, X, y = problem
    found = prove(Data.of(statement, X, y, None, room=room), statement, Proof(steps, points), **changes)
    assert not found.complaints
    return found.bound


def test_the_smallest_bound_of_all_leaves(problem):
    """Each leaf is as strong as the proof in which all others are stronger."""
    inside = statement_like(problem, include=(0,))
    outside = statement_like(problem, exclude=(0,))
    leaves = bound(inside, Leaf(2)), bound(outside, Leaf(1))
    assert bound(problem, Branch(0), Leaf(2), Leaf(1)) == pytest.approx(min(leaves), rel=1e-12)
    assert min(leaves) > bound(problem, Leaf(2)) > 0.0


def statement_like(problem, **changes):
    _, points, X, y = problem
    return statement_of(X, y, **{"k": 2, "gamma": GAMMA, **changes}), points, X, y


def test_a_fix_is_as_strong_as_the_branches_it_stands_for(problem):
    fixed = bound(problem, Fix(2, indices(0, 1), indices(3, 4, 5)), Leaf(0))
    # 3, 4 and 5 out, 0 and 1 in, each with the other side closed by the same point.
    steps = (
        Branch(3),
        Leaf(2),
        Branch(4),
        Leaf(2),
        Branch(5),
        Leaf(2),
        Branch(0),
        Branch(1),
        Leaf(0),
        Leaf(2),
        Leaf(2),
    )
    branched = bound(problem, *steps)
    assert 0.0 < fixed <= branched * (1.0 + 1e-12)
    assert fixed <= optimum_of(problem[0], *problem[2:])


def test_fixes_at_the_start_narrow_the_columns(problem):
    """Whether columns are narrowed or not, the bound is the same but for rounding."""
    statement, points, X, y = problem
    first = bound(problem, Fix(2, indices(), indices(2, 3, 4, 5)), Leaf(0))
    later = bound(problem, Fix(2, indices(), indices(2, 3)), Fix(2, indices(), indices(4, 5)), Leaf(0))
    assert first == pytest.approx(later, rel=1e-9)
    everything = Fix(2, indices(0, 1), indices(2, 3, 4, 5))
    rigorous, exact = bounds_of(statement, Proof((everything, Leaf(0)), points), X, y)
    assert 0.0 < rigorous.bound <= exact.bound <= optimum_of(statement, X, y)


def test_a_combination_is_at_least_as_good_as_its_worst_point(problem):
    alone = [bound(problem, Leaf(i)) for i in range(3)]
    both = bound(problem, Combination(indices(0, 1, 2), np.ones(3)))
    assert min(alone) * (1.0 - 1e-12) <= both
    for i in range(3):
        single = bound(problem, Combination(indices(i, 3), np.array([7.0, 0.0])))
        assert single == pytest.approx(alone[i], rel=1e-12)


def test_blocks_of_every_size_give_the_same_bound(problem):
    steps = (Branch(0), Branch(1), Leaf(0), Branch(2), Leaf(0), Leaf(1), Branch(1), Leaf(1), Leaf(2))
    whole = bound(problem, *steps)
    for room in (Room(gains=1), Room(packed=0, block=8 * N), Room(gains=1, packed=0, block=8 * N)):
        assert bound(problem, *steps, room=room) == pytest.approx(whole, rel=1e-12)


def test_states_are_restored_on_the_way_back(problem):
    """Deep on one side, then the other: a feature is free again where the branch above it is left."""
    deep = (Branch(0), Branch(1), Fix(3, indices(2), indices(3)), Leaf(0), Branch(2), Leaf(0), Leaf(0))
    again = (Branch(3), Fix(3, indices(), indices(1)), Branch(2), Leaf(0), Leaf(0), Branch(1), Leaf(0), Leaf(0))
    assert bound(problem, *deep, *again) == 0.0
    statement, points, X, y = problem
    wrong = (*deep, Branch(0), Leaf(0), Leaf(0))
    found = prove(Data.of(statement, X, y, None), statement, Proof(wrong, points))
    assert "not free" in found.complaints[0] and found.complaints[0].startswith("step 7")


def test_more_features_than_k_are_a_region_without_supports(problem):
    """Whatever closes it is above, or at least no lower than it would be."""
    steps = (Branch(0), Branch(1), Branch(2), Leaf(0), Leaf(0), Leaf(0), Leaf(1))
    assert bound(problem, *steps) <= optimum_of(problem[0], *problem[2:])


def test_enumeration_is_sharp():
    """A tree with a regression or a good point for every support reaches the optimum."""
    X, y = sample(9, 3, 5)
    weights = sample_weights(9)
    for gamma in (GAMMA, np.inf):
        statement = statement_of(X, y, weights, k=1, gamma=gamma)
        exact = ExactSquares(statement, X, y, weights)
        data = Data.of(statement, X, y, weights)
        steps, points = [], []
        for j in range(3):
            steps += [Branch(j), Leaf(j) if np.isfinite(gamma) else Regression()]
            Z = X[:, j] - np.average(X[:, j], weights=weights)
            r = y - np.average(y, weights=weights)
            w = (weights * Z) @ r / ((weights * Z) @ Z + 1.0 / gamma)
            points.append(PrimalPoint(indices(j), np.array([w]), 0.0))
        steps.append(Regression())
        found = prove(data, statement, Proof(steps, points))
        optimum = float(optimum_of(statement, X, y, weights))
        assert found.bound <= optimum and found.bound == pytest.approx(optimum, rel=1e-10)
        assert float(fraction(exact.value([]))) > optimum


@pytest.mark.parametrize(
    "settings",
    [
        {"k": 0},
        {"k": P},
        {"k": 100},
        {"k": P, "include": tuple(range(P))},
        {"k": 1, "exclude": tuple(range(P))},
        {"l0_penalty": 0.0},
        {"l0_penalty": 1e300},
        {"k": 2, "gamma": 1e-300},
        {"k": 2, "gamma": 1e300},
        {"k": 2, "gamma": 5e-324},
        {"k": 2, "gamma": 1.7e308},
        {"k": 2, "loss": "epsilon_insensitive", "epsilon": 1e300},
        {"k": 2, "loss": "huber", "delta": 1e300},
    ],
    ids=str,
)
@pytest.mark.parametrize("n", [1, 2, N])
def test_the_edges_of_problems(settings, n):
    X, y = sample(N, P, 1)
    X, y = X[:n], y[:n]
    statement = statement_of(X, y, **settings)
    points = [DualPoint(-0.5 * (y - y.mean())), PrimalPoint(np.arange(P), np.full(P, 0.1), 0.0)]
    for number in range(2):
        rigorous, exact = bounds_of(statement, Proof((Leaf(number),), points), X, y)
        assert not rigorous.complaints and 0.0 <= rigorous.bound <= exact.bound
        if statement.loss == "squared":
            assert exact.bound <= optimum_of(statement, X, y)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_one_column(fit_intercept):
    for X, y in (
        (np.ones((3, 1)), np.arange(3.0)),
        (np.arange(3.0)[:, None], np.ones(3)),
        (np.zeros((3, 1)), np.ones(3)),
    ):
        statement = statement_of(X, y, k=1, gamma=np.inf, fit_intercept=fit_intercept)
        for proof in (Proof((Leaf(0),), (DualPoint(-(y - y.mean())),)), Proof((Regression(),))):
            rigorous, exact = bounds_of(statement, proof, X, y)
            assert rigorous.bound <= exact.bound <= optimum_of(statement, X, y)


def test_what_the_residual_of_a_split_may_be_off_is_added_to_its_products():
    """By Cauchy and Schwarz: the spread times the norm of the column."""
    X, y = sample(14, 6)
    statement = statement_of(X, y, k=2)
    data = Data.of(statement, X, y, None)
    columns = PackedColumns(data, np.arange(6))
    split = Split(np.arange(6), np.full(6, 0.5 / statement.gamma))
    point = SplitPoint(np.arange(6), np.linspace(-0.2, 0.2, 6), 0)
    diagonals = Diagonals(data, statement.gamma, (split,))
    found = points.witnesses(data, statement.rule, [point], columns)
    assert 0.0 < found.spreads[0] < 1e-10

    def products(spread):
        given = found._replace(spreads=np.full(1, spread))
        gains, _ = Gains(data, statement, diagonals, 1.0).from_witnesses([point], given, columns)
        return np.sqrt(2.0 * diagonals.diagonal(0, columns) * gains[0])

    added = products(0.3) - products(0.0)
    np.testing.assert_allclose(added, 0.3 * columns.bounds.weighted_norms * 1.01, rtol=1e-9)


@pytest.mark.parametrize("n", [14, 200])
def test_gains_are_upper_bounds_where_products_cancel(n):
    """Products of a residual with its own columns are rounding errors only."""
    X, y = sample(n, P)
    statement = statement_of(X, y, k=2, gamma=GAMMA)
    data = Data.of(statement, X, y, None)
    columns, every = PackedColumns(data, np.arange(P)), np.arange(P)
    Z = X - X.mean(axis=0)
    point = DualPoint(Z @ np.linalg.lstsq(Z, y - y.mean(), rcond=None)[0] - (y - y.mean()))
    gains, _ = Gains(data, statement, Diagonals(data, GAMMA, ()), 1.0).of([point], columns)
    alpha = points.witnesses(data, statement.rule, [point], columns).alpha[:, 0]
    parts = [[[Fraction(v) for v in column] for column in part.T] for part in data.exact_parts(every)]
    exact = [
        sum((h + low) * a for h, low, a in zip(*pair, map(Fraction, alpha), strict=True))
        for pair in zip(*parts, strict=True)
    ]
    for gain, product, ridge in zip(gains[0], exact, columns.bounds.ridge_high, strict=True):
        assert Fraction(gain) >= product**2 * Fraction(GAMMA) / (2 * Fraction(ridge))


def test_supports_that_are_excepted_have_a_leaf_each(problem):
    """Only a leaf that holds nothing but such a support is left out; with a free feature it counts."""
    statement, points, X, y = problem
    data = Data.of(statement, X, y, None)
    ends = Leaf(3), Leaf(0), Leaf(0)
    alone, with_more = (
        Proof((Branch(0), Branch(1), Fix(3, indices(), indices(*range(first, P))), *ends), points) for first in (2, 3)
    )
    for proof, supports in ((alone, {(0, 1)}), (alone, {(0, 2)}), (with_more, {(0, 1)})):
        usual, excepted = prove(data, statement, proof), prove(data, statement, proof, excepted=supports)
        assert not usual.complaints and usual.bound <= excepted.bound
        assert np.isfinite(excepted.bound)
