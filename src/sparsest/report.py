"""Results as rich tables and progress lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from sparsest.result import Bound, Done, Event, Incumbent, Names, Result, Root


def print_model(console: Console, result: Result, names: Names | None, title: str) -> None:
    """Print the selected features with their coefficients, and below them what is proved."""
    if names is not None and len(names) != result.coef.size:
        raise ValueError(f"names must hold one name for each of the {result.coef.size} features, got {len(names)}")
    table = Table()
    table.add_column("feature")
    table.add_column("coefficient", justify="right")
    order = sorted(result.support.tolist(), key=lambda j: -abs(result.coef[j]))
    for j in order:
        table.add_row(str(j) if names is None else str(names[j]), f"{result.coef[j]:.6g}")
    table.add_row("(intercept)", f"{result.intercept:.6g}")
    console.print(title, style="bold")
    console.print(table)
    console.print(proof_line(result))
    console.print()


def proof_line(result: Result) -> str:
    """Objective, bound, gap, status and time in one line."""
    return (
        f"objective {result.objective:.8g}, lower bound {result.lower_bound:.8g}, gap {result.gap:.2%}\n"
        f"{result.status.name}: {result.status.value} ({result.n_nodes} nodes, {result.seconds:.2f} s)"
    )


@contextmanager
def live_progress(console: Console, title: str) -> Iterator[Callable[[Event], None]]:
    """Show a line in which bound and incumbent meet; yields the callback that moves it."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(title)
        seen = {"bound": float("-inf"), "objective": float("inf"), "nodes": 0}

        def show(event: Event) -> None:
            match event:
                case Root(lower_bound=bound):
                    seen["bound"] = bound
                case Incumbent(objective=objective):
                    seen["objective"] = objective
                case Bound(lower_bound=bound, objective=objective, n_nodes=nodes):
                    seen.update(bound=bound, objective=objective, nodes=nodes)
                case Done(lower_bound=bound, objective=objective):
                    seen.update(bound=bound, objective=objective)
            text = f"{title}: bound {seen['bound']:.6g} ≤ incumbent {seen['objective']:.6g}, {seen['nodes']} nodes"
            progress.update(task, description=text)

        yield show
