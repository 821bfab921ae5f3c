"""What ``--json`` prints is what JSON.md says, command by command; and what the help shows can be typed."""

import json
import re
import shlex
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

from cli.runner import SCHEMA, run
from processes import run_process
from samples import sample
from sparsest.cli import app

COMMANDS = ("advise", "cv", "demo", "fit", "path", "predict", "verify")
NAMED = defaultdict(set)
for names, commands in re.findall(r"^\| (`[^|]+) \| ([a-z, ]+) \|", SCHEMA, re.MULTILINE):
    for name in re.findall(r"`(\w+)`", names):
        NAMED[name] |= set(commands.split(", "))


def entries(command):
    """The entries that the documentation has for a command."""
    return {name for name, commands in NAMED.items() if command in commands or commands == {"all"}}


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What every command prints."""
    X, y = sample("squared", 40, 6)
    folder = tmp_path_factory.mktemp("printed")
    data, model = folder / "d.csv", folder / "m.json"
    pd.DataFrame(X, columns=list("abcdef")).assign(y=y).to_csv(data, index=False)
    calls = {
        "fit": (data, "--k", 2, "--out", model),
        "cv": (data, "--ks", "1,2", "--gammas", 0.1, "--folds", 2),
        "path": (data, "--alphas", 5),
        "predict": (model, data),
        "verify": (model, data),
        "advise": (data, "--aim", "proof"),
        "demo": ("--k", 1, "--time-limit", 5),
    }
    found = {}
    for command, arguments in calls.items():
        shown = run(command, *arguments, "--json")
        assert shown.exit_code == 0 and shown.stdout.count("\n") == 1 and shown.stderr == "", shown.output
        found[command] = json.loads(shown.stdout, parse_constant=pytest.fail)
    return found


def test_every_entry_is_described_and_every_description_is_true(printed):
    assert set(NAMED) > {"format", "problem", "validation"} and set(printed) == set(COMMANDS)
    for command, content in printed.items():
        told = set(content) | (set(content["models"][0]) if command == "demo" else set())
        wanted = entries(command)
        if command == "demo":
            wanted |= entries("fit") - {"notes", "files", "problem", "choice", "bootstrap"}
        if command == "verify":
            wanted |= {"problem"}
        assert told == wanted, (command, told ^ wanted)
        assert content["format"] == f"sparsest {command}" and content["version"] == 1
    listed = re.search(r"the problem that was solved: ([^|]+) \|", SCHEMA)[1]
    assert set(printed["fit"]["problem"]) == set(re.findall(r"\w+", re.sub(r"\([^)]*\)| and ", " ", listed)))
    assert set(printed["cv"]["validation"][0]) == {"k", "gamma", "mean", "standard_error"}


def help_of(command):
    return app.registered_commands, next(one for one in app.registered_commands if one.callback.__name__ == command)


@pytest.mark.parametrize("command", [*COMMANDS, "warmup"])
def test_the_example_of_the_help_can_be_typed(command, monkeypatch, tmp_path):
    """The command is parsed, and fails only because of missing files."""
    _, one = help_of(command)
    example = re.search(r"Example: `sparsest ([^`]+)`", one.callback.__doc__)[1]
    if command in ("demo", "warmup"):
        # Needs no files.  To compile everything takes minutes.
        monkeypatch.setattr("sparsest.warming.warmup", lambda: None)
        assert run(*shlex.split(example)).exit_code == 0
        return
    monkeypatch.chdir(tmp_path)
    shown = run(*shlex.split(example))
    assert shown.exit_code == 2 and "--help" not in shown.stderr and "there is no file" in shown.stderr, shown.stderr


def test_the_example_of_the_help_works(monkeypatch, tmp_path):
    """With data of the names in it: from fit to predictions, and by cross-validation, path and advice."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 12))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(12)])
    frame["survived"] = np.where(X[:, 0] + X[:, 3] + rng.standard_normal(60) > 0, "yes", "no")
    monkeypatch.chdir(tmp_path)
    for name in ("patients.csv", "new_patients.csv"):
        frame.to_csv(name, index=False)
    frame.to_parquet("expression.parquet")
    for command in ("fit", "verify", "predict", "cv", "path", "advise"):
        _, one = help_of(command)
        example = shlex.split(re.search(r"Example: `sparsest ([^`]+)`", one.callback.__doc__)[1])
        force = ("--force",) if "--out" in example else ()
        shown = run(*example, *force)
        assert shown.exit_code == 0, (example, shown.output)
    assert {path.name for path in tmp_path.iterdir()} >= {"model.json", "report.html", "predictions.csv", "path.json"}


def test_what_advise_types_can_be_typed(printed):
    line = shlex.split(printed["advise"]["command"])
    assert line[:2] == ["sparsest", "fit"] and run(*line[1:], "--json").exit_code == 0


def test_verbose_logs_what_is_being_done(tmp_path):
    """As a separate process: logs go to stderr, and only with --verbose."""
    X, y = sample("squared", 40, 6)
    np.savez(tmp_path / "data.npz", X=X, y=y)
    call = f"from sparsest.cli import app; app(['fit', {str(tmp_path)!r}, '--k', '1', {{}}])"
    quiet, loud = (run_process("-c", call.format(more)) for more in ("", "'--verbose'"))
    assert quiet.returncode == loud.returncode == 0 and quiet.stderr == ""
    assert "read " in loud.stderr and "40 rows, 6 features" in loud.stderr and "found Result(OPTIMAL" in loud.stderr
    assert quiet.stdout.count("\n") == loud.stdout.count("\n")
