"""Results of a study: rows with what they belong to, findings, tables and figures of a whole smoke run."""

import pytest

from sparsest.studies import Store, check, find, rows_of, run, status, table
from sparsest.studies.figures import STYLES, draw, save

STUDY = find("reg-hard-fixed-k")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("studies") / "results.sqlite")
    assert status(STUDY, "smoke", store).done == 0
    ended = run(STUDY.tasks("smoke"), store, n_jobs=1)
    assert ended.done == ended.total and ended.failed == 0
    return store


@pytest.fixture(scope="module")
def rows(store):
    return rows_of(STUDY, "smoke", store.finished())


def test_status(store):
    done = status(STUDY, "smoke", store)
    assert done.done == done.total == len(STUDY.tasks("smoke")) and done.seconds > 0.0
    # Another study of the same data needs no task more.
    shared = status(find("reg-hard-cv-k"), "smoke", store)
    assert shared.done == shared.total


def test_rows_say_what_they_belong_to(rows):
    panels = {panel.name for panel in STUDY.panels("smoke")}
    assert {row["panel"] for row in rows} == panels and {row["set"] for row in rows} == {0, 1}
    assert all(row["version"] and "cores" in row["machine"] for row in rows)
    assert {row["method"] for row in rows} >= {"exact", "relaxation", "elastic_net", "mcp", "scad", "lasso"}


def test_findings_are_judged(rows):
    verdicts = check(STUDY, rows)
    assert len(verdicts) == len(STUDY.findings) and all(verdict.figures != "no results yet" for _, verdict in verdicts)
    assert all(verdict.figures == "no results yet" for _, verdict in check(STUDY, []))


def test_figures_and_tables_agree(rows, tmp_path):
    for figure in STUDY.figures:
        lines = table(figure, rows)
        assert {line.method for line in lines} == {"exact", "relaxation", "elastic_net", "mcp", "scad"}
        assert all(line.n_sets == 2 for line in lines)
        canvas = draw(figure, STUDY.panels("smoke"), rows)
        for ax, panel in zip(canvas.axes, STUDY.panels("smoke"), strict=True):
            assert ax.get_ylabel() == figure.y_label and ax.get_title() == panel.title
            drawn = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
            of_panel = [line for line in lines if line.panel == panel.name]
            for method in {line.method for line in of_panel}:
                x, y = drawn[STYLES[method].label].lines[0].get_data()
                assert list(zip(x, y, strict=True)) == [(p.x, p.mean) for p in of_panel if p.method == method]
        for file in save(figure, STUDY.panels("smoke"), rows, tmp_path / figure.name):
            assert file.stat().st_size > 1000


def test_without_results_there_is_an_empty_picture():
    canvas = draw(STUDY.figures[0], STUDY.panels("smoke"), [])
    assert len(canvas.axes) == 1 and not canvas.axes[0].lines
