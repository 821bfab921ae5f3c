"""Tables of texts; all of them are escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup

Cell = str | Markup
# Long names may break after joining characters and before capitals; words of up to this length do not break.
_JOINT = re.compile(r"(?<=[_.:/=|-])(?=\w)|(?<=[a-zà-þ])(?=[A-ZÀ-Þ])")
_LONG = 14
# Number of columns that fit on a screen of 400 pixels.
_FIT_A_PHONE = 4


def table(
    heads: Sequence[str], rows: Sequence[Sequence[Cell]], right: Sequence[int] = (), names: Sequence[int] = (0,)
) -> Markup:
    """A table that scrolls if it is too wide; on a phone, a table of many columns shows each cell on its own line.

    Parameters
    ----------
    right : indices of the right-aligned columns
    names : indices of the columns with names of features, which may be long words
    """
    many = len(heads) > _FIT_A_PHONE
    top = _row("th", heads, right, names)
    body = Markup("\n").join(_row("td", row, right, names, heads if many else ()) for row in rows)
    shape = '<div class="scroll"><table{}><thead>{}</thead>\n<tbody>{}</tbody></table></div>'
    return Markup(shape).format(Markup(' class="many"' if many else ""), top, body)


def _row(
    tag: str, cells: Sequence[Cell], right: Sequence[int], names: Sequence[int], labels: Sequence[str] = ()
) -> Markup:
    parts = []
    for j, cell in enumerate(cells):
        kind = ' class="right"' if j in right else ' class="name"' if j in names else ""
        label = Markup(' data-label="{}"').format(labels[j]) if labels else ""
        shown = breakable(cell) if j in names and tag == "td" else cell
        parts.append(Markup(f"<{tag}{kind}{{}}>{{}}</{tag}>").format(label, shown))
    return Markup("<tr>{}</tr>").format(Markup("").join(parts))


def breakable(name: Cell) -> Markup:
    """A name with allowed line breaks in long words."""
    if isinstance(name, Markup):
        return name
    parts = (Markup("<wbr>").join(_JOINT.split(word)) if len(word) > _LONG else word for word in name.split(" "))
    return Markup(" ").join(parts)


def bar(share: float) -> Markup:
    """A bar whose length is a share of its cell."""
    return Markup('<span class="bar" style="width: {:.1f}em"></span>').format(5.0 * min(max(share, 0.0), 1.0))
