"""Files of results: what is written is read again to the last digit, and what is broken or forged is refused."""

import json
import zipfile
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from checks import best_subset
from samples import sample
from sparsest import Result
from sparsest.result_files import read, write

P = 6
NAMES = [f"<x{j}>" for j in range(P)]


def fitted(loss="squared", **settings):
    X, y = sample(loss, 40, P)
    frame = pd.DataFrame(X, columns=NAMES)
    return best_subset(frame, y, 2, loss=loss, gamma=0.3, **settings), frame, y


@pytest.fixture
def saved(tmp_path):
    """The file of a result, and what it holds."""
    result, *_ = fitted()
    result.save(tmp_path / "model.zip")
    with zipfile.ZipFile(tmp_path / "model.zip") as archive:
        return result, json.loads(archive.read("result.json")), archive.read("certificate.bin")


def packed(path, **members):
    """An archive with these members."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr({"model": "result.json", "proof": "certificate.bin"}[name], content)
    return path


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize(
    "settings", [{}, {"options": {"proof": False}}, {"standardize": True, "include": [0]}], ids=str
)
def test_files(tmp_path, loss, settings):
    result, X, y = fitted(loss, **settings)
    result.save(tmp_path / "model.zip")
    again = Result.load(tmp_path / "model.zip")
    for field in fields(Result):
        if field.name not in ("trace", "certificate"):
            assert np.array_equal(getattr(again, field.name), getattr(result, field.name)), field.name
    assert np.array_equal(again.predict(X), result.predict(X))
    assert (again.certificate is None) == ("options" in settings)
    assert again.certificate is None or again.certificate.verify(X.to_numpy(), y)


def test_labels_that_are_no_text_and_no_numbers_are_not_saved(tmp_path):
    X, y = sample("logistic", 40, P)
    dates = np.where(y > 0, np.datetime64("2021-01-01"), np.datetime64("2020-01-01"))
    result = best_subset(X, dates, 2, loss="logistic", gamma=0.3)
    with pytest.raises(ValueError, match="labels of type date cannot be saved"):
        result.save(tmp_path / "model.zip")


# What may be changed in a file, and what is said of it.
FORGED = [
    ({"form": "sparsest result 2"}, "no result.json of the form 'sparsest result 1'"),
    ({"more": 1}, "no result.json of the form"),
    ({"support": [1, 0]}, "no list of column numbers in increasing order"),
    ({"support": [1, 1]}, "no list of column numbers in increasing order"),
    ({"support": [0.5, 1.0]}, "no list of column numbers"),
    ({"support": [-1, 0]}, "no list of column numbers"),
    ({"support": {"a": 1}}, "no list of column numbers"),
    ({"support": [False, True]}, "no list of column numbers"),
    ({"support": [0, 99]}, "columns that its problem does not have"),
    ({"coef": [1.0]}, "not one coefficient for each column"),
    ({"coef": ["1", "2"]}, "not one coefficient for each column"),
    ({"objective": "small"}, "n_nodes is no number"),
    ({"lower_bound": True}, "n_nodes is no number"),
    ({"intercept": None}, "n_nodes is no number"),
    ({"n_nodes": 1.5}, "n_nodes is no number"),
    ({"status": 3}, "its status or its names are no texts"),
    ({"feature_names": [1] * P}, "its status or its names are no texts"),
    ({"feature_names": ["a"]}, "has 1 names for 6 columns"),
    ({"classes": ["a"]}, "it has not two labels"),
    ({"classes": [[], {}]}, "it has not two labels"),
    ({"statement": {}}, "the problem must be described by epsilon"),
    ({"status": "PERFECT"}, "PERFECT"),
]


@pytest.mark.parametrize(("change", "message"), FORGED, ids=str)
def test_forged_files_are_refused(tmp_path, saved, change, message):
    _, kept, proof = saved
    packed(tmp_path / "forged.zip", model=json.dumps({**kept, **change}), proof=proof)
    with pytest.raises(ValueError, match=message):
        Result.load(tmp_path / "forged.zip")


@pytest.mark.parametrize("name", ["form", "support", "classes", "statement"])
def test_nothing_may_be_missing(tmp_path, saved, name):
    _, kept, proof = saved
    del kept[name]
    packed(tmp_path / "forged.zip", model=json.dumps(kept), proof=proof)
    with pytest.raises(ValueError, match=r"no result\.json of the form"):
        Result.load(tmp_path / "forged.zip")


def test_a_model_without_its_proof_and_a_proof_without_its_model(tmp_path, saved):
    result, kept, proof = saved
    model = json.dumps(kept)
    found, statement, certificate = read(packed(tmp_path / "model.zip", model=model))
    assert (
        certificate is None and statement == result.statement and found["coef"] == result.coef[result.support].tolist()
    )
    with pytest.raises(ValueError, match=r"no result\.json of the form"):
        read(packed(tmp_path / "proof.zip", proof=proof))
    with pytest.raises(ValueError):
        read(packed(tmp_path / "cut.zip", model=model, proof=proof[:-9]))


def test_numbers_that_json_does_not_have_are_not_written(tmp_path, saved):
    result, kept, _ = saved
    del kept["form"]
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="JSON"):
            write(tmp_path / "bad.zip", {**kept, "objective": bad}, result.certificate)
    assert not (tmp_path / "bad.zip").exists()


def test_a_certificate_of_another_problem_is_refused(tmp_path, saved):
    _, kept, _ = saved
    _, X, y = fitted()
    other = best_subset(X, y, 3, gamma=0.3).certificate
    packed(tmp_path / "forged.zip", model=json.dumps(kept), proof=other.to_bytes())
    with pytest.raises(ValueError, match="a certificate for another problem"):
        Result.load(tmp_path / "forged.zip")


@pytest.mark.parametrize("content", [b"", b"garbage", b"PK\x03\x04 but no archive", b"PK\x05\x06" + bytes(18)], ids=str)
def test_files_that_are_no_results(tmp_path, content):
    (tmp_path / "model.zip").write_bytes(content)
    with pytest.raises(ValueError, match="is no file of a result"):
        Result.load(tmp_path / "model.zip")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        Result.load(tmp_path / "missing.zip")
