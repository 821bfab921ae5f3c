"""The command ``path``: Lasso, elastic net, MCP and SCAD for decreasing penalties."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from sparsest.cli import options as o
from sparsest.cli.app import INTERRUPTED, command, log
from sparsest.cli.structure import GroupOptions, names_of_features
from sparsest.core.settings import SETTINGS

if TYPE_CHECKING:
    from sparsest.paths.path_result import PathResult
    from sparsest.tables import Table

# Largest number of rows of the printed table.
_SHOWN_ALPHAS = 12


@command
def path(
    data: o.Data,
    columns: o.TableOptions,
    model: o.ModelOptions,
    groups: GroupOptions,
    limits: o.LimitOptions,
    penalty: Annotated[str, typer.Option(help="l1, elastic_net, mcp or scad.")] = SETTINGS["penalty"].default,
    k: Annotated[
        int | None, typer.Option(help="End the path with this many features, and choose that model.", min=0)
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Choose the model with this penalty.")] = None,
    alphas: Annotated[int, typer.Option(help="Number of penalty strengths.")] = 100,
    l1_ratio: Annotated[float, o.setting("l1_ratio")] = SETTINGS["l1_ratio"].default,
    concavity: Annotated[float | None, o.setting("concavity")] = SETTINGS["concavity"].default,
    max_features: Annotated[int | None, typer.Option(help="Stop at this many features.")] = None,
    tol: Annotated[float | None, o.setting("tol", also="By default it depends on the shape of the data.")] = None,
    time_limit: Annotated[
        float, typer.Option(help="Seconds after which no further penalty is tried.", rich_help_panel=o.SEARCH)
    ] = SETTINGS["time_limit"].default,
    out: Annotated[
        str | None, typer.Option(help="Write all models to this JSON file.", rich_help_panel=o.FILES)
    ] = None,
    report: o.Report = None,
    force: o.Force = False,
    as_json: o.Json = False,
) -> int:
    """Fit a path of penalised models, from the empty one to the smallest penalty.

    Example: `sparsest path expression.parquet --target survived --penalty mcp --k 8 --out path.json`

    `sparsest predict path.json new.parquet` uses the model chosen here, or another one by its --k or --alpha. The
    levels of a column of text enter together, by a group penalty.
    """
    from sparsest.cli.data import choose_loss, load, rows_of_the_file
    from sparsest.cli.live import watched
    from sparsest.cli.output import refuse_overwriting, the_command
    from sparsest.paths.api import penalty_path
    from sparsest.paths.path_result import Stop

    refuse_overwriting(force, out, report)
    if k is not None and alpha is not None:
        raise ValueError("choose a model by --k or by --alpha, not by both")
    # A path cannot force features out: excluded columns are left out of the table.
    table = load(data, columns.requirements(excluded_in_table=False), quiet=as_json)
    settings: dict[str, Any] = {
        "penalty": penalty, **asdict(model), "loss": choose_loss(model.loss, table, quiet=as_json), "alphas": alphas,
        "l1_ratio": l1_ratio, "concavity": concavity, "n_features": k, "max_features": max_features, "tol": tol,
        "time_limit": time_limit, **limits.settings(),
    }  # fmt: skip
    with watched(Path(data).name, time_limit, as_json) as (_, listener), rows_of_the_file(table):
        settings["feature_groups"] = _groups(groups, table)
        numbered = settings | {name: _by_number(settings[name], name, table) for name in ("lower", "upper")}
        found = penalty_path(table.matrix, table.target, **numbered, **table.rows, callback=listener)
    log("found %r", found)
    chosen = alpha if k is None else found.alpha_of(k)
    about = {
        "table": table.encoding.to_json(), "settings": settings, "command": the_command(), "chosen": chosen,
        "notes": table.notes,
    }  # fmt: skip
    found = replace(found, feature_names=None if table.names is None else list(table.names), about=about)
    _write(found, data, out, report, as_json)
    return INTERRUPTED if found.stopped is Stop.INTERRUPTED else 0


def _groups(groups: GroupOptions, table: Table) -> list[str] | None:
    """The label of the group of each column; None if no columns are grouped."""
    labels = groups.labels(table, names_of_features(table))
    return None if len(set(labels)) == len(labels) else labels


def _by_number(limit: Any, name: str, table: Table) -> Any:
    """Limits with column numbers in place of names: the matrix of a table has no names."""
    from sparsest.core.checks import by_number

    if not isinstance(limit, dict):
        return limit
    return dict(zip(by_number(limit, f"--{name}", table.names), limit.values(), strict=True))


def _write(found: PathResult, data: str, out: str | None, report: str | None, as_json: bool) -> None:
    """Write the files, and print the path with the chosen model."""
    from sparsest.cli.output import given_files, print_coefficients, print_grid, print_json
    from sparsest.runtime.files import write_whole

    about, alpha = found.about, found.about["chosen"]
    penalty, target = about["settings"]["penalty"], about["table"]["target"]
    chosen = None if alpha is None else _model(found, alpha)
    if out is not None:
        found.save(out)
    if report is not None:
        from sparsest.report import path_report

        text = path_report(
            found, _names(found), target=target or "the target", command=about["command"], alpha=alpha,
            notes=about["notes"], data=data, file=out,
        )  # fmt: skip
        write_whole(report, text)
    files = given_files(path=out, report=report)
    if as_json:
        content = {"penalty": penalty, "target": target, "chosen": chosen, "notes": about["notes"]}
        print_json("path", {**content, **_content(found), "files": files})
        return
    title = f"{target or data}: {penalty}, {_summary(found)}"
    print_grid(title, ["alpha", "features", _measure_name(found)], _rows(found))
    if chosen is not None:
        rows = [*chosen["features"].items(), ("(intercept)", chosen["intercept"])]
        print_coefficients(f"the model at alpha = {alpha:.6g}", [(name, f"{value:.6g}") for name, value in rows])
    for name, file in files.items():
        typer.echo(f"{name} written to {file}")


def _names(found: PathResult) -> list[str]:
    return found.feature_names or [str(j) for j in range(found.coefs.shape[0])]


def _model(found: PathResult, alpha: float) -> dict[str, Any]:
    """The model of one alpha, the largest coefficients first."""
    coef, intercept = found.at(alpha)
    order = [j for j in np.argsort(-np.abs(coef), kind="stable").tolist() if coef[j] != 0.0]
    names = _names(found)
    return {"alpha": alpha, "features": {names[j]: float(coef[j]) for j in order}, "intercept": intercept}


def _summary(found: PathResult) -> str:
    """A sentence on the solved alphas, and why the path ended."""
    n_solved, known = int(found.solved.sum()), found.alphas[found.solved]
    late = int((found.solved & ~found.converged).sum())
    reach = f"{n_solved} of {found.alphas.size} alphas" + (
        f" from {known[0]:.3g} to {known[-1]:.3g}" if n_solved else ""
    )
    note = f"; {late} did not reach the tolerance" if late else ""
    note += "; concavity rescaled by the curvature of the loss" if found.rescaled else ""
    return f"{reach}, {found.stopped.name}: {found.stopped.value}{note} ({found.seconds:.2f} s)"


def _measure(found: PathResult) -> Any:
    return found.kkt_violations if found.dual_gaps is None else found.dual_gaps


def _measure_name(found: PathResult) -> str:
    return "violation" if found.dual_gaps is None else "gap"


def _rows(found: PathResult) -> list[list[str]]:
    """Evenly spaced models of the path."""
    shown = np.unique(np.linspace(0, max(int(found.solved.sum()), 1) - 1, _SHOWN_ALPHAS).astype(int))
    return [[f"{found.alphas[i]:.4g}", str(found.n_nonzero[i]), f"{_measure(found)[i]:.1e}"] for i in shown]


def _content(found: PathResult) -> dict[str, Any]:
    names = _names(found)
    return {
        "stopped": found.stopped.name,
        "seconds": found.seconds,
        "rescaled": found.rescaled,
        "alphas": found.alphas.tolist(),
        "n_nonzero": found.n_nonzero.tolist(),
        "intercepts": found.intercepts.tolist(),
        "solved": found.solved.tolist(),
        "converged": found.converged.tolist(),
        "gaps": _measure(found).tolist(),
        "order_of_entry": [names[j] for j in _order_of_entry(found)],
    }


def _order_of_entry(found: PathResult) -> list[int]:
    """Features in the order in which they first have a coefficient."""
    return list(dict.fromkeys(found.coefs.indices.tolist()))
