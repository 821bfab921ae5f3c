"""The command ``path``: Lasso, elastic net, MCP and SCAD for falling penalties."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from sparsest.cli import options as o
from sparsest.cli.app import INTERRUPTED, command

if TYPE_CHECKING:
    from sparsest.path_result import PathResult

# Rows of the table that is printed.
_SHOWN_ALPHAS = 12


@command
def path(
    data: o.Data,
    target: o.Target = None,
    penalty: Annotated[str, typer.Option(help="l1, elastic_net, mcp or scad.")] = "l1",
    loss: o.Loss = "auto",
    alphas: Annotated[int, typer.Option(help="How many penalty strengths.")] = 100,
    l1_ratio: Annotated[float, typer.Option(help="Share of the l1 part in the elastic net.")] = 1.0,
    concavity: Annotated[float | None, typer.Option(help="Of MCP (3 by default) or SCAD (3.7).")] = None,
    max_features: Annotated[int | None, typer.Option(help="Stop at this many features.")] = None,
    fit_intercept: o.FitIntercept = True,
    standardize: o.Standardize = True,
    exclude: o.Exclude = [],  # noqa: B006
    ids: o.Ids = [],  # noqa: B006
    weights: o.Weights = None,
    impute: o.Impute = None,
    tol: Annotated[float, typer.Option(help="Relative duality gap.")] = 1e-5,
    time_limit: o.TimeLimit = 60.0,
    out: Annotated[str | None, typer.Option(help="Write all models to this JSON file.")] = None,
    report: o.Report = None,
    force: o.Force = False,
    as_json: o.Json = False,
) -> int:
    """Fit a path of penalised models, from the empty one to the smallest penalty.

    Example: `sparsest path expression.parquet --target survived --penalty mcp --out path.json`
    """
    from sparsest.api import penalty_path
    from sparsest.cli.data import choose_loss, load
    from sparsest.cli.output import print_grid, print_json, refuse_overwriting, tell_files, the_command
    from sparsest.files import write_whole
    from sparsest.path_result import Stop
    from sparsest.tables import Wishes

    refuse_overwriting(force, out, report)
    # A path has no features that are forced out: columns that must not be in it leave the table.
    table = load(data, Wishes(target, o.beside(weights), (*o.names(ids), *o.names(exclude)), (), impute), quiet=as_json)
    found = penalty_path(
        table.matrix, table.target, penalty, loss=choose_loss(loss, table.target), alphas=alphas, l1_ratio=l1_ratio,
        concavity=concavity, max_features=max_features, fit_intercept=fit_intercept, standardize=standardize,
        tol=tol, time_limit=time_limit, **table.rows,
    )  # fmt: skip
    names = table.names or tuple(str(j) for j in range(table.matrix.shape[1]))
    content = {"penalty": penalty, "target": table.encoding.target, **_content(found, names), "notes": table.notes}
    files = tell_files(path=out, report=report)
    if out is not None:
        whole = {"format": "sparsest path", "version": 1, **content, "coefficients": _coefficients(found, names)}
        write_whole(out, json.dumps({**whole, "command": the_command()}, ensure_ascii=False) + "\n")
    if report is not None:
        from sparsest.report import path_report

        text = path_report(found, names, target=table.encoding.target or "the target", command=the_command())
        write_whole(report, text)
    if as_json:
        print_json("path", {**content, "files": files})
    else:
        print_grid(f"{table.encoding.target or data}: {penalty}, {found!r}", ["alpha", "features", "gap"], _rows(found))
        for name, file in files.items():
            typer.echo(f"{name} written to {file}")
    return INTERRUPTED if found.stopped is Stop.INTERRUPTED else 0


def _measure(found: PathResult) -> Any:
    return found.kkt_violations if found.dual_gaps is None else found.dual_gaps


def _rows(found: PathResult) -> list[list[str]]:
    """Some of the models, evenly over the path."""
    shown = np.unique(np.linspace(0, found.alphas.size - 1, _SHOWN_ALPHAS).astype(int))
    return [[f"{found.alphas[i]:.4g}", str(found.n_nonzero[i]), f"{_measure(found)[i]:.1e}"] for i in shown]


def _content(found: PathResult, names: tuple[str, ...]) -> dict[str, Any]:
    entered = [names[j] for j in _order_of_entry(found)]
    return {
        "stopped": found.stopped.name,
        "seconds": found.seconds,
        "alphas": found.alphas.tolist(),
        "n_nonzero": found.n_nonzero.tolist(),
        "intercepts": found.intercepts.tolist(),
        "solved": found.solved.tolist(),
        "converged": found.converged.tolist(),
        "gaps": [float(gap) if np.isfinite(gap) else None for gap in _measure(found)],
        "order_of_entry": entered,
    }


def _order_of_entry(found: PathResult) -> list[int]:
    """Features in the order in which they first have a coefficient."""
    order: dict[int, None] = {}
    for i in range(found.alphas.size):
        order.update(dict.fromkeys(found.coefs[:, [i]].indices.tolist()))
    return list(order)


def _coefficients(found: PathResult, names: tuple[str, ...]) -> list[dict[str, float]]:
    """For every alpha the coefficients that are not zero."""
    models = []
    for i in range(found.alphas.size):
        column = found.coefs[:, [i]]
        models.append({names[j]: value for j, value in zip(column.indices.tolist(), column.data.tolist(), strict=True)})
    return models
