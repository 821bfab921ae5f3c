"""Figures draw the numbers of the tables, in the paper's colours, with labels that can be read."""

from itertools import pairwise

import pytest

from sparsest.studies import find
from sparsest.studies.figures import STYLES, draw, save, style_of
from sparsest.studies.tables import grids, points
from studies.made import rows_of

STUDY = find("reg-hard-fixed-k")


@pytest.mark.parametrize("figure", STUDY.figures, ids=lambda figure: figure.name)
def test_figures_and_tables_agree(figure):
    rows = rows_of(STUDY.name)
    lines = points(figure, rows)
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


def rows_of_times(name, size="smoke", methods=("exact", "relaxation")):
    return [
        {"panel": panel.name, "x": cell.x, "set": 0, "n": cell.n, "p": 1, "method": method, "seconds": 1.0 + cell.x}
        for panel in find(name).panels(size)
        for cell in panel.cells
        for method in methods
    ]


def test_times_over_gamma_have_a_panel_for_each_method():
    study = find("time-gamma")
    canvas = draw(study.figures[0], study.panels("small"), rows_of_times("time-gamma", "small"))
    assert [ax.get_title() for ax in canvas.axes] == [STYLES[name].label for name in ("exact", "relaxation")]
    for ax in canvas.axes:
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["n = 100", "n = 200", "n = 400"]
        # Numbers stand where there are points, and do not touch.
        canvas.canvas.draw()
        texts = [text for text in ax.get_xticklabels() if text.get_text()]
        boxes = [text.get_window_extent() for text in texts]
        assert len(texts) >= 4
        assert all(one.x1 < two.x0 for one, two in pairwise(boxes))


def test_labelled_places_and_methods_side_by_side():
    study = find("scalability")
    canvas = draw(study.figures[0], study.panels("small"), rows_of_times("scalability", "small"))
    texts = [text.get_text() for text in canvas.axes[0].get_xticklabels()]
    assert texts[0] == "n 1000\np 10000\nk 10" and len(texts) == 4
    lung = find("class-real")
    [panel] = lung.panels("smoke")
    rows = [
        {"panel": panel.name, "x": 0.0, "set": 0, "method": method, "k": 5, "n_selected": 5, "validation": 0.1,
         "test": 0.1}
        for method in ("mcp", "exact")
    ]  # fmt: skip
    [ax] = draw(lung.figures[0], [panel], rows).axes
    assert [text.get_text() for text in ax.get_xticklabels()] == ["CIO, exact", "MCP"]


def test_a_view_may_divide_a_panel():
    study = find("reg-real-x")
    [panel] = study.panels("small")
    rows = [
        {"panel": panel.name, "x": x, "set": 0, "method": "mcp", "k": k, "validation": 1.0, "tf": k, "ff": 1}
        for x in (0.25, 6.0)
        for k in (20, 50)
    ]
    roc = next(figure for figure in study.figures if figure.name == "roc")
    assert [ax.get_title() for ax in draw(roc, [panel], rows).axes] == ["SNR = 0.25", "SNR = 6"]


def test_without_results_there_is_an_empty_picture():
    canvas = draw(STUDY.figures[0], STUDY.panels("smoke"), [])
    assert len(canvas.axes) == 1 and not canvas.axes[0].lines


def test_a_method_without_a_style_is_drawn_by_its_name():
    assert style_of("mine").label == "mine" and style_of("exact").label == "CIO, exact"


def test_files_are_the_same_for_the_same_rows(tmp_path):
    rows, panels = rows_of(STUDY.name), STUDY.panels("smoke")
    first = save(STUDY.figures[0], panels, rows, tmp_path / "a.b")
    assert [file.name for file in first] == ["a.b.png", "a.b.svg"]
    contents = [file.read_bytes() for file in first]
    again = save(STUDY.figures[0], panels, rows, tmp_path / "a.b")
    assert [file.read_bytes() for file in again] == contents and all(len(content) > 1000 for content in contents)


def test_methods_of_fewer_data_sets_are_left_out_and_named():
    rows = rows_of(STUDY.name)
    once = [{**row, "method": "abess"} for row in rows if row["method"] == "mcp" and row["set"] == 0]
    figure = STUDY.figures[0]
    canvas = draw(figure, STUDY.panels("smoke"), [*rows, *once])
    for ax in canvas.axes:
        assert "abess" not in ax.get_legend_handles_labels()[1] and "MCP" in ax.get_legend_handles_labels()[1]
    assert "points of fewer data sets are left out: abess" in canvas.get_suptitle()
    assert "left out" not in draw(figure, STUDY.panels("smoke"), rows).get_suptitle()
    [grid, *_] = grids(figure, STUDY.panels("smoke"), [*rows, *once])
    column = grid.heads.index("abess")
    assert all(line[column].endswith(", 1 set") for line in grid.rows)
    assert not any(", 1 set" in cell for line in grid.rows for cell in line[:column])
