"""Single fits without tuning, at a multiple of the first γ of the true size."""

import pytest

from sparsest.studies.procedures import PROCEDURES, Plan, base_gamma
from studies.procedures.samples import sample_of

PLAN = Plan(timed_k=3, exact_seconds=5.0, gamma_factor=2.0)


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("method", ["exact", "relaxation", "subgradient"])
def test_subsets(method, task):
    sample = sample_of(task)
    [row] = PROCEDURES[f"{method}_once"].run(sample, PLAN)
    # The true size is 2, that of the fit 3.
    assert row["method"] == method and row["k"] == 3 and row["gamma"] == 2.0 * base_gamma(sample, 2)
    assert row["n_gamma"] == pytest.approx(60 * row["gamma"]) and row["seconds"] > 0.0
    assert row["certified"] or method != "exact"


@pytest.mark.parametrize("method", ["elastic_net", "mcp", "scad"])
def test_paths(method):
    [row] = PROCEDURES[f"{method}_once"].run(sample_of(), PLAN)
    assert row["method"] == method and row["k"] == 3 and row["seconds"] > 0.0
