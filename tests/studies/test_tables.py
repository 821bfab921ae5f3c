"""Tables as Markdown and CSV."""

import csv
import gzip

from sparsest.studies import find
from sparsest.studies.certified import changes, proofs
from sparsest.studies.results import check
from sparsest.studies.tables import (
    Grid,
    changes_grid,
    findings_grid,
    grids,
    points,
    proofs_grid,
    write_models,
    write_points,
)
from studies.made import rows_of

STUDY = find("reg-hard-fixed-k")


def test_markdown():
    text = Grid("title", ["a", "b"], [["x|y", "1"]]).markdown()
    assert text == "title\n\n| a | b |\n| --- | ---: |\n| x\\|y | 1 |\n"


def test_a_grid_has_the_points_of_its_panel():
    rows = rows_of(STUDY.name)
    panels = STUDY.panels("smoke")
    first, second = grids(STUDY.figures[0], panels, rows)
    assert (first.title, second.title) == ("low noise", "high noise")
    assert first.heads == ["number of observations n", "CIO, exact", "SS, relaxation", "elastic net", "MCP", "SCAD"]
    mean = {point.method: point.mean for point in points(STUDY.figures[0], rows) if point.panel == "low noise"}
    assert [row[0] for row in first.rows] == ["40", "80"] and first.rows[0][1] == f"{mean['exact']:.3g} ± 0"
    alone = grids(STUDY.figures[0], panels, [row for row in rows if row["set"] == 0])
    # One data set has no standard error.
    assert alone[0].rows[0][1] == f"{mean['exact']:.3g}"


def test_grids_of_findings_and_proofs():
    rows = rows_of(STUDY.name, certified=lambda cell, number: number == 0)
    texts = findings_grid(check(STUDY, rows)).rows
    assert [row[0] for row in texts] == [finding.text for finding in STUDY.findings]
    proved = proofs_grid(proofs(rows))
    assert proved.rows[-1] == ["all", "24", "12 (50 %)", "25 %", "25 %", "0 (0 %)", "24 (100 %)"]
    assert all(len(row) == len(proved.heads) for row in proved.rows)
    changed = changes_grid(changes(STUDY, rows))
    assert changed.rows and all(len(row) == len(changed.heads) for row in changed.rows)


def test_csv(tmp_path):
    rows = rows_of(STUDY.name)
    write_points(STUDY.figures, rows, tmp_path / "points.csv")
    with (tmp_path / "points.csv").open(newline="") as stream:
        read = list(csv.DictReader(stream))
    assert len(read) == sum(len(points(figure, rows)) for figure in STUDY.figures)
    assert float(read[0]["mean"]) == points(STUDY.figures[0], rows)[0].mean
    write_models(rows, tmp_path / "models.csv.gz")
    content = (tmp_path / "models.csv.gz").read_bytes()
    read = list(csv.DictReader(gzip.decompress(content).decode().splitlines()))
    assert len(read) == len(rows) and read[0]["method"] == rows[0]["method"] and read[0]["k"] == str(rows[0]["k"])
    write_models(rows, tmp_path / "models.csv.gz")
    assert (tmp_path / "models.csv.gz").read_bytes() == content


def test_places_with_a_label_are_called_by_it():
    study = find("scalability")
    known = {"panel": "squared loss", "x": 0.0, "set": 0, "method": "relaxation", "k": 5, "seconds": 1.5}
    (grid,) = grids(study.figures[0], study.panels("smoke"), [known])
    assert grid.rows == [["n 50, p 200, k 5", "1.5"]]


def test_each_panel_has_labels_of_its_own_cells():
    study = find("scalability")
    known = [
        {"panel": panel, "x": 0.0, "set": 0, "method": "relaxation", "k": 100, "seconds": 1.5}
        for panel in ("squared loss", "squared loss, 20 GB")
    ]
    found = grids(study.figures[0], study.panels("paper"), known)
    assert [grid.rows[0][0] for grid in found] == ["n 10000, p 100000, k 100", "n 50000, p 100000, k 100"]


def test_what_was_not_looked_for_is_left_out():
    rows = rows_of(STUDY.name)
    assert proofs(rows)[0].tight == 0
    unknown = [{name: value for name, value in row.items() if name != "tight"} for row in rows]
    assert proofs(unknown)[0].tight is None
    column = proofs_grid(proofs(unknown)).heads.index("relaxation tight")
    assert {row[column] for row in proofs_grid(proofs(unknown)).rows} == {""}


def test_points_of_a_turned_figure_have_their_own_panel_and_method():
    study = find("time-gamma")
    row = {"panel": "n = 60", "x": 1.0, "set": 0, "method": "exact", "k": 5, "seconds": 1.5}
    (point,) = points(study.figures[0], [row])
    assert (point.panel, point.method, point.mean) == ("n = 60", "exact", 1.5)
