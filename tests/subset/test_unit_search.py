"""Local search over units: its models are local optima of admissible moves."""

from itertools import pairwise

import numpy as np
import pytest

from samples import sample
from sparsest import Structure
from sparsest.core.problem import make_problem
from sparsest.subset.fits.support import fit_support
from sparsest.subset.local_search import LocalSearch
from sparsest.subset.unit_search import UnitSearch

N, P = 30, 12
GROUPS = [j // 2 for j in range(P)]
STRUCTURES = {
    "groups": {"feature_groups": GROUPS},
    "limits": {"structure": Structure(limits=[(range(0, 6), 1), (range(6, 12), 1, 2)])},
    "heredity": {"structure": Structure(requires=[(0, [6, 7]), (1, [8])])},
    "budget": {"feature_groups": GROUPS, "structure": Structure(costs=[1, 2, 3, 1, 2, 3], max_cost=4.0)},
}


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
@pytest.mark.parametrize("form", [{"k": 3}, {"k": 3, "l0_penalty": 0.3}], ids=str)
def test_no_addition_and_no_removal_improves_the_model(structure, loss, form):
    X, y = sample(loss, N, P, 2)
    problem = make_problem(X, y, **form, loss=loss, gamma=0.3, **STRUCTURES[structure])
    rule, seen = problem.sparsity, []
    fit = LocalSearch(trials=100).search(problem, improved=seen.append)
    assert rule.admissible(fit.support, problem.root)
    assert all(one.primal > other.primal for one, other in pairwise(seen))
    chosen, everywhere = rule.units_of(fit.support), np.ones(rule.n_units, dtype=bool)
    moves = [rule.with_unit(chosen, g, everywhere) for g in np.flatnonzero(~chosen)]
    if rule.priced:
        moves += [rule.without_unit(chosen, g) for g in np.flatnonzero(chosen)]
    for move in moves:
        if move is not None and rule.keeps(move):
            assert fit_support(problem, rule.columns_of(move)).primal >= fit.primal * (1.0 - 1e-8)


def test_scores_are_the_gains_of_a_quadratic_model():
    """For the squared loss, from no features, they are the decreases of the objective."""
    X, y = sample("squared", N, P, 2)
    problem = make_problem(X, y, 3, gamma=0.3, feature_groups=GROUPS)
    search = UnitSearch(problem, problem.sparsity, problem.root, 10, lambda: False)
    nothing = np.zeros(6, dtype=bool)
    empty = search.fit(nothing)
    scores = search._scores(empty, nothing)
    for g in range(6):
        alone = search.fit(np.arange(6) == g)
        assert empty.primal - alone.primal == pytest.approx(scores[g], rel=1e-6)


def test_a_start_that_breaks_the_structure_is_replaced():
    X, y = sample("squared", N, P, 2)
    problem = make_problem(X, y, 2, gamma=0.3, **STRUCTURES["limits"])
    fit = LocalSearch().search(problem, start=np.array([0, 1]))
    assert problem.sparsity.admissible(fit.support, problem.root)
