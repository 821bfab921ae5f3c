"""Tests of many leaves at a time: none holds for a target above the best of its supports, in exact arithmetic."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.helpers import ExactSquares, fraction, indices, optimum_of, sample, sample_weights, statement_of
from sparsest.proofs.data import Data, Room
from sparsest.proofs.regression_leaves import FREE, IN, OUT, Completions, Exclusions, minors_hold
from sparsest.proofs.regression_tree import RegressionBounds
from sparsest.proofs.steps import LEAF, RegressionTree

P = 8
seeds = st.integers(0, 10**6)


def random_tree(rng, free, depth, closed=0.1):
    """A random tree over free features, with a part of its regions closed early."""
    if not len(free) or not depth or rng.random() < closed:
        return [LEAF]
    j, *rest = rng.permutation(free).tolist()
    return [j, *(entry for _ in range(2) for entry in random_tree(rng, rest, depth - 1, closed))]


ROOM = Room()


def bounds_about(statement, X, y, weights=None, center=(), values=(), room=ROOM):
    step = RegressionTree(indices(*center), np.array(values, dtype=float), np.array([LEAF], dtype=np.int32))
    return RegressionBounds(Data.of(statement, X, y, weights, room=room), statement, np.arange(X.shape[1]), step)


def leaves_of(bounds, entries, forced=()):
    blocks = list(bounds.leaves(np.array(entries, dtype=np.int32), indices(*forced)))
    return np.concatenate([states for states, _ in blocks]), np.concatenate([last for _, last in blocks])


class Exact:
    """The exact value of the best support of a region."""

    def __init__(self, statement, X, y, weights=None):
        squares, self.k = ExactSquares(statement, X, y, weights), statement.k
        sizes = range(self.k + 1)
        self.values = {
            frozenset(chosen): fraction(squares.value(list(chosen)))
            for size in sizes
            for chosen in combinations(range(X.shape[1]), size)
        }

    def best(self, state):
        inside, alive = frozenset(np.flatnonzero(state == IN).tolist()), frozenset(np.flatnonzero(state).tolist())
        return min(value for chosen, value in self.values.items() if inside <= chosen <= alive)


@given(
    seed=seeds,
    k=st.integers(3, 5),
    gamma=st.sampled_from([1.0, np.inf]),
    decade=st.sampled_from([0, 2, 4, 5]),
    perfect=st.sampled_from([1.0, 1e-3, 1e-6]),
)
def test_no_leaf_holds_above_its_best_support(seed, k, gamma, decade, perfect):
    """Targets are at, and within rounding of, the exact values of the leaves; columns nearly depend on others."""
    rng = np.random.default_rng(seed)
    X, y = sample(11, P, seed)
    X[:, 5] = X[:, 1] + 10.0**-decade * X[:, 5]
    y = X[:, :3].sum(axis=1) + perfect * y
    weights = sample_weights(11, seed) if seed % 2 else None
    statement = statement_of(X, y, weights, k=k, gamma=gamma)
    center = rng.permutation(P)[: rng.integers(P + 1)]
    bounds = bounds_about(statement, X, y, weights, center, rng.standard_normal(center.size))
    states, last = leaves_of(bounds, random_tree(rng, range(P), k + 1))
    known = Exact(statement, X, y, weights)
    within = (states == IN).sum(axis=1) <= k
    best = [known.best(state) for state in states[within]]
    for at in rng.permutation(len(best))[:4]:
        for part in (1e-3, 1e-9, 1e-13, 0.0, -1e-15, -1e-13):
            target = float(best[at]) * (1.0 - part)
            held = bounds.held(states[within], last[within], target)
            assert all(Fraction(target) <= value for value, one in zip(best, held, strict=True) if one)


@pytest.mark.parametrize("k", [3, 4])
def test_ordinary_leaves_hold(k):
    """What is true by a little is shown."""
    X, y = sample(40, P, 5)
    statement = statement_of(X, y, k=k, gamma=np.inf)
    bounds = bounds_about(statement, X, y)
    known = Exact(statement, X, y)
    states, last = leaves_of(bounds, random_tree(np.random.default_rng(2), range(P), k, 0.0))
    two = (k - (states == IN).sum(axis=1) == 2) & (last >= 0)
    assert two.sum() >= k
    for state, feature in zip(states[two], last[two], strict=True):
        target = float(known.best(state)) * (1.0 - 1e-6)
        assert bounds.held(state[None], np.array([feature]), target).all()
    # Where more are to choose, the regression on all living features is a bound.
    for state in states[(states == IN).sum(axis=1) < k - 2]:
        chosen = np.flatnonzero(state != OUT).tolist()
        whole = float(fraction(ExactSquares(statement, X, y).value(chosen)))
        assert bounds.held(state[None], np.array([-1]), whole * (1.0 - 1e-6)).all()


@given(seed=seeds, k=st.integers(3, 5))
def test_a_tree_is_bounded_the_same_one_by_one(seed, k):
    """The smallest bound of a tree is at least the target where every leaf's is, and never above the optimum."""
    rng = np.random.default_rng(seed)
    X, y = sample(12, 7, seed)
    statement = statement_of(X, y, k=k, gamma=np.inf)
    bounds = bounds_about(statement, X, y)
    optimum = optimum_of(statement, X, y)
    entries = np.array(random_tree(rng, range(7), k), dtype=np.int32)
    states, _ = leaves_of(bounds, entries)
    for part in (0.5, 1e-3, 1e-9, -1e-9):
        enough = float(optimum) * (1.0 - part)
        single = min(bounds.bound(np.flatnonzero(s == IN).tolist(), s != OUT, enough) for s in states)
        found = bounds.prove(entries, indices(), enough)
        assert min(single, enough) <= found <= max(optimum, enough)
        assert Fraction(found) <= optimum


def test_leaves_are_the_same_in_small_blocks():
    X, y = sample(30, P, 4)
    statement = statement_of(X, y, k=4, gamma=np.inf, include=(2,))
    bounds = bounds_about(statement, X, y)
    entries = random_tree(np.random.default_rng(3), [j for j in range(P) if j != 2], 5)
    states, last = leaves_of(bounds, entries, (2,))
    enough = float(optimum_of(statement, X, y)) * (1.0 - 1e-6)
    proved = bounds.prove(np.array(entries, dtype=np.int32), indices(2), enough)
    assert len(states) == entries.count(LEAF) and (states[:, 2] == IN).all()
    assert all(feature < 0 or state[feature] == IN for state, feature in zip(states, last, strict=True))
    bounds = bounds_about(statement, X, y, room=Room(leaves=3 * P, matrices=1))
    again, last_again = leaves_of(bounds, entries, (2,))
    assert (again == states).all() and (last_again == last).all()
    assert bounds.prove(np.array(entries, dtype=np.int32), indices(2), enough) == proved


# Minors


def correlations(rng, kind):
    """Matrices with a unit diagonal that are singular on j, a, b but for rounding, or a little beyond it."""
    count = 400
    e = rng.uniform(-1.0, 1.0, (count, 2))
    h = np.sqrt(1.0 - e * e)
    beyond = 1.0 + rng.choice([-1.0, 0.0, 1.0], count) * 10.0 ** rng.uniform(-17, -3, count)
    R = np.ones((count, 3, 3))
    R[:, 0, 1:] = R[:, 1:, 0] = e
    R[:, 1, 2] = R[:, 2, 1] = e[:, 0] * e[:, 1] + rng.choice([-1.0, 1.0], count) * h[:, 0] * h[:, 1] * beyond
    return R.astype(kind)


@pytest.mark.parametrize(("kind", "unit"), [(np.float32, 2.0**-24), (np.float64, 2.0**-53)])
def test_minors_are_not_negative_in_exact_arithmetic(kind, unit):
    R = correlations(np.random.default_rng(0), kind)
    rows = np.arange(len(R))
    held = minors_hold(R, rows, np.zeros(len(R), dtype=np.intp), np.ones((len(R), 3), dtype=bool), unit)
    assert held.any() and not held.all()
    for one, matrix in zip(held, R, strict=True):
        a, b, c = (Fraction(float(matrix[i])) for i in ((0, 1), (0, 2), (1, 2)))
        if one:
            assert 1 + 2 * a * b * c - a * a - b * b - c * c >= 0 and max(abs(a), abs(b), abs(c)) <= 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200, 1.0, -1.0])
@pytest.mark.parametrize("place", [(0, 1), (0, 2), (1, 2), (2, 1)])
@np.errstate(all="ignore")
def test_minors_of_no_numbers_do_not_hold(bad, place):
    R = np.full((1, 3, 3), 0.1)
    at, kept = np.zeros(1, dtype=np.intp), np.ones((1, 3), dtype=bool)
    assert minors_hold(R, at, at, kept, 2.0**-53).all()
    R[(0, *place)] = bad
    assert not minors_hold(R, at, at, kept, 2.0**-53).any()


# Forged targets


@pytest.mark.parametrize("target", [np.nan, np.inf, -np.inf, -1.0, 0.0, 5e-324, 1e300])
def test_targets_that_are_none(target):
    X, y = sample(20, P, 1)
    statement = statement_of(X, y, k=3, gamma=np.inf)
    bounds = bounds_about(statement, X, y)
    states = np.full((3, P), FREE, dtype=np.uint8)
    states[1, 0], states[2, [0, 1]] = IN, (OUT, IN)
    last = np.array([-1, 0, 1])
    assert not bounds.held(states, last, target).any()
    entries = np.array([0, LEAF, LEAF], dtype=np.int32)
    assert bounds.prove(entries, indices(), target) <= optimum_of(statement, X, y)


@pytest.mark.parametrize("scale", [1e150, 1e-150, 1e-170])
def test_responses_at_the_ends_of_the_range(scale):
    """What over- or underflows holds for no target."""
    X, y = sample(12, 6, 1)
    statement = statement_of(X, scale * y, k=3, gamma=np.inf)
    bounds = bounds_about(statement, X, scale * y)
    optimum = optimum_of(statement, X, scale * y)
    entries = np.array([0, LEAF, 1, LEAF, LEAF], dtype=np.int32)
    for part in (0.5, 1e-9, -1e-9):
        assert bounds.prove(entries, indices(), float(optimum) * (1.0 - part)) <= optimum


@pytest.mark.parametrize("error", ["H_error", "least"])
def test_larger_errors_show_less(error):
    """Both tests take the errors of the sums into account."""
    X, y = sample(30, P, 2)
    statement = statement_of(X, y, k=4, gamma=np.inf)
    bounds = bounds_about(statement, X, y)
    states = np.full((1, P), FREE, dtype=np.uint8)
    states[0, :2] = IN
    known = Exact(statement, X, y)
    target = float(known.best(states[0])) * (1.0 - 1e-6)
    out = np.where(np.arange(P) < 3, OUT, FREE).astype(np.uint8)[None]
    whole = float(fraction(ExactSquares(statement, X, y).value(list(range(3, P))))) * (1.0 - 1e-6)
    for value, holds in ((getattr(bounds, error), True), ({"H_error": 1e-2, "least": 1e-40}[error], False)):
        setattr(bounds, error, value)
        assert Completions(bounds, target).hold(states, np.array([0])).all() == holds
        assert Exclusions(bounds, 4, whole).hold(out).all() == holds
