"""Cutting planes: against all supports, with every engine, and their certificates."""

from dataclasses import replace

import numpy as np
import pytest

from checks import against_enumeration, best_subset, best_subset_path, check_certificate
from samples import LOSS_NAMES, sample
from sparsest.proofs.steps import Combination, Leaf
from sparsest.result import Status
from sparsest.solvers.cuts.method import ENGINES
from sparsest.solvers.cuts.pool import CutPool


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_enumeration(loss):
    reached = against_enumeration(loss, True, True, seeds=(0,), method="cuts")
    assert reached[False] == 0, reached


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", [{"k": 3}, {"l0_penalty": 0.8}], ids=str)
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


def test_time_limit_and_bad_settings():
    X, y, result = hard()
    early = best_subset(X, y, 4, gamma=0.5, method="cuts", time_limit=0.02)
    assert early.lower_bound <= result.objective * (1 + 1e-9) <= early.objective * (1 + 1e-4)
    check_certificate(early, X, y)
    with pytest.raises(ValueError, match="unknown engine"):
        best_subset(X, y, 4, method="cuts", engine="none")
    with pytest.raises(ValueError, match="finite gamma"):
        best_subset(X, y, 4, method="cuts", gamma=np.inf)
    with pytest.raises(ValueError, match="ks is empty"):
        best_subset_path(X, y, [])
    with pytest.raises(ValueError, match="whole number"):
        best_subset_path(X, y, [1.5])
