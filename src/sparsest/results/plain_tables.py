"""Tables as plain text for terminals, and as data frames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Any

_WIDTH = 80
_INDENT, _BETWEEN = "  ", "  "
# The first column may take this share of the width, or what the others leave; longer names are cut in the middle.
_LARGEST_PART = 0.45


class Summarised(ABC):
    """A result that prints as its summary."""

    @abstractmethod
    def summary(self) -> str:
        """The result as text."""

    def __str__(self) -> str:
        """The summary."""
        return self.summary()


def feature_name(names: Sequence[str] | None, feature: int) -> str:
    """The name of a feature; its index if there are no names."""
    return str(feature) if names is None else names[feature]


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int = _WIDTH) -> list[str]:
    """Lines of a table: names at the left, all other columns at the right.

    Columns that do not fit into the width follow in further blocks, with the names repeated.

    Parameters
    ----------
    heads : the headings of the columns
    rows : texts, the name first
    width : the largest number of characters of a line
    """
    columns = [[head, *(row[j] for row in rows)] for j, head in enumerate(heads) if j > 0]
    left = width - len(_INDENT) - sum(len(_BETWEEN) + _width(column) for column in columns)
    names = [shortened(row[0], max(int(_LARGEST_PART * width), left)) for row in [heads, *rows]]
    first = max(len(name) for name in names)
    lines: list[str] = []
    for block in _blocks(columns, width - len(_INDENT) - first):
        lines += [""] * bool(lines)
        for i, name in enumerate(names):
            cells = (column[i].rjust(_width(column)) for column in block)
            lines.append((_INDENT + _BETWEEN.join([name.ljust(first), *cells])).rstrip())
    return lines


def _width(column: list[str]) -> int:
    return max(len(cell) for cell in column)


def _blocks(columns: list[list[str]], room: int) -> list[list[list[str]]]:
    """Columns side by side as far as they fit; at least one in each block."""
    blocks: list[list[list[str]]] = [[]]
    left = room
    for column in columns:
        needed = len(_BETWEEN) + _width(column)
        if blocks[-1] and needed > left:
            blocks.append([])
            left = room
        blocks[-1].append(column)
        left -= needed
    return blocks


def shortened(text: str, most: int) -> str:
    """Cut a text to at most ``most`` characters by replacing its middle with an ellipsis."""
    if len(text) <= most:
        return text
    head = most // 2
    return f"{text[:head]}…{text[len(text) - (most - head - 1) :]}"


def wrapped(lines: Iterable[str], width: int = _WIDTH) -> list[str]:
    """Lines of prose, broken between words; names that are longer than a line stay whole."""
    return [
        part for line in lines for part in wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]
    ]


def data_frame(columns: dict[str, Any], index: Sequence[Any], name: str) -> Any:
    """A pandas data frame with these columns, and with rows of these names."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("a data frame needs pandas: pip install pandas, or use to_dict()") from error
    return pd.DataFrame(columns, index=pd.Index(index, name=name))
