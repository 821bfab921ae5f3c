"""The commands ``cv`` and ``advise``."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

from cli.runner import SCHEMA, complains, run
from samples import sample
from sparsest import BestSubsetClassifierCV, BestSubsetRegressorCV, Result


@pytest.fixture
def table(tmp_path):
    X, y = sample("squared", 60, 5)
    order = np.argsort(y)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=y, risk=np.where(y > np.median(y), "high", "low"))
    frame.iloc[order].to_csv(tmp_path / "d.csv", index=False)
    return tmp_path, X[order], frame.iloc[order]


@pytest.mark.parametrize("target", ["y", "risk"])
def test_cv_is_the_estimator(table, target):
    path, _, frame = table
    files = ("--out", path / "m.json", "--report", path / "r.html")
    other = "risk" if target == "y" else "y"
    options = ("--ks", "1-2,4", "--gammas", "0.01,0.1", "--folds", 4, "--exclude", f"{other},e", "--seed", 3)
    shown = run("cv", path / "d.csv", "--target", target, *options, *files, "--json")
    assert shown.exit_code == 0, shown.output
    make, divide = (BestSubsetRegressorCV, KFold) if target == "y" else (BestSubsetClassifierCV, StratifiedKFold)
    parts = divide(4, shuffle=True, random_state=3)
    # Numbers that are excluded stay in the table, text does not.
    features = frame[[*"abcde", "y"] if other == "y" else list("abcde")].to_numpy()
    wanted = make(ks=[1, 2, 4], gammas=[0.01, 0.1], cv=parts, exclude=(4, 5)[: features.shape[1] - 4])
    wanted.fit(features, frame[target])
    found = json.loads(shown.stdout)
    assert found["chosen"] == {"k": wanted.k_, "gamma": wanted.gamma_} and all(f"`{name}`" in SCHEMA for name in found)
    assert [row["mean"] for row in found["validation"]] == pytest.approx(wanted.cv_results_["mean_test_score"].tolist())
    assert found["support"] == wanted.support_.tolist()
    assert "How many features?" in (path / "r.html").read_text(encoding="utf-8")
    assert Result.load(path / "m.json").names == list(found["features"])
    assert run("verify", path / "m.json", path / "d.csv").exit_code == 0


def test_cv_prints_a_table(table):
    shown = run("cv", table[0] / "d.csv", "--exclude", "risk", "--ks", "1-3", "--gammas", "0.1")
    assert shown.exit_code == 0 and "held-out scores" in shown.stdout and "→" in shown.stdout
    for option, value, message in (
        ("--ks", "few", "--ks must be numbers and ranges"),
        ("--gammas", "x", "--gammas must be numbers"),
        ("--scoring", "luck", "luck"),
    ):
        complains(run("cv", table[0] / "d.csv", "--exclude", "risk", option, value), message)


def test_advise(table):
    shown = run("advise", table[0] / "d.csv", "--exclude", "risk", "--aim", "proof")
    assert shown.exit_code == 0 and "best_subset(X, y" in shown.stdout
    advice = json.loads(run("advise", table[0] / "d.csv", "--exclude", "risk", "--aim", "proof", "--json").stdout)
    assert advice["method"] == "best_subset" and all(f"`{name}`" in SCHEMA for name in advice)
    complains(run("advise", table[0] / "d.csv", "--exclude", "risk", "--aim", "fame"), "unknown aim 'fame'")


def test_notebooks_show_the_scores(table):
    _, X, frame = table
    model = BestSubsetRegressorCV(ks=[1, 2], gammas=[0.1], cv=3)
    assert "<svg class=" not in model._repr_html_()
    shown = model.fit(X, frame["y"])._repr_mimebundle_()["text/html"]
    assert "<svg class=" in shown and "number of features" in shown and "BestSubsetRegressorCV" in shown
