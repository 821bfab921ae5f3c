"""Penalised paths of studies: sizes from the last point with a number of features, tuned on validation rows."""

import numpy as np
import pytest

from sparsest.studies.procedures import PROCEDURES
from sparsest.studies.procedures.penalised import path_of
from studies.procedures.samples import PLAN, check_models, sample_of


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("name", ["elastic_net", "mcp", "scad", "lasso"])
def test_rows(name, task):
    rows = list(PROCEDURES[name].run(sample_of(task), PLAN))
    check_models(rows)
    assert sum(bool(row.get("free")) for row in rows) == 1


def test_the_shape_is_the_one_with_the_smallest_validation_error():
    sample, k = sample_of(), 3
    [row] = [
        row
        for row in PROCEDURES["mcp"].run(sample, PLAN)
        if row["k"] == k and "validation" in row and not row.get("free")
    ]
    errors = {}
    for concavity in np.geomspace(2.0, 4.5, PLAN.n_concavities):
        path = path_of(sample, "mcp", 24, concavity=concavity)
        point = np.flatnonzero(path.n_nonzero[: int(path.solved.sum())] <= k)[-1]
        coef = path.coefs[:, [point]].toarray()[:, 0]
        errors[concavity] = np.mean((sample.validation.y - sample.validation.X @ coef) ** 2)
    assert row["validation"] == pytest.approx(min(errors.values()))
    assert row["concavity"] == pytest.approx(min(errors, key=errors.get))


def test_what_times_are_compared_with():
    [row] = PROCEDURES["reference"].run(sample_of(), PLAN)
    assert row["method"] == "reference" and row["n_selected"] <= PLAN.timed_k and row["seconds"] > 0.0
