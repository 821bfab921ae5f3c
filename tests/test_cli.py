"""The command line."""

import json
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from checks import best_subset, solve
from samples import sample, sample_weights
from sparsest import Certificate, Result, cli
from sparsest.cli import app
from sparsest.kernels import jit


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_help_without_arguments():
    shown = run()
    assert all(command in shown.output for command in ("demo", "fit", "verify", "warmup"))


def test_a_process_beside_the_first_demo_is_ended_with_it(monkeypatch, tmp_path):
    started = []

    class Helper(subprocess.Popen):
        def __init__(self, command, **settings):
            started.append(self)
            super().__init__([*command[:2], "import time; time.sleep(60)"], **settings)

    monkeypatch.setattr(cli.subprocess, "Popen", Helper)
    monkeypatch.setattr(jit, "cache_directory", lambda: tmp_path)
    with cli._compiling_beside():
        assert started[0].poll() is None
    assert started[0].returncode != 0
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "leap.nbi").touch()
    with cli._compiling_beside():
        pass
    assert len(started) == 1


def test_demo_prints_tables():
    shown = run("--verbose", "demo", "--k", 3, "--time-limit", 5)
    assert shown.exit_code == 0, shown.output
    for text in ("Diabetes, 442 × 64", "Breast cancer, 569 × 30", "k = 3", "coefficient", "(intercept)", "lower bound"):
        assert text in shown.output


def test_demo_prints_json():
    shown = run("demo", "--k", 2, "--time-limit", 5, "--json")
    assert shown.exit_code == 0, shown.output
    regression, classifier = json.loads(shown.output)
    for model in (regression, classifier):
        assert len(model["features"]) == len(model["support"]) == 2
        assert model["lower_bound"] <= model["objective"]
    assert regression["title"].startswith("Diabetes") and classifier["title"].startswith("Breast cancer")
    assert "bmi" in regression["features"]


def test_demo_refuses_no_features():
    assert run("demo", "--k", 0).exit_code == 2


def test_warmup():
    shown = run("warmup")
    assert shown.exit_code == 0 and "kernels are compiled" in shown.output


@pytest.fixture
def proof(tmp_path):
    """A certificate and the folder of its data."""
    X, y = sample("squared", 25, 6)
    certificate = solve(X, y, 2, gamma=0.1).certificate
    (tmp_path / "proof.json").write_text(certificate.to_json(), encoding="utf-8")
    np.savez(tmp_path / "data.npz", X=X, y=y)
    return tmp_path, X, y


def test_verify_valid(proof):
    folder, *_ = proof
    shown = run("verify", folder / "proof.json", folder)
    assert shown.exit_code == 0 and "\nvalid\nobjective " in shown.output
    assert shown.output.startswith("problem: 25 × 6 data ") and "at most 2 features" in shown.output
    verdict = json.loads(run("verify", folder / "proof.json", folder, "--json").output)
    assert verdict["valid"] is True and verdict["reasons"] == []
    assert 0.0 <= verdict["gap"] < 1.0


def test_verify_sparse_data(proof):
    folder, X, y = proof
    np.savez(folder / "data.npz", y=y)
    sp.save_npz(folder / "X.npz", sp.csc_array(X))
    assert run("verify", folder / "proof.json", folder).exit_code == 0


def test_verify_weighted(tmp_path):
    X, y = sample("squared", 25, 6)
    weights = sample_weights(True, 25)
    certificate = solve(X, y, 2, gamma=0.1, sample_weight=weights).certificate
    (tmp_path / "proof.json").write_text(certificate.to_json(), encoding="utf-8")
    np.savez(tmp_path / "data.npz", X=X, y=y)
    shown = run("verify", tmp_path / "proof.json", tmp_path, "--weighted")
    assert shown.exit_code == 2 and "has no array sample_weight" in shown.output
    np.savez(tmp_path / "data.npz", X=X, y=y, sample_weight=weights)
    assert run("verify", tmp_path / "proof.json", tmp_path).exit_code == 1
    shown = run("verify", tmp_path / "proof.json", tmp_path, "--weighted")
    assert shown.exit_code == 0 and "\nvalid\n" in shown.output


def test_verify_invalid(proof):
    folder, X, y = proof
    np.savez(folder / "data.npz", X=X, y=y + 0.1 * np.arange(25))
    shown = run("verify", folder / "proof.json", folder)
    assert shown.exit_code == 1 and "\nNOT VALID: the certificate is for data with another fingerprint" in shown.output
    shown = run("verify", folder / "proof.json", folder, "--json")
    assert shown.exit_code == 1 and json.loads(shown.output)["valid"] is False


def test_verify_data_of_another_shape(proof):
    folder, X, y = proof
    np.savez(folder / "data.npz", X=X[:-1], y=y[:-1])
    shown = run("verify", folder / "proof.json", folder, "--json")
    assert shown.exit_code == 1
    verdict = json.loads(shown.output, parse_constant=pytest.fail)
    assert verdict["objective"] is None and "is for data of shape" in verdict["reasons"][0]


@pytest.mark.parametrize(
    ("option", "holds"),
    [(("--k", "2"), True), (("--k", "3"), False), (("--gamma", "0.2"), False), (("--loss", "logistic"), False)],
    ids=str,
)
def test_verify_refuses_a_proof_of_another_problem(proof, option, holds):
    folder, *_ = proof
    shown = run("verify", folder / "proof.json", folder, *option)
    assert shown.exit_code == (0 if holds else 1)
    assert ("the certificate is for" in shown.output) != holds


def test_counts_with_an_exposure(tmp_path):
    """A fit with it, and a verification that needs it too."""
    rng = np.random.default_rng(0)
    X, exposure = rng.standard_normal((30, 4)), rng.uniform(0.5, 2.0, 30)
    np.savez(tmp_path / "data.npz", X=X, y=rng.poisson(exposure * np.exp(X[:, 1])), exposure=exposure)
    asked = ("--k", "1", "--loss", "negative_binomial", "--theta", "3")
    shown = run("fit", tmp_path, *asked, "--exposure", "--json", "--output", tmp_path / "model.zip")
    assert shown.exit_code == 0 and json.loads(shown.output)["support"] == [1]
    Result.load(tmp_path / "model.zip").certificate.save(tmp_path / "proof.bin")
    assert run("verify", tmp_path / "proof.bin", tmp_path, "--exposure").exit_code == 0
    shown = run("verify", tmp_path / "proof.bin", tmp_path)
    assert shown.exit_code == 1 and "is for data with exposure" in shown.output
    shown = run("fit", tmp_path, *asked, "--offset")
    assert shown.exit_code == 2 and "has no array offset" in shown.output


def test_verify_exactly_and_the_binary_form(proof):
    folder, *_ = proof
    Certificate.load(folder / "proof.json").save(folder / "proof.bin")
    shown = run("verify", folder / "proof.bin", folder, "--exact", "--json")
    assert shown.exit_code == 0 and json.loads(shown.output)["statement"]["k"] == 2


@pytest.mark.parametrize("name", ["proof.json", "missing.json"])
def test_verify_unreadable(proof, name):
    folder, *_ = proof
    (folder / "proof.json").write_text("garbage", encoding="utf-8")
    shown = run("verify", folder / name, folder)
    assert shown.exit_code == 2 and "error: " in shown.output


def test_verify_without_data(proof):
    folder, *_ = proof
    shown = run("verify", folder / "proof.json", folder / "nowhere")
    assert shown.exit_code == 2 and "there is no data folder" in shown.output


@pytest.fixture
def folder(tmp_path):
    """Data with names and weights."""
    X, y = sample("squared", 40, 6)
    names = np.array(["a", "b", "c", "d", "e", "3"])
    np.savez(tmp_path / "data.npz", X=X, y=y, feature_names=names, sample_weight=sample_weights(True, 40))
    return tmp_path, X, y


def test_fit_is_best_subset(folder):
    path, X, y = folder
    options = ("--k", 3, "--gamma", 0.3, "--include", "e", "--exclude", 0, "--n-jobs", 1, "--weighted", "--json")
    shown = run("fit", path, *options, "--output", path / "model.zip")
    assert shown.exit_code == 0, shown.output
    weights = sample_weights(True, 40)
    asked = {"gamma": 0.3, "include": [4], "exclude": [0], "sample_weight": weights, "standardize": True}
    wanted, found = best_subset(X, y, 3, **asked), json.loads(shown.output)
    assert found["support"] == wanted.support.tolist() and "e" in found["features"]
    assert found["objective"] == pytest.approx(wanted.objective, rel=1e-9)
    result = Result.load(path / "model.zip")
    assert result.certificate.verify(X, y, weights) and result.names == list(found["features"])
    again = run("fit", path, *options, "--start", path / "model.zip")
    assert json.loads(again.output)["support"] == found["support"]


def test_fit_prints_a_table_and_shows_progress(folder):
    path, *_ = folder
    shown = run("fit", path, "--k", 2, "--verbose", "--option", "proof=false", "--include", "3")
    assert shown.exit_code == 0, shown.output
    for text in ("best subset: incumbent", "coefficient", "(intercept)", "at most 2 features", "with [5]"):
        assert text in shown.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--gamma", "large"), "gamma must be a number > 0 or inf or 'auto'"),
        (("--option", "proof"), "--option must be NAME=VALUE"),
        (("--option", "speed=11"), "does not know 'speed'"),
        (("--option", "proof=maybe"), "proof must be True or False"),
        (("--engine", "scip"), "method 'tree' does not know 'engine'"),
        (("--include", "age"), "include names the column 'age', which X has not"),
        (("--start", "missing.zip"), "there is no file missing.zip"),
    ],
    ids=str,
)
def test_fit_refuses(folder, options, message):
    shown = run("fit", folder[0], *options)
    assert shown.exit_code == 2 and message in " ".join(shown.output.split())


def test_fit_without_a_ridge_or_in_time_says_so_without_warnings(folder):
    shown = run("fit", folder[0], "--k", 2, "--gamma", "inf", "--time-limit", 1e-9)
    assert shown.exit_code == 0 and "TIME_LIMIT: stopped at the time limit" in " ".join(shown.output.split())
