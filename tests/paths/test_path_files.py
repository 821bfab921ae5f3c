"""Files of paths: what is written is read again to the last digit, and what is broken is refused."""

import json
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

from samples import sample
from sparsest import penalty_path
from sparsest.core.losses import Squared
from sparsest.paths.path_files import is_path
from sparsest.paths.path_result import PathResult

P = 6
NAMES = [f"<x{j}>" for j in range(P)]


def fitted(loss="squared", penalty="l1", **settings):
    X, y = sample(loss, 40, P)
    frame = pd.DataFrame(X, columns=NAMES)
    return penalty_path(frame, y, penalty, loss=loss, alphas=12, **settings), frame


@pytest.mark.parametrize(
    ("loss", "penalty", "settings"),
    [
        ("squared", "l1", {}),
        ("squared", "mcp", {"max_features": 2}),
        ("logistic", "elastic_net", {"l1_ratio": 0.5}),
        ("huber", "l1", {"delta": 0.7, "fit_intercept": False}),
    ],
)
def test_files(tmp_path, loss, penalty, settings):
    path, X = fitted(loss, penalty, **settings)
    path = replace(path, about={"chosen": 0.5})
    path.save(tmp_path / "path.json")
    assert is_path(tmp_path / "path.json") and not is_path(tmp_path / "nothing.json")
    again = PathResult.load(tmp_path / "path.json")
    for field in fields(PathResult):
        own, read = getattr(path, field.name), getattr(again, field.name)
        if field.name == "coefs":
            own, read = own.toarray(), read.toarray()
        assert np.array_equal(own, read), field.name
    assert np.array_equal(again.predict(X), path.predict(X))


def test_the_last_model_of_at_most_so_many_features():
    path, _ = fitted()
    for k in range(P + 1):
        alpha = path.alpha_of(k)
        at = int(np.flatnonzero(path.alphas == alpha)[0])
        assert path.n_nonzero[: at + 1].max() <= k
        assert at + 1 == path.solved.sum() or path.n_nonzero[at + 1] > k
    with pytest.raises(ValueError, match="no model of this path has at most -1 features"):
        path.alpha_of(-1)


def test_a_loss_of_ones_own_is_not_kept(tmp_path):
    class Own(Squared):
        name = "own"

    path, _ = fitted()
    with pytest.raises(ValueError, match="which is not one of sparsest's losses"):
        replace(path, loss=Own()).save(tmp_path / "path.json")
    assert not (tmp_path / "path.json").exists()


CHANGES = {
    "format": "sparsest model", "version": 3, "p": 0, "alphas": [], "support": [[P]] * 12, "coef": [[]] * 12,
    "intercepts": ["low"] * 12, "solved": [1] * 12, "n_iter": [0.5] * 12, "loss": 3, "parameters": {"delta": "x"},
    "feature_names": ["a"], "classes": [1, 2, 3], "about": [], "stopped": "TIRED", "fit_intercept": 1, "seconds": None,
    "kkt_violations": None, "converged": [True],
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_broken_is_refused(tmp_path, name):
    file = tmp_path / "path.json"
    fitted()[0].save(file)
    kept = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(kept | {name: CHANGES[name]}), encoding="utf-8")
    with pytest.raises(ValueError, match=r"is not a valid path file|unknown value of stopped|unknown loss"):
        PathResult.load(file)
    kept.pop(name)
    file.write_text(json.dumps(kept), encoding="utf-8")
    with pytest.raises(ValueError, match="is not a valid path file"):
        PathResult.load(file)


def test_what_is_no_json_is_refused(tmp_path):
    file = tmp_path / "path.json"
    for text in (b"", b"[" * 100_000, b"\xff", b'{"a": NaN}', b'{"a": 1, "a": 2}'):
        file.write_bytes(text)
        with pytest.raises(ValueError, match="is not a valid path file"):
            PathResult.load(file)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        PathResult.load(tmp_path / "nothing.json")


@pytest.mark.parametrize("path", [3, None, 1.5, b"path.json", ["path.json"]], ids=str)
def test_a_path_of_the_wrong_type(path):
    with pytest.raises(ValueError, match="path must name a file, got"):
        fitted()[0].save(path)
    with pytest.raises(ValueError, match="path must name a file, got"):
        PathResult.load(path)
