"""Regimes of noise and correlation, and the panels over growing n that regression and classification share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from sparsest.studies.procedures import Plan
from sparsest.studies.samples import Source
from sparsest.studies.study import Cell, Figure, Panel, Size
from sparsest.studies.views import seconds_relative_to_lasso

METHODS = ("cardinality", "elastic_net", "mcp", "scad", "reference")
# In addition to the paper's methods: the published sub-gradient method, forward selection with swaps, and on request
# abess.
COMPARED, EXTRAS = ("subgradient", "forward"), ("abess",)

# The paper's five methods, as they are named in rows and figures.
PAPERS = ("exact", "relaxation", "elastic_net", "mcp", "scad")

N_ROWS = "number of observations n"
RELATIVE_TIME = Figure(
    "time",
    "Time relative to a Lasso path that ends at the same size",
    seconds_relative_to_lasso,
    N_ROWS,
    "seconds / seconds of the Lasso",
    y_scale="log",
)


class Regime(NamedTuple):
    """A level of noise: the true number of features, the numbers of rows, and the sizes to choose from."""

    name: str
    snr: float
    p: int
    k: int
    ns: tuple[int, ...]
    ks: tuple[int, ...]
    # The number of rows and the sizes of figures over k.
    roc_n: int = 0
    roc_ks: tuple[int, ...] = ()


def steps(first: int, step: int, last: int) -> tuple[int, ...]:
    """``first, first + step, …, last``."""
    return tuple(range(first, last + 1, step))


# A fifth of the paper's p and k, except for high noise, where a fifth of ten true features would be only two.
SMALL = (
    Regime("low noise", 6.0, 4000, 20, (100, 150, 200, 300, 400), (14, 20, 26, 34, 44), 200, steps(8, 6, 44)),
    Regime("medium noise", 1.0, 2000, 10, (100, 200, 350, 600, 1000), (5, 10, 14, 19, 24), 350, steps(4, 4, 24)),
    Regime("high noise", 0.05, 1000, 5, (250, 600, 1200, 2400, 4800), (3, 5, 6, 8, 10), 1200, steps(2, 1, 10)),
)
SMOKE = (
    Regime("low noise", 6.0, 60, 4, (40, 80), (2, 4, 6), 40, (2, 4, 6)),
    Regime("high noise", 0.3, 40, 3, (40, 80), (2, 3, 4), 40, (2, 3, 4)),
)
# CPU seconds for one exact fit, and numbers of data sets.
_LIMITS: dict[Size, float] = {"smoke": 0.5, "small": 1.0, "paper": 60.0}
SETS: dict[Size, int] = {"smoke": 2, "small": 5, "paper": 10}


def plan(ks: tuple[int, ...], k: int, size: Size, exact_seconds: float | None = None) -> Plan:
    """The plan of one cell: all sizes that any figure needs, including the true one."""
    limit = _LIMITS[size] if exact_seconds is None else exact_seconds
    wanted = tuple(sorted({*ks, k}))
    if size == "smoke":
        return Plan(wanted, k, limit, iterations=20, n_gammas=4, n_mixings=2, n_concavities=2)
    if size == "small":
        return Plan(wanted, k, limit, n_gammas=15, n_mixings=5, n_concavities=4)
    return Plan(wanted, k, limit)


def over_n(
    regime: Regime, source: Source, title: str, size: Size, *, compared: bool = False, n_sets: int | None = None,
    exact_seconds: float | None = None, over_k: bool = True,
) -> Panel:  # fmt: skip
    """A panel over growing n; with ``over_k``, one cell is fitted for all sizes that the figures over k show."""
    source = replace(source, p=regime.p, k=regime.k, snr=regime.snr)
    cells = []
    for n in sorted({*regime.ns, *([regime.roc_n] if over_k else [])}):
        ks = (*regime.ks, *regime.roc_ks) if over_k and n == regime.roc_n else regime.ks
        cells.append(Cell(source, n, plan(ks, regime.k, size, exact_seconds), float(n)))
    others = (COMPARED, EXTRAS) if compared else ((), ())
    return Panel(title, title, tuple(cells), SETS[size] if n_sets is None else n_sets, METHODS, *others)


Panels = Callable[[Size], tuple[Panel, ...]]


def true_size_alone(panels: Panels) -> Panels:
    """The panels of a study of the true size; at paper size only that size is fitted."""
    return lambda size: tuple(replace(panel, split="true size" if size == "paper" else "") for panel in panels(size))


def all_sizes(panels: Panels) -> Panels:
    """The panels of a study of all sizes; at paper size each size is a task, shared with studies of the true size."""
    return lambda size: tuple(replace(panel, split="all sizes" if size == "paper" else "") for panel in panels(size))
