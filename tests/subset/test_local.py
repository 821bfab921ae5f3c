"""The method "local": a model that no swap improves, with the bound of its dual point, however the search ends."""

import numpy as np
import pytest

from checks import against_enumeration, check_certificate, solve
from oracles import best_of, sample_values
from samples import HARD, LOSS_NAMES, hard, sample
from sparsest.core.problem import make_problem
from sparsest.runtime.clock import Clock
from sparsest.runtime.events import Done, Incumbent, Status
from sparsest.subset.dual import best_bound
from sparsest.subset.fits.support import fit_support
from sparsest.subset.local import Local


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_the_bound_is_that_of_the_models_dual_point(loss):
    X, y = sample(loss, 22, 7, 10)
    problem = make_problem(X, y, 3, loss=loss, gamma=0.3)
    result = Local().solve(problem)
    own = best_bound(problem, fit_support(problem, result.support).alpha, problem.root)
    optimum, _ = best_of(sample_values(loss, 22, 7, 10, 0.3, True, False), 3)
    assert result.lower_bound == pytest.approx(own.value, rel=1e-6)
    assert result.lower_bound <= optimum * (1.0 + 1e-9) <= result.objective * (1.0 + 2e-9)
    assert len(result.certificate.proof.points) == 1 and result.n_nodes == 0
    check_certificate(result, X, y)


def test_most_small_problems_are_solved():
    reached = against_enumeration("squared", method="local")
    assert reached[True] >= 0.9 * reached.total(), reached


def test_a_model_proved_by_its_dual_point_is_optimal():
    X, y = sample("squared", 22, 7, 10)
    assert solve(X, y, 7, gamma=0.3).status is Status.OPTIMAL
    assert solve(*hard(60, 20), **HARD).status is Status.HEURISTIC


def test_no_start_makes_it_worse():
    X, y = sample("squared", 22, 7, 10)
    problem = make_problem(X, y, 3, gamma=0.3)
    for start in ([4, 5, 6], [0], Local().solve(problem)):
        support = start.support if hasattr(start, "support") else np.array(start)
        assert Local().solve(problem, start).objective <= fit_support(problem, support).primal * (1.0 + 1e-9)


@pytest.mark.parametrize(
    ("limit", "callback", "status"),
    [(1e-9, None, Status.TIME_LIMIT), (60.0, lambda event: True, Status.INTERRUPTED)],
    ids=["no time", "callback"],
)
def test_a_model_is_returned_however_the_search_ends(limit, callback, status):
    X, y = sample("logistic", 60, 30, 1)
    problem = make_problem(X, y, 5, loss="logistic", gamma=0.3)
    result = Local().solve(problem, clock=Clock(limit, callback))
    assert result.status is status
    check_certificate(result, X, y)


def test_events():
    X, y = sample("squared", 22, 7, 10)
    events = []
    result = Local().solve(make_problem(X, y, 3, gamma=0.3), clock=Clock(60.0, events.append))
    found = [event.objective for event in events if isinstance(event, Incumbent)]
    assert found == sorted(found, reverse=True) and found[-1] == pytest.approx(result.objective, rel=1e-9)
    assert [type(event) for event in events].count(Done) == 1 and isinstance(events[-1], Done)
