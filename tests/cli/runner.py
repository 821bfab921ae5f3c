"""How the tests call the command line."""

from pathlib import Path

from typer.testing import CliRunner

import sparsest.cli
from sparsest.cli import app

SCHEMA = (Path(sparsest.cli.__file__).parent / "JSON.md").read_text(encoding="utf-8")


def run(*arguments, **settings):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], **settings)


def complains(shown, message):
    """The command ends as for wrong input, and with one line on stderr."""
    assert shown.exit_code == 2, (shown.output, shown.exception)
    assert isinstance(shown.exception, SystemExit)
    last = shown.stderr.splitlines()[-1]
    assert last.startswith("error: ") and shown.stderr.count("error: ") == 1, shown.stderr
    assert shown.stdout == "" and message in shown.stderr, shown.stderr
