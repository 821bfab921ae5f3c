"""The search: the bound of all nodes at any moment, what an interrupt leaves, memory, and the order of nodes."""

import gc
import itertools

import numpy as np
import pytest

from checks import best_subset, check_certificate, solve
from oracles import best_of, support_values
from samples import HARD, LOSS_NAMES, hard, sample
from sparsest.core.problem import make_problem
from sparsest.proofs.check import prove
from sparsest.runtime.clock import Clock
from sparsest.runtime.events import Status
from sparsest.subset.claims import statement_of
from sparsest.subset.tree import leaps, search
from sparsest.subset.tree.frontier import Frontier, Node
from sparsest.subset.tree.goal import BestSupport
from sparsest.subset.tree.method import Tree


@pytest.fixture(scope="module")
def solved():
    """A problem that takes many regions, and its solution."""
    X, y = hard()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leaps, "MOST_FEATURES", 0)
        result = solve(X, y, method="tree", n_jobs=1, **HARD)
    assert result.status is Status.OPTIMAL and result.n_nodes > 20
    return X, y, result


def search_of(problem, gap_tol=1e-4, **limits):
    settings, clock = Tree(n_jobs=1, gap_tol=gap_tol, **limits), Clock(np.inf)
    goal = BestSupport(problem, clock, gap_tol, settings.moves)
    goal.search_locally()
    return search.Search(problem, goal, clock, settings.limits()), goal


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("form", [{"k": 3}, {"l0_penalty": 0.4}, {"k": 2, "l0_penalty": 0.05}], ids=str)
def test_the_bound_of_all_nodes_holds_at_any_moment(regions, monkeypatch, loss, form):
    """It never falls, is proved by what is logged, and ends at the optimum: all supports are covered by the nodes."""
    n, p = 22, 7
    X, y = sample(loss, n, p, 12, noise=2.0)
    problem = make_problem(X, y, **form, loss=loss, gamma=1.0)
    optimum, _ = best_of(support_values(make_problem(X, y, p, loss=loss, gamma=1.0)), **form)
    run, goal = search_of(problem)
    data, statement, bounds = problem.data.evidence.data, statement_of(problem), []
    usual = search.Search._split

    def checked(self, *args):
        usual(self, *args)
        proved = prove(data, statement, self.assemble())
        assert not proved.complaints and proved.bound <= optimum * (1.0 + 1e-9)
        assert proved.bound >= self.lower_bound() - 1e-9 * abs(optimum)
        bounds.append(self.lower_bound())

    monkeypatch.setattr(search.Search, "_split", checked)
    assert run.run() is Status.OPTIMAL
    assert bounds == sorted(bounds) and all(bound <= optimum * (1.0 + 1e-9) for bound in bounds)
    assert goal.fit.primal == pytest.approx(optimum, rel=1.1e-4)
    assert goal.cutoff <= run.lower_bound() <= optimum * (1.0 + 1e-9)
    assert not run.frontier


def test_without_a_proof_no_closed_region_stays(monkeypatch, regions):
    """Only the open regions and those in hand are alive at any time."""
    X, y = hard()
    original, most = search.Search._report, []

    calls = itertools.count()

    def count(self, *args):
        # Looking at all objects there are takes a while.
        if next(calls) % 10 == 5:
            gc.collect()
            alive = sum(isinstance(one, Node) for one in gc.get_objects())
            most.append(alive - len(self.frontier._heap))
        original(self, *args)

    before = sum(isinstance(one, Node) for one in gc.get_objects())
    monkeypatch.setattr(search.Search, "_report", count)
    result = best_subset(X, y, **HARD, method="tree", n_jobs=1, options={"proof": False})
    assert result.n_nodes > 20 and len(most) > 1
    # The root, and what the loop's variables still hold.
    assert max(most) - before <= 1 + search._BATCH_SIZE


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("at", ["_split", "_absorb", "_report"])
def test_keyboard_interrupt_without_a_proof(monkeypatch, regions, solved, at, count):
    """The model is kept, and nothing is claimed of others."""
    X, y, known = solved
    original, calls = getattr(search.Search, at), []

    def interrupted(self, *args):
        calls.append(at)
        if len(calls) == count:
            raise KeyboardInterrupt
        return original(self, *args)

    monkeypatch.setattr(search.Search, at, interrupted)
    result = best_subset(X, y, **HARD, method="tree", n_jobs=1, options={"proof": False})
    assert result.status is Status.INTERRUPTED and result.lower_bound == 0.0
    assert known.objective <= result.objective * (1.0 + 1e-4)


@pytest.mark.parametrize("at", ["_report", "_try_rounding", "_split", "_absorb"])
@pytest.mark.parametrize("count", [1, 3, 12])
def test_keyboard_interrupt_between_regions(monkeypatch, regions, solved, at, count):
    """Regions in hand when the interrupt comes count with the bounds they have."""
    X, y, known = solved
    original, calls = getattr(search.Search, at), []

    def interrupted(self, *args):
        calls.append(at)
        if len(calls) == count:
            raise KeyboardInterrupt
        return original(self, *args)

    monkeypatch.setattr(search.Search, at, interrupted)
    result = best_subset(X, y, **HARD, method="tree", n_jobs=1)
    check_certificate(result, X, y)
    assert result.status is Status.INTERRUPTED or len(calls) < count
    assert result.lower_bound <= known.objective * (1.0 + 1e-9)


def test_keyboard_interrupt_while_nodes_are_set_up(monkeypatch, solved):
    X, y, _ = solved

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "make_bounder", interrupted)
    result = best_subset(X, y, **HARD, method="tree", n_jobs=1)
    check_certificate(result, X, y)
    assert result.status is Status.INTERRUPTED


def test_memory_decides_the_order(monkeypatch, regions, solved):
    X, y, known = solved
    orders = []
    original = Frontier.depth_first
    monkeypatch.setattr(Frontier, "depth_first", lambda self, deep: (orders.append(deep), original(self, deep))[1])
    # The columns and the Gram matrix take 77 kB, and without a proof only open nodes come to that.
    short = best_subset(X, y, **HARD, method="tree", n_jobs=1, max_memory=9.7e4, options={"proof": False})
    assert any(orders) and not all(orders)
    assert short.lower_bound <= known.objective
    orders.clear()
    solve(X, y, method="tree", n_jobs=1, **HARD)
    assert not any(orders)


def test_nodes_of_leaps_and_bounds_take_no_memory_of_regions():
    """What leaps and bounds tried before giving up does not count when regions go on."""
    X, y = hard(80, 25)
    run, _ = search_of(make_problem(X, y, 5, gamma=0.1))
    run.bounder = search.make_bounder(run.problem, np.arange(25))
    run.n_nodes = 10**9
    assert run._memory() < 1e6
