"""The command ``predict``: a model that was kept, applied to other data."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Annotated

import typer

from sparsest.cli import options as o
from sparsest.cli.app import command

if TYPE_CHECKING:
    from sparsest.result import Result
    from sparsest.tables import Table


@command
def predict(
    model: Annotated[str, typer.Argument(help="File written by fit or cv with --out.")],
    data: o.Data,
    out: Annotated[str | None, typer.Option(help="Write a CSV file instead of printing it.")] = None,
    force: o.Force = False,
    as_json: o.Json = False,
) -> None:
    """Predict with a model that was kept, on any data that have its columns.

    Example: `sparsest predict model.json new_patients.csv --out predictions.csv`

    Only the columns of the model are needed. They are encoded as in the fit, and the numbers are the same on every
    machine. For the logistic loss there are probabilities of the second label.
    """
    from sparsest.cli.data import encoding_of, tell
    from sparsest.cli.output import print_json, refuse_overwriting
    from sparsest.files import write_whole
    from sparsest.result import Result
    from sparsest.tables import read_again

    refuse_overwriting(force, out)
    result = Result.load(model)
    table = read_again(
        data, encoding_of(result), result.feature_names, result.coef.size, needed=result.support.tolist()
    )
    columns = _predictions(result, table)
    if as_json:
        print_json("predict", {"columns": columns, "notes": table.notes, "files": {"predictions": out} if out else {}})
    else:
        tell(table.notes)
    if out is not None:
        write_whole(out, _as_csv(columns))
    elif not as_json:
        typer.echo(_as_csv(columns), nl=False)


def _predictions(result: Result, table: Table) -> dict[str, list[object]]:
    """The columns of the answer: what names the rows, the prediction and, where there is one, the probability."""
    n = table.matrix.shape[0]
    columns: dict[str, list[object]] = {
        "row": list(range(1, n + 1)) if table.ids is None else table.ids.tolist(),
        "prediction": result.predict(table.matrix, **table.rows).tolist(),
    }
    if result.classes is not None and result.statement.loss == "logistic":
        columns[f"probability of {result.classes[1]}"] = result.predict_proba(table.matrix, **table.rows)[:, 1].tolist()
    return columns


def _as_csv(columns: dict[str, list[object]]) -> str:
    """Text with all digits of the numbers."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue()
