"""Cutting planes: against all supports, with every engine, and their certificates."""

from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from checks import against_enumeration, best_subset, best_subset_path, check_certificate
from injecting import interrupt
from samples import LOSS_NAMES, sample
from sparsest.proofs.steps import Combination, Leaf
from sparsest.runtime.events import Bound, Root, Status
from sparsest.runtime.faults import injected


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_enumeration(loss):
    reached = against_enumeration(loss, method="cuts")
    assert reached[False] == 0, reached


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
    # A single cut may prove as much at some leaves, but not at all of them.
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
def test_the_search_continues_without_solutions_of_linear_programs(form, when):
    X, y = sample("squared", 30, 9, 2)
    expected = best_subset(X, y, gamma=0.5, method="cuts", **form)
    calls = count()
    with injected("linear program", lambda seconds: FAILURES[when](next(calls))):
        result = best_subset(X, y, gamma=0.5, method="cuts", **form)
    assert next(calls) > 4
    assert result.status is expected.status is Status.OPTIMAL
    assert result.objective == pytest.approx(expected.objective, rel=1.1e-4)
    check_certificate(result, X, y)


def test_a_region_left_open_without_a_solution_is_not_a_time_limit():
    X, y = sample("squared", 30, 9, 2)
    with injected("linear program", lambda seconds: True):
        # Only rounding errors keep the gap open.
        result = best_subset(X, y, 4, gamma=0.5, method="cuts", gap_tol=0.0)
    assert result.gap < 1e-6
    assert result.status is (Status.HEURISTIC if result.gap > 0.0 else Status.OPTIMAL)
    check_certificate(result, X, y)


def test_an_interruption_leaves_the_region_open():
    X, y = sample("squared", 30, 9, 2)
    with injected("cut node", interrupt):
        result = best_subset(X, y, 4, gamma=0.5, method="cuts")
    assert result.status is Status.INTERRUPTED
    check_certificate(result, X, y)


def test_a_path_in_k_equals_single_solves():
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


@pytest.mark.parametrize("seed", [9, 20, 29])
@pytest.mark.parametrize("groups", [None, list(range(7))])
def test_columns_of_different_scales_are_proved(seed, groups):
    """The linear program misses the cut of a single support where gains differ by many orders of magnitude."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((19, 7)) * 10.0 ** np.array([0, -2, -1, 2, 0, -1, 3])
    y = X[:, 4] + 0.5 * X[:, 0] + 0.5 * rng.standard_normal(19)
    result = best_subset(X, y, 4, gamma=0.5, standardize=False, method="cuts", feature_groups=groups)
    assert result.status is Status.OPTIMAL and result.certificate.verify(X, y).valid
