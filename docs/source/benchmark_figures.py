"""Figures of the benchmarks, drawn from the tables of ``benchmarks/README.md``; tables that are absent are left out."""

import re
from itertools import cycle
from pathlib import Path

import matplotlib.pyplot as plt

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = "os^DvP"
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def table_below(text: str, first_head: str) -> list[list[str]]:
    """The rows of the table that begins with these words, heads first; none if there is no such table."""
    found = re.search(rf"^\| {re.escape(first_head)}.*\n(?:\|.*\n)*", text, re.MULTILINE)
    rows = found[0].splitlines() if found else []
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return cells[:1] + cells[2:]


def draw_paths(text: str, file: Path) -> str:
    """Our time over that of the fastest peer, for every data set and penalty."""
    heads, *rows = table_below(text, "n × p") or [[]]
    if not rows:
        return ""
    figure, ax = plt.subplots(figsize=(7.5, 0.42 * len(rows) + 1.4), layout="constrained")
    for column, head in enumerate(heads[1:], start=1):
        points = [(float(found[0]), place) for place, row in enumerate(rows) if (found := _NUMBER.match(row[column]))]
        style = {"color": COLOURS[column - 1], "marker": MARKERS[column - 1], "linestyle": "none"}
        ax.plot(*zip(*points, strict=True), label=head.partition(":")[0], **style)
    ax.axvline(1.0, color="black", linewidth=0.8)
    ax.set_xscale("log")
    ax.set_xticks([0.1, 0.2, 0.5, 1.0], ["0.1", "0.2", "0.5", "1"])
    ax.set_yticks(range(len(rows)), [row[0] for row in rows])
    ax.invert_yaxis()
    ax.set_xlabel("our time over that of the faster peer (left of the line we are faster)")
    figure.legend(loc="outside upper center", ncols=3, fontsize="small")
    figure.savefig(file, dpi=110)
    return "Penalty paths, every solver at its default."


def draw_exact(text: str, file: Path) -> str:
    """Our time of an exact search over that of L0BnB, for ridges of decreasing strength."""
    heads, *rows = table_below(text, "p, k") or [[]]
    if not rows:
        return ""
    figure, ax = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
    for row, colour, marker in zip(rows, cycle(COLOURS), cycle(MARKERS), strict=False):
        times = [(column, float(cell)) for column, cell in enumerate(row[1:]) if _NUMBER.fullmatch(cell)]
        ax.plot(
            *zip(*times, strict=True), color=colour, marker=marker, label="p = {}, k = {}".format(*row[0].split(", "))
        )
    ax.axhline(1.0, color="black", linewidth=0.8)
    ax.set_ylim(0.0, 1.1)
    ax.set_xticks(range(len(heads) - 1))
    ax.set_xlabel("i, the number of times that γ is doubled: weaker ridges to the right")
    ax.set_ylabel("our time over that of L0BnB\n(below the line we are faster)")
    ax.legend(fontsize="small")
    figure.savefig(file, dpi=110)
    return "Exact search with a price per feature, the check of the proof included."


def draw_incumbents(text: str, file: Path) -> str:
    """How often a method has the best model after a second."""
    rows = [row for row in table_below(text, "| 200 random: best")[1:] if _NUMBER.match(row[1])]
    if not rows:
        return ""
    figure, ax = plt.subplots(figsize=(7.5, 0.42 * len(rows) + 0.8), layout="constrained")
    shares = [float(_NUMBER.match(row[1])[0]) for row in rows]
    ax.barh([row[0] for row in rows], shares, color=[COLOURS[0]] + ["#999999"] * (len(rows) - 1))
    ax.invert_yaxis()
    ax.set_xlabel("best model of all, per cent of 200 random problems")
    figure.savefig(file, dpi=110)
    return "Models after one second."


def write(readme: Path, folder: Path) -> None:
    """Draw what the tables have, and write a page that shows it."""
    text = readme.read_text(encoding="utf-8")
    folder.mkdir(exist_ok=True)
    parts = []
    for name, draw in (("paths", draw_paths), ("exact", draw_exact), ("incumbents", draw_incumbents)):
        caption = draw(text, folder / f"{name}.png")
        plt.close("all")
        if caption:
            parts.append(f"```{{figure}} /{folder.name}/{name}.png\n:alt: {caption}\n\n{caption}\n```\n")
    (folder / "figures.txt").write_text("\n".join(parts), encoding="utf-8")
