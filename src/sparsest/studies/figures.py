"""Figures of a study, as in the paper: one picture per panel, one curve with error bars per method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from sparsest.studies.study import Figure, Panel
from sparsest.studies.views import Curve, Row, comparable, curves


class Style(NamedTuple):
    """How a method is drawn; markers distinguish methods in greyscale."""

    label: str
    colour: str
    marker: str
    line: str = "-"


# The paper's colours, in shades that also differ in brightness; methods that are not in the paper have dashed lines.
STYLES = {
    "exact": Style("CIO, exact", "#1a7f37", "o"),
    "relaxation": Style("SS, relaxation", "#0b5cad", "s"),
    "elastic_net": Style("elastic net", "#c62828", "^"),
    "mcp": Style("MCP", "#ef8a17", "D"),
    "scad": Style("SCAD", "#e377c2", "v"),
    "lasso": Style("Lasso", "#7b1fa2", "<"),
    "subgradient": Style("SS, sub-gradient", "#5b9bd5", "x", "--"),
    "forward": Style("forward and swaps", "#7f7f7f", "+", "--"),
    "abess": Style("abess", "#4d4d4d", "*", "--"),
}
# Curves of one method for several panels, from light to dark.
_SHADES = (0.35, 0.65, 1.0)
_DPI = 110
# The width of a tick label as a fraction of the axis.
_LABEL_WIDTH = 0.11
# A logarithmic axis whose ends differ by less than this factor is labelled like a linear one.
_SHORT_AXIS = 6.0
# Number of colours in PNG files; reducing the colours makes the files three times smaller.
_PALETTE = 96


class Drawn(NamedTuple):
    """A curve with its style."""

    curve: Curve
    style: Style
    strength: float = 1.0


class _Picture(NamedTuple):
    """One picture of a figure."""

    title: str
    lines: list[Drawn]
    # Tick labels of the horizontal axis by position.
    labels: dict[float, str]
    true_k: int | None
    # Labels of methods with omitted points, because they were run on fewer data sets than others.
    lacking: tuple[str, ...] = ()


def style_of(method: str) -> Style:
    """The style of a method; black if none is defined."""
    return STYLES.get(method, Style(method, "#000000", "."))


def _pictures(figure: Figure, panels: Sequence[Panel], rows: Sequence[Row]) -> list[_Picture]:
    """The pictures, in the order of panels; their curves in the order of styles."""
    found = curves(figure.view(rows))
    if figure.turned:
        names = [panel.name for panel in panels]
        return [
            _Picture(
                style_of(method).label,
                [
                    Drawn(found[method][name], style_of(method)._replace(label=name), strength)
                    for name, strength in zip(names, _SHADES, strict=True)
                    if name in found[method]
                ],
                {},
                None,
            )
            for method in sorted(found, key=_rank)
        ]
    shown = [panel for panel in panels if panel.name in found]
    # A view may split a panel into several.
    others = [replace(panels[0], name=name, title=name) for name in found if name not in {one.name for one in panels}]
    return [_of_panel(figure, panel, found.get(panel.name, {})) for panel in [*shown, *others] or panels[:1]]


def _of_panel(figure: Figure, panel: Panel, methods: dict[str, Curve]) -> _Picture:
    methods, lacking = comparable(methods)
    lines = [Drawn(methods[name], style_of(name)) for name in sorted(methods, key=_rank)]
    labels = {cell.x: cell.label for cell in panel.cells if cell.label}
    if lines and not figure.x_label and not labels:
        # With a single position the methods are drawn side by side.
        lines = [one._replace(curve=one.curve._replace(x=[float(j)])) for j, one in enumerate(lines)]
        labels = {float(j): one.style.label for j, one in enumerate(lines)}
    true_k = panel.cells[0].source.k if figure.mark_true_k else None
    return _Picture(panel.title, lines, labels, true_k, tuple(style_of(name).label for name in lacking))


def _rank(method: str) -> tuple[int, str]:
    return (list(STYLES).index(method) if method in STYLES else len(STYLES), method)


def draw(figure: Figure, panels: Sequence[Panel], rows: Sequence[Row]) -> Any:
    """Return the matplotlib figure."""
    from matplotlib.figure import Figure as Canvas

    pictures = _pictures(figure, panels, rows)
    # The two levels of correlation are next to each other.
    across = min(len(pictures), 3 if len(pictures) % 2 else 2)
    down = math.ceil(len(pictures) / across)
    wide = 7.0 if len(pictures) == 1 else 4.2 * across
    canvas = Canvas(figsize=(wide, 3.1 * down + 0.9), layout="constrained")
    axes = canvas.subplots(down, across, squeeze=False)
    for ax in axes.flat[len(pictures) :]:
        ax.set_visible(False)
    for ax, picture in zip(axes.flat, pictures, strict=False):
        _draw_picture(ax, figure, picture)
    named = {label: handle for ax in axes.flat for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    side_by_side = any(one.labels and not figure.x_label and len(one.lines) == len(one.labels) for one in pictures)
    if figure.turned:
        for ax in axes.flat[: len(pictures)]:
            ax.legend(frameon=False, fontsize="small")
    elif named and not side_by_side:
        canvas.legend(named.values(), named.keys(), loc="outside lower center", ncols=min(len(named), 4), frameon=False)
    n_sets = max((n for picture in pictures for one in picture.lines for n in one.curve.n_sets), default=0)
    of = f"means ± one standard error, up to {n_sets} data sets" if n_sets > 1 else "one data set"
    lacking = list(dict.fromkeys(label for picture in pictures for label in picture.lacking))
    if lacking:
        of += f"; points of fewer data sets are left out: {', '.join(lacking)}"
    canvas.suptitle(f"{figure.caption}\n({of})", fontsize="medium")
    return canvas


def _draw_picture(ax: Any, figure: Figure, picture: _Picture) -> None:
    # Where methods agree, the first is drawn on top with the smallest marker, so that the others show around it.
    for rank, (curve, style, strength) in enumerate(picture.lines):
        ax.errorbar(
            curve.x, curve.mean, yerr=[0.0 if math.isnan(e) else e for e in curve.error], label=style.label,
            color=style.colour, marker=style.marker, linestyle="" if picture.labels else style.line, alpha=strength,
            markersize=5.0 if figure.turned else 4.5 + 0.9 * rank, linewidth=1.4, capsize=2, zorder=20 - rank,
        )  # fmt: skip
    if picture.true_k is not None:
        ax.axvline(picture.true_k, color="black", linewidth=1.0)
    ax.set_title(picture.title, fontsize="medium")
    ax.set(xlabel=figure.x_label, ylabel=figure.y_label, xscale=figure.x_scale, yscale=figure.y_scale)
    if picture.labels:
        ax.set_xticks(list(picture.labels), list(picture.labels.values()), fontsize="small")
        ax.set_xlim(min(picture.labels) - 0.5, max(picture.labels) + 0.5)
    if figure.x_scale == "log":
        _label_places(ax.xaxis, sorted({x for one in picture.lines for x in one.curve.x}))
    if figure.y_scale == "log":
        _label_decades(ax)
    ax.grid(alpha=0.3)


def _label_places(axis: Any, places: Sequence[float]) -> None:
    """Put ticks at the points: over a short range, powers of ten give at most one tick."""
    from matplotlib.ticker import FixedLocator, NullLocator

    axis.set_major_locator(FixedLocator(_apart(places)))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_locator(NullLocator())


def _apart(places: Sequence[float]) -> list[float]:
    """Positions whose tick labels do not overlap on a logarithmic axis."""
    if len(places) < 2:
        return list(places)
    least = _LABEL_WIDTH * math.log(places[-1] / places[0])
    kept = [places[0]]
    for place in places[1:]:
        if math.log(place / kept[-1]) >= least:
            kept.append(place)
    return kept


def _label_decades(ax: Any) -> None:
    """Label powers of ten with plain numbers, and further ticks between them if there are few."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    low, high = ax.get_ylim()
    few = math.log10(high / low) < 2.0
    if high < _SHORT_AXIS * low:
        ax.yaxis.set_major_locator(MaxNLocator(5))
    else:
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    if few:
        ax.yaxis.set_minor_locator(NullLocator())


def save(
    figure: Figure, panels: Sequence[Panel], rows: Sequence[Row], stem: Path, suffixes: Sequence[str] = (".png", ".svg")
) -> list[Path]:
    """Write the figure in each of the formats; the same rows give identical files."""
    from matplotlib import rc_context

    canvas = draw(figure, panels, rows)
    files = [stem.with_name(stem.name + suffix) for suffix in suffixes]
    with rc_context({"svg.hashsalt": stem.name}):
        for file in files:
            if file.suffix == ".png":
                _save_png(canvas, file)
            else:
                canvas.savefig(file, metadata={"Date": None})
    return files


def _save_png(canvas: Any, file: Path) -> None:
    from io import BytesIO

    from PIL import Image

    whole = BytesIO()
    canvas.savefig(whole, format="png", dpi=_DPI)
    Image.open(whole).convert("RGB").quantize(_PALETTE, dither=Image.Dither.NONE).save(file, optimize=True)
