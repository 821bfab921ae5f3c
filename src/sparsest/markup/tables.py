"""Tables of texts; all of them are escaped."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

Cell = str | Markup


def table(heads: Sequence[str], rows: Sequence[Sequence[Cell]], right: Sequence[int] = ()) -> Markup:
    """A table that scrolls within itself where it is too wide.

    Parameters
    ----------
    right : numbers of the columns that are set to the right
    """
    top = _row("th", heads, right)
    body = Markup("\n").join(_row("td", row, right) for row in rows)
    shape = '<div class="scroll"><table><thead>{}</thead>\n<tbody>{}</tbody></table></div>'
    return Markup(shape).format(top, body)


def _row(tag: str, cells: Sequence[Cell], right: Sequence[int]) -> Markup:
    return Markup("<tr>{}</tr>").format(
        Markup("").join(
            Markup(f'<{tag} class="right">{{}}</{tag}>' if j in right else f"<{tag}>{{}}</{tag}>").format(cell)
            for j, cell in enumerate(cells)
        )
    )


def bar(share: float) -> Markup:
    """A bar as long as a share of its cell."""
    return Markup('<span class="bar" style="width: {:.1f}em"></span>').format(5.0 * min(max(share, 0.0), 1.0))
