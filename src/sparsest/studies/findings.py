"""Findings of the paper, judged on the rows of a study: confirmed, not confirmed or undecided, with the figures.

Methods are compared on the same data sets: the mean of the differences is judged by its standard error, and two of them
decide.  A finding that does not come out is reported as such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sparsest.studies.views import Point, Row, View

_DECISIVE_ERRORS = 2.0


class Judgement(Enum):
    """What came out."""

    CONFIRMED = "confirmed"
    NOT_CONFIRMED = "not confirmed"
    UNDECIDED = "undecided"


class Verdict(NamedTuple):
    """What came out of a finding, and the figures behind it."""

    judgement: Judgement
    figures: str


class Finding(NamedTuple):
    """A sentence of the paper, and how to judge it."""

    text: str
    judge: Callable[[Sequence[Row]], Verdict]


def _where(points: Iterable[Point], panels: str | None, x: Callable[[float], bool] | None) -> list[Point]:
    return [
        point
        for point in points
        if (panels is None or panels in point.panel) and (x is None or x(point.x)) and np.isfinite(point.y)
    ]


def _decide(mean: float, error: float) -> Judgement:
    """Whether a number is above zero."""
    if not np.isfinite(error) or abs(mean) <= _DECISIVE_ERRORS * error:
        return Judgement.UNDECIDED
    return Judgement.CONFIRMED if mean > 0.0 else Judgement.NOT_CONFIRMED


def _summary(values: Sequence[float]) -> tuple[float, float]:
    array = np.asarray(values, dtype=np.float64)
    error = float(array.std(ddof=1) / np.sqrt(array.size)) if array.size > 1 else float("inf")
    return float(array.mean()), error


_NO_DATA = Verdict(Judgement.UNDECIDED, "no results yet")

Cells = Callable[[float], bool]


def _differences(
    rows: Sequence[Row], view: View, first: str, second: str, panels: str | None, x: Cells | None
) -> list[float]:
    """The first method's figure less the second's on every data set that has both."""
    of: dict[str, dict[tuple[str, float, int], float]] = {first: {}, second: {}}
    for point in _where(view(rows), panels, x):
        if point.method in of:
            of[point.method][point.panel, point.x, point.set] = point.y
    return [of[first][key] - of[second][key] for key in sorted(of[first].keys() & of[second].keys())]


def _figures(first: str, second: str, differences: Sequence[float]) -> str:
    mean, error = _summary(differences)
    return f"{first} less {second}: {mean:+.3g} ± {error:.2g} over {len(differences)} pairs"


def larger(
    text: str, view: View, first: str, second: str, *, panels: str | None = None, x: Cells | None = None
) -> Finding:
    """The first method's figure is larger than the second's."""

    def judge(rows: Sequence[Row]) -> Verdict:
        differences = _differences(rows, view, first, second, panels, x)
        if not differences:
            return _NO_DATA
        return Verdict(_decide(*_summary(differences)), _figures(first, second, differences))

    return Finding(text, judge)


def about_equal(text: str, view: View, first: str, second: str, margin: float, *, panels: str | None = None) -> Finding:
    """The figures of two methods differ by less than a margin."""

    def judge(rows: Sequence[Row]) -> Verdict:
        differences = _differences(rows, view, first, second, panels, None)
        if not differences:
            return _NO_DATA
        mean, error = _summary(differences)
        judgement = Judgement.UNDECIDED
        if abs(mean) + _DECISIVE_ERRORS * error <= margin:
            judgement = Judgement.CONFIRMED
        elif abs(mean) - _DECISIVE_ERRORS * error > margin:
            judgement = Judgement.NOT_CONFIRMED
        return Verdict(judgement, f"{_figures(first, second, differences)}; equal is within {margin:g}")

    return Finding(text, judge)


def between(
    text: str, view: View, methods: Sequence[str], low: float, high: float, *, panels: str | None = None,
    largest_x: bool = True,
) -> Finding:  # fmt: skip
    """The mean of every method's figure, at the largest x of every panel or over all, is in an interval."""

    def judge(rows: Sequence[Row]) -> Verdict:
        points = [point for point in _where(view(rows), panels, None) if point.method in methods]
        if largest_x:
            last: dict[str, float] = {}
            for point in points:
                last[point.panel] = max(point.x, last.get(point.panel, -np.inf))
            points = [point for point in points if point.x == last[point.panel]]
        if not points:
            return _NO_DATA
        judgements, figures = [], []
        for method in methods:
            mean, error = _summary([point.y for point in points if point.method == method] or [np.nan])
            slack = _DECISIVE_ERRORS * error if np.isfinite(error) else np.inf
            figures.append(f"{method} {mean:.3g} ± {error:.2g}")
            inside = low <= mean <= high
            outside = mean + slack < low or mean - slack > high
            judgements.append(
                Judgement.CONFIRMED if inside else Judgement.NOT_CONFIRMED if outside else Judgement.UNDECIDED
            )
        return Verdict(_worst(judgements), f"{', '.join(figures)}; expected {low:g} to {high:g}")

    return Finding(text, judge)


def ordered(text: str, view: View, methods: Sequence[str], *, panels: str | None = None) -> Finding:
    """The figures fall from the first method to the last."""

    def judge(rows: Sequence[Row]) -> Verdict:
        judgements, figures = [], []
        for first, second in pairwise(methods):
            differences = _differences(rows, view, first, second, panels, None)
            if not differences:
                return _NO_DATA
            judgements.append(_decide(*_summary(differences)))
            figures.append(_figures(first, second, differences))
        return Verdict(_worst(judgements), "; ".join(figures))

    return Finding(text, judge)


def grows(text: str, view: View, method: str, *, least: float, most: float = np.inf) -> Finding:
    """The slope of log(figure) over log(x), the mean over panels, is in an interval."""

    def judge(rows: Sequence[Row]) -> Verdict:
        slopes = []
        points = [point for point in view(rows) if point.method == method and point.x > 0.0 and point.y > 0.0]
        for panel, number in sorted({(point.panel, point.set) for point in points}):
            part = [point for point in points if (point.panel, point.set) == (panel, number)]
            if len({point.x for point in part}) > 1:
                x, y = np.log([point.x for point in part]), np.log([point.y for point in part])
                slopes.append(float(np.polyfit(x, y, 1)[0]))
        if not slopes:
            return _NO_DATA
        mean, error = _summary(slopes)
        slack = _DECISIVE_ERRORS * error if np.isfinite(error) else np.inf
        judgement = Judgement.UNDECIDED
        if least <= mean <= most:
            judgement = Judgement.CONFIRMED
        elif mean + slack < least or mean - slack > most:
            judgement = Judgement.NOT_CONFIRMED
        limits = f"at least {least:g}" if np.isinf(most) else f"{least:g} to {most:g}"
        return Verdict(judgement, f"{method}: exponent {mean:.2f} ± {error:.2g} over {len(slopes)} series; {limits}")

    return Finding(text, judge)


def _worst(judgements: Sequence[Judgement]) -> Judgement:
    """The judgement of several claims together."""
    for judgement in (Judgement.NOT_CONFIRMED, Judgement.UNDECIDED):
        if judgement in judgements:
            return judgement
    return Judgement.CONFIRMED
