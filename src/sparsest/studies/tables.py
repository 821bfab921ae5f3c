"""Tables of a study as Markdown and CSV: the points of its figures, its findings, proofs of optimality, all models."""

from __future__ import annotations

import csv
import gzip
import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sparsest.studies.certified import Change, Proofs
from sparsest.studies.figures import STYLES, style_of
from sparsest.studies.findings import Finding, Verdict
from sparsest.studies.study import Figure, Panel
from sparsest.studies.views import Row, curves, most_sets

Cells = Sequence[Sequence[str]]


class TableRow(NamedTuple):
    """One point of a curve."""

    figure: str
    panel: str
    method: str
    x: float
    mean: float
    standard_error: float
    n_sets: int
    k: int | None


class Grid(NamedTuple):
    """A table of texts with column heads; the columns from ``right`` on are right-aligned."""

    title: str
    heads: list[str]
    rows: list[list[str]]
    right: int = 1

    def markdown(self) -> str:
        """The table in Markdown, under its title."""
        lines = [self.heads, ["---:" if j >= self.right else "---" for j in range(len(self.heads))], *self.rows]
        table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
        return f"{self.title}\n\n{table}\n" if self.title else f"{table}\n"


def points(figure: Figure, rows: Sequence[Row]) -> list[TableRow]:
    """The points of a figure."""
    found = [
        TableRow(figure.name, panel, method, *values)
        for panel, methods in curves(figure.view(rows)).items()
        for method, curve in methods.items()
        for values in zip(*curve, strict=True)
    ]
    return [point._replace(panel=point.method, method=point.panel) for point in found] if figure.turned else found


def grids(figure: Figure, panels: Sequence[Panel], rows: Sequence[Row]) -> list[Grid]:
    """A table for each panel: a line for each x, a column for each method, means with their standard errors."""
    found = []
    # Panels of a study may have different cells at the same x.
    labels = {
        (panel.title, cell.x): cell.label.replace("\n", ", ") for panel in panels for cell in panel.cells if cell.label
    }
    for panel, methods in curves(figure.view(rows)).items():
        names = [name for name in STYLES if name in methods] + sorted(methods.keys() - STYLES.keys())
        most = most_sets(methods)
        cells = {
            (place, name): _cell(x, mean, error, n_sets if n_sets < most[place] else None, k)
            for name in names
            for place, (x, mean, error, n_sets, k) in zip(
                methods[name].places, zip(*methods[name], strict=True), strict=True
            )
        }
        places = sorted({place for place, _ in cells})
        ordered = any(k is not None for name in names for k in methods[name].k)
        first = f"k (in brackets: {figure.x_label})" if ordered else figure.x_label or "place"
        heads = [first, *(style_of(name).label for name in names)]
        title = style_of(panel).label if figure.turned else panel
        body = [[labels.get((panel, x), f"{x:.4g}"), *(cells.get((x, name), "") for name in names)] for x in places]
        found.append(Grid(title, heads, body))
    return found


def _cell(x: float, mean: float, error: float, n_sets: int | None, k: int | None) -> str:
    """A mean with its standard error; the number of data sets is added if it is smaller than for other methods."""
    text = f"{mean:.3g}" if math.isnan(error) else f"{mean:.3g} ± {error:.1g}"
    if n_sets is not None:
        text += f", {n_sets} set{'s' if n_sets > 1 else ''}"
    return text if k is None else f"{text} ({x:.3g})"


def findings_grid(verdicts: Iterable[tuple[Finding, Verdict]]) -> Grid:
    """The outcome of every finding."""
    return Grid(
        "",
        ["finding", "outcome", "figures"],
        [[finding.text, verdict.judgement.value, verdict.figures] for finding, verdict in verdicts],
        right=3,
    )


def proofs_grid(counted: Sequence[Proofs]) -> Grid:
    """Numbers of exact models that are proved optimal, and gaps of the others."""
    heads = [
        "panel", "exact fits", "proved optimal", "median gap of the others", "largest gap", "relaxation tight",
        "better than the rounded relaxation",
    ]  # fmt: skip
    return Grid("", heads, [_proofs_row(one) for one in counted])


def _proofs_row(one: Proofs) -> list[str]:
    gaps = ["" if math.isnan(gap) else f"{100 * gap:.3g} %" for gap in (one.median_gap, one.largest_gap)]
    return [one.panel, str(one.fits), _share(one.certified, one.fits), *gaps,
            "" if one.tight is None else _share(one.tight, one.fits), _share(one.improved, one.fits)]  # fmt: skip


def _share(count: int, of: int) -> str:
    return f"{count} ({100 * count / of:.0f} %)"


def changes_grid(changed: Sequence[Change]) -> Grid:
    """Findings whose outcome changes when only proved exact models are used."""
    return Grid(
        "",
        ["finding", "all models", "proved exact models alone", "figures of the latter"],
        [
            [one.finding.text, one.all.judgement.value, one.certified.judgement.value, one.certified.figures]
            for one in changed
        ],
        right=4,
    )


def write_points(figures: Sequence[Figure], rows: Sequence[Row], file: Path) -> None:
    """Write the points of all figures as CSV."""
    with file.open("w", newline="", encoding="utf-8") as stream:
        out = csv.writer(stream, lineterminator="\n")
        out.writerow(TableRow._fields)
        for figure in figures:
            out.writerows(_plain(point) for point in points(figure, rows))


def write_models(rows: Sequence[Row], file: Path) -> None:
    """Write all rows as compressed CSV; the same rows give an identical file."""
    heads = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    out = csv.DictWriter(text, heads, lineterminator="\n")
    out.writeheader()
    out.writerows({name: _short(value) for name, value in row.items()} for row in rows)
    with file.open("wb") as raw, gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as stream:
        stream.write(text.getvalue().encode())


def _plain(point: TableRow) -> list[Any]:
    return [_short(value) for value in point]


def _short(value: Any) -> Any:
    """Round floating-point numbers to six digits."""
    return f"{value:.6g}" if isinstance(value, float) else value
