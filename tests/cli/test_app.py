"""Behaviour that all commands share, and commands without data."""

import json

import pytest

from cli.runner import SCHEMA, run
from processes import run_process
from sparsest import __version__, warming

COMMANDS = ("advise", "cv", "demo", "fit", "path", "predict", "verify", "warmup")


def test_help_without_arguments():
    shown = run()
    assert all(command in shown.output for command in (*COMMANDS, "study"))


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_by_an_example(command):
    shown = run(command, "--help")
    assert shown.exit_code == 0 and f"Example: sparsest {command}" in " ".join(shown.output.split())
    assert "--debug" in shown.output and "--verbose" in shown.output


def test_version():
    shown = run("--version")
    assert shown.exit_code == 0 and shown.output == f"sparsest {__version__}\n"


def test_the_package_runs_as_a_program():
    shown = run_process("-m", "sparsest", "--version")
    assert shown.returncode == 0 and shown.stdout == f"sparsest {__version__}\n"
    assert "Usage: sparsest fit" in run_process("-m", "sparsest", "fit", "--help").stdout


def test_shell_completion():
    asked = {"_SPARSEST_COMPLETE": "complete_bash", "COMP_WORDS": "sparsest p", "COMP_CWORD": "1"}
    shown = run(env=asked, prog_name="sparsest")
    assert shown.output.split() == ["path", "predict"]


def test_demo_prints_tables():
    shown = run("demo", "--k", 3, "--time-limit", 5, "--verbose")
    assert shown.exit_code == 0, shown.output
    for text in ("Diabetes, 442 × 64", "Breast cancer, 569 × 30", "k = 3", "coefficient", "(intercept)", "lower bound"):
        assert text in shown.output


def test_demo_prints_json():
    shown = run("demo", "--k", 2, "--time-limit", 5, "--json")
    assert shown.exit_code == 0, shown.output
    regression, classifier = json.loads(shown.stdout)["models"]
    for model in (regression, classifier):
        assert len(model["features"]) == len(model["support"]) == 2
        assert model["lower_bound"] <= model["objective"] and all(f"`{name}`" in SCHEMA for name in model)
    assert regression["title"].startswith("Diabetes") and classifier["title"].startswith("Breast cancer")
    assert "bmi" in regression["features"]


def test_warmup(monkeypatch):
    """``tests/test_warming.py`` checks that this compiles everything."""
    calls = []
    monkeypatch.setattr(warming, "warmup", lambda: calls.append("compiled"))
    shown = run("warmup")
    assert shown.exit_code == 0 and "kernels are compiled" in shown.output and calls == ["compiled"]
