"""Options about which features go together, and the terms of models that follow from them."""

import json

import numpy as np
import pandas as pd
import pytest

from cli.runner import complains, run
from sparsest import Result, Structure, best_subset, certified_choice, interactions


@pytest.fixture
def file(tmp_path):
    """A table in which a column of text of three levels matters, and the product of two numbers."""
    rng = np.random.default_rng(0)
    n = 120
    diet = rng.choice(["fish", "meat", "vegan"], n)
    frame = pd.DataFrame({"diet": diet} | {name: rng.standard_normal(n) for name in "abcd"})
    effect = frame["diet"].map({"fish": 0.0, "meat": 2.0, "vegan": -2.0})
    frame["y"] = effect + frame["a"] + frame["b"] + 2.0 * frame["a"] * frame["b"] + 0.3 * rng.standard_normal(n)
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv", frame


def found_by(*arguments):
    shown = run(*arguments, "--json")
    assert shown.exit_code == 0, (shown.output, shown.exception)
    return json.loads(shown.stdout)


def test_levels_are_one_feature(file):
    path, _ = file
    one = found_by("fit", path, "--k", 1)
    assert list(one["features"]) == ["diet=fish", "diet=meat", "diet=vegan"]
    assert one["problem"]["structure"]["units"] == [0, 0, 0, 1, 2, 3, 4]
    separate = found_by("fit", path, "--k", 1, "--levels", "separate")
    assert len(separate["features"]) == 1 and separate["problem"]["structure"] is None


def test_a_criterion_counts_the_columns_of_groups(file):
    """Levels are grouped by default, so a table with a column of text has groups of several sizes."""
    path, frame = file
    out = path.parent / "model.json"
    asked = ("fit", path, "--k", "bic", "--threads", 1)
    found = found_by(*asked, "--out", out)
    levels = (frame["diet"].to_numpy()[:, None] == ["fish", "meat", "vegan"]).astype(float)
    X = np.column_stack([levels, frame[list("abcd")]])
    choice = certified_choice(X, frame["y"], "bic", feature_groups=[0, 0, 0, 1, 2, 3, 4])
    assert found["support"] == choice.result.support.tolist() and found["status"] == "OPTIMAL"
    assert found["choice"]["value"] == pytest.approx(choice.value) and found["choice"]["not_excluded"] == []
    words = f"bic chose {choice.k} columns; every other number of columns is excluded by a proof"
    assert words in run(*asked).stdout
    verified = run("verify", out, path)
    assert verified.exit_code == 0 and f"at most {choice.k} columns" in verified.stdout
    assert run("verify", out, path, "--unrestricted").exit_code == 1
    limited = found_by(*asked, "--at-most", "1 of diet,a")
    assert not {"diet=fish", "a"} <= set(limited["features"]) and limited["status"] == "OPTIMAL"


def test_levels_are_grouped_by_their_names(file):
    """A list of names that contain an equals sign is not taken for a named list."""
    path, _ = file
    asked = ("fit", path, "--k", 2, "--levels", "separate", "--group")
    for group in ("diet=fish,diet=vegan", "both=diet=fish,diet=vegan"):
        units = found_by(*asked, group)["problem"]["structure"]["units"]
        assert units == [0, 1, 0, 2, 3, 4, 5]


def test_groups_limits_and_requirements(file):
    path, frame = file
    X = frame[list("abcd")]
    options = ["--exclude", "diet", "--k", 2, "--gamma", 0.1]
    grouped = found_by("fit", path, *options, "--group", "both=a,c", "--at-most", "1 of both,b")
    labels = ["both", "b", "both", "d"]
    wanted = best_subset(
        X, frame["y"], 2, gamma=0.1, feature_groups=labels, structure=Structure(limits=[(["both", "b"], 1)])
    )
    unnamed = found_by("fit", path, *options, "--group", "a,c", "--at-most", "1 of a+c,b")
    assert list(grouped["features"]) == list(unnamed["features"]) == wanted.names
    assert grouped["objective"] == pytest.approx(wanted.objective, rel=1e-9)
    needs = found_by("fit", path, *options, "--requires", "a needs any of c,d", "--at-least", "1 of a")
    rules = Structure(requires=[("a", ["c", "d"], "any")], limits=[(["a"], 1, 1)])
    wanted = best_subset(X, frame["y"], 2, gamma=0.1, structure=rules)
    assert list(needs["features"]) == wanted.names and wanted.names[0] == "a"


def test_correlated_features_exclude_each_other(file, tmp_path):
    _, frame = file
    frame = frame.assign(e=frame["a"] + 0.05 * np.random.default_rng(1).standard_normal(len(frame)))
    frame.to_csv(tmp_path / "more.csv", index=False)
    both = found_by("fit", tmp_path / "more.csv", "--k", 4, "--include", "a", "--max-correlation", 0.9)
    assert "a" in both["features"] and "e" not in both["features"]


def test_interactions_keep_heredity_and_are_read_again(file, tmp_path):
    path, frame = file
    model = tmp_path / "model.json"
    found = found_by("fit", path, "--k", 4, "--interactions", "--out", model)
    assert {"a", "b", "a:b", "diet=meat"} <= set(found["features"])
    assert run("verify", model, path).exit_code == 0
    design = interactions(frame[list("abcd")])
    wanted = best_subset(design, frame["y"], 3, structure=Structure(requires=design.requires))
    alone = found_by("fit", path, "--k", 3, "--interactions", "--exclude", "diet")
    assert list(alone["features"]) == wanted.names == ["a", "b", "a:b"]
    shown = run("predict", model, path)
    assert shown.exit_code == 0
    predictions = np.array([float(line.split(",")[1]) for line in shown.stdout.splitlines()[1:]])
    result = Result.load(model)
    columns = {f"diet={level}": (frame["diet"] == level) * 1.0 for level in ("fish", "meat", "vegan")}
    columns |= {name: frame[name] for name in "abcd"} | {"a:b": frame["a"] * frame["b"]}
    by_hand = sum(coef * columns[name] for name, coef in found["features"].items()) + result.intercept
    np.testing.assert_allclose(predictions, by_hand, rtol=1e-9)


def test_cross_validation_counts_terms(file):
    path, _ = file
    found = found_by("cv", path, "--ks", "0-3", "--folds", 3)
    assert {"diet=fish", "diet=meat", "diet=vegan"} <= set(found["features"])
    assert found["chosen"]["k"] == 3 and len(found["features"]) == 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--levels", "some"], "--levels"),
        (["--group", "=a,b"], "--group must be a,b,… or NAME=a,b,…"),
        (["--group", "a,b", "--group", "b,c"], "--group names a column twice, got a,b, b,c"),
        (["--group", "c=a,b"], "there is another feature called 'c'"),
        (["--at-most", "a,b"], "--at-most must be a number and features"),
        (["--at-least", "1 of a,nothing"], "--at-least names 'nothing', but there is no such feature"),
        (["--requires", "a b"], "--requires must be such as 'a needs b,c'"),
        (["--max-correlation", "2"], "exclusive"),
    ],
)
def test_options_that_are_wrong(file, options, message):
    path, _ = file
    complains(run("fit", path, "--k", 2, *options), message)
