"""Messy tables on the command line: replacements and assumptions are printed, stored and reported."""

import json
import shlex

import numpy as np
import pytest

from cli.runner import complains, run

N = 60


@pytest.fixture
def file(tmp_path):
    """Counts with gaps, codes, an identifier, exposures and a rare level."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(N)
    rows = [
        f"{i + 1},{'' if i % 6 == 0 else f'{x[i]:.4f}'},{(20, 30, 160)[i % 3]},{'' if i % 8 == 0 else 'uv'[i % 2]},"
        f"{0 if i == 4 else 1 + i % 5},{rng.poisson(np.exp(1 + x[i]))},{'NA' if i % 10 else i}"
        for i in range(N)
    ]
    (tmp_path / "a.csv").write_text("\n".join(["Order,x,code,word,time,count,empty", *rows]))
    return tmp_path / "a.csv"


def test_replacements_are_printed_stored_and_reported(file):
    out, report = file.with_name("model.json"), file.with_name("report.html")
    shown = run(
        "fit", file, "--target", "count", "--k", "2", "--loss", "squared", "--impute", "median+indicator",
        "--drop", "Order", "--categorical", "code", "--method", "local", "--out", out, "--report", report,
    )  # fmt: skip
    assert shown.exit_code == 0, shown.output
    filled = "column 'x': 10 of 60 values were missing and became the median"
    own = "column 'word': 8 of 60 values were missing and are a separate level"
    gone = "left out, because too many values are missing (--max-missing): 'empty (90%)'"
    page = report.read_text(encoding="utf-8")
    for text in (filled, own, gone):
        assert f"note: {text}" in shown.stderr and text.replace("'", "&#39;") in page
    kept = json.loads(out.read_text(encoding="utf-8"))
    assert kept["about"]["table"]["missing"] == {"x": 10, "word": 8}
    assert kept["about"]["table"]["fill"]["word"] == "" and kept["about"]["table"]["indicators"] == {"x": "x=missing"}
    assert set(kept["feature_names"]) == {
        "x", "x=missing", "code=20", "code=30", "code=160", "word=v", "word=missing", "time",
    }  # fmt: skip
    assert run("predict", out, file, "--json").exit_code == 0
    again = run("fit", file, "--target", "count", "--impute", "mean", "--missing-text", "frequent",
                "--max-missing", "1", "--method", "local", "--min-level", "1", "--json")  # fmt: skip
    notes = json.loads(again.stdout)["notes"]
    assert any("'word': 8 of 60 values were missing and became the most frequent text" in note for note in notes)
    assert any("column looks like an identifier, distinct whole numbers: 'Order'" in note for note in notes)


def test_rows_are_counted_as_a_spreadsheet_counts_them(file):
    asked = ["fit", file, "--target", "count", "--impute", "median", "--loss", "poisson", "--method", "local"]
    complains(run(*asked, "--exposure", "time"), "must be above zero, got 0 in row 6: correct them")
    told = run(*asked, "--exposure", "time", "--drop-zero-exposure")
    assert told.exit_code == 0 and "1 of 60 rows was left out: exposure not above zero" in told.stderr
    lines = file.read_text().splitlines()
    lines[8] = lines[8].rpartition(",")[0].rpartition(",")[0] + ",-3,NA"
    file.write_text("\n".join(lines))
    complains(run(*asked), "loss 'poisson' needs y >= 0, got -3 in row 9 of the file")
    # Rows that are left out are counted.
    complains(run(*asked, "--exposure", "time", "--drop-zero-exposure"), "got -3 in row 9 of the file")
    complains(run("path", *asked[1:-2]), "got -3 in row 9 of the file")
    complains(run("cv", *asked[1:]), "got -3 in row 9 of the file")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (lambda i: i % 2, "the target has two values, 0 and 1: they are taken as classes (50% are 1)"),
        (lambda i: 1 + (i % 4 == 0), "two values, 1 and 2: they are taken as classes (25% are 2); if they are amounts"),
        (lambda i: i % 5, "5 whole numbers from 0 to 4: they are taken as amounts (least squares); if they are counts"),
        (lambda i: i * 0.5, None),
        (lambda i: "ab"[i % 2], None),
        (lambda i: i - 3, None),
    ],
)
def test_assumptions_about_the_target_are_printed(tmp_path, target, message):
    rng = np.random.default_rng(0)
    rows = [f"{rng.standard_normal():.3f},{rng.standard_normal():.3f},{target(i)}" for i in range(40)]
    (tmp_path / "a.csv").write_text("\n".join(["u,v,y", *rows]))
    shown = run("fit", tmp_path / "a.csv", "--k", "1", "--method", "local")
    assert shown.exit_code == 0, shown.output
    assert ("they are taken as" in shown.stderr) == (message is not None)
    assert message is None or message in shown.stderr
    chosen = run("fit", tmp_path / "a.csv", "--k", "1", "--method", "local", "--loss", "squared")
    assert "they are taken as" not in chosen.stderr


def test_advice_knows_exposures(file):
    asked = ["--target", "count", "--exposure", "time", "--impute", "median", "--drop", "Order"]
    shown = run("advise", file, *asked, "--json")
    told = json.loads(shown.stdout)
    assert told["settings"]["loss"] in ("poisson", "negative_binomial") and "treated as counts" in told["why"]
    for part in ("--exposure time", "--drop Order", "--drop-zero-exposure"):
        assert part in told["command"]
    typed = run(*shlex.split(told["command"])[1:], "--json")
    assert typed.exit_code == 0, typed.output
    file.write_text(file.read_text().replace(",u,0,", ",u,1,"))
    assert "--drop-zero-exposure" not in json.loads(run("advise", file, *asked, "--json").stdout)["command"]
