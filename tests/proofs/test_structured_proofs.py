"""Whole proofs of problems with a structure, of every loss, against enumeration."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from oracles import support_value
from proofs.helpers import LOSSES, indices, sample, statement_of
from proofs.structures import (
    KINDS,
    BoundedSquares,
    optimum,
    price,
    random_rules,
    random_structured_steps,
    supports,
    units_by_definition,
)
from proofs.test_structured_regions import LIMITS, STRUCTURES, N, P, random_point, random_problem
from sparsest.proofs.check import prove
from sparsest.proofs.data import Data
from sparsest.proofs.exact import prove_exactly
from sparsest.proofs.steps import (
    Branch,
    DualPoint,
    Leaf,
    PrimalPoint,
    Proof,
    Regression,
    RowPrices,
)
from sparsest.proofs.structure import Rules

# The parameters for which the oracle knows the losses.
ORACLE = {"epsilon": 0.1, "delta": 1.35, "quantile": 0.5, "theta": 1.0}


@pytest.mark.parametrize("limits", ["none", "both"])
@pytest.mark.parametrize("kinds", STRUCTURES, ids="-".join)
@given(seed=st.integers(0, 10**6))
def test_no_proof_proves_more_than_the_optimum(kinds, limits, seed):
    rng = np.random.default_rng(seed)
    statement, X, y = random_problem(rng, kinds, limits)
    found = [random_point(rng, statement, X, y) for _ in range(4)]
    steps = random_structured_steps(rng, 4, 4, P)
    proof = Proof(steps, [point for point, _ in found], (), [prices for _, prices in found])
    data = Data.of(statement, X, y, None)
    rigorous, exact = prove(data, statement, proof), prove_exactly(data, statement, proof)
    assert not rigorous.complaints and not exact.complaints
    assert rigorous.bound <= exact.bound
    if supports(statement):
        assert rigorous.bound <= optimum(statement, X, y) + 1e-9
    # A larger factor of rounding errors never proves more.
    assert prove(data, statement, proof, caution=8.0).bound <= rigorous.bound


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_every_loss(loss, seed):
    """Against a conic solver, on every admissible support."""
    rng = np.random.default_rng([seed, LOSSES.index(loss)])
    X, y = sample(12, 5, seed, loss)
    rules = random_rules(rng, 5, KINDS, (0, 1))
    low, high = rng.choice([-np.inf, -0.2, 0.0], 5), rng.choice([np.inf, 0.3, 0.0], 5)
    asked = {"k": 3, "gamma": 0.01, "lower": tuple(low.tolist()), "upper": tuple(high.tolist()), "loss": loss}
    statement = statement_of(X, y, structure=rules, **asked, **ORACLE)
    unit_of = units_by_definition(rules, 5)
    truth = np.inf
    for chosen in supports(statement):
        columns = [j for j in range(5) if unit_of[j] in chosen]
        value = support_value(loss, X[:, columns], y, 0.01, True, bounds=(low[columns], high[columns]))
        truth = min(truth, value + price(statement, chosen))
    data = Data.of(statement, X, y, None)
    bounds = []
    for scale in (0.0, 0.1, 0.3, 1.0):
        rows = len(list(rules.rows()))
        used = rng.permutation(rows)[: rng.integers(rows + 1)]
        prices = RowPrices(used, rng.exponential(size=used.size) * 1e-2 * truth)
        point = PrimalPoint(np.arange(5), scale * np.clip(rng.standard_normal(5), low, high), 0.0)
        for number in (None, 0):
            proof = Proof((Leaf(0, number),), (point,), (), (prices,))
            found = prove(data, statement, proof)
            assert not found.complaints and found.bound <= truth * (1.0 + 1e-6) + 1e-9
            assert found.bound <= prove_exactly(data, statement, proof).bound
            bounds.append(found.bound)
    assert max(bounds) > 0.5 * truth


@pytest.mark.parametrize("kinds", STRUCTURES, ids="-".join)
@given(seed=st.integers(0, 10**6))
def test_least_squares_ignores_the_structure_but_not_its_prices(kinds, seed):
    rng = np.random.default_rng(seed)
    statement, X, y = random_problem(rng, kinds, "none")
    j = int(rng.integers(P))
    proof = Proof((Branch(j), Regression(), Regression()))
    data = Data.of(statement, X, y, None)
    rigorous, exact = prove(data, statement, proof), prove_exactly(data, statement, proof)
    assert not rigorous.complaints and rigorous.bound <= exact.bound
    if supports(statement):
        assert rigorous.bound <= optimum(statement, X, y)
    else:
        assert not np.isnan(rigorous.bound)


def test_all_choices_of_groups_are_tried_by_branching():
    """A tree over all units whose leaves are the residuals of single supports proves the optimum."""
    X, y = sample(N, P)
    rules = Rules(units=(0, 0, 1, 1, 2, 2, 3), limits=(((0, 1), 0, 1),), requires=((3, (2,), True),))
    for limits in ("none", "nonnegative", "both"):
        statement = statement_of(X, y, k=2, gamma=0.3, structure=rules, **LIMITS[limits])
        squares, steps, points = BoundedSquares(statement, X, y), [], []

        def grow(unit, chosen, squares=squares, steps=steps, points=points):
            if unit == 4:
                columns = [j for j in range(P) if rules.units[j] in chosen]
                points.append(DualPoint(squares.A @ coefficients(squares, columns) - squares.z))
                steps.append(Leaf(len(points) - 1))
                return
            steps.append(Branch(rules.units.index(unit)))
            grow(unit + 1, chosen | {unit})
            grow(unit + 1, chosen)

        grow(0, frozenset())
        data = Data.of(statement, X, y, None)
        best = squares.least(supports(statement))
        proof = Proof(steps, points)
        bound = prove(data, statement, proof).bound
        assert best * (1.0 - 1e-9) <= bound <= best * (1.0 + 1e-9)
        assert bound <= prove_exactly(data, statement, proof).bound
        # Without the best support, the next one is proved.
        ranked = sorted((squares.least([chosen]), sorted(chosen)) for chosen in supports(statement))
        first = tuple(j for j in range(P) if rules.units[j] in ranked[0][1])
        others = prove(data, statement, proof, excepted={first}).bound
        assert ranked[1][0] * (1.0 - 1e-9) <= others <= ranked[1][0] * (1.0 + 1e-9)


def coefficients(squares, columns):
    """The best coefficients on some columns, zero elsewhere."""
    w = np.zeros(P)
    free = [j for j in columns if squares.low[j] < squares.high[j]]
    if free:
        stacked = np.vstack([squares.A[:, free], np.diag(np.sqrt(squares.ridge[free]))])
        target = np.append(squares.z, np.zeros(len(free)))
        w[free] = lsq_linear(stacked, target, (squares.low[free], squares.high[free]), method="bvls", tol=1e-14).x
    return w


def test_row_prices_make_a_bound_better():
    """Strong heredity against the data: with the prices of the best relaxation the bound is above that of k alone."""
    X, y = sample(N, 4)
    X[:, 3] = X[:, 0] * X[:, 1]
    y = 3.0 * (X[:, 3] - X[:, 3].mean()) + 0.1 * y
    rules = Rules(requires=((3, (0, 1), True),))
    statement = statement_of(X, y, k=3, gamma=0.02, structure=rules)
    data = Data.of(statement, X, y, None)
    squares = BoundedSquares(statement, X, y)
    best = squares.least(supports(statement))
    bounds = {}
    for scale in (0.2, 0.4, 0.6, 0.8):
        for nu in (0.0, 1.0, 5.0, 20.0):
            prices = RowPrices(indices(0, 1), np.full(2, nu))
            proof = Proof((Leaf(0, 0),), (DualPoint(-scale * squares.z),), (), (prices,))
            bounds[scale, nu] = prove(data, statement, proof).bound
    assert max(bounds.values()) <= best
    assert max(bounds.values()) > max(bound for (_, nu), bound in bounds.items() if not nu) + 1e-3


def test_plain_rules_change_nothing():
    """Rules that restrict nothing give the same bounds as no rules."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        statement, X, y = random_problem(rng, (), "none")
        plain = replace(statement, structure=None, k=statement.k or P)
        point, _ = random_point(rng, statement, X, y)
        proof = Proof((Leaf(0),), (point,))
        bounds = [prove(Data.of(one, X, y, None), one, proof).bound for one in (statement, plain)]
        assert bounds[0] == pytest.approx(bounds[1], rel=1e-12, abs=1e-12)
