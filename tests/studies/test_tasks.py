"""Tasks are known by what their outcome depends on, and run alike wherever and whenever they run."""

from dataclasses import replace

import numpy as np
import pytest

from sparsest.studies.procedures import PROCEDURES, Plan, Procedure
from sparsest.studies.samples import Source
from sparsest.studies.tasks import Task, run_task

TASK = Task(Source("toeplitz", p=12, k=2, snr=4.0, n_validation=20, n_test=20), 30, 0, "lasso", Plan((1, 2), 2))


def test_identity():
    assert TASK.id == replace(TASK).id
    for other in (
        replace(TASK, n=31),
        replace(TASK, number=1),
        replace(TASK, procedure="mcp"),
        replace(TASK, plan=Plan((1, 2), 1)),
        replace(TASK, source=replace(TASK.source, rho=0.1)),
    ):
        assert other.id != TASK.id


def test_procedures_share_the_data_and_numbers_do_not():
    same = replace(TASK, procedure="mcp", plan=Plan((5,), 5)).generator()
    assert TASK.generator().random() == same.random()
    assert TASK.generator().random() != replace(TASK, number=1).generator().random()


def test_an_outcome_does_not_depend_on_what_ran_before():
    first = run_task(TASK, None)
    np.random.default_rng(0).random(10)
    run_task(replace(TASK, number=1), None)
    again = run_task(TASK, None)
    drop = "seconds"
    assert [{k: v for k, v in row.items() if k != drop} for row in first.rows] == [
        {k: v for k, v in row.items() if k != drop} for row in again.rows
    ]


def test_errors_are_told(monkeypatch):
    def broken(sample, plan):
        raise RuntimeError("no model today")
        yield

    monkeypatch.setitem(PROCEDURES, "broken", Procedure(broken, lambda n, p, plan: 1.0))
    outcome = run_task(replace(TASK, procedure="broken"), None)
    assert outcome.rows == [] and "no model today" in outcome.error


def test_what_was_interrupted_is_no_outcome(monkeypatch):
    def interrupted(sample, plan):
        yield {"method": "exact", "status": "INTERRUPTED"}

    monkeypatch.setitem(PROCEDURES, "interrupted", Procedure(interrupted, lambda n, p, plan: 1.0))
    assert run_task(replace(TASK, procedure="interrupted"), None).error == "interrupted"


@pytest.mark.parametrize("procedure", list(PROCEDURES))
def test_estimates_are_positive(procedure):
    assert replace(TASK, procedure=procedure).estimate() > 0.0
