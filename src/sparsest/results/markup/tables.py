"""Tables of texts; all of them are escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup

Cell = str | Markup
# After a sign that joins words, and between a small letter and a capital one; words of so many letters are left whole.
_JOINT = re.compile(r"(?<=[_.:/=|-])(?=\w)|(?<=[a-zà-þ])(?=[A-ZÀ-Þ])")
_LONG = 14
# Columns that a screen of 400 pixels has room for.
_FIT_A_PHONE = 4


def table(
    heads: Sequence[str], rows: Sequence[Sequence[Cell]], right: Sequence[int] = (), names: Sequence[int] = (0,)
) -> Markup:
    """A table that scrolls within itself where it is too wide; one of many columns has lines of its own on a phone.

    Parameters
    ----------
    right : numbers of the columns that are set to the right
    names : numbers of the columns with names of features, which may be long words
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
    """Names whose long words may be broken after a sign that joins words."""
    if isinstance(name, Markup):
        return name
    parts = (Markup("<wbr>").join(_JOINT.split(word)) if len(word) > _LONG else word for word in name.split(" "))
    return Markup(" ").join(parts)


def bar(share: float) -> Markup:
    """A bar as long as a share of its cell."""
    return Markup('<span class="bar" style="width: {:.1f}em"></span>').format(5.0 * min(max(share, 0.0), 1.0))
