"""The report of a model that a command has found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sparsest.files import write_whole

if TYPE_CHECKING:
    from sparsest.progress import Record
    from sparsest.report import Curve
    from sparsest.result import Result
    from sparsest.tables import Table


def write_report(
    path: str, result: Result, table: Table, record: Record | None, curve: Curve | None = None, **files: Any
) -> None:
    """Write the report of a model with the data it was fitted to."""
    from sparsest.report import model_report

    text = model_report(
        result, table.matrix, table.target, sample_weight=table.weights, target=table.encoding.target or "the target",
        record=record, curve=curve, ids=None if table.ids is None else table.ids.tolist(),
        command=str(result.about.get("command", "")), notes=table.notes, **files,
    )  # fmt: skip
    write_whole(path, text)
