"""Figures of a study in the paper's form: a picture for every panel, a curve with error bars for every method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sparsest.studies.study import Figure, Panel
from sparsest.studies.views import Curve, Row, curves


class Style(NamedTuple):
    """How a method is drawn; the marker tells it apart without colours."""

    label: str
    colour: str
    marker: str


# The paper's colours, in shades that differ in brightness too.
STYLES = {
    "exact": Style("CIO, exact", "#1a7f37", "o"),
    "relaxation": Style("SS, relaxation", "#0b5cad", "s"),
    "elastic_net": Style("elastic net", "#c62828", "^"),
    "mcp": Style("MCP", "#ef8a17", "D"),
    "scad": Style("SCAD", "#e377c2", "v"),
    "subgradient": Style("SS, sub-gradient", "#7fb2e5", "x"),
    "forward": Style("forward and swaps", "#7f7f7f", "+"),
    "abess": Style("abess", "#4d4d4d", "*"),
}


def draw(figure: Figure, panels: Sequence[Panel], rows: Sequence[Row]) -> Any:
    """Return the matplotlib figure."""
    from matplotlib.figure import Figure as Canvas

    found = curves(figure.view(rows))
    shown = [panel for panel in panels if panel.name in found] or list(panels[:1])
    across = min(len(shown), 2 if len(shown) in (2, 4) else 3)
    down = math.ceil(len(shown) / across)
    canvas = Canvas(figsize=(4.2 * across, 3.1 * down + 0.7), layout="constrained")
    axes = canvas.subplots(down, across, squeeze=False)
    for ax in axes.flat[len(shown) :]:
        ax.set_visible(False)
    for ax, panel in zip(axes.flat, shown, strict=False):
        _draw_panel(ax, figure, panel, found.get(panel.name, {}))
    handles = {label: handle for ax in axes.flat for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    if handles:
        canvas.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=min(len(handles), 4), frameon=False
        )
    canvas.suptitle(figure.caption)
    return canvas


def _draw_panel(ax: Any, figure: Figure, panel: Panel, methods: dict[str, Curve]) -> None:
    for name, style in STYLES.items():
        if name in methods:
            curve = methods[name]
            ax.errorbar(
                curve.x, curve.mean, yerr=[0.0 if math.isnan(e) else e for e in curve.error], label=style.label,
                color=style.colour, marker=style.marker, markersize=5, linewidth=1.4, capsize=2,
            )  # fmt: skip
    if figure.mark_true_k:
        ax.axvline(panel.cells[0].source.k, color="black", linewidth=1.0)
    ax.set_title(panel.title or panel.name, fontsize="medium")
    ax.set(xlabel=figure.x_label, ylabel=figure.y_label, xscale=figure.x_scale, yscale=figure.y_scale)
    ax.grid(alpha=0.3)


def save(figure: Figure, panels: Sequence[Panel], rows: Sequence[Row], stem: Path) -> list[Path]:
    """Write the figure as PNG and SVG."""
    canvas = draw(figure, panels, rows)
    files = [stem.with_suffix(suffix) for suffix in (".png", ".svg")]
    for file in files:
        canvas.savefig(file, dpi=130)
    return files
