"""Splits: accepted diagonals leave a positive semidefinite matrix, in rational arithmetic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.helpers import bounds_of, indices, optimum_of, sample, sample_weights, statement_of
from sparsest.proofs.columns import PackedColumns
from sparsest.proofs.data import Data, Room
from sparsest.proofs.enclosures import rational
from sparsest.proofs.exact import _ExactChecker
from sparsest.proofs.exact_algebra import is_semidefinite as is_exactly_semidefinite
from sparsest.proofs.losses import RULES
from sparsest.proofs.splits import Diagonals, centred_columns
from sparsest.proofs.steps import Leaf, Proof, Split, SplitPoint

seeds = st.integers(0, 10**6)
SETTINGS = [
    {"fit_intercept": intercept, "standardize": scaled} for intercept in (True, False) for scaled in (True, False)
]


def quadratic_of(data, gamma):
    """``X'ΩX + ridge`` of standardised columns, or of columns as they are."""
    columns = centred_columns(data, np.arange(data.p), gamma)
    M = columns.values.T @ columns.values + np.diag(columns.ridge)
    return M * np.outer(columns.units, columns.units)


def leaves_semidefinite(data, statement, proof, number):
    """The check's diagonal, decided in rational arithmetic."""
    delta = Diagonals(data, statement.gamma, proof.splits).diagonal(number, PackedColumns(data, np.arange(data.p)))
    M, _ = _ExactChecker(data, statement, proof)._normal_equations(list(range(data.p)))
    for i, d in enumerate(delta):
        M[i][i] -= rational(d)
    return is_exactly_semidefinite(M)


def is_accepted(data, statement, splits, number):
    try:
        Diagonals(data, statement.gamma, splits).diagonal(number, PackedColumns(data, np.arange(data.p)))
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@given(seed=seeds, more=st.sampled_from([0.5, 1.0 - 1e-9, 1.0, 1.0 + 1e-13, 1.0 + 1e-9, 1.1]), gamma=st.booleans())
def test_accepted_diagonals_leave_a_semidefinite_quadratic(settings, seed, more, gamma):
    """All that can be spared, a little less and a little more."""
    rng = np.random.default_rng(seed)
    X, y = sample(8, 4, seed)
    X *= 10.0 ** rng.uniform(-6, 6, 4)
    weights = sample_weights(8, seed)
    statement = statement_of(X, y, weights, k=2, gamma=0.3 if gamma else np.inf, **settings)
    data = Data.of(statement, X, y, weights)
    M = quadratic_of(data, statement.gamma)
    unit = np.sqrt(M.diagonal())
    delta = more * np.linalg.eigvalsh(M / np.outer(unit, unit))[0] * unit**2
    proof = Proof((), (), (Split(np.arange(4), delta),))
    accepted = is_accepted(data, statement, proof.splits, 0)
    assert accepted or more > 1.0 - 1e-12
    assert not (accepted and more >= 1.0 + 1e-9)
    assert not accepted or leaves_semidefinite(data, statement, proof, 0)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@given(seed=seeds, part=st.floats(0.05, 0.95), more=st.sampled_from([0.1, 0.9, 1.0 - 1e-7, 1.0 + 1e-7, 3.0]))
def test_raised_diagonals_leave_a_semidefinite_quadratic(settings, seed, part, more):
    """More columns than observations: one feature is raised to the Schur complement of the rest, and beyond it."""
    rng = np.random.default_rng(seed)
    X, y = sample(5, 7, seed)
    weights = sample_weights(5, seed)
    statement = statement_of(X, y, weights, k=2, gamma=0.2, **settings)
    data = Data.of(statement, X, y, weights)
    columns = centred_columns(data, np.arange(7), statement.gamma)
    ridge = columns.ridge * columns.units**2
    base = part * ridge
    M = quadratic_of(data, statement.gamma) - np.diag(base)
    raised = rng.permutation(7)[:2]
    one = raised[:1]
    most = base[one] + 1.0 / np.linalg.inv(M)[one, one]
    several = base[raised] + 0.5 * (most[0] - base[one[0]]) * rng.uniform(0.0, 1.0, 2)
    splits = (Split(np.arange(7), base), Split(one, more * most, 0), Split(raised, several, 0))
    proof = Proof((), (), splits)
    assert is_accepted(data, statement, splits, 1) == (more < 1.0)
    for number in (1, 2):
        if is_accepted(data, statement, splits, number):
            assert leaves_semidefinite(data, statement, proof, number)


def test_features_raised_one_by_one_are_refused():
    """Each may be raised alone; a split based on a raised one was checked against the first base."""
    X, y = sample(5, 7)
    statement = statement_of(X, y, k=3, gamma=0.2)
    data = Data.of(statement, X, y, None)
    base = np.full(7, 1.0)
    M = quadratic_of(data, 0.2) - np.diag(base)
    most = 0.99 * (base + 1.0 / np.linalg.inv(M).diagonal())
    chain = [Split(np.arange(7), base), *(Split(indices(j), most[[j]], j) for j in range(7))]
    star = [
        Split(np.arange(7), base),
        *(Split(indices(j), most[[j]], 0) for j in range(7)),
        Split(np.arange(7), most, 0),
    ]
    assert is_accepted(data, statement, star, 1)
    assert not is_accepted(data, statement, star, 8)
    for number in range(2, 8):
        with pytest.raises(ValueError, match="has a base itself"):
            Diagonals(data, 0.2, chain).diagonal(number, PackedColumns(data, np.arange(7)))


@pytest.mark.parametrize("size", [1e155, 1e160, 1e300, 1.7e308])
@pytest.mark.parametrize("gamma", [0.3, np.inf])
def test_overflowing_diagonals_are_refused(size, gamma):
    """The scaled matrix was zero, and a retry passed."""
    X, y = sample(12, 4)
    statement = statement_of(X, y, k=2, gamma=gamma)
    point = SplitPoint(indices(), np.empty(0), 0)
    proof = Proof((Leaf(0),), (point,), (Split(np.arange(4), np.full(4, size)),))
    for proved in bounds_of(statement, proof, X, y):
        assert proved.bound == -np.inf and proved.complaints


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (Split(indices(0, 0), np.ones(2)), "do not fit the data"),
        (Split(indices(0, 4), np.ones(2)), "do not fit the data"),
        (Split(indices(0, -1), np.ones(2)), "do not fit the data"),
        (Split(indices(0, 1), np.ones(3)), "do not fit the data"),
        (Split(indices(0, 1), np.array([1.0, np.nan])), "not positive"),
        (Split(indices(0, 1), np.array([1.0, np.inf])), "not positive"),
        (Split(indices(0, 1), np.array([1.0, 0.0])), "not positive"),
        (Split(indices(0, 1), np.array([1.0, -1.0])), "not positive"),
        (Split(indices(0, 1), np.array([1.0, 5e-324])), "out of range"),
        (Split(indices(0, 1), np.array([1e3, 1.0])), "larger than that of the matrix"),
        (Split(indices(0), np.ones(1), 1), "refers to split 1"),
        (Split(indices(0), np.ones(1), -1), "refers to split -1"),
        (Split(indices(0), np.ones(1), 0), "has a base itself"),
    ],
    ids=str,
)
def test_splits_that_are_none(split, message):
    X, y = sample(9, 4)
    data = Data(X, y, None, RULES["squared"](), True, False)
    with pytest.raises(ValueError, match=message):
        Diagonals(data, 0.5, [split]).diagonal(0, PackedColumns(data, np.arange(4)))


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (Split(indices(5), np.ones(1), 0), "do not fit"),
        (Split(indices(3), np.ones(1), 0), "does not cover"),
        (Split(indices(1, 1), np.ones(2), 0), "do not fit"),
        (Split(indices(1), np.array([np.nan]), 0), "not positive"),
        (Split(indices(1), np.array([1e4]), 0), "semidefinite"),
        (Split(indices(1), np.array([1e200]), 0), "semidefinite"),
        (Split(indices(1), np.ones(1), 2), "not below the ridge"),
    ],
    ids=str,
)
def test_raised_splits_that_are_none(split, message):
    X, y = sample(9, 6)
    data = Data(X, y, None, RULES["squared"](), True, False)
    splits = [Split(indices(0, 1, 2, 4), np.full(4, 1.0)), split, Split(indices(0, 1), np.full(2, 2.5))]
    with pytest.raises(ValueError, match=message), np.errstate(over="ignore"):
        Diagonals(data, 0.5, splits).diagonal(1, PackedColumns(data, np.arange(6)))


@pytest.mark.parametrize("size", [1.0, 1e-6, 1e-9])
def test_a_split_spares_nothing_more_for_small_columns(size):
    """More than a small column's own square proves a bound above the optimum, however small that is."""
    X, y = sample(14, 2, 3)
    X[:, 1] *= size
    statement = statement_of(X, y, k=1, gamma=np.inf, fit_intercept=False)
    squares = (X**2).sum(axis=0)
    point = SplitPoint(np.arange(0), np.empty(0), 0)
    for factor in (1.01, 5.0):
        proof = Proof((Leaf(0),), (point,), (Split(np.arange(2), [0.5, factor] * squares),))
        assert all(proved.complaints for proved in bounds_of(statement, proof, X, y))
    spare = 1.0 - abs(X[:, 0] @ X[:, 1]) / np.sqrt(squares.prod())
    proof = Proof((Leaf(0),), (point,), (Split(np.arange(2), spare * squares),))
    rigorous, exact = bounds_of(statement, proof, X, y)
    assert 0.0 < rigorous.bound <= exact.bound <= optimum_of(statement, X, y)


def test_what_rounding_may_hide_goes_back_to_the_quadratic():
    """A split of all that can be spared, to the last digit, proves no more than one that is a little smaller."""
    X, y = sample(14, 6)
    statement = statement_of(X, y, k=2)
    data = Data.of(statement, X, y, None)
    delta = np.full(6, np.linalg.eigvalsh(quadratic_of(data, statement.gamma))[0])
    point = SplitPoint(np.arange(6), np.linspace(-0.2, 0.2, 6), 0)
    bounds = [
        bounds_of(statement, Proof((Leaf(0),), (point,), (Split(np.arange(6), factor * delta),)), X, y)[0]
        for factor in (1.0, 1.0 - 1e-9, 1.0 + 1e-9)
    ]
    assert bounds[0].bound == pytest.approx(bounds[1].bound, rel=1e-7)
    assert bounds[2].bound == -np.inf and "semidefinite" in bounds[2].complaints[0]


def test_matrices_that_are_too_large_are_refused():
    X, y = sample(9, 6)
    data = Data(X, y, None, RULES["squared"](), True, False, room=Room(most=8 * 5 * 5))
    weak, strong = Split(np.arange(6), np.full(6, 0.1)), Split(np.arange(6), np.full(6, 3.0))
    raised = Split(indices(0), np.full(1, 3.0), 0)
    for splits, number in (([strong], 0), ([weak, raised], 1)):
        with pytest.raises(ValueError, match="too large"):
            Diagonals(data, 1.0, splits).diagonal(number, PackedColumns(data, np.arange(6)))


def test_a_column_that_cannot_be_centred_is_refused():
    X, y = sample(9, 2)
    X[:, 1] = np.where(np.arange(9) % 2, 1.2e308, 1e308)
    X[0, 1] = -1.2e308
    data = Data(X, y, None, RULES["squared"](), True, False)
    with pytest.raises(ValueError, match=r"not centred|too large"), np.errstate(all="ignore"):
        centred_columns(data, indices(0, 1), 1.0)
