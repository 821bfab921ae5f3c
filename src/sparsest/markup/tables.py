"""Tables of texts; all of them are escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup

Cell = str | Markup
# After a sign that joins words, and between a small letter and a capital one.
_BETWEEN_WORDS = re.compile(r"(?<=[_.:/=|-])(?=\w)|(?<=[a-zà-þ])(?=[A-ZÀ-Þ])")


def table(
    heads: Sequence[str], rows: Sequence[Sequence[Cell]], right: Sequence[int] = (), names: Sequence[int] = (0,)
) -> Markup:
    """A table that scrolls within itself where it is too wide.

    Parameters
    ----------
    right : numbers of the columns that are set to the right
    names : numbers of the columns with names of features, which may be long words
    """
    top = _row("th", heads, right, names)
    body = Markup("\n").join(_row("td", row, right, names) for row in rows)
    shape = '<div class="scroll"><table><thead>{}</thead>\n<tbody>{}</tbody></table></div>'
    return Markup(shape).format(top, body)


def _row(tag: str, cells: Sequence[Cell], right: Sequence[int], names: Sequence[int]) -> Markup:
    parts = []
    for j, cell in enumerate(cells):
        kind = ' class="right"' if j in right else ' class="name"' if j in names else ""
        shown = breakable(cell) if j in names and tag == "td" else cell
        parts.append(Markup(f"<{tag}{kind}>{{}}</{tag}>").format(shown))
    return Markup("<tr>{}</tr>").format(Markup("").join(parts))


def breakable(name: Cell) -> Markup:
    """A name that may be broken after a sign between two words; a browser breaks it elsewhere only where it must."""
    if isinstance(name, Markup):
        return name
    return Markup("<wbr>").join(_BETWEEN_WORDS.split(name))


def bar(share: float) -> Markup:
    """A bar as long as a share of its cell."""
    return Markup('<span class="bar" style="width: {:.1f}em"></span>').format(5.0 * min(max(share, 0.0), 1.0))
