"""One table of figures with their targets: what ``run_all`` prints.

A benchmark takes part by a function ``rows()`` that yields a :class:`Row` for every figure that has a target.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Row(NamedTuple):
    """A figure, in seconds or as a multiple of a peer's, and the largest that is wanted."""

    case: str
    figure: float
    unit: str
    target: float

    def __str__(self) -> str:
        verdict = "" if self.figure <= self.target else "  missed"
        return f"{self.case:<60}{self.figure:8.2f} {self.unit:<12} wanted ≤ {self.target:<6g}{verdict}"


def show(rows: Iterable[Row]) -> None:
    """Print rows as they come."""
    for row in rows:
        print(row, flush=True)
