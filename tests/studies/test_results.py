"""Results of a study: how much is done, rows with what they belong to, and findings, of a whole smoke run."""

import pytest

from sparsest.studies import Store, check, find, results_of, rows_of, run, status
from sparsest.studies.store import Finished

STUDY = find("reg-hard-fixed-k")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("studies") / "results.sqlite")
    assert status(STUDY, "smoke", store.finished()).done == 0 and results_of([STUDY], ["smoke"], store) == []
    ended = run(STUDY.tasks("smoke"), store, n_jobs=1)
    assert ended.done == ended.total and ended.failed == 0
    return store


@pytest.fixture(scope="module")
def rows(store):
    return rows_of(STUDY, "smoke", store.finished())


def test_status(store):
    done = status(STUDY, "smoke", store.finished())
    assert done.done == done.total == len(STUDY.tasks("smoke")) and done.seconds > 0.0
    # Another study of the same data needs no task more.
    shared = status(find("reg-hard-cv-k"), "smoke", store.finished())
    assert shared.done == shared.total


def test_rows_say_what_they_belong_to(rows):
    panels = {panel.name for panel in STUDY.panels("smoke")}
    assert {row["panel"] for row in rows} == panels and {row["set"] for row in rows} == {0, 1}
    assert all(row["version"] and "cores" in row["machine"] for row in rows)
    assert {row["method"] for row in rows} >= {"exact", "relaxation", "elastic_net", "mcp", "scad", "reference"}


def test_a_size_is_chosen_when_all_have_been_fitted():
    study = find("reg-cv-k")
    first, *others = [task for task in study.tasks("paper") if task.number == 0 and task.procedure == "cardinality"]
    sizes = [first, *(task for task in others if (task.source, task.n) == (first.source, first.n))]
    finished = {task.id: Finished([{"k": task.plan.ks[0]}], 1.0, "1", "cores") for task in sizes}
    assert len(sizes) > 5 and len(rows_of(study, "paper", finished)) == len(sizes)
    del finished[first.id]
    assert rows_of(study, "paper", finished) == []


def test_findings_are_judged(rows):
    verdicts = check(STUDY, rows)
    assert len(verdicts) == len(STUDY.findings) and all(verdict.figures != "no results yet" for _, verdict in verdicts)
    assert all(verdict.figures == "no results yet" for _, verdict in check(STUDY, []))


def test_results_are_found_by_study_and_size(store, rows):
    [one] = results_of([STUDY, find("reg-fixed-k")], ["smoke", "small"], store)
    assert (one.study.name, one.size, one.rows) == (STUDY.name, "smoke", rows)
    assert one.completion.done == one.completion.total
    assert len({(row["task"], row["position"]) for row in rows}) == len(rows)
