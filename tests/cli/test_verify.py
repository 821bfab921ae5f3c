"""The command ``verify``: a proof, the problem it is about, and the data it is for."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from checks import solve
from cli.runner import complains, run
from samples import sample, sample_weights
from sparsest import Certificate, Result


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
    assert shown.output.startswith("problem: at most 2 features: ") and "25 × 6 data " in shown.output
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
    complains(
        run("verify", tmp_path / "proof.json", tmp_path, "--weights", "sample_weight"),
        "there is no column 'sample_weight' for the sample weight",
    )
    np.savez(tmp_path / "data.npz", X=X, y=y, sample_weight=weights)
    assert run("verify", tmp_path / "proof.json", tmp_path).exit_code == 1
    shown = run("verify", tmp_path / "proof.json", tmp_path, "--weights", "sample_weight")
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
    verdict = json.loads(shown.stdout, parse_constant=pytest.fail)
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
    complains(run("verify", folder / "proof.json", folder / "nowhere"), "there is no file or folder")


def test_counts_with_an_exposure(tmp_path):
    """A fit with it, and a verification, a prediction and a report that need it too; the model knows its column."""
    rng = np.random.default_rng(0)
    X, exposure = rng.standard_normal((30, 4)), rng.uniform(0.5, 2.0, 30)
    np.savez(tmp_path / "data.npz", X=X, y=rng.poisson(exposure * np.exp(X[:, 1])), exposure=exposure)
    asked = ("--k", "1", "--loss", "negative_binomial", "--theta", "3")
    files = ("--out", tmp_path / "model.json", "--report", tmp_path / "report.html")
    shown = run("fit", tmp_path, *asked, "--exposure", "exposure", "--json", *files)
    assert shown.exit_code == 0 and json.loads(shown.stdout)["support"] == [1]
    result = Result.load(tmp_path / "model.json")
    result.certificate.save(tmp_path / "proof.bin")
    assert run("verify", tmp_path / "model.json", tmp_path).exit_code == 0
    assert run("verify", tmp_path / "proof.bin", tmp_path, "--exposure", "exposure").exit_code == 0
    shown = run("verify", tmp_path / "proof.bin", tmp_path)
    assert shown.exit_code == 1 and "is for data with exposure" in shown.output
    complains(run("fit", tmp_path, *asked, "--offset", "offset"), "there is no column 'offset' for the offset")
    predicted = json.loads(run("predict", tmp_path / "model.json", tmp_path, "--json").stdout)["columns"]["prediction"]
    assert predicted == pytest.approx(result.predict(X, exposure=exposure).tolist(), rel=1e-12)


def test_forced_features_have_names_and_what_is_not_known_is_not_shown(tmp_path):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.standard_normal((25, 3)), columns=["age", "dose", "weight"])
    frame["y"] = frame["age"] + rng.standard_normal(25)
    frame.to_csv(tmp_path / "data.csv", index=False)
    frame.head(20).to_csv(tmp_path / "few.csv", index=False)
    model = tmp_path / "m.json"
    fitted = run("fit", tmp_path / "data.csv", "--target", "y", "--k", 2, "--include", "dose", "--out", model)
    assert fitted.exit_code == 0, fitted.output
    shown = run("verify", model, tmp_path / "data.csv")
    assert "at most 2 features, with [dose]: " in shown.output and "\nvalid\n" in shown.output
    refused = run("verify", model, tmp_path / "few.csv")
    assert refused.exit_code == 1 and "NOT VALID" in refused.output
    assert "objective" not in refused.output
