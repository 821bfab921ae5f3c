"""What a study is: panels of data, the views that its figures draw, and the findings it looks for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from sparsest.studies.findings import Finding
from sparsest.studies.procedures import Plan
from sparsest.studies.samples import Source
from sparsest.studies.tasks import Task
from sparsest.studies.views import View

Size = Literal["smoke", "small", "paper"]
SIZES: tuple[Size, ...] = ("smoke", "small", "paper")
# Procedures that panels may split: every size is a search of its own.
_LONG = ("cardinality",)


@dataclass(frozen=True)
class Cell:
    """One point of a panel: data sets of n rows, and what to do with them.

    ``x`` is where figures draw it; a ``label`` stands there instead of the number.
    """

    source: Source
    n: int
    plan: Plan
    x: float
    label: str = ""


@dataclass(frozen=True)
class Panel:
    """One picture of a figure: cells, data sets for each, and the procedures that compete on them.

    ``compared`` are fitted at the true size alone; so are ``extras``, which run only where they are asked for.
    Where one size takes long by itself, ``split`` makes a task of each, for a study that needs all of them, or of the
    true one alone, for a study that needs no other.
    """

    name: str
    title: str
    cells: tuple[Cell, ...]
    n_sets: int
    procedures: tuple[str, ...]
    compared: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    split: Literal["", "all sizes", "true size"] = ""

    def tasks(self, *, extras: bool = False) -> Iterator[tuple[Cell, Task]]:
        """All tasks, the first data set of every cell first."""
        for number in range(self.n_sets):
            for cell in self.cells:
                one_size = replace(cell.plan, ks=(cell.plan.timed_k,))
                for procedure in self.procedures:
                    for plan in self._plans(cell.plan) if procedure in _LONG else (cell.plan,):
                        yield cell, Task(cell.source, cell.n, number, procedure, plan)
                for procedure in (*self.compared, *(self.extras if extras else ())):
                    yield cell, Task(cell.source, cell.n, number, procedure, one_size)

    def _plans(self, plan: Plan) -> tuple[Plan, ...]:
        """The plans of a procedure that takes long for every size."""
        if not self.split:
            return (plan,)
        sizes = plan.ks if self.split == "all sizes" else (plan.timed_k,)
        return tuple(replace(plan, ks=(k,)) for k in sizes)

    def at_places(self, count: int) -> Panel:
        """The panel with some of its cells, spread over all."""
        chosen = {int((i + 0.5) * len(self.cells) / count) for i in range(min(count, len(self.cells)))}
        return replace(self, cells=tuple(self.cells[i] for i in sorted(chosen)))


@dataclass(frozen=True)
class Figure:
    """One figure: a view of the rows, and one curve for every method in every panel."""

    name: str
    caption: str
    view: View
    x_label: str
    y_label: str
    x_scale: str = "linear"
    y_scale: str = "linear"
    # Also drawn as a vertical line: the true number of features.
    mark_true_k: bool = False
    # The view has a panel for each method, and a curve for each panel of the study.
    turned: bool = False


@dataclass(frozen=True)
class Study:
    """One study of the paper."""

    name: str
    title: str
    panels: Callable[[Size], tuple[Panel, ...]]
    figures: tuple[Figure, ...]
    findings: tuple[Finding, ...] = field(default=())
    # Why the data are not exactly the paper's, where they are not.
    remark: str = ""
    # Its findings are about models whose size was chosen on validation rows.
    chosen: bool = False

    def tasks(self, size: Size, *, extras: bool = False, places: int | None = None) -> list[Task]:
        """All tasks of all panels, each once; the first data sets of all panels come first.

        Parameters
        ----------
        extras : whether to run methods of other packages too
        places : no more cells of a panel than this, spread over all
        """
        panels = self.panels(size)
        if places is not None:
            panels = tuple(panel.at_places(places) for panel in panels)
        found = dict.fromkeys(task for panel in panels for _, task in panel.tasks(extras=extras))
        return sorted(found, key=lambda task: task.number)
