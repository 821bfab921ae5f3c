"""Views of the rows of a study: from models of all sizes to the figures that a picture shows, one point each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

Row = dict[str, Any]


class Point(NamedTuple):
    """One figure of one method on one data set: where it is drawn, and which other points it is paired with."""

    panel: str
    method: str
    x: float
    set: int
    y: float


View = Callable[[Sequence[Row]], list[Point]]


def _points(rows: Iterable[Row], value: Callable[[Row], float], x: Callable[[Row], float]) -> list[Point]:
    return [Point(row["panel"], row["method"], float(x(row)), row["set"], float(value(row))) for row in rows]


def at_x(row: Row) -> float:
    """Where the row's cell is drawn."""
    return float(row["x"])


def accuracy(row: Row) -> float:
    """The share of the true features that the model has."""
    return float(row["tf"] / row["k_true"])


def false_discovery_rate(row: Row) -> float:
    """The share of the model's features that are false."""
    return float(row["ff"] / max(row["n_selected"], 1))


def test_error(row: Row) -> float:
    """The error on the test rows."""
    return float(row["test"])


test_error.__test__ = False  # type: ignore[attr-defined]


def fixed_k(rows: Iterable[Row]) -> list[Row]:
    """The models of the true size."""
    return [row for row in rows if "validation" in row and row["k"] == row["timed_k"] and row["method"] != "lasso"]


def chosen_k(rows: Iterable[Row]) -> list[Row]:
    """Of each method on each data set the model with the smallest error on the validation rows."""
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if "validation" in row and row["method"] != "lasso":
            groups[row["panel"], row["x"], row["set"], row["method"]].append(row)
    return [min(group, key=lambda row: row["validation"]) for group in groups.values()]


def view(pick: Callable[[Iterable[Row]], list[Row]], value: Callable[[Row], float]) -> View:
    """A figure of the models that are picked, over the cells of a panel."""
    return lambda rows: _points(pick(rows), value, at_x)


def over_k(value: Callable[[Row], float]) -> View:
    """A figure over the sizes of the models."""

    def look(rows: Sequence[Row]) -> list[Point]:
        wanted = (row for row in rows if "validation" in row and row["method"] != "lasso")
        return _points(wanted, value, lambda row: row["k"])

    return look


def true_against_false() -> View:
    """True features over false ones, the means over data sets at every size."""

    def look(rows: Sequence[Row]) -> list[Point]:
        groups: dict[tuple[str, str, int], list[Row]] = defaultdict(list)
        for row in rows:
            if "tf" in row and row["method"] != "lasso":
                groups[row["panel"], row["method"], row["k"]].append(row)
        return [
            Point(panel, method, float(np.mean([row["ff"] for row in group])), row["set"], float(row["tf"]))
            for (panel, method, _), group in groups.items()
            for row in group
        ]

    return look


def seconds_relative_to_lasso(rows: Sequence[Row]) -> list[Point]:
    """Seconds of a fit of the true size over those of a Lasso path that ends at that size, on the same data."""
    lasso = {(row["panel"], row["x"], row["set"]): row["seconds"] for row in rows if row["method"] == "lasso"}
    timed = {
        (row["panel"], row["x"], row["set"], row["method"].removesuffix(" timed")): row
        for row in rows
        if row["method"].endswith(" timed") or row["method"] in ("exact", "relaxation", "subgradient", "forward")
        if row["k"] == row["timed_k"]
    }
    return [
        Point(panel, method, float(x), number, float(row["seconds"] / lasso[panel, x, number]))
        for (panel, x, number, method), row in timed.items()
        if (panel, x, number) in lasso
    ]


def seconds(rows: Sequence[Row]) -> list[Point]:
    """Seconds of a fit."""
    return _points(rows, lambda row: row["seconds"], at_x)


class Curve(NamedTuple):
    """Means over data sets with their standard errors, and how many sets there are."""

    x: list[float]
    mean: list[float]
    error: list[float]
    n_sets: list[int]


def curves(points: Iterable[Point]) -> dict[str, dict[str, Curve]]:
    """One curve for every method in every panel."""
    grouped: dict[str, dict[str, dict[float, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for point in points:
        grouped[point.panel][point.method][point.x].append(point.y)
    return {panel: {method: _curve(at) for method, at in methods.items()} for panel, methods in grouped.items()}


def _curve(at: dict[float, list[float]]) -> Curve:
    xs = sorted(at)
    errors = [float(np.std(at[x], ddof=1) / np.sqrt(len(at[x]))) if len(at[x]) > 1 else float("nan") for x in xs]
    return Curve(xs, [float(np.mean(at[x])) for x in xs], errors, [len(at[x]) for x in xs])
