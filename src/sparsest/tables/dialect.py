"""Detect separator, decimal sign, encoding and header of a text file from its first lines."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sparsest.tables.source import MISSING, distinct

_SEPARATORS = ("\t", ",", ";", "|")
# Number of lines to inspect; fewer if they are long.
_SAMPLE_LINES, _SAMPLE_CHARACTERS = 30, 1 << 20
# A C long on every platform.
_LONGEST_FIELD = (1 << 31) - 1
_DECIMAL_COMMA = re.compile(r"^-?\d+,\d+([eE][-+]?\d+)?$")


@dataclass(frozen=True)
class Dialect:
    """How to read a text file.

    ``names`` are the distinct names of the columns; ``header`` says whether the first line holds them and is to be
    skipped.  In R's format rows begin with a name that the header does not list: that column is called "".
    """

    separator: str
    decimal: str
    encoding: str
    header: bool
    names: tuple[str, ...]
    notes: tuple[str, ...]


@contextmanager
def fields_of_any_length() -> Iterator[None]:
    """Lift the limit that Python's CSV reader has for the length of a field.

    With the wrong separator a whole line is one field, and lines of wide tables can have many megabytes.
    """
    before = csv.field_size_limit(_LONGEST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def find_dialect(head: bytes, name: str) -> Dialect:
    """Detect the dialect from the beginning of a text file, cut at the end of a line or of the file."""
    notes: list[str] = []
    text, encoding = _decode(head, name, notes)
    lines = _first_lines(text)
    if not lines:
        raise ValueError(f"{name} is not a table: its first line is empty; give a file that begins with a header")
    with fields_of_any_length():
        separator = _separator(lines)
        rows = [row for row in csv.reader(lines, delimiter=separator) if row]
    first, width = rows[0], Counter(len(row) for row in rows[1:] or rows).most_common(1)[0][0]
    decimal = "," if separator != "," and _any_decimal_comma(rows[1:]) else "."
    if decimal == ",":
        notes.append("numbers are written with a decimal comma")
    header = not all(_is_number(entry, decimal) for entry in first)
    if not header:
        notes.append("the first line holds numbers, so columns have no names: they are called x1, x2, …")
        found = [f"x{j + 1}" for j in range(len(first))]
    elif len(first) + 1 == width:
        # R's write.table: rows begin with a name that the header does not list.
        found = ["", *first]
    else:
        found = first
    return Dialect(separator, decimal, encoding, header, tuple(distinct(found, notes)), tuple(notes))


def _decode(head: bytes, name: str, notes: list[str]) -> tuple[str, str]:
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if head.startswith(mark):
            return head.decode(encoding, "ignore"), encoding
    try:
        return head.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        # The last character of the sample may be cut off.
        if error.start >= len(head) - 4:
            return head[: error.start].decode("utf-8"), "utf-8"
    notes.append(f"{name} is not written in UTF-8: it is read as Latin-1")
    return head.decode("latin-1"), "latin-1"


def _first_lines(text: str) -> list[str]:
    """The header and the rows to inspect."""
    lines: list[str] = []
    length = 0
    for line in text.splitlines(keepends=True):
        if len(lines) >= _SAMPLE_LINES or (len(lines) > 1 and length > _SAMPLE_CHARACTERS):
            break
        if line.strip():
            lines.append(line)
            length += len(line)
    return lines


def _separator(lines: list[str]) -> str:
    """The separator that splits all first lines into the same number of fields, as many as possible.

    The header may have one field less, see :class:`Dialect`.
    """

    def quality(separator: str) -> tuple[bool, int]:
        header, *widths = (len(row) for row in csv.reader(lines, delimiter=separator))
        alike = len(set(widths)) <= 1 and all(width in (header, header + 1) for width in widths)
        return alike and header > 1, header

    best = max(_SEPARATORS, key=quality)
    return best if quality(best)[1] > 1 else ","


def _any_decimal_comma(rows: list[list[str]]) -> bool:
    return any(_DECIMAL_COMMA.match(entry.strip()) for row in rows for entry in row)


def _is_number(entry: str, decimal: str) -> bool:
    if entry in MISSING:
        return entry != ""
    try:
        float(entry.replace(decimal, "."))
    except ValueError:
        return False
    return True
