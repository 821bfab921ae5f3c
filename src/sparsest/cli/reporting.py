"""Output of commands that fit a model: the model's file, the report, and the table or the JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from sparsest.cli.app import INTERRUPTED, log
from sparsest.cli.output import print_json, print_model, the_command
from sparsest.cli.stability import as_json
from sparsest.results.facts import facts_of, facts_on
from sparsest.runtime.clock import Clock
from sparsest.runtime.events import Status
from sparsest.runtime.files import write_whole

if TYPE_CHECKING:
    from sparsest.cli.options import OutputOptions
    from sparsest.core.data import Data as PreparedData
    from sparsest.report import Curve
    from sparsest.results.result import Result
    from sparsest.runtime.progress import Record
    from sparsest.selection.bootstrap_result import BootstrapResult
    from sparsest.tables import Table


@dataclass(frozen=True, eq=False)
class ModelOutput:
    """The origin of a model, and its output.

    Attributes
    ----------
    command, data : name of the command, and of the data
    target : the given target, which may be a separate file
    files : files to write, and the format of the output
    """

    command: str
    data: str
    target: str | None
    files: OutputOptions

    def write(
        self,
        result: Result,
        table: Table,
        record: Record,
        settings: dict[str, Any],
        curve: Curve | None = None,
        more: dict[str, Any] | None = None,
        stability: BootstrapResult | None = None,
        prepared: PreparedData | None = None,
    ) -> int:
        """Write the files, print the model, and return the exit code.

        Parameters
        ----------
        settings : settings of the search, to be stored with the model
        curve : held-out scores, for the report
        more : further entries of the JSON
        stability : result of a bootstrap of the selection
        prepared : the data as prepared by the search, if available
        """
        about = {"table": table.encoding.to_json(), "settings": _plain(settings), "command": the_command()}
        result = replace(result, about={**about, "notes": table.notes})
        log("found %r", result)
        written = {}
        if self.files.out is not None:
            result.save(self.files.out)
            written["model"] = self.files.out
        if not self.files.as_json:
            known = (
                facts_of(result, table.matrix, table.target, **table.rows)
                if prepared is None
                else facts_on(result, prepared)
            )
            title = f"{table.encoding.target or self.data}: {result.statement.sentence(result.feature_names)}"
            print_model(result, title, *known.short())
            if stability is not None:
                typer.echo(f"\n{stability.summary()}")
        hurried = False
        if self.files.report is not None:
            with making_the_report(self.files.as_json) as clock:
                text = self._report(result, table, record, curve, stability, prepared, clock.expired)
                write_whole(self.files.report, text)
                written["report"] = self.files.report
            hurried = clock.interrupted
        if self.files.as_json:
            content = {"problem": result.statement.to_json(), **result.to_dict(), "notes": table.notes}
            print_json(self.command, {**content, "files": written, "bootstrap": as_json(stability), **(more or {})})
        else:
            for name, path in written.items():
                typer.echo(f"{name} written to {path}")
        return INTERRUPTED if hurried or result.status is Status.INTERRUPTED else 0

    def _report(
        self,
        result: Result,
        table: Table,
        record: Record,
        curve: Curve | None,
        stability: BootstrapResult | None,
        prepared: PreparedData | None,
        hurry: Callable[[], bool],
    ) -> str:
        from sparsest.report import model_report

        return model_report(
            result, table.matrix, table.target, rows=table.rows, prepared=prepared, record=record,
            target=table.encoding.target or "the target", curve=curve,
            ids=None if table.ids is None else table.ids.tolist(),
            command=str(result.about["command"]), notes=table.notes, data=self.data, model=self.files.out, hurry=hurry,
            target_file=self.target if table.encoding.target is None else None, stability=stability,
        )  # fmt: skip


@contextmanager
def making_the_report(quiet: bool) -> Iterator[Clock]:
    """Show on a terminal that the report is being made, which can take long for large data.

    Ctrl-C makes the report short; a second Ctrl-C leaves it out.  The model has been printed and saved by then.
    """
    console, clock = Console(stderr=True), Clock(math.inf)
    shown = (
        nullcontext() if quiet or not console.is_terminal else console.status("making the report (Ctrl-C: a short one)")
    )
    try:
        with shown, clock.listening():
            yield clock
    except KeyboardInterrupt:
        clock.interrupted = True
        typer.echo("interrupted: no report was written", err=True)


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings for a JSON file: infinity, which JSON does not have, becomes text, and a structure a dictionary."""

    def plain(value: Any) -> Any:
        if is_dataclass(value) and not isinstance(value, type):
            return asdict(value)
        return str(value) if isinstance(value, float) and not math.isfinite(value) else value

    return {name: plain(value) for name, value in settings.items()}
