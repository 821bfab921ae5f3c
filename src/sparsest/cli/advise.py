"""The command ``advise``: a method and its settings for the data at hand."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsest.cli import options as o
from sparsest.cli.app import command

if TYPE_CHECKING:
    from sparsest.selection.advise import Advice


@command
def advise(
    data: o.Data,
    columns: o.ColumnOptions,
    aim: Annotated[str, typer.Option(help="prediction, few_false_features or proof.")] = "prediction",
    as_json: o.Json = False,
) -> None:
    """Look at the data and propose a method with its settings, and say why.

    Example: `sparsest advise patients.csv --target survived --aim proof`
    """
    from sparsest.cli.data import load
    from sparsest.cli.output import print_json
    from sparsest.selection.advise import advise as propose

    table = load(data, columns.requirements(excluded_in_table=False, drop_zero_exposure=True), quiet=as_json)
    advice = propose(table.matrix, table.target, aim=aim, exposure=table.rows.get("exposure"))
    lists = {"exclude": columns.exclude, "id": columns.ids, "drop": columns.drop, "categorical": columns.categorical}
    about: dict[str, str | None] = {name: ",".join(o.names(given)) for name, given in lists.items()}
    about |= {"target": columns.target, "impute": columns.impute, "exposure": columns.exposure}
    flags = ["--drop-zero-exposure"] if table.n_unexposed else []
    line = _as_command(advice, data, about, flags)
    if as_json:
        content: dict[str, Any] = {
            "method": advice.method, "settings": advice.settings, "why": advice.why, "sources": list(advice.sources),
            "command": line, "notes": table.notes,
        }  # fmt: skip
        print_json("advise", content)
    else:
        typer.echo(str(advice))
        if line is not None:
            typer.echo(f"on the command line: {line}")


def _as_command(advice: Advice, data: str, about: dict[str, str | None], flags: list[str]) -> str | None:
    """The advice as a command line; None if no command can follow it."""
    commands = {"best_subset": "fit", "BestSubsetRegressorCV": "cv", "BestSubsetClassifierCV": "cv"}
    if advice.method not in commands:
        return None
    settings = {**about, **advice.settings}
    given = [(f"--{name.replace('_', '-')}", str(value)) for name, value in settings.items() if value not in (None, "")]
    options = [part for option in given for part in option]
    return shlex.join(["sparsest", commands[advice.method], data, *options, *flags])
