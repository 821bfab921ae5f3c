"""The command ``predict``: apply a stored model to other data."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsest.cli import options as o
from sparsest.cli.app import command, log

if TYPE_CHECKING:
    from sparsest.paths.path_result import PathResult
    from sparsest.results.result import Result
    from sparsest.tables import Table


@command
def predict(
    model: Annotated[str, typer.Argument(help="File written by fit, cv or path with --out.")],
    data: o.Data,
    k: Annotated[
        int | None, typer.Option(help="For a path: the last model with at most this many features.", min=0)
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="For a path: the model with this penalty.")] = None,
    out: Annotated[
        str | None, typer.Option(help="Write a CSV file instead of printing it.", rich_help_panel="Output")
    ] = None,
    force: o.Force = False,
    as_json: o.Json = False,
) -> None:
    """Predict with a stored model, on any data that have its columns.

    Example: `sparsest predict model.json new_patients.csv --out predictions.csv`

    Only the columns of the model are needed. They are encoded as in the fit, and the numbers are the same on every
    machine. For the logistic loss there are probabilities of the second label.
    """
    from sparsest.cli.data import print_notes
    from sparsest.cli.output import print_json, refuse_overwriting
    from sparsest.paths.path_files import is_path
    from sparsest.runtime.files import write_whole

    refuse_overwriting(force, out)
    if k is not None and alpha is not None:
        raise ValueError("choose a model by --k or by --alpha, not by both")
    if is_path(model):
        table, columns = _by_path(model, data, k, alpha)
    elif k is None and alpha is None:
        table, columns = _by_result(model, data)
    else:
        raise ValueError(f"{model} holds one model: --k and --alpha choose among those of a path")
    if as_json:
        print_json("predict", {"columns": columns, "notes": table.notes, "files": {"predictions": out} if out else {}})
    else:
        print_notes(table.notes)
    if out is not None:
        write_whole(out, _as_csv(columns))
        if not as_json:
            typer.echo(f"predictions written to {out}")
    elif not as_json:
        typer.echo(_as_csv(columns), nl=False)


def _by_result(model: str, data: str) -> tuple[Table, dict[str, list[object]]]:
    """Predictions by a model of fit or cv, with the table they are for."""
    from sparsest.cli.data import encoding_of
    from sparsest.results.result import Result
    from sparsest.tables import read_with_encoding

    result = Result.load(model)
    needed = result.support.tolist()
    table = read_with_encoding(data, encoding_of(result), result.feature_names, result.coef.size, needed=needed)
    logistic = result.classes is not None and result.statement.loss == "logistic"
    return table, _predictions(result, table, {}, logistic)


def _by_path(model: str, data: str, k: int | None, alpha: float | None) -> tuple[Table, dict[str, list[object]]]:
    """Predictions by a model of a path, with the table they are for."""
    import numpy as np

    from sparsest.cli.data import encoding_of
    from sparsest.paths.path_result import PathResult
    from sparsest.tables import read_with_encoding

    found = PathResult.load(model)
    chosen = found.about.get("chosen")
    if k is not None:
        alpha = found.alpha_of(k)
    elif alpha is None and isinstance(chosen, (int, float)):
        alpha = float(chosen)
    if alpha is None:
        n_models = int(found.solved.sum())
        raise ValueError(f"{model} holds {n_models} models: choose one with --k (features) or --alpha (penalty)")
    needed = np.flatnonzero(found.at(alpha).coef).tolist()
    table = read_with_encoding(data, encoding_of(found), found.feature_names, found.coefs.shape[0], needed=needed)
    logistic = found.classes is not None and found.loss.name == "logistic"
    return table, _predictions(found, table, {"alpha": alpha}, logistic)


def _predictions(
    model: Result | PathResult, table: Table, which: dict[str, Any], logistic: bool
) -> dict[str, list[object]]:
    """The columns of the output: names of rows, predictions and, for the logistic loss, probabilities."""
    from sparsest.results.result import probabilities

    n = table.matrix.shape[0]
    log("read %d rows; the model is %r", n, model)
    columns: dict[str, list[object]] = {
        "row": list(range(1, n + 1)) if table.ids is None else table.ids.tolist(),
        "prediction": model.predict(table.matrix, **which, **table.rows).tolist(),
    }
    if logistic and model.classes is not None:
        scores = model.decision_function(table.matrix, **which, **table.rows)
        columns[f"probability of {model.classes[1]}"] = probabilities(scores)[:, 1].tolist()
    return columns


def _as_csv(columns: dict[str, list[object]]) -> str:
    """Text with all digits of the numbers."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
