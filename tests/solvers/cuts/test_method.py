"""Cutting planes: against all supports, with every engine, and their certificates."""

from dataclasses import replace
from itertools import combinations, count

import numpy as np
import pytest

from checks import against_enumeration, best_subset, best_subset_path, check_certificate
from samples import LOSS_NAMES, sample
from sparsest.problem import make_problem
from sparsest.proofs.steps import Combination, Leaf
from sparsest.result import Bound, Root, Status
from sparsest.solvers.cuts.method import ENGINES
from sparsest.solvers.cuts.pool import CutPool
from sparsest.solvers.cuts.tree import CutTree, LinearProgram
from sparsest.solvers.shared.support import fit_support


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_enumeration(loss):
    reached = against_enumeration(loss, True, True, seeds=(0,), method="cuts")
    assert reached[False] == 0, reached


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", [{"k": 3}, {"l0_penalty": 0.8}, {"k": 3, "l0_penalty": 0.1}], ids=str)
@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_engines_agree_with_the_tree(engine, form, loss):
    X, y = sample(loss, 40, 12, 1)
    settings = {"loss": loss, "gamma": 0.2, **form}
    exact = best_subset(X, y, **settings)
    result = best_subset(X, y, method="cuts", engine=engine, **settings)
    assert result.status is exact.status is Status.OPTIMAL
    assert result.objective == pytest.approx(exact.objective, rel=1.1e-4)
    check_certificate(result, X, y)


def hard():
    X, y = sample("squared", 30, 14, 2)
    return X, y, best_subset(X, y, 4, gamma=0.5, method="cuts")


def test_a_missing_cut_or_other_data_are_found():
    X, y, result = hard()
    certificate = result.certificate
    proof = certificate.proof
    combined = [i for i, step in enumerate(proof.steps) if isinstance(step, Combination)]
    assert combined and all(step.points.size > 1 for step in proof.steps if isinstance(step, Combination))
    shortened = [[*proof.steps[:at], Leaf(int(proof.steps[at].points[0])), *proof.steps[at + 1 :]] for at in combined]
    # One cut alone may prove as much, but not everywhere.
    assert any(not replace(certificate, proof=proof._replace(steps=steps)).verify(X, y) for steps in shortened)
    assert not certificate.verify(X, y[::-1])
    assert not replace(certificate, lower_bound=1.01 * certificate.lower_bound).verify(X, y)


FAILURES = {
    "always": lambda call: True,
    "once": lambda call: call == 3,
    "often": lambda call: call % 2 == 0,
}


@pytest.mark.parametrize("when", FAILURES)
@pytest.mark.parametrize("form", [{"k": 4}, {"l0_penalty": 2.0}], ids=str)
def test_linear_programs_without_an_answer_are_done_without(monkeypatch, form, when):
    X, y = sample("squared", 30, 9, 2)
    expected = best_subset(X, y, gamma=0.5, method="cuts", **form)
    solve, calls = LinearProgram.solve, count()

    def unreliable(self, state, seconds):
        return None if FAILURES[when](next(calls)) else solve(self, state, seconds)

    monkeypatch.setattr(LinearProgram, "solve", unreliable)
    result = best_subset(X, y, gamma=0.5, method="cuts", **form)
    assert next(calls) > 4
    assert result.status is expected.status is Status.OPTIMAL
    assert result.objective == pytest.approx(expected.objective, rel=1.1e-4)
    check_certificate(result, X, y)


def test_a_linear_program_is_tried_again_from_scratch(monkeypatch):
    program = LinearProgram(3, 1, 0.0, 1.0)
    program.add(1.0, np.array([0.2, 0.5, 0.1]))
    run, outcomes = LinearProgram._run, iter([False, True])
    monkeypatch.setattr(LinearProgram, "_run", lambda self: run(self) and next(outcomes))
    s, multipliers = program.solve(np.zeros(3, dtype=np.int8), 10.0)
    assert s == pytest.approx([0.0, 1.0, 0.0])
    assert multipliers == pytest.approx([1.0])
    monkeypatch.setattr(LinearProgram, "_run", lambda self: False)
    assert program.solve(np.zeros(3, dtype=np.int8), 10.0) is None


def test_what_stays_open_without_an_answer_is_no_time_limit(monkeypatch):
    X, y = sample("squared", 30, 9, 2)
    monkeypatch.setattr(LinearProgram, "solve", lambda self, state, seconds: None)
    # Rounding alone keeps a gap open.
    result = best_subset(X, y, 4, gamma=0.5, method="cuts", gap_tol=0.0)
    assert result.gap < 1e-6
    assert result.status is (Status.HEURISTIC if result.gap > 0.0 else Status.OPTIMAL)
    check_certificate(result, X, y)


@pytest.mark.parametrize("answers", [True, False], ids=["answers", "no answers"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_where_no_bound_suffices_every_support_is_evaluated_and_no_other(monkeypatch, k, answers):
    X, y = sample("squared", 20, 5, 2)
    problem = make_problem(X, y, k, gamma=0.5, include=[1])
    values, pool = {}, CutPool()

    def separate(chosen):
        fit = fit_support(problem, np.flatnonzero(chosen))
        values[tuple(np.flatnonzero(chosen).tolist())] = fit.primal
        return pool.cut(pool.add(problem, fit.alpha), problem.gamma)

    if not answers:
        monkeypatch.setattr(LinearProgram, "solve", lambda self, state, seconds: None)
    tree = CutTree(problem, np.arange(5), np.arange(5) == 1, 1.0, separate)
    tree.add(*pool.cut(pool.add(problem, np.zeros(problem.n)), problem.gamma))
    tree.begin()
    while not tree.is_finished():
        tree.step(np.inf, 60.0)
    supports = {(1, *more) for size in range(k) for more in combinations([0, 2, 3, 4], size)}
    assert set(values) == {tuple(sorted(support)) for support in supports}
    assert tree.lower_bound() == pytest.approx(min(values.values()), rel=1e-9)


def test_an_interruption_leaves_the_region_open(monkeypatch):
    X, y = sample("squared", 30, 9, 2)

    def interrupted(self, node, cutoff, solved):
        raise KeyboardInterrupt

    monkeypatch.setattr(CutTree, "_treat", interrupted)
    result = best_subset(X, y, 4, gamma=0.5, method="cuts")
    assert result.status is Status.INTERRUPTED
    check_certificate(result, X, y)


def test_a_pool_serves_other_k_and_gamma():
    X, y, _ = hard()
    pool = CutPool()
    best_subset(X, y, 4, gamma=0.5, method="cuts", options={"pool": pool})
    known = len(pool)
    for change in ({"k": 3, "gamma": 0.5}, {"k": 4, "gamma": 0.7}):
        again = best_subset(X, y, method="cuts", options={"pool": pool}, **change)
        alone = best_subset(X, y, method="cuts", **change)
        assert again.objective == pytest.approx(alone.objective, rel=1.1e-4)
        check_certificate(again, X, y)
    assert len(pool) > known


def test_path_in_k_is_the_same_one_by_one():
    X, y = sample("squared", 40, 10, 3)
    ks = [3, 1, 0, 10]
    for method in ("tree", "cuts"):
        path = best_subset_path(X, y, ks, gamma=0.3, method=method)
        for k, result in zip(ks, path, strict=True):
            assert result.status is Status.OPTIMAL and result.support.size <= k
            assert result.objective == pytest.approx(best_subset(X, y, k, gamma=0.3).objective, rel=1.1e-4)
            check_certificate(result, X, y)


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        ({"time_limit": 1e-9}, Status.TIME_LIMIT),
        ({"callback": lambda event: isinstance(event, Root)}, Status.INTERRUPTED),
        ({"callback": lambda event: isinstance(event, Bound) and event.n_nodes == 20}, Status.INTERRUPTED),
        ({"node_limit": 5}, Status.NODE_LIMIT),
    ],
    ids=["no time", "after the root", "at a node", "few nodes"],
)
def test_limits_leave_an_honest_result(limits, status):
    X, y, result = hard()
    early = best_subset(X, y, 4, gamma=0.5, method="cuts", **limits)
    assert early.status is status
    assert early.lower_bound <= result.objective * (1 + 1e-9) <= early.objective * (1 + 1e-4)
    check_certificate(early, X, y)


def test_bad_settings():
    X, y = sample("squared", 30, 14, 2)
    with pytest.raises(ValueError, match="unknown engine"):
        best_subset(X, y, 4, method="cuts", engine="none")
    with pytest.raises(ValueError, match="finite gamma"):
        best_subset(X, y, 4, method="cuts", gamma=np.inf)
    with pytest.raises(ValueError, match="ks is empty"):
        best_subset_path(X, y, [])
    with pytest.raises(ValueError, match="whole number"):
        best_subset_path(X, y, [1.5])
