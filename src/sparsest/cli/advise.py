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
    target: o.Target = None,
    aim: Annotated[str, typer.Option(help="prediction, few_false_features or proof.")] = "prediction",
    exclude: o.Exclude = [],  # noqa: B006
    ids: o.Ids = [],  # noqa: B006
    exposure: o.Exposure = None,
    impute: o.Impute = None,
    drop: o.Drop = [],  # noqa: B006
    categorical: o.Categorical = [],  # noqa: B006
    as_json: o.Json = False,
) -> None:
    """Look at the data and propose a method with its settings, and say why.

    Example: `sparsest advise patients.csv --target survived --aim proof`
    """
    from sparsest.cli.data import load
    from sparsest.cli.output import print_json
    from sparsest.selection.advise import advise as propose
    from sparsest.tables import Wishes

    left_out = (*o.names(ids), *o.names(exclude))
    wishes = Wishes(
        target, o.beside(None, None, exposure), left_out, (), impute, drop=o.names(drop),
        categorical=o.names(categorical), drop_zero_exposure=True,
    )  # fmt: skip
    table = load(data, wishes, quiet=as_json)
    advice = propose(table.matrix, table.target, aim=aim, exposure=table.rows.get("exposure"))
    about = {
        "target": target, "exclude": ",".join(o.names(exclude)), "id": ",".join(o.names(ids)), "impute": impute,
        "exposure": exposure, "drop": ",".join(o.names(drop)), "categorical": ",".join(o.names(categorical)),
    }  # fmt: skip
    line = _as_command(advice, data, about)
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


def _as_command(advice: Advice, data: str, about: dict[str, str | None]) -> str | None:
    """The advice as one would type it; None where no command does it."""
    commands = {"best_subset": "fit", "BestSubsetRegressorCV": "cv", "BestSubsetClassifierCV": "cv"}
    if advice.method not in commands:
        return None
    settings = {**about, **advice.settings}
    given = [(f"--{name.replace('_', '-')}", str(value)) for name, value in settings.items() if value not in (None, "")]
    return shlex.join(["sparsest", commands[advice.method], data, *(part for option in given for part in option)])
