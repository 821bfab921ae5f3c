"""Views: functions that turn the rows of a study (one for each model) into the points that a figure shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

Row = dict[str, Any]


class Point(NamedTuple):
    """A value of one method on one data set: its position, and the keys by which it is paired with other points.

    ``k`` orders the points of curves that are not ordered by x.
    """

    panel: str
    method: str
    x: float
    set: int
    y: float
    k: int | None = None


View = Callable[[Sequence[Row]], list[Point]]


def _points(rows: Iterable[Row], value: Callable[[Row], float], x: Callable[[Row], float]) -> list[Point]:
    return [Point(row["panel"], row["method"], float(x(row)), row["set"], float(value(row))) for row in rows]


def at_x(row: Row) -> float:
    """The horizontal position of the row's cell."""
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


def _models(rows: Iterable[Row]) -> list[Row]:
    """Rows that are models, without timings and the reference path."""
    return [row for row in rows if "validation" in row and row["method"] != "reference"]


def fixed_k(rows: Iterable[Row]) -> list[Row]:
    """The models of the true size."""
    return [row for row in _models(rows) if row["k"] == row["timed_k"] and not row.get("free")]


def of_many_sizes(rows: Iterable[Row]) -> list[Row]:
    """Models of methods that were fitted for all sizes, not only for the true one."""
    return [row for row in _models(rows) if row["method"] not in ("subgradient", "forward", "abess")]


def _of_given_size(rows: Iterable[Row]) -> list[Row]:
    """Models whose size was prescribed."""
    return [row for row in of_many_sizes(rows) if not row.get("free")]


def chosen_k(rows: Iterable[Row]) -> list[Row]:
    """Of each method on each data set the model with the smallest error on the validation rows.

    Penalised methods choose a penalty strength, which may give any number of features: the rows that are ``free``.
    """
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in of_many_sizes(rows):
        groups[row["panel"], row["x"], row["set"], row["method"]].append(row)
    return [min(group, key=lambda row: row["validation"]) for group in groups.values()]


def view(pick: Callable[[Iterable[Row]], list[Row]], value: Callable[[Row], float]) -> View:
    """A value of the picked models, over the cells of a panel."""
    return lambda rows: _points(pick(rows), value, at_x)


def over_k(value: Callable[[Row], float]) -> View:
    """A value over the sizes of the models."""

    def look(rows: Sequence[Row]) -> list[Point]:
        return _points(_of_given_size(rows), value, lambda row: row["k"])

    return look


def over_relative_k(value: Callable[[Row], float]) -> View:
    """A value over the sizes of the models as multiples of the true size."""
    return lambda rows: _points(_of_given_size(rows), value, lambda row: row["k"] / row["k_true"])


def where(look: View, keep: Callable[[Row], bool]) -> View:
    """A view of the rows that ``keep`` accepts."""
    return lambda rows: look([row for row in rows if keep(row)])


def turned(look: View) -> View:
    """A view with panels and methods exchanged: one panel for each method, one curve for each panel."""
    return lambda rows: [point._replace(panel=point.method, method=point.panel) for point in look(rows)]


def lost_to_correlation(look: View) -> View:
    """The value at low correlation minus that at high correlation, for each level of noise."""

    def compare(rows: Sequence[Row]) -> list[Point]:
        low: dict[tuple[str, str, float, int], float] = {}
        high: dict[tuple[str, str, float, int], float] = {}
        for point in look(rows):
            noise, _, correlation = point.panel.partition(", ")
            (low if correlation.startswith("low") else high)[noise, point.method, point.x, point.set] = point.y
        return [Point(*key, y=low[key] - high[key]) for key in sorted(low.keys() & high.keys())]

    return compare


def spread_of_methods(look: View, methods: Sequence[str]) -> View:
    """The difference between the largest and the smallest value of the methods, on every data set that has them all."""

    def compare(rows: Sequence[Row]) -> list[Point]:
        groups: dict[tuple[str, float, int], dict[str, float]] = defaultdict(dict)
        for point in look(rows):
            if point.method in methods:
                groups[point.panel, point.x, point.set][point.method] = point.y
        return [
            Point(panel, "spread", x, number, max(of.values()) - min(of.values()))
            for (panel, x, number), of in groups.items()
            if len(of) == len(methods)
        ]

    return compare


def true_against_false(panel_of: Callable[[Row], str] = lambda row: str(row["panel"])) -> View:
    """The number of true features over that of false ones at every size, one curve per method and panel."""

    def look(rows: Sequence[Row]) -> list[Point]:
        return [
            Point(panel_of(row), row["method"], float(row["ff"]), row["set"], float(row["tf"]), row["k"])
            for row in _of_given_size(rows)
            if "tf" in row
        ]

    return look


def seconds_relative_to_lasso(rows: Sequence[Row]) -> list[Point]:
    """Time of a fit of the true size divided by that of a Lasso path that ends at that size, on the same data."""
    lasso = {(row["panel"], row["x"], row["set"]): row["seconds"] for row in rows if row["method"] == "reference"}
    return [
        point._replace(y=point.y / lasso[point.panel, point.x, point.set])
        for point in timed_seconds(rows)
        if (point.panel, point.x, point.set) in lasso
    ]


def timed_seconds(rows: Iterable[Row]) -> list[Point]:
    """Seconds of a fit of the true size without a starting point, with the chosen tuning parameters."""
    timed = (
        {**row, "method": row["method"].removesuffix(" timed")} for row in rows if row["method"].endswith(" timed")
    )
    return _points(timed, lambda row: row["seconds"], at_x)


def seconds(rows: Sequence[Row]) -> list[Point]:
    """Seconds of a fit."""
    return _points(rows, lambda row: row["seconds"], at_x)


def elapsed(rows: Sequence[Row]) -> list[Point]:
    """Elapsed seconds of a fit, including the time that it waits for the disk; older rows do not have them."""
    return _points((row for row in rows if "elapsed" in row), lambda row: row["elapsed"], at_x)


class Curve(NamedTuple):
    """Means over data sets, their standard errors and numbers of data sets, and ``k`` if it orders the points."""

    x: list[float]
    mean: list[float]
    error: list[float]
    n_sets: list[int]
    k: list[int | None]

    @property
    def places(self) -> list[float]:
        """The key of each point: k if it orders them, else x."""
        return [x if k is None else float(k) for x, k in zip(self.x, self.k, strict=True)]


def curves(points: Iterable[Point]) -> dict[str, dict[str, Curve]]:
    """One curve for every method in every panel."""
    grouped: dict[str, dict[str, dict[float, list[Point]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for point in points:
        grouped[point.panel][point.method][point.x if point.k is None else point.k].append(point)
    return {panel: {method: _curve(at) for method, at in methods.items()} for panel, methods in grouped.items()}


def most_sets(methods: dict[str, Curve]) -> dict[float, int]:
    """The largest number of data sets that any method has at each position."""
    most: dict[float, int] = defaultdict(int)
    for curve in methods.values():
        for place, n_sets in zip(curve.places, curve.n_sets, strict=True):
            most[place] = max(most[place], n_sets)
    return most


def comparable(methods: dict[str, Curve]) -> tuple[dict[str, Curve], list[str]]:
    """Drop points over fewer data sets than another method has there; also return the methods that lose points.

    A mean over fewer data sets is not comparable with the others: it depends on which data sets these are.
    """
    most, kept, lacking = most_sets(methods), {}, []
    for name, curve in methods.items():
        whole = [i for i, place in enumerate(curve.places) if curve.n_sets[i] == most[place]]
        if whole:
            x, mean, error, n_sets, k = curve
            kept[name] = Curve(
                [x[i] for i in whole], [mean[i] for i in whole], [error[i] for i in whole], [n_sets[i] for i in whole],
                [k[i] for i in whole],
            )  # fmt: skip
        if len(whole) < len(curve.x):
            lacking.append(name)
    return kept, lacking


def _curve(at: dict[float, list[Point]]) -> Curve:
    groups = [at[place] for place in sorted(at)]
    values = [np.array([point.y for point in group]) for group in groups]
    errors = [float(np.std(y, ddof=1) / np.sqrt(y.size)) if y.size > 1 else float("nan") for y in values]
    x = [float(np.mean([point.x for point in group])) for group in groups]
    return Curve(x, [float(y.mean()) for y in values], errors, [y.size for y in values], [g[0].k for g in groups])
