"""The root relaxation: its bound and fixings are valid for all supports, and its points prove them."""

import numpy as np
import pytest

from oracles import best_of, sample_values
from samples import LOSS_NAMES, sample
from sparsest.core.problem import make_problem
from sparsest.proofs.check import prove
from sparsest.proofs.steps import Leaf, Proof
from sparsest.runtime.clock import Clock
from sparsest.subset.claims import statement_of
from sparsest.subset.local_search import LocalSearch
from sparsest.subset.relaxation.solution import Start
from sparsest.subset.tree.goal import BestSupport
from sparsest.subset.tree.root import relax_root

N, P = 22, 7


def problem_and_goal(loss, gamma=0.3, **form):
    X, y = sample(loss, N, P, 10)
    problem = make_problem(X, y, loss=loss, gamma=gamma, **form)
    goal = BestSupport(problem, Clock(60.0), 1e-4, LocalSearch())
    goal.search_locally()
    return problem, goal


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("form", [{"k": 3}, {"l0_penalty": 0.4}, {"k": 3, "include": [5]}], ids=str)
def test_the_root_bounds_and_fixes(loss, form):
    problem, goal = problem_and_goal(loss, **form)
    optimum, best = best_of(sample_values(loss, N, P, 10, 0.3, True, False), **form)
    root = relax_root(problem, goal, goal.incumbent.clock, 1e-4, None)
    assert min(root.bound, root.closed) <= optimum * (1.0 + 1e-8)
    if root.bound < goal.cutoff:
        assert problem.sparsity.admissible(np.array(best), root.region)
    assert set(problem.include) <= set(root.region.forced_in)
    proof = Proof((*root.fixes, Leaf(len(root.points) - 1)), root.points)
    proved = prove(problem.data.evidence.data, statement_of(problem), proof)
    assert not proved.complaints
    assert proved.bound == pytest.approx(min(root.bound, root.closed), rel=1e-9)
    assert root.relaxed.dual == root.bound


def test_the_start_does_not_matter():
    problem, goal = problem_and_goal("squared", k=3)
    usual = relax_root(problem, goal, goal.incumbent.clock, 1e-4, None)
    other = relax_root(problem, goal, goal.incumbent.clock, 1e-4, Start(np.arange(P), np.linspace(-1.0, 1.0, P), 0.3))
    assert other.bound == pytest.approx(usual.bound, rel=1e-4)


def test_rounded_supports_are_offered_to_the_goal():
    """Here the rounded supports of the relaxation lead to the optimum."""
    X, y = sample("squared", N, P, 10)
    problem = make_problem(X, y, 3, gamma=0.3)
    goal = BestSupport(problem, Clock(60.0), 1e-4, LocalSearch())
    before = goal.fit.primal
    relax_root(problem, goal, goal.incumbent.clock, 1e-4, None)
    optimum, _ = best_of(sample_values("squared", N, P, 10, 0.3, True, False), 3)
    assert optimum * (1.0 - 1e-9) <= goal.fit.primal < 0.9 * before


def test_without_a_ridge_only_the_trivial_bound_is_known():
    problem, goal = problem_and_goal("squared", gamma=np.inf, k=3, l0_penalty=0.5, include=[1])
    root = relax_root(problem, goal, goal.incumbent.clock, 1e-4, None)
    assert root.bound == 0.5 and not root.fixes and root.relaxed is None and root.closed == np.inf
    assert root.region is problem.root and not root.points[0].values.any()


def test_without_time_the_root_still_holds():
    problem, goal = problem_and_goal("logistic", k=3)
    optimum, _ = best_of(sample_values("logistic", N, P, 10, 0.3, True, False), 3)
    goal.incumbent.clock.limit = 0.0
    root = relax_root(problem, goal, goal.incumbent.clock, 1e-4, None)
    assert np.isfinite(root.bound) and root.bound <= optimum * (1.0 + 1e-8)
