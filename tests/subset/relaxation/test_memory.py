"""State that one working set passes to the next."""

import numpy as np
import pytest

from oracles import relaxation_value
from samples import sample
from sparsest.core.problem import make_problem
from sparsest.core.sparsity import Region
from sparsest.subset.relaxation.memory import CurvedGram, Memory
from sparsest.subset.relaxation.working_set import make_regulariser, solve_working_set
from sparsest.subset.relaxation.working_solution import Stop, WorkingSet

N, P = 40, 12
NOTHING = np.empty(0, dtype=np.intp)
PIECEWISE = ["hinge", "epsilon_insensitive", "quantile"]


def test_columns_are_found_again():
    memory = Memory()
    memory.enter(np.array([7, 2, 9]), 1.0)
    assert memory.before.tolist() == [-1, -1, -1]
    memory.enter(np.array([9, 3, 7, 11]), 0.5)
    assert memory.before.tolist() == [2, -1, 0, -1]
    assert memory.gap == 0.5
    memory.enter(np.empty(0, dtype=np.intp), 0.5)
    assert memory.before.size == 0


def test_gram_matrices_follow_the_columns():
    rng = np.random.default_rng(0)
    X, curvature = rng.standard_normal((N, P)), rng.uniform(size=N)
    memory = Memory()
    first = np.arange(8)
    memory.enter(first, 1.0)
    assert memory.gram_of(X[:, first]) is None
    memory.gram = CurvedGram((X[:, first].T * curvature) @ X[:, first], curvature)
    memory.enter(np.array([4, 7, 0, 2, 9, 1, 3, 6]), 1.0)
    some = X[:, memory.features]
    known = memory.gram_of(some)
    np.testing.assert_allclose(known.matrix, (some.T * curvature) @ some, rtol=1e-12)
    assert known.curvature is curvature
    # Too many columns are new.
    memory.gram = known
    memory.enter(np.array([4, 1, 8, 9]), 1.0)
    assert memory.gram_of(X[:, memory.features]) is None
    memory.enter(memory.features, 1.0)
    memory.forget()
    assert memory.gram_of(X[:, memory.features]) is None


@pytest.mark.parametrize("loss", [*PIECEWISE, "squared_hinge", "huber"])
@pytest.mark.parametrize("form", [{"k": 3}, {"l0_penalty": 0.4}, {"k": 4, "l0_penalty": 0.05}], ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("gap", [1e-9, 1.0, 1e9])
def test_working_sets_one_after_the_other_reach_the_values_of_a_conic_solver(loss, form, fit_intercept, gap):
    X, y = sample(loss, N, P, 4)
    problem = make_problem(X, y, **form, loss=loss, gamma=0.3, fit_intercept=fit_intercept)
    memory = Memory()
    # Features enter, leave and change positions, and one of them becomes forced.
    for features, forced in (([0, 1, 2, 3, 4], []), ([8, 4, 2, 0, 5, 6], []), ([5, 0, 2, 8, 9, 10, 11], [2])):
        omega = make_regulariser(problem, Region(np.array(forced, dtype=np.intp), NOTHING, P), np.array(features))
        columns = problem.design.columns(np.array(features))
        memory.enter(np.array(features), gap)
        part = WorkingSet(problem, columns, omega)
        point = solve_working_set(part, np.zeros(len(features)), 0.0, Stop(1e-7), memory)
        include = [features.index(j) for j in forced]
        expected = relaxation_value(loss, X[:, features], y, 0.3, fit_intercept, np.ones(N), **form, include=include)
        assert point.primal == pytest.approx(expected, rel=1e-6)
        assert point.dual == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("loss", PIECEWISE)
def test_a_warm_start_takes_fewer_steps_than_a_cold_start(loss):
    X, y = sample(loss, N, P, 4)
    problem = make_problem(X, y, k=3, loss=loss, gamma=0.3)

    def steps(memory, features, tolerance):
        omega = make_regulariser(problem, problem.root, features)
        part = WorkingSet(problem, problem.design.columns(features), omega)
        return solve_working_set(part, np.zeros(features.size), 0.0, Stop(tolerance), memory).iterations

    everything = np.arange(P)
    memory = Memory()
    memory.enter(everything[:-1], np.inf)
    steps(memory, everything[:-1], 1e-2)
    memory.enter(everything, 1e-1)
    assert steps(memory, everything, 1e-3) < steps(None, everything, 1e-3)


@pytest.mark.parametrize("loss", PIECEWISE)
@pytest.mark.parametrize("broken", [{"beta": np.nan}, {"v": 0.0}], ids=str)
def test_a_warm_start_without_a_step_is_replaced_by_a_cold_start(loss, broken):
    X, y = sample(loss, N, P, 4)
    problem = make_problem(X, y, k=3, loss=loss, gamma=0.3)
    features = np.arange(P)
    omega = make_regulariser(problem, problem.root, features)
    part = WorkingSet(problem, problem.design.columns(features), omega)

    def solved(memory):
        memory.enter(features, 1e-3)
        return solve_working_set(part, np.zeros(P), 0.0, Stop(1e-6), memory)

    memory = Memory()
    expected = solved(memory).primal
    (name, value), *_ = broken.items()
    iterates = [(mu, x._replace(**{name: np.full_like(getattr(x, name), value)})) for mu, x in memory.history.iterates]
    memory.history = memory.history._replace(iterates=iterates)
    assert solved(memory).primal == pytest.approx(expected, rel=1e-6)
