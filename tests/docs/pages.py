"""Run the code of a page: ``pycon`` blocks as doctests, ``console`` blocks as commands of ``sparsest``.

All blocks of a page share one namespace and one empty folder.  What is printed must have the same text; numbers may
differ in the last digits, and those that depend on the machine are not compared: seconds, nodes, gaps, fingerprints.
"""

from __future__ import annotations

import doctest
import logging
import re
import shlex
from pathlib import Path
from typing import NamedTuple

from typer.testing import CliRunner

from sparsest.cli import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "source").glob("*.md")) + [
    page
    for folder in ("start", "guide", "coming_from", "mathematics")
    for page in sorted((ROOT / "docs" / "source" / folder).glob("*.md"))
]
_FENCE = re.compile(r"^```(pycon|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?")
_OF_THE_MACHINE = re.compile(r"\d+ nodes?|[\d.e+-]+ m?s\b|gap[ =][\d.e+-]+ ?%?|seconds=[\d.e+-]+|\b[0-9a-f]{12,64}\b")
_RELATIVE, _ABSOLUTE = 2e-3, 1e-3


class Block(NamedTuple):
    """A fenced block: what kind it is, its text, and where the text is in the page."""

    kind: str
    text: str
    start: int


def blocks(text: str) -> list[Block]:
    """The blocks of a page that are run."""
    return [Block(found[1], found[2], found.start(2)) for found in _FENCE.finditer(text)]


class Checker(doctest.OutputChecker):
    """Compares text exactly, apart from spaces, and numbers to a few digits."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Whether the output is the expected one."""
        if super().check_output(want, got, optionflags | doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE):
            return True
        want, got = (" ".join(_OF_THE_MACHINE.sub("…", text).split()) for text in (want, got))
        if _NUMBER.sub("#", want).replace(" ", "") != _NUMBER.sub("#", got).replace(" ", ""):
            return False
        numbers = zip(_NUMBER.findall(want), _NUMBER.findall(got), strict=True)
        return all(abs(float(a) - float(b)) <= _ABSOLUTE + _RELATIVE * abs(float(a)) for a, b in numbers)


class Silent(doctest.DocTestRunner):
    """Collects failures as text."""

    def __init__(self) -> None:
        super().__init__(checker=Checker(), verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        self.found: list[str] = []

    def report_failure(self, out, test, example, got) -> None:
        """Keep what was expected and what came."""
        self.found.append(f"{test.name}:{example.source}expected:\n{example.want}got:\n{got}")

    def report_unexpected_exception(self, out, test, example, exc_info) -> None:
        """Keep the exception."""
        self.found.append(f"{test.name}:{example.source}{exc_info[1]!r}")


def command(line: str) -> tuple[str, int]:
    """What a command prints, its notes first, then its answer; and its exit code."""
    arguments = shlex.split(line)
    assert arguments[0] == "sparsest", line
    # The logger keeps the stream of the first command, which is closed when kernels are compiled later.
    logging.raiseExceptions = False
    shown = CliRunner(env={"COLUMNS": "76", "TERM": "dumb"}).invoke(app, arguments[1:])
    notes = [note for note in shown.stderr.splitlines() if not note.startswith("sparsest: compiling")]
    return "\n".join([*notes, shown.stdout]), shown.exit_code


def commands(text: str) -> list[tuple[str, str]]:
    """The commands of a block with their expected output."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        else:
            found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return found


def failures_of(text: str, name: str) -> list[str]:
    """Run a page in the current folder; what did not come out as it says."""
    runner, names = Silent(), {"__name__": "__main__"}
    for block in blocks(text):
        if block.kind == "pycon":
            test = doctest.DocTestParser().get_doctest(block.text, names, name, name, 0)
            runner.run(test, out=lambda _: None, clear_globs=False)
            names = test.globs
            continue
        for line, want in commands(block.text):
            got, code = command(line)
            right = Checker().check_output(want, got, 0) if want else code == 0
            if not right:
                runner.found.append(f"{name}: $ {line}\nexpected:\n{want}got:\n{got}")
    return runner.found
