"""Files of results: what is written is read again to the last digit, and what is broken or forged is refused."""

import json
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

from checks import best_subset
from samples import sample
from sparsest import Result

P = 6
NAMES = [f"<x{j}>" for j in range(P)]


def fitted(loss="squared", **settings):
    X, y = sample(loss, 40, P)
    frame = pd.DataFrame(X, columns=NAMES)
    return best_subset(frame, y, 2, loss=loss, gamma=0.3, **settings), frame, y


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize(
    "settings", [{}, {"options": {"proof": False}}, {"standardize": True, "include": [0]}], ids=str
)
def test_files(tmp_path, loss, settings):
    result, X, y = fitted(loss, **settings)
    result = replace(result, about={"settings": {"k": 2}})
    result.save(tmp_path / "model.json")
    again = Result.load(tmp_path / "model.json")
    for field in fields(Result):
        if field.name not in ("trace", "certificate", "restart", "screening"):
            assert np.array_equal(getattr(again, field.name), getattr(result, field.name)), field.name
    assert np.array_equal(again.predict(X), result.predict(X))
    assert (again.certificate is None) == ("options" in settings)
    assert again.certificate is None or again.certificate.verify(X.to_numpy(), y)


def test_labels_that_are_no_text_and_no_numbers_are_not_saved(tmp_path):
    X, y = sample("logistic", 40, P)
    dates = np.where(y > 0, np.datetime64("2021-01-01"), np.datetime64("2020-01-01"))
    result = best_subset(X, dates, 2, loss="logistic", gamma=0.3)
    with pytest.raises(ValueError, match="labels of type date cannot be saved"):
        result.save(tmp_path / "model.json")


FORGED = [
    {"format": "sparsest path"},
    {"version": 2},
    {"support": [1, 0]},
    {"support": [0, 99]},
    {"support": [0.5, 1.0]},
    {"support": [-1, 0]},
    {"support": {"a": 1}},
    {"coef": [1.0]},
    {"coef": ["1", "2"]},
    {"objective": "small"},
    {"intercept": None},
    {"n_nodes": 1.5},
    {"status": "PERFECT"},
    {"status": 3},
    {"feature_names": ["a"]},
    {"feature_names": [1] * P},
    {"classes": ["a"]},
    {"classes": [[], {}]},
    {"about": []},
    {"certificate": "valid"},
    {"certificate": {}},
    {"problem": {}},
    {"more": 1},
]


def forge(tmp_path, change):
    """The file of a result with some entries replaced."""
    result, *_ = fitted()
    result.save(tmp_path / "model.json")
    kept = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    (tmp_path / "forged.json").write_text(json.dumps({**kept, **change}), encoding="utf-8")
    return tmp_path / "forged.json"


def test_a_file_written_again_is_read(tmp_path):
    assert Result.load(forge(tmp_path, {})).status is Result.load(tmp_path / "model.json").status


@pytest.mark.parametrize("change", FORGED, ids=str)
def test_forged_files_are_refused(tmp_path, change):
    with pytest.raises(ValueError):
        Result.load(forge(tmp_path, change))


def test_a_certificate_of_another_problem_is_refused(tmp_path):
    _, X, y = fitted()
    other = best_subset(X, y, 3, gamma=0.3)
    with pytest.raises(ValueError, match="a certificate for another problem"):
        Result.load(forge(tmp_path, {"certificate": json.loads(other.certificate.to_json())}))


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2}', '{"format": NaN}', "[" * 100_000, "[1]"], ids=lambda text: text[:9]
)
def test_json_that_is_not_strict(tmp_path, text):
    (tmp_path / "model.json").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="is not a valid result file"):
        Result.load(tmp_path / "model.json")


def test_a_bound_that_is_infinite_is_kept(tmp_path):
    result = replace(fitted()[0], lower_bound=-np.inf, certificate=None)
    result.save(tmp_path / "model.json")
    assert Result.load(tmp_path / "model.json").lower_bound == -np.inf


@pytest.mark.parametrize("content", [b"", b"garbage", b"PK\x03\x04 an archive", b"\xff\xfe{}"], ids=str)
def test_files_that_are_no_results(tmp_path, content):
    (tmp_path / "model.json").write_bytes(content)
    with pytest.raises(ValueError, match="is not a valid result file"):
        Result.load(tmp_path / "model.json")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        Result.load(tmp_path / "missing.json")


@pytest.mark.parametrize("name", ["format", "support", "classes", "problem", "certificate", "about"])
def test_nothing_may_be_missing(tmp_path, name):
    file = forge(tmp_path, {})
    kept = json.loads(file.read_text(encoding="utf-8"))
    del kept[name]
    file.write_text(json.dumps(kept), encoding="utf-8")
    with pytest.raises(ValueError, match="is not a valid result file"):
        Result.load(file)


@pytest.mark.parametrize("path", [3, None, 1.5, b"model.json", ["model.json"]], ids=str)
def test_a_path_of_the_wrong_type(path):
    with pytest.raises(ValueError, match="path must name a file, got"):
        fitted()[0].save(path)
    with pytest.raises(ValueError, match="path must name a file, got"):
        Result.load(path)
