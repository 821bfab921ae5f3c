"""A study: panels of data sets, figures that draw views of the rows, and findings to judge."""

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
# Procedures that panels may split into one task for each size, because each size is a separate search.
_LONG = ("cardinality",)


@dataclass(frozen=True)
class Cell:
    """One point of a panel: data sets of n rows, and the plan of the procedures.

    ``x`` is its position in figures; a ``label`` replaces the number on the axis.
    """

    source: Source
    n: int
    plan: Plan
    x: float
    label: str = ""


@dataclass(frozen=True)
class Panel:
    """One picture of a figure: cells, the number of data sets for each, and the procedures to compare.

    Procedures in ``compared`` are fitted only at the true size; so are ``extras``, which run only on request.
    ``split`` is for panels where a single size takes long: "all sizes" makes each size a task, "true size" runs only
    the true one.
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
        """The plans of a procedure in ``_LONG``: one for each size to run separately."""
        if not self.split:
            return (plan,)
        sizes = plan.ks if self.split == "all sizes" else (plan.timed_k,)
        return tuple(replace(plan, ks=(k,)) for k in sizes)

    def at_places(self, count: int) -> Panel:
        """The panel with ``count`` of its cells, evenly spaced."""
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
    # Whether a vertical line marks the true number of features.
    mark_true_k: bool = False
    # Whether the view has a panel for each method, and a curve for each panel of the study.
    turned: bool = False


@dataclass(frozen=True)
class Study:
    """One study of the paper."""

    name: str
    title: str
    panels: Callable[[Size], tuple[Panel, ...]]
    figures: tuple[Figure, ...]
    findings: tuple[Finding, ...] = field(default=())
    # How the data differ from the paper's, if they do.
    remark: str = ""
    # Whether the findings are about models whose size was chosen on validation rows.
    chosen: bool = False

    def tasks(self, size: Size, *, extras: bool = False, places: int | None = None) -> list[Task]:
        """All tasks of all panels, each once; the first data sets of all panels come first.

        Parameters
        ----------
        extras : whether to run methods of other packages too
        places : largest number of cells of a panel, evenly spaced
        """
        panels = self.panels(size)
        if places is not None:
            panels = tuple(panel.at_places(places) for panel in panels)
        found = dict.fromkeys(task for panel in panels for _, task in panel.tasks(extras=extras))
        return sorted(found, key=lambda task: task.number)
