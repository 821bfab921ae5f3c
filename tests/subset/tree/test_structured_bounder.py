"""Bounds of regions for problems with a structure, against enumeration."""

from dataclasses import replace

import numpy as np
import pytest

from samples import sample, sample_weights
from sparsest import Structure
from sparsest.core.problem import make_problem
from sparsest.core.sparsity import Region
from sparsest.core.structure.rules import Rules
from sparsest.runtime.events import Status
from sparsest.subset.fits.support import fit_support
from sparsest.subset.relaxation.solution import Start
from sparsest.subset.tree.bounder import BounderOptions, Request
from sparsest.subset.tree.bounders import make_bounder
from sparsest.subset.tree.method import Tree
from sparsest.subset.tree.structured_bounder import StructuredBounder
from sparsest.subset.tree.tuning import DEFAULT_TUNING

N, P = 20, 8
GROUPS = [0, 0, 1, 2, 2, 3, 4, 5]
SETTINGS = {"feature_groups": GROUPS, "structure": Structure(limits=[([0, 2, 3], 1)], requires=[(5, [6])])}


def best_of(problem, region):
    """The best objective of all admissible supports of a region, and these supports."""
    rule, found = problem.sparsity, {}
    for bits in range(2**rule.n_units):
        chosen = (bits >> np.arange(rule.n_units)) & 1 == 1
        support = rule.columns_of(chosen)
        if rule.admissible(support, region):
            found[tuple(support.tolist())] = fit_support(problem, support).primal
    return found


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
@pytest.mark.parametrize("full_gram", [0, 1500])
@pytest.mark.parametrize("rounding", [0.0, 1e-3])
def test_bounds_and_fixings_are_valid(loss, full_gram, rounding):
    X, y = sample(loss, N, P, 3)
    problem = make_problem(X, y, 3, loss=loss, gamma=0.3, sample_weight=sample_weights(True, N), **SETTINGS)
    survivors = np.arange(P)
    bounder = make_bounder(
        problem, survivors, BounderOptions(rounding, tuning=DEFAULT_TUNING._replace(full_gram=full_gram))
    )
    assert isinstance(bounder, StructuredBounder) and bounder.nbytes() >= 0.0
    warm = bounder.start(Start(np.empty(0, dtype=np.intp), np.empty(0), 0.0))
    rng = np.random.default_rng(0)
    every = best_of(problem, problem.root)
    for _ in range(12):
        region = problem.sparsity.propagate(
            Region(rng.choice(P, rng.integers(0, 2), replace=False), rng.choice(P, rng.integers(0, 2)), P)
        )
        if region is None:
            continue
        inside = {s: value for s, value in every.items() if set(region.forced_in) <= set(s)}
        inside = {s: value for s, value in inside.items() if not set(region.forced_out) & set(s)}
        [outcome] = bounder.solve([Request(warm, region.state)], np.inf)
        assert outcome.bound <= min(inside.values()) * (1.0 + 1e-9)
        cutoff = outcome.bound + float(rng.uniform(0.0, 0.2)) * abs(outcome.bound)
        state = region.state.copy()
        tightened = bounder.tighten(outcome.point, state, cutoff)
        assert tightened.closed >= cutoff
        for support, value in inside.items():
            chosen = np.isin(np.arange(P), support)
            if not tightened.bound < np.inf or not (chosen[state == 1].all() and not chosen[state == -1].any()):
                assert value >= cutoff * (1.0 - 1e-9)


class NumberAlone(Rules):
    """Rules of which bounds keep only the number of units; propagation keeps all."""

    def nested(self, k):
        """The limits of no rules."""
        return Rules(self.n_units).nested(k)


@pytest.mark.parametrize(("k", "seed"), [(8, 0), (6, 1), (6, 2)])
def test_nested_limits_need_at_most_a_quarter_of_the_nodes(k, seed):
    """At most one feature of each of 20 groups of 3, where the strongest nine features are in three groups."""
    rng = np.random.default_rng(seed)
    n, n_groups = 200, 20
    X, w = rng.standard_normal((n, 3 * n_groups)), np.zeros(3 * n_groups)
    for group in range(3):
        w[3 * group : 3 * group + 3] = rng.uniform(1.0, 1.5, 3)
    for group in range(3, k):
        w[3 * group] = rng.uniform(0.5, 1.0)
    y = X @ w + rng.standard_normal(n)
    structure = Structure(limits=[(range(3 * group, 3 * group + 3), 1) for group in range(n_groups)])
    problem = make_problem(X, y, k, gamma=5.0 / n, structure=structure)
    result = Tree(time_limit=np.inf, n_jobs=1).solve(problem)
    rules = problem.sparsity.rules
    weak = problem.with_sparsity(replace(problem.sparsity, rules=NumberAlone(rules.n_units, rules.limits)))
    other = Tree(time_limit=np.inf, n_jobs=1, node_limit=4 * result.n_nodes).solve(weak)
    assert result.status is Status.OPTIMAL and other.status is Status.NODE_LIMIT


SPLIT = {
    "plain": {"structure": Structure(requires=[(5, [6])])},
    "groups": SETTINGS,
    "budget": {"structure": Structure(costs=[1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0], max_cost=4.0)},
    "signs": {**SETTINGS, "lower": 0.0},
    "limited": {**SETTINGS, "lower": -0.3, "upper": 0.4},
}


@pytest.mark.parametrize("gamma", [np.inf, 0.3])
@pytest.mark.parametrize("rounding", [0.0, 1e-3])
@pytest.mark.parametrize("kind", SPLIT)
def test_bounds_and_fixings_of_splits_are_valid(gamma, rounding, kind):
    X, y = sample("squared", N, P, 6)
    problem = make_problem(X, y, 3, gamma=gamma, sample_weight=sample_weights(True, N), **SPLIT[kind])
    bounder = make_bounder(problem, np.arange(P), BounderOptions(rounding))
    bounder.strengthen()
    assert bounder.strong and bounder.delta.min() >= problem.ridge
    rule = problem.sparsity
    assert all(np.ptp(bounder.delta[rule.units == g]) == 0.0 for g in range(rule.n_units))
    warm = bounder.start(Start(np.array([1, 3]), np.array([0.1, 0.2]), 0.0))
    rng = np.random.default_rng(1)
    every = best_of(problem, problem.root)
    for _ in range(12):
        region = rule.propagate(
            Region(rng.choice(P, rng.integers(0, 2), replace=False), rng.choice(P, rng.integers(0, 2)), P)
        )
        if region is None:
            continue
        inside = {s: value for s, value in every.items() if set(region.forced_in) <= set(s)}
        inside = {s: value for s, value in inside.items() if not set(region.forced_out) & set(s)}
        least = min(inside.values())
        cutoff = least * float(rng.uniform(0.9, 1.1))
        [outcome] = bounder.solve([Request(warm, region.state)], cutoff)
        assert 0.0 < outcome.bound <= least * (1.0 + 1e-9)
        state = region.state.copy()
        tightened = bounder.tighten(outcome.point, state, cutoff)
        for support, value in inside.items():
            chosen = np.isin(np.arange(P), support)
            if not tightened.bound < np.inf or not (chosen[state == 1].all() and not chosen[state == -1].any()):
                assert value >= cutoff * (1.0 - 1e-9)


@pytest.mark.parametrize("kind", SPLIT)
@pytest.mark.parametrize("gamma", [np.inf, 0.3])
def test_structures_without_a_ridge_are_proved(kind, gamma):
    X, y = sample("squared", N, P, 6)
    problem = make_problem(X, y, 3, gamma=gamma, **SPLIT[kind])
    result = Tree(n_jobs=1, tuning=DEFAULT_TUNING._replace(last_features=0)).solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(min(best_of(problem, problem.root).values()), rel=1e-4)
    assert result.certificate.verify(X, y) and result.certificate.verify(X, y, exact=True)


def test_thirty_features_with_heredity_need_no_ridge():
    """Six features and their products; enumeration would take a million models."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((120, 6))
    pairs = [(a, b) for a in range(6) for b in range(a)]
    X = np.column_stack([A, *(A[:, a] * A[:, b] for a, b in pairs)])
    y = X[:, [0, 1, 2, 7, 12]] @ np.array([1.0, 0.5, 0.7, 0.8, 0.6]) + rng.standard_normal(120)
    structure = Structure(requires=[(6 + at, list(pair)) for at, pair in enumerate(pairs)])
    result = Tree(n_jobs=1).solve(make_problem(X, y, 6, gamma=np.inf, structure=structure))
    assert result.status is Status.OPTIMAL
    assert result.certificate.proof.splits and result.certificate.verify(X, y)
