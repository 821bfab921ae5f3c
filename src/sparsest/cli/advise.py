"""The command ``advise``: a method and its settings for the data at hand."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from sparsest.cli import options as o
from sparsest.cli.app import command


@command
def advise(
    data: o.Data,
    target: o.Target = None,
    aim: Annotated[str, typer.Option(help="prediction, few_false_features or proof.")] = "prediction",
    exclude: o.Exclude = [],  # noqa: B006
    ids: o.Ids = [],  # noqa: B006
    impute: o.Impute = None,
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
    table = load(data, Wishes(target, {}, left_out, (), impute), quiet=as_json)
    advice = propose(table.matrix, table.target, aim=aim)
    if as_json:
        content: dict[str, Any] = {
            "method": advice.method, "settings": advice.settings, "why": advice.why, "sources": list(advice.sources),
            "notes": table.notes,
        }  # fmt: skip
        print_json("advise", content)
    else:
        typer.echo(str(advice))
