"""The search: the lower bound at any moment, interrupts, memory, and the order of nodes."""

import gc
import itertools

import numpy as np
import pytest

from checks import best_subset, check_certificate, solve
from injecting import OnCall, interrupt
from oracles import best_of, support_values
from samples import BY_REGIONS, HARD, LOSS_NAMES, REGIONS, hard, sample
from sparsest.core.problem import make_problem
from sparsest.proofs.check import prove
from sparsest.runtime.clock import Clock
from sparsest.runtime.events import Bound, Status
from sparsest.runtime.faults import injected
from sparsest.subset.claims import statement_of
from sparsest.subset.tree.bounders import make_bounder
from sparsest.subset.tree.frontier import Node
from sparsest.subset.tree.goal import BestSupport
from sparsest.subset.tree.method import Tree
from sparsest.subset.tree.search import Search
from sparsest.subset.tree.tree_loop import BATCH_SIZE


@pytest.fixture(scope="module")
def solved():
    """A problem that takes many nodes, and its solution."""
    X, y = hard()
    result = solve(X, y, method="tree", n_jobs=1, **HARD, options=REGIONS)
    assert result.status is Status.OPTIMAL and result.n_nodes > 20
    return X, y, result


def search_of(problem, gap_tol=1e-4, callback=None, tuning=BY_REGIONS, **limits):
    settings, clock = Tree(n_jobs=1, gap_tol=gap_tol, tuning=tuning, **limits), Clock(np.inf, callback)
    goal = BestSupport(problem, clock, gap_tol, settings.moves)
    goal.search_locally()
    return Search(problem, goal, clock, settings.limits()), goal


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("form", [{"k": 3}, {"l0_penalty": 0.4}, {"k": 2, "l0_penalty": 0.05}], ids=str)
def test_the_bound_of_all_nodes_holds_at_any_moment(loss, form):
    """It never decreases, the log proves it, and it ends at the optimum, so the nodes cover all supports."""
    n, p = 22, 7
    X, y = sample(loss, n, p, 12, noise=2.0)
    problem = make_problem(X, y, **form, loss=loss, gamma=1.0)
    optimum, _ = best_of(support_values(make_problem(X, y, p, loss=loss, gamma=1.0)), **form)
    run, goal = search_of(problem)
    data, statement, bounds = problem.data.evidence.data, statement_of(problem), []

    def check():
        proved = prove(data, statement, run.assemble())
        assert not proved.complaints and proved.bound <= optimum * (1.0 + 1e-9)
        assert proved.bound >= run.lower_bound() - 1e-9 * abs(optimum)
        bounds.append(run.lower_bound())

    with injected("node split", check):
        assert run.run() is Status.OPTIMAL
    check()
    assert bounds == sorted(bounds) and all(bound <= optimum * (1.0 + 1e-9) for bound in bounds)
    assert goal.fit.primal == pytest.approx(optimum, rel=1.1e-4)
    assert goal.cutoff <= run.lower_bound() <= optimum * (1.0 + 1e-9)
    assert not run.progress.frontier


def test_without_a_proof_no_closed_region_stays():
    """Only open nodes and nodes in progress are in memory at any time."""
    X, y = hard()
    most, calls = [], itertools.count()
    often = BY_REGIONS._replace(report_seconds=0.0)

    def count(event):
        # Inspecting all objects takes a while.
        if isinstance(event, Bound) and next(calls) % 10 == 5:
            gc.collect()
            alive = sum(isinstance(one, Node) for one in gc.get_objects())
            most.append(alive - len(run.progress.frontier))

    before = sum(isinstance(one, Node) for one in gc.get_objects())
    run, _ = search_of(make_problem(X, y, **HARD), callback=count, proof=False, tuning=often)
    assert run.run() is Status.OPTIMAL
    assert run.n_nodes > 20 and len(most) > 1
    # The root, and nodes that local variables still refer to.
    assert max(most) - before <= 1 + BATCH_SIZE


# Each of these points is reached at least 12 times in the search of ``solved``.
POINTS = ["node bounded", "node split", "tighten"]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("point", POINTS)
def test_keyboard_interrupt_without_a_proof(solved, point, count):
    """The model is kept, and no bound is claimed."""
    X, y, known = solved
    fault, options = OnCall(count, interrupt), {**REGIONS, "proof": False}
    with injected(point, fault):
        result = best_subset(X, y, **HARD, method="tree", n_jobs=1, options=options)
    assert fault.calls == count
    assert result.status is Status.INTERRUPTED and result.lower_bound == 0.0
    assert known.objective <= result.objective * (1.0 + 1e-4)


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("count", [1, 3, 12])
def test_keyboard_interrupt_between_regions(solved, point, count):
    """Nodes in progress at the interrupt count with their current bounds."""
    X, y, known = solved
    fault = OnCall(count, interrupt)
    with injected(point, fault):
        result = best_subset(X, y, **HARD, method="tree", n_jobs=1, options=REGIONS)
    assert fault.calls == count
    check_certificate(result, X, y)
    assert result.status is Status.INTERRUPTED
    assert 0.0 < result.lower_bound <= known.objective <= result.objective * (1.0 + 1e-4)


@pytest.mark.parametrize("count", [1, 3])
def test_keyboard_interrupt_in_a_callback_between_regions(solved, count):
    X, y, known = solved
    options = {"tuning": BY_REGIONS._replace(report_seconds=0.0)}
    fault = OnCall(count, interrupt)

    def callback(event):
        if isinstance(event, Bound):
            fault()

    result = best_subset(X, y, **HARD, method="tree", n_jobs=1, options=options, callback=callback)
    assert fault.calls == count and result.status is Status.INTERRUPTED
    check_certificate(result, X, y)
    assert 0.0 < result.lower_bound <= known.objective <= result.objective * (1.0 + 1e-4)


def test_keyboard_interrupt_while_nodes_are_set_up(solved):
    X, y, known = solved
    with injected("set up", interrupt):
        result = best_subset(X, y, **HARD, method="tree", n_jobs=1)
    check_certificate(result, X, y)
    assert result.status is Status.INTERRUPTED
    assert 0.0 < result.lower_bound <= known.objective


def test_memory_decides_the_order(solved):
    X, y, known = solved
    often = BY_REGIONS._replace(report_seconds=0.0)

    def orders(**limits):
        """Whether the search was depth-first at each of its reports, and its bound."""
        found = []

        def note(event):
            if isinstance(event, Bound):
                found.append(run.progress.frontier.deep)

        run, _ = search_of(make_problem(X, y, **HARD), callback=note, tuning=often, **limits)
        run.run()
        return found, run.lower_bound()

    # The columns and the Gram matrix take 77 kB; without a proof only open nodes take further memory.
    short, bound = orders(max_memory=9.7e4, proof=False)
    assert any(short) and not all(short) and bound <= known.objective
    assert not any(orders()[0])


def test_nodes_of_leaps_and_bounds_take_no_memory_of_regions():
    """The log of leaps and bounds does not count after branch and bound over regions has taken over."""
    X, y = hard(80, 25)
    run, _ = search_of(make_problem(X, y, 5, gamma=0.1))
    run.bounds.found = make_bounder(run.problem, np.arange(25))
    run.progress.n_nodes = 10**9
    assert run.bounds.nbytes() < 1e6
