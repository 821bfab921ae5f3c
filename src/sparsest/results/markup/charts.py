"""Charts as SVG: lines, steps and dots with axes, drawn in the colours of the style."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from markupsafe import Markup

from sparsest.core.arrays import Array

_WIDTH, _HEIGHT = 440, 290
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 12, 12, 46
# Height of a line of the legend, and width of a letter.
_LINE, _LETTER = 18, 8
_LETTERS = "abcdefg"
# Largest number of letters of an axis label.
_MOST_ACROSS, _MOST_UP = 50, 34
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
# Largest number of dots: more cannot be distinguished, and make the file large.
_MOST_DOTS = 1500
# Largest numbers of lines of a path that are drawn, and that are labelled.
_MOST_LINES, _NAMED_LINES = 60, 6


class Series(NamedTuple):
    """Points of one series; ``like`` is the index of another series with the same colour."""

    x: Sequence[float] | Array
    y: Sequence[float] | Array
    label: str = ""
    kind: Literal["line", "step", "dots"] = "line"
    like: int | None = None


class _Axis(NamedTuple):
    """A range of values, possibly logarithmic, on a range of pixels."""

    low: float
    high: float
    start: float
    end: float
    log: bool

    def place(self, values: Array) -> Array:
        low, high = (math.log10(self.low), math.log10(self.high)) if self.log else (self.low, self.high)
        seen = np.log10(values) if self.log else values
        return self.start + (seen - low) / (high - low) * (self.end - self.start)

    def ticks(self) -> list[tuple[float, str]]:
        """Tick positions with their labels."""
        if self.log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            if last > first:
                return [(10.0**e, f"{10.0**e:g}") for e in range(first, last + 1, max(1, (last - first) // 4))]
            between = [m * 10.0**e for e in (first - 1, first, first + 1) for m in (1, 2, 3, 5)]
            return [(number, f"{number:g}") for number in between if self.low <= number <= self.high]
        step = _round_step((self.high - self.low) / 5.0)
        numbers = [i * step for i in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]
        unit = 10.0 ** self.exponent()
        digits = max(0, -math.floor(math.log10(step / unit) + 1e-9))
        return [(number, f"{number / unit:.{digits}f}") for number in numbers]

    def exponent(self) -> int:
        """The power of ten that tick labels omit; 0 if all digits fit."""
        size = max(abs(self.low), abs(self.high))
        fits = self.log or (1e-3 <= size < 1e5)
        return 0 if fits else math.floor(math.log10(size))

    def label(self, text: str, most: int) -> str:
        """The axis label, with the power of ten that tick labels omit."""
        power = f" × 10{str(self.exponent()).translate(_RAISED)}" if self.exponent() else ""
        return _short(text, most - len(power)) + power


def chart(
    series: Sequence[Series],
    x_label: str,
    y_label: str,
    *,
    log_x: bool = False,
    diagonal: bool = False,
    level: float | None = None,
    upright: float | None = None,
    least_height: float = 0.0,
) -> Markup:
    """Draw series over common axes.

    Parameters
    ----------
    log_x : whether the horizontal axis is logarithmic
    diagonal : draw the line x = y
    level, upright : draw a horizontal line at this height, a vertical one at this place
    least_height : smallest range of the vertical axis, so that rounding errors do not look large
    """
    points = [_finite(one, log_x) for one in series]
    x, y = (np.concatenate([part[i] for part in points] or [np.zeros(0)]) for i in (0, 1))
    if not x.size:
        return Markup('<p class="soft">Nothing to draw.</p>')
    across = _axis(np.append(x, [] if upright is None else [upright]), _LEFT, _WIDTH - _RIGHT, log_x)
    legend, top = _legend([one.label for one in series])
    up = _axis(np.append(y, [] if level is None else [level]), _HEIGHT - _BOTTOM, top, False, least_height)
    parts = [_frame(across, up, x_label, y_label), legend]
    if diagonal:
        low, high = max(across.low, up.low), min(across.high, up.high)
        parts.append(_guide(across, up, (low, high), (low, high)))
    if level is not None:
        parts.append(_guide(across, up, (across.low, across.high), (level, level)))
    if upright is not None:
        parts.append(_guide(across, up, (upright, upright), (up.low, up.high)))
    for j, (one, (a, b)) in enumerate(zip(series, points, strict=True)):
        letter = _LETTERS[(j if one.like is None else one.like) % len(_LETTERS)]
        parts.append(_mark(one.kind, letter, across.place(a), up.place(b)))
    inside = Markup("\n").join(parts)
    shape = '<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>'
    return Markup(shape).format(_WIDTH, _HEIGHT, f"{y_label} over {x_label}", inside)


def paths_chart(x: Array, lines: Array, names: Sequence[str], chosen: float | None = None) -> Markup:
    """Draw many lines over a logarithmic axis; those that end highest or lowest at the left are named.

    Parameters
    ----------
    lines : one row for each line, with its values at ``x``, which falls
    chosen : draw a line at this x
    """
    if not x.size:
        return chart([], "", "")
    order = np.argsort(-np.abs(lines[:, -1]), kind="stable")[:_MOST_LINES]
    series = [Series(x, lines[i], names[i] if rank < _NAMED_LINES else "") for rank, i in enumerate(order)]
    return chart(series, "penalty (stronger to the right)", "coefficient", log_x=True, level=0.0, upright=chosen)


def scores_chart(x: Any, scores: Any, errors: Any, x_label: str, chosen: float, log_x: bool = False) -> Markup:
    """Draw held-out scores with their standard errors, and a line at what was chosen."""
    middle, width = np.asarray(scores, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    lines = [
        Series(x, middle, "mean score"),
        Series(x, middle - width, "± one standard error"),
        Series(x, middle + width, like=1),
    ]
    return chart(lines, x_label, "score on held-out data", upright=chosen, log_x=log_x)


def _finite(one: Series, log_x: bool) -> tuple[Array, Array]:
    x, y = np.asarray(one.x, dtype=np.float64), np.asarray(one.y, dtype=np.float64)
    keep = np.isfinite(x) & np.isfinite(y) & ((x > 0) | (not log_x))
    x, y = x[keep], y[keep]
    if one.kind == "dots" and x.size > _MOST_DOTS:
        chosen = np.linspace(0, x.size - 1, _MOST_DOTS).astype(int)
        x, y = x[chosen], y[chosen]
    return x, y


def _axis(values: Array, start: float, end: float, log: bool, least: float = 0.0) -> _Axis:
    low, high = float(values.min()), float(values.max())
    if high - low < least:
        low = high - least
    if log:
        return _Axis(low, high if high > low else 10.0 * low, start, end, True)
    room = 0.04 * (high - low) or 0.5 * max(abs(high), 1.0)
    return _Axis(low - room, high + room, start, end, False)


def _round_step(least: float) -> float:
    """The next larger one of 1, 2 and 5 times a power of ten."""
    size = 10.0 ** math.floor(math.log10(least))
    return next(factor * size for factor in (1.0, 2.0, 5.0, 10.0) if factor * size >= least)


def _frame(across: _Axis, up: _Axis, x_label: str, y_label: str) -> Markup:
    axes = '<path class="axis" d="M{} {} V{} H{}"/>'
    lines = [Markup(axes).format(_LEFT, up.end, _HEIGHT - _BOTTOM, _WIDTH - _RIGHT)]
    for value, shown in across.ticks():
        text = '<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>'
        # The first and the last label are moved inwards if they would be cut off.
        half = 0.5 * _LETTER * len(shown)
        middle = min(max(float(across.place(np.array(value))), half), _WIDTH - half)
        lines.append(Markup(text).format(middle, _HEIGHT - _BOTTOM + 17, shown))
    for value, shown in up.ticks():
        text = '<path class="axis" d="M{} {:.1f} h-4"/><text x="{}" y="{:.1f}" text-anchor="end">{}</text>'
        y = float(up.place(np.array(value)))
        lines.append(Markup(text).format(_LEFT, y, _LEFT - 7, y + 4, shown))
    label = '<text x="{}" y="{}" text-anchor="middle">{}</text>'
    lines.append(Markup(label).format((_LEFT + _WIDTH - _RIGHT) // 2, _HEIGHT - 8, across.label(x_label, _MOST_ACROSS)))
    turned = '<text transform="translate(13 {}) rotate(-90)" text-anchor="middle">{}</text>'
    lines.append(Markup(turned).format((_TOP + _HEIGHT - _BOTTOM) // 2, up.label(y_label, _MOST_UP)))
    return Markup("\n").join(lines)


def _guide(across: _Axis, up: _Axis, x: tuple[float, float], y: tuple[float, float]) -> Markup:
    (x0, x1), (y0, y1) = across.place(np.array(x)), up.place(np.array(y))
    return Markup('<path class="guide" d="M{:.1f} {:.1f} L{:.1f} {:.1f}"/>').format(x0, y0, x1, y1)


def _mark(kind: str, letter: str, x: Array, y: Array) -> Markup:
    if kind == "dots":
        dot = f'<circle class="mark {letter}" cx="{{:.1f}}" cy="{{:.1f}}" r="3"/>'
        return Markup("").join(Markup(dot).format(a, b) for a, b in zip(x, y, strict=True))
    if not x.size:
        return Markup("")
    if kind == "step":
        steps = (f"H{a:.1f} V{b:.1f}" for a, b in zip(x[1:], y[1:], strict=True))
    else:
        steps = (f"L{a:.1f} {b:.1f}" for a, b in zip(x[1:], y[1:], strict=True))
    way = f"M{x[0]:.1f} {y[0]:.1f} " + " ".join(steps)
    return Markup('<path class="mark {}" d="{}"/>').format(letter, way)


def _legend(labels: Sequence[str]) -> tuple[Markup, int]:
    """The legend above the chart, and the height at which the chart begins."""
    texts, x, line = [], _LEFT, 0
    for j, label in enumerate(labels[: len(_LETTERS)]):
        if not label:
            continue
        shown = _short(label)
        width = _LETTER * (len(shown) + 4)
        if x > _LEFT and x + width > _WIDTH:
            x, line = _LEFT, line + 1
        text = '<text class="mark {}" x="{}" y="{}">■ {}</text>'
        texts.append(Markup(text).format(_LETTERS[j], x, _TOP + 4 + _LINE * line, shown))
        x += width
    return Markup("\n").join(texts), _TOP + (_LINE * (line + 1) if texts else 0)


def _short(label: str, most: int = 28) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}…"
