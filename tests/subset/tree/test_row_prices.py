"""Prices of rows: their numbers, the bounds of regions against enumeration, and proofs that use them."""

import numpy as np
import pytest

from core.structure.test_rules import random_rules
from samples import sample
from sparsest import Structure, near_optimal
from sparsest.core.problem import make_problem
from sparsest.core.sparsity import Region
from sparsest.core.structure.structured import StructuredSparsity
from sparsest.proofs.structure import Rules as ProofRules
from sparsest.runtime.events import Status
from sparsest.subset.claims import statement_of
from sparsest.subset.relaxation.solution import Start
from sparsest.subset.tree.bounder import BounderOptions, Request
from sparsest.subset.tree.bounders import make_bounder
from sparsest.subset.tree.method import Tree
from sparsest.subset.tree.row_prices import SideRows, numbered_rows
from sparsest.subset.tree.tuning import DEFAULT_TUNING
from subset.tree.test_structured_bounder import best_of

N, P = 24, 9
COSTS = [1.0, 2.0, 0.5, 1.5, 1.0, 0.3, 2.5, 1.0, 0.7]
KINDS = {
    "strong": Structure(requires=[(6, [0, 1]), (7, [1, 2]), (8, [0, 3])]),
    "weak": Structure(requires=[(6, [0, 1], "any"), (7, [1, 2], "any"), (8, [3], "any")]),
    "overlapping": Structure(exclusive=[[0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 7, 0]]),
    "least": Structure(limits=[([0, 1, 2, 3], 1, 4), ([3, 4, 5], 1, 2)]),
    "costs": Structure(costs=COSTS, max_cost=3.0),
    "all": Structure(limits=[([0, 1, 2], 1), ([2, 3], 1)], requires=[(8, [0, 4])], costs=COSTS, max_cost=4.0),
}


def problem_of(kind, loss="squared", seed=0, **settings):
    X, y = sample(loss, N, P, seed)
    given = {"gamma": 0.5, "structure": KINDS[kind], **settings}
    return X, y, make_problem(X, y, given.pop("k", 4), loss=loss, **given)


@pytest.mark.parametrize("seed", range(20))
def test_rows_have_the_numbers_of_certificates(seed):
    rules = random_rules(np.random.default_rng(seed))
    parts = [tuple(map(tuple, part)) for part in (rules.limits, rules.requires, rules.budgets)]
    theirs = list(ProofRules(None, None, *parts).rows())
    ours = list(numbered_rows(rules))
    assert len(theirs) == len(ours)
    for (units, values, right), (own_units, own_values, own_right) in zip(theirs, ours, strict=True):
        assert dict(zip(units, values, strict=True)) == dict(zip(own_units, own_values, strict=True))
        assert right == own_right


def test_rows_that_never_bind_have_no_prices():
    structure = Structure(
        limits=[([0, 1, 2], 1), ([3, 4], 2), ([2, 3], 1)], requires=[(8, [0])], costs=[1.0] * P, max_cost=9.0
    )
    _, _, problem = problem_of("all", structure=structure)
    # The first limit nests, the second one excludes nothing, and all features together cost no more than the budget.
    assert SideRows(problem.sparsity).numbers.tolist() == [2, 3]
    assert SideRows(problem.sparsity.among(np.array([0, 1, 2, 4, 5]))).numbers.tolist() == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_bounds_and_fixings_at_any_prices_are_valid(kind, loss):
    _, _, problem = problem_of(kind, loss, gamma=0.3)
    bounder = make_bounder(problem, np.arange(P))
    rng = np.random.default_rng(1)
    every = best_of(problem, problem.root)
    warm = bounder.start(Start(np.empty(0, dtype=np.intp), np.empty(0), 0.0))
    for _ in range(12):
        region = problem.sparsity.propagate(
            Region(rng.choice(P, rng.integers(0, 2), replace=False), rng.choice(P, rng.integers(0, 2)), P)
        )
        if region is None:
            continue
        inside = {s: value for s, value in every.items() if set(region.forced_in) <= set(s)}
        inside = {s: value for s, value in inside.items() if not set(region.forced_out) & set(s)}
        prices = bounder.rows.priced(rng.exponential(0.5, bounder.rows.numbers.size), 1.0)
        least = min(inside.values())
        for rows in (None, prices):
            cutoff = least * float(rng.uniform(0.9, 1.1))
            [outcome] = bounder.solve([Request(warm._replace(rows=rows), region.state)], cutoff)
            assert outcome.bound <= least * (1.0 + 1e-9)
            state = region.state.copy()
            tightened = bounder.tighten(outcome.point, state, cutoff)
            assert tightened.bound == np.inf or tightened.bound <= least * (1.0 + 1e-9)
            for support, value in inside.items():
                chosen = np.isin(np.arange(P), support)
                kept = chosen[state == 1].all() and not chosen[state == -1].any()
                assert value >= cutoff * (1.0 - 1e-9) or (kept and tightened.bound < np.inf)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
@pytest.mark.parametrize("l0_penalty", [None, 0.05])
def test_searches_are_right_and_their_proofs_hold(kind, loss, l0_penalty):
    X, y, problem = problem_of(kind, loss, seed=3, l0_penalty=l0_penalty)
    result = Tree(n_jobs=1, tuning=DEFAULT_TUNING._replace(last_features=0)).solve(problem)
    least = min(best_of(problem, problem.root).values())
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(least, rel=1e-4)
    assert result.certificate.verify(X, y)
    assert loss != "squared" or result.certificate.verify(X, y, exact=True)


def bound_of_root(problem, steps):
    """The bound of the root at prices found in some steps."""
    options = BounderOptions(tuning=DEFAULT_TUNING._replace(first_price_steps=steps))
    bounder = make_bounder(problem, np.arange(problem.p), options)
    warm = bounder.start(Start(np.empty(0, dtype=np.intp), np.empty(0), 0.0))
    cutoff = min(best_of(problem, problem.root).values())
    return bounder.solve([Request(warm, problem.root.state)], cutoff)[0].bound, cutoff


@pytest.mark.parametrize("kind", KINDS)
def test_prices_never_lower_the_bound_of_the_root(kind):
    _, _, problem = problem_of(kind, seed=4)
    plain, _ = bound_of_root(problem, 0)
    priced, cutoff = bound_of_root(problem, 40)
    assert plain <= priced * (1.0 + 1e-12) and priced <= cutoff * (1.0 + 1e-9)


def contradicting(seed):
    """A budget that excludes the true features."""
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((100, 24)), np.zeros(24)
    true = rng.choice(24, 8, replace=False)
    w[true] = rng.uniform(0.5, 1.5, 8)
    costs = rng.uniform(1.0, 3.0, 24)
    costs[true] += 2.0 * w[true]
    y = X @ w + rng.standard_normal(100)
    structure = Structure(costs=costs.tolist(), max_cost=0.4 * float(costs[true].sum()))
    return X, y, structure


@pytest.mark.parametrize("seed", range(3))
def test_prices_that_stay_those_of_the_root_end_in_a_proof(seed):
    """Regions of one support need no prices, which would keep their bounds below its value."""
    X, y, structure = contradicting(seed)
    problem = make_problem(X, y, 8, gamma=0.1, structure=structure)
    result = Tree(n_jobs=1, tuning=DEFAULT_TUNING._replace(price_steps=0)).solve(problem)
    assert result.status is Status.OPTIMAL and result.certificate.verify(X, y)
    assert result.objective == pytest.approx(Tree(n_jobs=1).solve(problem).objective, rel=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_prices_of_a_budget_need_fewer_nodes(seed):
    X, y, structure = contradicting(seed)
    problem = make_problem(X, y, 8, gamma=0.1, structure=structure)
    priced = Tree(n_jobs=1).solve(problem)
    plain = Tree(n_jobs=1, tuning=DEFAULT_TUNING._replace(first_price_steps=0)).solve(problem)
    assert priced.status is plain.status is Status.OPTIMAL
    assert priced.objective == pytest.approx(plain.objective, rel=1e-4)
    assert not plain.certificate.proof.row_prices and priced.certificate.proof.row_prices
    assert priced.n_nodes < plain.n_nodes
    assert priced.certificate.verify(X, y)


def test_near_optimal_sets_are_complete_with_prices():
    X, y, _ = problem_of("costs", seed=5)
    problem = make_problem(X, y, 4, gamma=0.5, structure=KINDS["costs"])
    result = Tree(n_jobs=1).solve(problem)
    found = near_optimal(result, X, y, within=0.1, n_jobs=1)
    every = best_of(problem, problem.root)
    assert found.complete
    expected = {support for support, value in every.items() if value <= found.threshold}
    assert {tuple(support.tolist()) for support in found.supports} == expected


def test_statements_and_rules_number_rows_alike():
    _, _, problem = problem_of("all")
    assert isinstance(problem.sparsity, StructuredSparsity)
    rows = statement_of(problem).structure.rows()
    assert len(list(rows)) == len(list(numbered_rows(problem.sparsity.rules)))
