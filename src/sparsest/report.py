"""Results as rich tables."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sparsest.result import Result


def print_model(console: Console, result: Result, title: str) -> None:
    """Print the selected features with their coefficients, and below them what is proved."""
    table = Table()
    table.add_column("feature")
    table.add_column("coefficient", justify="right")
    for name, value in result.rows():
        table.add_row(escape(name), value)
    console.print(escape(title), style="bold")
    console.print(table)
    console.print(*result.proof_lines(), sep="\n")
    console.print()
