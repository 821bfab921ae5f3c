"""Best subsets of studies: the stated problem, the ridge of the smallest validation error, proofs that are checked."""

import time
from dataclasses import replace

import numpy as np
import pytest

from sparsest.core.problem import pose
from sparsest.runtime.events import Status
from sparsest.studies.procedures import PROCEDURES, base_gamma, error_of, subsets
from sparsest.studies.procedures.subsets import best_subset_data, proved, search
from sparsest.subset.api import best_subset
from studies.procedures.samples import PLAN, check_models, sample_of


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("name", ["cardinality", "subgradient", "forward"])
def test_rows(name, task):
    check_models(list(PROCEDURES[name].run(sample_of(task), PLAN)))


def test_the_exact_search_is_no_worse_than_its_start_and_solves_the_stated_problem():
    sample = sample_of()
    rows = [row for row in PROCEDURES["cardinality"].run(sample, PLAN) if "objective" in row]
    for relaxed, exact in zip(rows[::2], rows[1::2], strict=True):
        assert (relaxed["method"], exact["method"]) == ("relaxation", "exact")
        assert exact["objective"] <= relaxed["objective"] * (1 + 1e-9) and exact["gamma"] == relaxed["gamma"]
        assert exact["gamma"] == base_gamma(sample, exact["k"]) * 2.0 ** exact["doubling"]
        again = best_subset(*sample.train, exact["k"], gamma=exact["gamma"], fit_intercept=False, standardize=False)
        assert again.objective == pytest.approx(exact["objective"], rel=2e-4)
        assert exact["certified"] and exact["status"] == "OPTIMAL" and exact["gap"] <= 1e-4


def test_the_ridge_is_the_one_with_the_smallest_validation_error():
    sample, k = sample_of(), 2
    [row] = [
        row for row in PROCEDURES["cardinality"].run(sample, PLAN) if row["method"] == "relaxation" and row["k"] == k
    ]
    errors = []
    for doubling in range(PLAN.n_gammas):
        gamma = base_gamma(sample, k) * 2.0**doubling
        model = best_subset(
            *sample.train, k, gamma=gamma, fit_intercept=False, standardize=False, method="relaxation",
            options={"polish": False},
        )  # fmt: skip
        errors.append(error_of("regression", sample.validation, model.predict(sample.validation.X)))
    assert row["validation"] == pytest.approx(min(errors)) and row["doubling"] == int(np.argmin(errors))


def test_a_plateau_of_the_auc_does_not_end_the_doubling(monkeypatch):
    """Errors that stay for longer than errors of regression may, and then fall."""
    errors = iter([0.5, 0.5, 0.501, 0.502, 0.5, 0.5, 0.1])
    monkeypatch.setattr(subsets, "error_of", lambda *_: next(errors))
    plan = replace(PLAN, ks=(2,), n_gammas=7)
    rows = subsets.cardinality(sample_of("classification"), plan)
    assert next(rows)["doubling"] == 6


def hard_problem():
    """Pure noise with a weak ridge: no proof in a moment."""
    rng = np.random.default_rng(0)
    sample = sample_of()
    X = np.asfortranarray(rng.standard_normal((60, 300)))
    sample = sample._replace(train=sample.train._replace(X=X, y=rng.standard_normal(60)))
    return sample, pose(best_subset_data(sample), 10, gamma=10.0)


def test_a_search_ends_when_its_seconds_of_the_processor_are_spent():
    sample, problem = hard_problem()
    search(problem, 0.2)
    began = time.process_time()
    found = search(problem, 0.2)
    # Part of the limit is kept free for the proof.
    assert time.process_time() - began >= 0.1
    row = proved(found, sample)
    assert row["status"] == "TIME_LIMIT" and row["gap"] > 1e-4 and row["certified"] is False


def test_only_what_the_checker_accepts_is_certified():
    sample = sample_of()
    found = search(pose(best_subset_data(sample), 2, gamma=base_gamma(sample, 2)), 5.0)
    assert found.status is Status.OPTIMAL and proved(found, sample)["certified"] is True
    other = sample._replace(train=sample.train._replace(y=sample.train.y[::-1].copy()))
    assert proved(found, other)["certified"] is False
