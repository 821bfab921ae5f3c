"""The command ``path``."""

import json

import numpy as np
import pandas as pd
import pytest

from cli.runner import SCHEMA, complains, run
from samples import sample
from sparsest import PathResult, penalty_path


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
    kept = PathResult.load(path / "p.json")
    assert kept.coefs.toarray() == pytest.approx(wanted.coefs.toarray()) and kept.feature_names == list("abcdef")
    assert set(found["order_of_entry"]) == {"abcdef"[j] for j in wanted.coefs.indices} and found["chosen"] is None
    assert "<svg" in (path / "p.html").read_text(encoding="utf-8")


def test_table_and_errors(table):
    path, *_ = table
    shown = run("path", path / "d.csv", "--target", "y", "--alphas", 30, "--max-features", 2)
    assert shown.exit_code == 0 and "alpha" in shown.stdout and "MAX_FEATURES" in shown.stdout
    assert "│" in shown.stdout and " inf " not in shown.stdout
    shown = run("path", path / "d.csv", "--alphas", 30)
    assert np.count_nonzero([line.startswith("│") for line in shown.stdout.splitlines()]) == 12
    complains(run("path", path / "d.csv", "--penalty", "l3"), "unknown penalty 'l3'")


def test_limits_of_coefficients(table):
    path, X, y = table
    call = ("path", path / "d.csv", "--exclude", "visit", "--alphas", 10, "--out", path / "p.json", "--force")
    shown = run(*call, "--lower", "a=0,b=-0.25", "--upper", "c=0.5")
    assert shown.exit_code == 0, shown.output
    wanted = penalty_path(X, y, alphas=10, lower={0: 0.0, 1: -0.25}, upper={2: 0.5})
    kept = PathResult.load(path / "p.json")
    assert kept.coefs.toarray() == pytest.approx(wanted.coefs.toarray())
    assert kept.about["settings"]["lower"] == {"a": 0.0, "b": -0.25}
    assert run(*call, "--positive", "--upper", 1).exit_code == 0
    coefs = PathResult.load(path / "p.json").coefs.toarray()
    assert coefs.min() == 0.0 and coefs.max() <= 1.0
    complains(run(*call, "--lower", "a=low"), "--lower must be a number or column=number, got a=low")
    complains(run(*call, "--lower", "0,a=0"), "--lower must be one number, or one for each of some columns")
    complains(run(*call, "--lower", "g=0"), "--lower names the column 'g', which X does not have")


def test_groups_of_columns(table):
    path, X, y = table
    call = ("path", path / "d.csv", "--exclude", "visit", "--alphas", 10, "--out", path / "p.json", "--force")
    shown = run(*call, "--group", "a,c,d", "--group", "b,f")
    assert shown.exit_code == 0, shown.output
    wanted = penalty_path(X, y, alphas=10, feature_groups=[0, 1, 0, 0, 4, 1])
    kept = PathResult.load(path / "p.json")
    assert kept.coefs.toarray() == pytest.approx(wanted.coefs.toarray())
    entered = kept.coefs.toarray() != 0.0
    assert (entered[0] == entered[2]).all() and (entered[1] == entered[5]).all() and entered.any()
    for groups in (("a,b", "b,c"), ("a,a",), ("a,b", "a,c")):
        options = [part for group in groups for part in ("--group", group)]
        complains(run(*call, *options), "--group names a column twice")
    complains(run(*call, "--group", "a,z"), "--group names 'z', but there is no such feature")
    assert run(*call, "--group", "first=a,c,d", "--group", "b,f").exit_code == 0
    assert (PathResult.load(path / "p.json").coefs != kept.coefs).nnz == 0


def test_levels_of_text_enter_together(table):
    path, X, y = table
    site = np.array(["north", "south", "west"])[np.arange(40) % 3]
    frame = pd.DataFrame(X[:, :2], columns=list("ab")).assign(site=site, y=y + 2.0 * (site == "west"))
    frame.to_csv(path / "sites.csv", index=False)
    call = ("path", path / "sites.csv", "--alphas", 10, "--out", path / "p.json", "--force")
    levels = np.column_stack([X[:, :2], *(site == level for level in ("north", "south", "west"))]).astype(float)
    for options, labels in (((), [0, 1, 2, 2, 2]), (("--levels", "separate"), None)):
        assert run(*call, *options).exit_code == 0
        kept = PathResult.load(path / "p.json")
        assert kept.feature_names == ["a", "b", "site=north", "site=south", "site=west"]
        wanted = penalty_path(levels, frame["y"].to_numpy(), alphas=10, feature_groups=labels)
        np.testing.assert_allclose(kept.coefs.toarray(), wanted.coefs.toarray(), rtol=1e-6, atol=1e-9)
    complains(run(*call, "--levels", "some"), "--levels")


@pytest.mark.parametrize("classes", [False, True])
def test_predictions_of_a_model_of_a_path(table, classes):
    """Chosen in the path, or of the same file by a number of features or a penalty."""
    path, X, y = table
    target = np.where(y > np.median(y), "high", "low") if classes else y
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(outcome=target)
    frame.to_csv(path / "t.csv", index=False)
    loss = "logistic" if classes else "squared"
    shown = run("path", path / "t.csv", "--target", "outcome", "--k", 2, "--out", path / "p.json", "--json")
    assert shown.exit_code == 0, shown.output
    wanted, chosen = penalty_path(X, target, loss=loss, n_features=2, tol=1e-5), json.loads(shown.stdout)["chosen"]
    assert len(chosen["features"]) == 2 and chosen["alpha"] == pytest.approx(wanted.alpha_of(2))
    needed = path / "new.csv"
    frame[list(chosen["features"])].to_csv(needed, index=False)

    def predicted(data, *options):
        shown = run("predict", path / "p.json", data, *options, "--json")
        assert shown.exit_code == 0, shown.output
        return json.loads(shown.stdout)["columns"]

    found = predicted(needed)
    values = wanted.decision_function(X, wanted.alpha_of(2))
    if classes:
        assert found["prediction"] == np.where(values > 0, "low", "high").tolist()
        assert found["probability of low"] == pytest.approx((1 / (1 + np.exp(-values))).tolist(), rel=1e-6)
    else:
        assert found["prediction"] == pytest.approx(values.tolist(), rel=1e-6)
    at = float(np.sqrt(wanted.alphas[0] * wanted.alpha_of(2)))
    for options, alpha in ((("--k", 1), wanted.alpha_of(1)), (("--alpha", at), at)):
        column = "probability of low" if classes else "prediction"
        values = wanted.decision_function(X, alpha)
        values = 1 / (1 + np.exp(-values)) if classes else values
        assert predicted(path / "t.csv", *options)[column] == pytest.approx(values.tolist(), rel=1e-6)


def test_what_cannot_be_predicted_or_verified(table):
    path, *_ = table
    out = ("--out", path / "p.json")
    assert run("path", path / "d.csv", "--alphas", 5, *out).exit_code == 0
    complains(run("predict", path / "p.json", path / "d.csv"), "holds 5 models: choose one with --k")
    complains(run("predict", path / "p.json", path / "d.csv", "--alpha", 1e9), "alpha must be")
    complains(run("predict", path / "p.json", path / "d.csv", "--alpha", 1, "--k", 1), "not by both")
    complains(run("verify", path / "p.json", path / "d.csv"), "holds a penalty path, which has no proof")
    complains(run("path", path / "d.csv", *out), "exists already")
    complains(run("path", path / "d.csv", "--k", 1, "--alpha", 1), "not by both")
    run("fit", path / "d.csv", "--k", 1, "--out", path / "m.json")
    complains(run("predict", path / "m.json", path / "d.csv", "--k", 1), "holds one model")


def test_the_chosen_model_is_printed_and_in_the_report(table):
    path, *_ = table
    asked = ("--exclude", "visit", "--report", path / "r.html", "--out", path / "p.json")
    shown = run("path", path / "d.csv", "--k", 3, *asked)
    assert shown.exit_code == 0 and "the model at alpha = " in shown.stdout and "(intercept)" in shown.stdout
    text = (path / "r.html").read_text(encoding="utf-8")
    assert "<h2>Answer</h2>" in text and f"sparsest predict {path / 'p.json'}" in text and "--k 5" not in text


def test_counts_with_exposure_weights_and_a_parameter(tmp_path):
    rng = np.random.default_rng(0)
    X, years, weights = rng.standard_normal((60, 4)), rng.uniform(0.5, 2.0, 60), rng.uniform(0.5, 2.0, 60)
    y = rng.poisson(years * np.exp(X[:, 1]))
    pd.DataFrame(X, columns=list("abcd")).assign(y=y, years=years, w=weights).to_csv(tmp_path / "d.csv", index=False)
    asked = ("--loss", "negative_binomial", "--theta", 3, "--exposure", "years", "--weights", "w", "--alphas", 10)
    shown = run("path", tmp_path / "d.csv", *asked, "--k", 1, "--out", tmp_path / "p.json", "--json")
    assert shown.exit_code == 0, shown.output
    wanted = penalty_path(
        X, y, loss="negative_binomial", theta=3, exposure=years, sample_weight=weights, alphas=10, n_features=1,
        tol=1e-5,
    )  # fmt: skip
    assert json.loads(shown.stdout)["alphas"] == pytest.approx(wanted.alphas.tolist(), rel=1e-6)
    shown = run("predict", tmp_path / "p.json", tmp_path / "d.csv", "--json")
    mean = wanted.predict(X, wanted.alpha_of(1), exposure=years)
    assert json.loads(shown.stdout)["columns"]["prediction"] == pytest.approx(mean.tolist(), rel=1e-6)
    complains(run("path", tmp_path / "d.csv", *asked, "--delta", 1), "has no parameter delta")
