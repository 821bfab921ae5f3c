"""The commands ``cv`` and ``advise``."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

from cli.runner import SCHEMA, complains, run
from injecting import press
from samples import sample
from sparsest import BestSubsetClassifierCV, BestSubsetRegressorCV, Result
from sparsest.runtime.events import Fold, Status
from sparsest.runtime.faults import injected


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


def press_after_two_folds(event):
    if isinstance(event, Fold) and event.n_done == 2:
        press()


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_ctrl_c_keeps_the_folds_that_are_done(table, keyboard, loss):
    """Squared losses are fitted in Gram space, others one by one: both stop."""
    path, X, frame = table
    files = ("--out", path / "m.json", "--report", path / "r.html")
    asked = ("--ks", "1-3", "--gammas", "0.01,0.1", "--exclude", "risk", "--loss", loss, "--selection", "one_se")
    with injected("event", press_after_two_folds):
        shown = run("cv", path / "d.csv", *asked, *files, "--json")
    assert shown.exit_code == 130, shown.output
    found = json.loads(shown.stdout)
    assert found["status"] == "INTERRUPTED" and found["files"] == {"model": str(files[1]), "report": str(files[3])}
    assert "interrupted after 2 of 5 folds: the choice uses only these" in found["notes"]
    parts = list(KFold(5, shuffle=True, random_state=0).split(X))[:2]
    wanted = BestSubsetRegressorCV(ks=[1, 2, 3], gammas=[0.01, 0.1], cv=parts, loss=loss, selection="one_se")
    wanted.fit(X, frame["y"])
    assert found["chosen"] == {"k": wanted.k_, "gamma": wanted.gamma_}
    assert [row["mean"] for row in found["validation"]] == pytest.approx(wanted.cv_results_["mean_test_score"].tolist())
    assert found["lower_bound"] <= wanted.objective_ * (1 + 1e-9)
    assert Result.load(path / "m.json").status is Status.INTERRUPTED
    assert run("verify", path / "m.json", path / "d.csv").exit_code == 0


def test_ctrl_c_before_a_fold_is_done(table, keyboard):
    path, *_ = table
    asked = ("--exclude", "risk", "--ks", "1-3", "--include", "b", "--out", path / "m.json")
    with injected("fold", press):
        shown = run("cv", path / "d.csv", *asked)
        again = run("cv", path / "d.csv", *asked, "--json", "--force")
    assert shown.exit_code == 130, (shown.output, shown.exception)
    assert "interrupted before a fold was done: k = 3 and the ridge are defaults" in shown.stderr
    result = Result.load(path / "m.json")
    assert result.status is Status.INTERRUPTED and result.statement.k == 3 and "b" in result.names
    found = json.loads(again.stdout)
    assert found["chosen"] is None and found["validation"] == [] and all(f"`{name}`" in SCHEMA for name in found)


def test_counts_with_exposure_weights_and_a_parameter(tmp_path):
    rng = np.random.default_rng(0)
    X, years, weights = rng.standard_normal((60, 4)), rng.uniform(0.5, 2.0, 60), rng.uniform(0.5, 2.0, 60)
    y = rng.poisson(years * np.exp(X[:, 1]))
    pd.DataFrame(X, columns=list("abcd")).assign(y=y, years=years, w=weights).to_csv(tmp_path / "d.csv", index=False)
    asked = ("--loss", "negative_binomial", "--theta", 3, "--exposure", "years", "--weights", "w", "--folds", 3)
    grid = ("--ks", "1,2", "--gammas", "0.1")
    shown = run("cv", tmp_path / "d.csv", *asked, *grid, "--out", tmp_path / "m.json", "--json")
    assert shown.exit_code == 0, shown.output
    parts = KFold(3, shuffle=True, random_state=0)
    wanted = BestSubsetRegressorCV(ks=[1, 2], gammas=[0.1], loss="negative_binomial", theta=3, cv=parts)
    wanted.fit(X, y, sample_weight=weights, exposure=years)
    found = json.loads(shown.stdout)
    assert [row["mean"] for row in found["validation"]] == pytest.approx(wanted.cv_results_["mean_test_score"].tolist())
    assert (
        found["problem"]["parameters"] == {"theta": 3}
        and run("verify", tmp_path / "m.json", tmp_path / "d.csv").exit_code == 0
    )
    complains(run("cv", tmp_path / "d.csv", *asked, "--epsilon", 1), "has no parameter epsilon")
    complains(run("cv", tmp_path / "d.csv", "--offset", "z"), "there is no column 'z' for the offset")


def test_ends_of_given_grids_are_noted_once(table):
    asked = ("cv", table[0] / "d.csv", "--exclude", "risk", "--json")
    found = json.loads(run(*asked, "--ks", "1-2", "--gammas", "10").stdout)
    noted = [note for note in found["notes"] if "one that was tried" in note]
    assert len(noted) == (found["chosen"]["k"] == 2)
    found = json.loads(run(*asked, "--ks", "0-4", "--gammas", "1e-6,1e-5").stdout)
    (noted,) = [note for note in found["notes"] if "one that was tried" in note]
    assert noted.startswith("the best number of features is the largest one that was tried, 4: give larger ks")


def test_limits_of_coefficients(table):
    path, X, frame = table
    call = ("cv", path / "d.csv", "--target", "y", "--exclude", "risk", "--ks", "1-3", "--gammas", 0.1, "--json")
    shown = run(*call, "--lower", "a=0", "--upper", "b=0.1,c=0", "--seed", 3, "--folds", 4)
    assert shown.exit_code == 0, shown.output
    parts = KFold(4, shuffle=True, random_state=3)
    asked = {"lower": {0: 0.0}, "upper": {1: 0.1, 2: 0.0}}
    wanted = BestSubsetRegressorCV(ks=[1, 2, 3], gammas=[0.1], cv=parts, **asked).fit(X, frame["y"])
    found = json.loads(shown.stdout)
    assert found["support"] == wanted.support_.tolist()
    assert [row["mean"] for row in found["validation"]] == pytest.approx(wanted.cv_results_["mean_test_score"].tolist())
    positive = run(*call, "--positive")
    assert min(json.loads(positive.stdout)["features"].values()) > 0.0
