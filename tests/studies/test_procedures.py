"""Procedures: every size that is wanted, tuned on the validation rows, with honest figures."""

import numpy as np
import pytest

from sparsest.api import best_subset
from sparsest.studies.procedures import PROCEDURES, Plan, base_gamma, error_of
from sparsest.studies.samples import Rows, Source, draw

PLAN = Plan((1, 2, 3), 2, exact_seconds=5.0, iterations=20, n_gammas=4, n_mixings=2, n_concavities=2)
TUNED = ("cardinality", "subgradient", "forward", "elastic_net", "mcp", "scad")


def sample_of(task="regression"):
    source = Source("toeplitz", task, p=12, k=2, snr=4.0, rho=0.3, n_validation=40, n_test=40)
    return draw(source, 60, np.random.default_rng(3))


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("name", TUNED)
def test_rows(name, task):
    sample = sample_of(task)
    rows = [row for row in PROCEDURES[name].run(sample, PLAN) if "validation" in row]
    sizes = [row["k"] for row in rows if row["method"] == rows[0]["method"]]
    # A path may begin with more features than the smallest size.
    assert set(sizes) <= {1, 2, 3} and {2, 3} <= set(sizes)
    for row in rows:
        assert row["n_selected"] <= row["k"] and row["tf"] + row["ff"] == row["n_selected"]
        assert row["seconds"] > 0.0 and row["validation"] >= 0.0 and row["test"] >= 0.0


def test_the_exact_search_is_no_worse_than_its_start_and_solves_the_stated_problem():
    sample = sample_of()
    rows = list(PROCEDURES["cardinality"].run(sample, PLAN))
    for relaxed, exact in zip(rows[::2], rows[1::2], strict=True):
        assert (relaxed["method"], exact["method"]) == ("relaxation", "exact")
        assert exact["objective"] <= relaxed["objective"] * (1 + 1e-9) and exact["gamma"] == relaxed["gamma"]
        assert exact["gamma"] == base_gamma(sample, exact["k"]) * 2.0 ** exact["doubling"]
        again = best_subset(*sample.train, exact["k"], gamma=exact["gamma"], fit_intercept=False, standardize=False)
        assert again.objective == pytest.approx(exact["objective"], rel=2e-4)


def test_the_ridge_is_the_one_with_the_smallest_validation_error():
    sample, k = sample_of(), 2
    [row] = [
        row for row in PROCEDURES["cardinality"].run(sample, PLAN) if row["method"] == "relaxation" and row["k"] == k
    ]
    errors = []
    for doubling in range(PLAN.n_gammas):
        gamma = base_gamma(sample, k) * 2.0**doubling
        model = best_subset(*sample.train, k, gamma=gamma, fit_intercept=False, standardize=False, method="relaxation")
        errors.append(error_of("regression", sample.validation, model.predict(sample.validation.X)))
    assert row["validation"] == pytest.approx(min(errors)) and row["doubling"] == int(np.argmin(errors))


def test_errors():
    rows = Rows(np.zeros((4, 1)), np.array([1.0, 1.0, -1.0, -1.0]))
    assert error_of("regression", rows, np.zeros(4)) == 1.0
    assert error_of("classification", rows, np.array([2.0, 0.5, 1.0, 0.0])) == pytest.approx(0.25)


@pytest.mark.parametrize("name", ["exact_once", "relaxation_once", "subgradient_once"])
def test_single_fits(name):
    sample = sample_of()
    plan = Plan(timed_k=2, exact_seconds=5.0, gamma_factor=2.0)
    [row] = PROCEDURES[name].run(sample, plan)
    assert row["k"] == 2 and row["gamma"] == 2.0 * base_gamma(sample, 2)
    assert row["status"] == "OPTIMAL" or name != "exact_once"


def test_what_times_are_compared_with():
    sample = sample_of()
    [lasso] = PROCEDURES["lasso"].run(sample, PLAN)
    assert lasso["method"] == "lasso" and lasso["n_selected"] <= 2
    timed = [row for row in PROCEDURES["mcp"].run(sample, PLAN) if row["method"] == "mcp timed"]
    assert len(timed) == 1 and timed[0]["k"] == 2
