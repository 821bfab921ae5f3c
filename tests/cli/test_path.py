"""The command ``path``."""

import json

import numpy as np
import pandas as pd
import pytest

from cli.runner import SCHEMA, complains, run
from samples import sample
from sparsest import penalty_path


@pytest.fixture
def table(tmp_path):
    X, y = sample("squared", 40, 6)
    pd.DataFrame(X, columns=list("abcdef")).assign(y=y, visit=range(40)).to_csv(tmp_path / "d.csv", index=False)
    return tmp_path, X, y


@pytest.mark.parametrize("penalty", ["l1", "mcp"])
def test_path_is_penalty_path(table, penalty):
    path, X, y = table
    files = ("--out", path / "p.json", "--report", path / "p.html")
    shown = run("path", path / "d.csv", "--exclude", "visit", "--penalty", penalty, "--alphas", 20, "--json", *files)
    assert shown.exit_code == 0, shown.output
    wanted, found = penalty_path(X, y, penalty, alphas=20), json.loads(shown.stdout)
    assert found["alphas"] == pytest.approx(wanted.alphas.tolist())
    assert found["n_nonzero"] == wanted.n_nonzero.tolist() and all(f"`{name}`" in SCHEMA for name in found)
    kept = json.loads((path / "p.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    last = kept["coefficients"][-1]
    assert [last.get(name, 0.0) for name in "abcdef"] == pytest.approx(wanted.coefs[:, [-1]].toarray()[:, 0].tolist())
    assert set(found["order_of_entry"]) == set().union(*kept["coefficients"])
    assert "<svg" in (path / "p.html").read_text(encoding="utf-8")


def test_table_and_errors(table):
    path, *_ = table
    shown = run("path", path / "d.csv", "--target", "y", "--alphas", 30, "--max-features", 2)
    assert shown.exit_code == 0 and "alpha" in shown.stdout and "MAX_FEATURES" in shown.stdout
    assert np.count_nonzero([line.startswith("│") for line in shown.stdout.splitlines()]) == 12
    complains(run("path", path / "d.csv", "--penalty", "l3"), "unknown penalty 'l3'")
