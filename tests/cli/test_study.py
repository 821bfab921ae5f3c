"""The commands of studies: run, looked at, drawn, judged and reported; errors in one line."""

import json
import signal
import subprocess
import sys

import pytest

from cli.runner import SCHEMA, complains, run
from sparsest.cli import study_progress
from sparsest.studies import SIZES, STUDIES
from sparsest.studies.runner import Progress
from sparsest.studies.store import Store

COMMANDS = ("check", "list", "plot", "publish", "report", "run", "status", "table")
NAME = "time-rho"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_by_an_example(command):
    shown = run("study", command, "--help")
    assert shown.exit_code == 0 and f"Example: sparsest study {command}" in " ".join(shown.output.split())


def test_list():
    shown = run("study", "list", "--json")
    entries = json.loads(shown.stdout)["studies"]
    assert [entry["study"] for entry in entries] == list(STUDIES)
    assert all(set(entry["sizes"]) == set(SIZES) and entry["findings"] for entry in entries)
    assert all(f"`{name}`" in SCHEMA for entry in entries for name in entry)
    text = run("study", "list").output
    assert all(name in text for name in STUDIES)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A small study, run in two parts."""
    store = tmp_path_factory.mktemp("study") / "results.sqlite"
    part = run("study", "run", NAME, "--size", "smoke", "--store", store, "--jobs", 1, "--sets", 0)
    assert part.exit_code == 0 and "0 of 0 tasks" in part.stdout, part.output
    shown = run("study", "run", NAME, "--size", "smoke", "--store", store, "--jobs", 1)
    assert shown.exit_code == 0, shown.output
    total = len(STUDIES[NAME].tasks("smoke"))
    assert f"{total} of {total} tasks are done" in shown.stdout and "the rest takes about" in shown.stderr
    return store


def test_what_is_done_is_not_done_again(store):
    before = Store(store).seconds()
    shown = run("study", "run", NAME, "--size", "smoke", "--store", store, "--jobs", 1)
    assert shown.exit_code == 0 and Store(store).seconds() == before


def test_large_data_are_written_to_a_folder(tmp_path):
    """With a memory limit of zero all data are put on disk; a missing folder is reported before anything runs."""
    scratch, store = tmp_path / "scratch", tmp_path / "results.sqlite"
    command = ("study", "run", "scalability", "--size", "smoke", "--store", store, "--jobs", 1, "--scratch", scratch)
    refused = run(*command, "--in-memory", 0)
    assert refused.exit_code != 0 and "--scratch" in refused.output and not store.exists()
    scratch.mkdir()
    shown = run(*command, "--in-memory", 0)
    assert shown.exit_code == 0 and "4 of 4 tasks are done" in shown.stdout, shown.output
    assert list(scratch.iterdir()) == []


def test_status_and_check(store):
    shown = json.loads(run("study", "status", "--size", "smoke", "--store", store, "--json").stdout)
    done = {entry["study"]: (entry["done"], entry["total"]) for entry in shown["studies"]}
    assert done[NAME] == (len(STUDIES[NAME].tasks("smoke")),) * 2 and done["class-real"][0] == 0
    assert NAME in run("study", "status", NAME, "--size", "smoke", "--store", store).output
    judged = json.loads(run("study", "check", NAME, "--size", "smoke", "--store", store, "--json").stdout)
    assert [entry["finding"] for entry in judged["findings"]] == [f.text for f in STUDIES[NAME].findings]
    assert all(entry["judgement"] in ("confirmed", "not confirmed", "undecided") for entry in judged["findings"])
    for entry in (*shown["studies"], *judged["findings"], shown, judged):
        assert all(f"`{name}`" in SCHEMA for name in entry)
    assert "outcome" in run("study", "check", NAME, "--size", "smoke", "--store", store).output


def test_files(store, tmp_path):
    for command, made in (("plot", f"{NAME}-smoke-seconds.svg"), ("table", f"{NAME}-smoke.md")):
        shown = run("study", command, NAME, "--size", "smoke", "--store", store, "--out", tmp_path / command)
        assert shown.exit_code == 0 and (tmp_path / command / made).is_file(), shown.output
        assert made in shown.stdout
    shown = run("study", "publish", "--store", store, "--out", tmp_path / "docs")
    assert shown.exit_code == 0 and (tmp_path / "docs" / "findings.md").is_file()
    page = tmp_path / "page.html"
    assert run("study", "report", "--store", store, "--out", page).exit_code == 0
    assert "<title>Studies of sparsest</title>" in page.read_text(encoding="utf-8")
    complains(run("study", "report", "--store", store, "--out", page), "--force")


def test_errors_in_one_line(store, tmp_path):
    complains(run("study", "run", "reg-fixed", "--store", tmp_path / "a"), "choose one of reg-fixed-k")
    complains(run("study", "run", NAME, "--size", "huge", "--store", tmp_path / "a"), "smoke, small, paper")
    complains(run("study", "status", "--store", tmp_path / "nowhere"), "sparsest study run")
    complains(run("study", "check", "class-real", "--store", store), "has no results of these studies")
    other = tmp_path / "text.sqlite"
    other.write_text("no data base at all, but a text that is long enough" * 100)
    complains(run("study", "status", "--store", other), "cannot be used as a file of results")
    shown = run(
        "study",
        "run",
        "class-real",
        "--size",
        "smoke",
        "--store",
        tmp_path / "b",
        "--jobs",
        1,
        env={"SPARSEST_DATA": ""},
    )
    assert shown.exit_code == 2 and "SPARSEST_DATA" in shown.stderr.splitlines()[-1], shown.output


def test_long_runs_are_announced_and_ctrl_c_ends_them(tmp_path):
    """The estimate comes first; then a signal, as soon as work has begun."""
    arguments = ["study", "run", "reg-cv-k", "--size", "paper", "--store", str(tmp_path / "r"), "--jobs", "1"]
    # A process started in the background ignores Ctrl-C.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"from sparsest.cli import app; app({arguments!r})"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    lines = [process.stderr.readline(), process.stderr.readline()]
    assert "weeks" in lines[0] and "this takes long" in lines[1], lines
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130 and "Traceback" not in errors, errors
    assert "interrupted" in errors


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_tells_the_time_left(terminal, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR" if terminal else "NO_COLOR", "1")
    with study_progress.following(5, 1, pause=0.0) as listener:
        listener(Progress(None, 1.0, done=2, total=5, failed=1, seconds_left=150.0))
    shown = capsys.readouterr().err
    assert "1 failed, about 2 min left" in shown and ("2/5" if terminal else "2 of 5 tasks") in shown
