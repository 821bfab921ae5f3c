"""The command ``fit``: the function best_subset on the columns of a file, and the files it writes."""

import html
import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest

from checks import best_subset
from cli.runner import SCHEMA, complains, run
from injecting import OnCall, interrupt, press
from samples import HARD, hard, sample, sample_weights
from sparsest import BestSubsetRegressor, Result, bootstrap, certified_choice
from sparsest.runtime.events import Status
from sparsest.runtime.faults import injected

NAMES = ["a", "b", "c", "d", "e", "3"]


@pytest.fixture
def folder(tmp_path):
    """Data with names and weights, and the same as a table."""
    X, y = sample("squared", 40, 6)
    weights = sample_weights(True, 40)
    np.savez(tmp_path / "data.npz", X=X, y=y, feature_names=np.array(NAMES), sample_weight=weights)
    frame = pd.DataFrame(X, columns=NAMES).assign(y=y, w=weights, risk=np.where(y > np.median(y), "high", "low"))
    frame.to_csv(tmp_path / "data.csv", index_label="id")
    return tmp_path, X, y


def test_fit_is_best_subset(folder):
    path, X, y = folder
    options = ("--k", 3, "--gamma", 0.3, "--include", "e", "--exclude", 0, "--threads", 1, "--json")
    weighted = ("--weights", "sample_weight")
    shown = run("fit", path, *options, *weighted, "--out", path / "model.json")
    assert shown.exit_code == 0, shown.output
    weights = sample_weights(True, 40)
    asked = {"gamma": 0.3, "include": [4], "exclude": [0], "sample_weight": weights, "standardize": True}
    wanted, found = best_subset(X, y, 3, **asked), json.loads(shown.stdout)
    assert found["support"] == wanted.support.tolist() and "e" in found["features"]
    assert found["objective"] == pytest.approx(wanted.objective, rel=1e-9)
    assert found["files"] == {"model": str(path / "model.json")}
    assert all(f"`{name}`" in SCHEMA for name in found)
    result = Result.load(path / "model.json")
    assert result.certificate.verify(X, y, weights) and result.names == list(found["features"])
    again = run("fit", path, *options, *weighted, "--start", path / "model.json")
    assert json.loads(again.stdout)["support"] == found["support"]
    columns = ("--exclude", "a,risk", "--weights", "w", "--target", "y")
    table = run("fit", path / "data.csv", *options[:6], *columns, "--json")
    assert json.loads(table.stdout)["features"] == pytest.approx(found["features"], rel=1e-6)


def test_the_terminal_tells_what_the_gap_means_and_whether_there_are_enough_data(folder):
    path, _, _ = folder
    shown = run("fit", path / "data.csv", "--target", "risk", "--exclude", "y,w", "--k", 3)
    words = " ".join(shown.stdout.split())
    assert (
        "This model explains" in words and "no other admissible choice of up to 3 features explains more than" in words
    )
    assert "40 rows (20 high, 20 low), 6.67 rows of the rarer class for each feature" in words
    assert "Too few data for 3 features" in words and "per standard deviation" in words
    enough = run("fit", path, "--k", 2)
    assert "40 rows, 20 rows for each feature" in " ".join(enough.stdout.split()) and "Too few" not in enough.stdout


def test_bootstrap(folder):
    """The selection of the command, repeated: in JSON, on the terminal and in the report."""
    path, X, y = folder
    options = ("--k", 2, "--gamma", 0.3, "--bootstrap", 5, "--threads", 1, "--include", "e")
    found = json.loads(run("fit", path, *options, "--json").stdout)["bootstrap"]
    model = BestSubsetRegressor(2, gamma=0.3, include=[4])
    wanted = bootstrap(model, X, y, n_resamples=5, random_state=0)
    assert found["n_resamples"] == 5 and found["model_frequency"] == wanted.model_frequency
    assert found["inclusion"] == {NAMES[j]: wanted.inclusion[j] for j in wanted.used} and found["inclusion"]["e"] == 1.0
    assert found["models"][0]["support"] == list(wanted.models[0].support)
    shown = run("fit", path, *options, "--report", path / "report.html")
    assert "5 resamples; the chosen model (*) is chosen again in" in shown.stdout
    assert "How stable is the choice?" in (path / "report.html").read_text()
    risk = ("--target", "risk", "--exclude", "y,w", "--k", 1, "--bootstrap", 3, "--threads", 1, "--json")
    assert json.loads(run("fit", path / "data.csv", *risk).stdout)["bootstrap"]["n_resamples"] == 3
    chosen = run("cv", path, "--ks", "1-2", "--folds", 3, "--bootstrap", 2, "--threads", 1, "--json")
    assert json.loads(chosen.stdout)["bootstrap"]["n_resamples"] == 2
    assert json.loads(run("fit", path, "--k", 1, "--json").stdout)["bootstrap"] is None


def test_a_criterion_chooses_the_number_of_features(folder):
    path, X, y = folder
    asked = ("fit", path, "--k", "bic", "--weights", "sample_weight", "--threads", 1)
    shown = run(*asked, "--json", "--out", path / "model.json")
    assert shown.exit_code == 0, shown.output
    weights, found = sample_weights(True, 40), json.loads(shown.stdout)
    choice = certified_choice(X, y, "bic", sample_weight=weights)
    assert found["support"] == choice.result.support.tolist()
    assert found["choice"] == {
        "criterion": "bic", "value": pytest.approx(choice.value), "lower_bound": pytest.approx(choice.lower_bound),
        "not_excluded": [],
    }  # fmt: skip
    assert "`choice`" in SCHEMA and Result.load(path / "model.json").certificate.verify(X, y, weights)
    words = f"bic chose {choice.k} features; every other number of features is excluded by a proof"
    assert words in run(*asked).stdout
    assert "neither a whole number nor one of aic" in " ".join(run("fit", path, "--k", "cp").stderr.split())
    complains(run("fit", path, "--k", "bic", "--method", "local"), "method must not be given")


def test_from_a_file_to_a_defended_answer(folder):
    """Fit, verify and predict with labels, one file after the other."""
    path, *_ = folder
    files = ("--out", path / "m.json", "--report", path / "r.html")
    shown = run("fit", path / "data.csv", "--target", "risk", "--exclude", "y,w", "--k", 2, *files)
    assert shown.exit_code == 0, shown.output
    assert "note: left out as names of the rows: 'id'" in shown.stderr and "model written to" in shown.stdout
    assert "logistic loss" in " ".join(shown.stdout.split()) and "(intercept)" in shown.stdout
    assert "<h2>Answer</h2>" in (path / "r.html").read_text(encoding="utf-8")
    shown = run("verify", path / "m.json", path / "data.csv")
    assert shown.exit_code == 0 and "\nvalid\n" in shown.stdout and "at most 2 features" in shown.stdout
    assert run("verify", path / "m.json", path / "data.csv", "--k", 3).exit_code == 1
    shown = run("predict", path / "m.json", path / "data.csv", "--out", path / "p.csv")
    assert shown.exit_code == 0 and shown.stdout == f"predictions written to {path / 'p.csv'}\n"
    predicted, frame = pd.read_csv(path / "p.csv"), pd.read_csv(path / "data.csv")
    result = Result.load(path / "m.json")
    X = frame[[*result.feature_names]]
    assert predicted["row"].tolist() == frame["id"].tolist()
    assert predicted["prediction"].tolist() == result.predict(X).tolist()
    assert predicted["probability of low"].tolist() == result.predict_proba(X)[:, 1].tolist()
    part = run("predict", path / "m.json", "-", input=frame[result.names].to_csv(index=False).encode())
    assert part.exit_code == 0 and part.stdout.splitlines()[1].startswith("1,")
    answer = json.loads(run("predict", path / "m.json", path / "data.csv", "--json").stdout)
    assert answer["columns"]["prediction"] == predicted["prediction"].tolist()
    frame.assign(**{result.names[0]: 0.0}).to_csv(path / "data.csv")
    assert run("verify", path / "m.json", path / "data.csv").exit_code == 1


def test_files_are_not_overwritten(folder):
    path, *_ = folder
    (path / "m.json").write_text("mine")
    for option in ("--out", "--report"):
        complains(
            run("fit", path, option, path / "m.json"), "exists already: choose another name, or overwrite it with"
        )
    assert (path / "m.json").read_text() == "mine"
    assert run("fit", path, "--k", 1, "--out", path / "m.json", "--force").exit_code == 0
    assert Result.load(path / "m.json").support.size == 1
    complains(run("fit", path, "--out", path / "nowhere" / "m.json"), "there is no folder")
    complains(run("predict", path / "m.json", path, "--out", path / "data.csv"), "exists already")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--gamma", "large"), "gamma must be a number > 0 or inf or 'auto'"),
        (("--option", "proof"), "--option must be NAME=VALUE"),
        (("--option", "speed=11"), "has no option 'speed'"),
        (("--option", "proof=maybe"), "proof must be True or False"),
        (("--engine", "scip"), "method 'tree' has no setting 'engine'"),
        (("--include", "age"), "include names the column 'age', which X does not have"),
        (("--start", "missing.json"), "there is no file missing.json"),
        (("--target", "z"), "there is no column (and no file) 'z' for the target"),
        (("--impute", "guess"), "unknown --impute 'guess'"),
        (("--out", "."), ". is a folder"),
    ],
    ids=str,
)
def test_refused(folder, options, message):
    complains(run("fit", folder[0], *options), message)


def test_a_target_of_many_labels(tmp_path):
    frame = pd.DataFrame({"a": range(9), "b": [1, 5, 2] * 3, "kind": ["x", "y", "z"] * 3})
    frame.to_csv(tmp_path / "a.csv", index=False)
    complains(run("fit", tmp_path / "a.csv", "--target", "kind"), "the target has 3 labels ('x', 'y', 'z')")


def test_without_a_ridge_or_in_time_says_so_without_warnings(folder):
    shown = run("fit", folder[0], "--k", 2, "--gamma", "inf", "--time-limit", 1e-9, "--out", folder[0] / "m.json")
    assert Result.load(folder[0] / "m.json").about["settings"]["gamma"] == "inf"
    assert shown.exit_code == 0 and "TIME_LIMIT: stopped at the time limit" in " ".join(shown.output.split())


def test_ctrl_c_keeps_the_best_answer(tmp_path, keyboard):
    X, y = hard()
    np.savez(tmp_path / "data.npz", X=X, y=y)
    files = ("--out", tmp_path / "m.json", "--report", tmp_path / "r.html")
    with injected("event", OnCall(1, press)):
        shown = run("fit", tmp_path, "--k", HARD["k"], "--gamma", HARD["gamma"], *files, "--json")
    assert shown.exit_code == 130 and json.loads(shown.stdout)["status"] == "INTERRUPTED"
    assert Result.load(tmp_path / "m.json").status is Status.INTERRUPTED
    assert "The search was interrupted" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_ctrl_c_before_there_is_an_answer(folder):
    with injected("table", interrupt):
        shown = run("fit", folder[0], "--out", folder[0] / "m.json")
    assert shown.exit_code == 130 and shown.stdout == "" and not (folder[0] / "m.json").exists()
    assert shown.stderr == "interrupted before a result was found; no file was written\n"


def test_progress_is_shown_on_a_terminal_only(folder, monkeypatch):
    assert "incumbent" not in run("fit", folder[0], "--k", 2).stderr
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    shown = run("fit", folder[0], "--k", 2, "--time-limit", 50)
    assert "incumbent" in shown.stderr and "s left" in shown.stderr


def test_a_target_in_a_file_of_its_own_is_in_the_commands_of_the_report(folder):
    path, X, y = folder
    np.save(path / "X.npy", X)
    np.save(path / "y.npy", y)
    asked = ("--target", path / "y.npy", "--out", path / "m.json", "--report", path / "r.html")
    assert run("fit", path / "X.npy", "--k", 2, *asked).exit_code == 0
    text = html.unescape((path / "r.html").read_text(encoding="utf-8"))
    line = re.search(r"<pre>sparsest (verify [^<]+)</pre>", text)[1]
    assert run(*shlex.split(line)).exit_code == 0


def test_ctrl_c_during_the_report_makes_it_short_and_a_second_one_leaves_it_out(folder, keyboard):
    """The model is written in any case."""
    path, *_ = folder
    files = ("--out", path / "m.json", "--report", path / "r.html")
    with injected("report", press):
        shown = run("fit", path, "--k", 2, *files)
    assert shown.exit_code == 130 and "report written to" in shown.stdout, shown.output
    assert "No rows were held out" in (path / "r.html").read_text(encoding="utf-8")
    (path / "r.html").unlink()
    with injected("report", interrupt):
        shown = run("fit", path, "--k", 2, *files, "--force", "--json")
    assert shown.exit_code == 130 and json.loads(shown.stdout)["files"] == {"model": str(path / "m.json")}
    assert "interrupted: no report was written" in shown.stderr and not (path / "r.html").exists()


def test_advice_on_a_missing_target_does_not_suggest_imputation(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(6).standard_normal((20, 2)), columns=["a", "b"])
    frame["y"] = frame["a"]
    frame.loc[3, "y"] = np.nan
    frame.to_csv(tmp_path / "data.csv", index=False)
    shown = run("fit", tmp_path / "data.csv", "--target", "y", "--k", 1)
    complains(shown, "missing values in 'y', up to 1 of 20 rows, which are not filled in: leave these rows out with")


def test_limits_of_coefficients(folder):
    path, X, y = folder
    call = ("fit", path / "data.csv", "--target", "y", "--exclude", "w,risk", "--k", 3, "--gamma", 0.3)
    shown = run(
        *call, "--lower", "a=0,b=-0.25", "--upper", "c=0.5", "--upper", "3=0", "--out", path / "m.json", "--json"
    )
    assert shown.exit_code == 0, shown.output
    asked = {"lower": {0: 0.0, 1: -0.25}, "upper": {2: 0.5, 5: 0.0}, "gamma": 0.3, "standardize": True}
    wanted, found = best_subset(X, y, 3, **asked), json.loads(shown.stdout)
    assert found["support"] == wanted.support.tolist()
    assert found["objective"] == pytest.approx(wanted.objective, rel=1e-6)
    assert found["problem"]["lower"][:2] == [0.0, -0.25] and found["problem"]["upper"][2] == 0.5
    assert run("verify", path / "m.json", path / "data.csv", "--target", "y").exit_code == 0
    assert run("verify", path / "m.json", path / "data.csv", "--target", "y", "--unrestricted").exit_code == 1
    positive = run(*call, "--positive", "--bootstrap", 2, "--json")
    assert min(json.loads(positive.stdout)["features"].values()) > 0.0
    complains(run(*call, "--positive", "--lower", "a=0"), "--positive means --lower 0: give one of them")
    complains(run(*call, "--lower", "g=0"), "lower names the column 'g', which X does not have")
    complains(run(*call, "--lower", "0.5"), "lower must be at most 0 for every column")
