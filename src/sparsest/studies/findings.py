"""Judge findings of the paper on the rows of a study: confirmed, not confirmed or undecided, with the figures.

Methods are compared on the same data sets: a finding is decided if the mean difference is more than two standard errors
from zero.  Findings that are not confirmed are reported as such.
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
    """The outcome of a finding."""

    CONFIRMED = "confirmed"
    NOT_CONFIRMED = "not confirmed"
    UNDECIDED = "undecided"


class Verdict(NamedTuple):
    """The outcome of a finding, and the figures that it is based on."""

    judgement: Judgement
    figures: str


class Finding(NamedTuple):
    """A statement of the paper, and the function that judges it."""

    text: str
    judge: Callable[[Sequence[Row]], Verdict]


def _label(method: str) -> str:
    """The display name of a method."""
    return method.replace("_", " ")


def _select(points: Iterable[Point], panels: str | None, x: Callable[[float], bool] | None) -> list[Point]:
    return [
        point
        for point in points
        if (panels is None or panels in point.panel) and (x is None or x(point.x)) and np.isfinite(point.y)
    ]


def _decide(mean: float, error: float) -> Judgement:
    """Whether a mean is above zero, given its standard error."""
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
    """The first method's value minus the second's on every data set that has both."""
    of: dict[str, dict[tuple[str, float, int], float]] = {first: {}, second: {}}
    for point in _select(view(rows), panels, x):
        if point.method in of:
            of[point.method][point.panel, point.x, point.set] = point.y
    return [of[first][key] - of[second][key] for key in sorted(of[first].keys() & of[second].keys())]


def _figures(first: str, second: str, differences: Sequence[float]) -> str:
    mean, error = _summary(differences)
    return f"{_label(first)} less {_label(second)}: {mean:+.3g} ± {error:.2g} over {len(differences)} pairs"


def _pairs(
    text: str, view: View, pairs: Sequence[tuple[str, str]], panels: str | None, x: Cells | None = None
) -> Finding:
    """A finding: in every pair of methods, the value of the first is larger than that of the second."""

    def judge(rows: Sequence[Row]) -> Verdict:
        judgements, figures = [], []
        for first, second in pairs:
            differences = _differences(rows, view, first, second, panels, x)
            if not differences:
                return _NO_DATA
            judgements.append(_decide(*_summary(differences)))
            figures.append(_figures(first, second, differences))
        return Verdict(_worst(judgements), "; ".join(figures))

    return Finding(text, judge)


def larger(
    text: str, view: View, first: str, second: str, *, panels: str | None = None, x: Cells | None = None
) -> Finding:
    """A finding: the value of the first method is larger than that of the second."""
    return _pairs(text, view, [(first, second)], panels, x)


def largest(
    text: str, view: View, first: Sequence[str], others: Sequence[str], *, panels: str | None = None,
    x: Cells | None = None,
) -> Finding:  # fmt: skip
    """A finding: the value of each of ``first`` is larger than that of every other method."""
    return _pairs(text, view, [(one, other) for one in first for other in others], panels, x)


def smallest(
    text: str, view: View, first: Sequence[str], others: Sequence[str], *, panels: str | None = None
) -> Finding:
    """A finding: the value of each of ``first`` is smaller than that of every other method."""
    return _pairs(text, view, [(other, one) for one in first for other in others], panels)


def ordered(text: str, view: View, methods: Sequence[str], *, panels: str | None = None) -> Finding:
    """A finding: the values decrease from the first method to the last."""
    return _pairs(text, view, list(pairwise(methods)), panels)


def about_equal(text: str, view: View, first: str, second: str, margin: float, *, panels: str | None = None) -> Finding:
    """A finding: the values of two methods differ by less than a margin."""

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
    x: Cells | None = None, largest_x: bool = False,
) -> Finding:  # fmt: skip
    """A finding: every method's mean, over all cells or at the largest x of every panel, is in an interval."""

    def judge(rows: Sequence[Row]) -> Verdict:
        points = [point for point in _select(view(rows), panels, x) if point.method in methods]
        if largest_x:
            points = _at_ends(points)[1]
        if not points:
            return _NO_DATA
        judgements, figures = [], []
        for method in methods:
            mean, error = _summary([point.y for point in points if point.method == method] or [np.nan])
            figures.append(f"{_label(method)} {mean:.3g}" + (f" ± {error:.2g}" if np.isfinite(error) else ""))
            judgements.append(_inside(mean, error, low, high))
        return Verdict(_worst(judgements), f"{', '.join(figures)}; expected {low:g} to {high:g}")

    return Finding(text, judge)


def rises(text: str, view: View, methods: Sequence[str]) -> Finding:
    """A finding: every method's value is larger at the largest x of a panel than at the smallest."""

    def judge(rows: Sequence[Row]) -> Verdict:
        first, last = _at_ends(view(rows))
        judgements, figures = [], []
        for method in methods:
            before = {(point.panel, point.set): point.y for point in first if point.method == method}
            after = {(point.panel, point.set): point.y for point in last if point.method == method}
            gains = [after[key] - before[key] for key in sorted(before.keys() & after.keys())]
            if not gains:
                return _NO_DATA
            mean, error = _summary(gains)
            judgements.append(_decide(mean, error))
            figures.append(f"{_label(method)} {mean:+.3g} ± {error:.2g}")
        return Verdict(_worst(judgements), f"from the smallest to the largest x: {', '.join(figures)}")

    return Finding(text, judge)


def smaller_in(text: str, view: View, method: str, smaller: str, larger: str) -> Finding:
    """A finding: a value is smaller in some panels than in others; their data sets differ, so nothing is paired."""

    def judge(rows: Sequence[Row]) -> Verdict:
        points = [point for point in view(rows) if point.method == method]
        parts = [[point.y for point in _select(points, panels, None)] for panels in (larger, smaller)]
        if not all(parts):
            return _NO_DATA
        (upper, upper_error), (lower, lower_error) = (_summary(part) for part in parts)
        figures = f"{method}: {larger} {upper:.3g} ± {upper_error:.2g}, {smaller} {lower:.3g} ± {lower_error:.2g}"
        return Verdict(_decide(upper - lower, float(np.hypot(upper_error, lower_error))), figures)

    return Finding(text, judge)


def _slopes(rows: Sequence[Row], view: View, method: str) -> dict[tuple[str, int], float]:
    """The slope of log(value) over log(x) for every series: the data sets with one number in one panel."""
    points = [point for point in view(rows) if point.method == method and point.x > 0.0 and point.y > 0.0]
    found = {}
    for panel, number in sorted({(point.panel, point.set) for point in points}):
        part = [point for point in points if (point.panel, point.set) == (panel, number)]
        if len({point.x for point in part}) > 1:
            x, y = np.log([point.x for point in part]), np.log([point.y for point in part])
            found[panel, number] = float(np.polyfit(x, y, 1)[0])
    return found


def grows(text: str, view: View, method: str, *, least: float, most: float = np.inf) -> Finding:
    """A finding: the exponent with which a value grows (the mean over series) is in an interval."""

    def judge(rows: Sequence[Row]) -> Verdict:
        slopes = list(_slopes(rows, view, method).values())
        if not slopes:
            return _NO_DATA
        mean, error = _summary(slopes)
        limits = f"at least {least:g}" if np.isinf(most) else f"{least:g} to {most:g}"
        figures = f"{_label(method)}: exponent {mean:.2f} ± {error:.2g} over {len(slopes)} series; expected {limits}"
        return Verdict(_inside(mean, error, least, most), figures)

    return Finding(text, judge)


def grows_less(text: str, view: View, first: str, second: str) -> Finding:
    """A finding: the first method's value grows with a smaller exponent than the second's."""

    def judge(rows: Sequence[Row]) -> Verdict:
        one, two = _slopes(rows, view, first), _slopes(rows, view, second)
        differences = [two[key] - one[key] for key in sorted(one.keys() & two.keys())]
        if not differences:
            return _NO_DATA
        mean, error = _summary(differences)
        each = ", ".join(
            f"{_label(name)} {np.mean(list(of.values())):.2f}" for name, of in ((first, one), (second, two))
        )
        return Verdict(_decide(mean, error), f"exponents: {each}, difference {mean:.2f} ± {error:.2g}")

    return Finding(text, judge)


def hardly_varies(text: str, view: View, method: str, *, most: float) -> Finding:
    """A finding: of the means at each x, the largest is at most ``most`` times the smallest."""

    def judge(rows: Sequence[Row]) -> Verdict:
        points = [point for point in view(rows) if point.method == method]
        means = [np.mean([point.y for point in points if point.x == x]) for x in {point.x for point in points}]
        if len(means) < 2:
            return _NO_DATA
        ratio = float(max(means) / min(means))
        judgement = Judgement.CONFIRMED if ratio <= most else Judgement.NOT_CONFIRMED
        return Verdict(
            judgement, f"{_label(method)}: largest mean {ratio:.2f} times the smallest; expected at most {most:g}"
        )

    return Finding(text, judge)


def _at_ends(points: Sequence[Point]) -> tuple[list[Point], list[Point]]:
    """The points at the smallest and at the largest x of their panels."""
    places: dict[str, set[float]] = {}
    for point in points:
        places.setdefault(point.panel, set()).add(point.x)
    return (
        [point for point in points if point.x == min(places[point.panel])],
        [point for point in points if point.x == max(places[point.panel])],
    )


def _inside(mean: float, error: float, low: float, high: float) -> Judgement:
    """Whether a mean is in an interval; undecided with one data set, or if it is outside by less than its error."""
    if not np.isfinite(error):
        return Judgement.UNDECIDED
    if low <= mean <= high:
        return Judgement.CONFIRMED
    slack = _DECISIVE_ERRORS * error
    return Judgement.NOT_CONFIRMED if mean + slack < low or mean - slack > high else Judgement.UNDECIDED


def _worst(judgements: Sequence[Judgement]) -> Judgement:
    """The joint judgement of several claims."""
    for judgement in (Judgement.NOT_CONFIRMED, Judgement.UNDECIDED):
        if judgement in judgements:
            return judgement
    return Judgement.CONFIRMED
