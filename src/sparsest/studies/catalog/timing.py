"""Times of single fits without tuning: how they grow with γ, k, noise, correlation, p and n; and large data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sparsest.studies.findings import Finding, between, grows, grows_less, hardly_varies
from sparsest.studies.procedures import Plan
from sparsest.studies.samples import Source
from sparsest.studies.study import Cell, Figure, Panel, Size, Study
from sparsest.studies.views import Row, elapsed, seconds, turned, where

_P: dict[Size, int] = {"smoke": 60, "small": 1000, "paper": 5000}
_SETS: dict[Size, int] = {"smoke": 1, "small": 3, "paper": 10}
_LIMIT: dict[Size, float] = {"smoke": 0.5, "small": 3.0, "paper": 60.0}
_SUBSETS = ("exact_once", "relaxation_once", "subgradient_once")
_ALL = (*_SUBSETS, "elastic_net_once", "mcp_once", "scad_once")


def _k(p: int) -> int:
    """The true number of features: one in a hundred."""
    return max(2, p // 100)


def _cell(size: Size, x: float, *, n: int, factor: float = 0.5, k: int | None = None, **source: Any) -> Cell:
    base = Source("toeplitz", p=_P[size], k=_k(_P[size]), snr=1.0, rho=0.5, n_validation=10, n_test=10)
    made = replace(base, **source)
    plan = Plan(timed_k=k or made.k, exact_seconds=_LIMIT[size], gamma_factor=factor)
    return Cell(made, n, plan, x)


def _panel(size: Size, title: str, cells: list[Cell], procedures: tuple[str, ...] = _ALL) -> Panel:
    return Panel(title, title, tuple(cells), _SETS[size], procedures)


def by_gamma(size: Size) -> tuple[Panel, ...]:
    """Increasing γ, doubled from point to point, for three numbers of rows."""
    p, factors = _P[size], [2.0**i for i in range(-2, 3 if size == "smoke" else 10, 2)]
    return tuple(
        _panel(size, f"n = {n}", [_cell(size, x, n=n, factor=x) for x in factors], _SUBSETS)
        for n in (p // 10, p // 5, 2 * p // 5)
    )


def by_k(size: Size) -> tuple[Panel, ...]:
    """Increasing k up to a fifth of p, at three values of γ; the true number of features is fixed."""
    p = _P[size]
    ks = sorted({max(2, p * share // 1000) for share in (1, 2, 5, 10, 20, 50, 100, 200)})
    return tuple(
        _panel(size, f"γ = {2**i} γ0", [_cell(size, k, n=p // 5, k=k, factor=2.0**i) for k in ks], _SUBSETS)
        for i in (0, 2, 4)
    )


def by_snr(size: Size) -> tuple[Panel, ...]:
    """Increasing signal-to-noise ratio, at γ0 / 2."""
    return (_panel(size, "ρ = 0.5", [_cell(size, snr, n=_P[size] // 5, snr=snr) for snr in (0.05, 0.25, 1.0, 6.0)]),)


def by_rho(size: Size) -> tuple[Panel, ...]:
    """Increasing correlation, at γ0 / 2."""
    return (_panel(size, "SNR = 1", [_cell(size, r, n=_P[size] // 5, rho=r) for r in (0.0, 0.2, 0.5, 0.7, 0.9)]),)


def by_p(size: Size) -> tuple[Panel, ...]:
    """Increasing p, with n = p/5."""
    ps = [_P[size] // 4, _P[size] // 2, _P[size], 2 * _P[size]]
    return (_panel(size, "n = p / 5", [_cell(size, p, n=p // 5, p=p) for p in ps]),)


def by_n(size: Size) -> tuple[Panel, ...]:
    """Rows alone."""
    p = _P[size]
    ns = [p // 20, p // 10, p // 5, p // 2]
    return (_panel(size, f"p = {p}", [_cell(size, n / p, n=n) for n in ns]),)


class _Shape(NamedTuple):
    """Numbers of rows, features and true features; the paper's seconds for the squared and the hinge loss."""

    n: int
    p: int
    k: int
    paper: tuple[float, float] = (np.nan, np.nan)

    @property
    def label(self) -> str:
        return f"{self.n} × {self.p}, k = {self.k}"


_SHAPES: dict[Size, tuple[_Shape, ...]] = {
    "smoke": (_Shape(50, 200, 5),),
    "small": tuple(
        _Shape(*shape) for shape in ((1000, 10_000, 10), (5000, 10_000, 10), (1000, 50_000, 10), (1000, 50_000, 50))
    ),
    "paper": (_Shape(10_000, 100_000, 100, (12.9, 37.3)),),
}
# The paper's other shapes, 20 GB each in float32.  The sub-gradient method would read them up to 200 times.
_LARGE_SHAPES: dict[Size, tuple[_Shape, ...]] = {
    "smoke": (),
    "small": (),
    "paper": (
        _Shape(50_000, 100_000, 100, (28.5, 160.7)),
        _Shape(10_000, 500_000, 100, (33.0, 157.1)),
        _Shape(10_000, 500_000, 500, (43.0, 59.7)),
    ),
}
_LOSSES = (("squared loss", "regression"), ("hinge loss", "classification"))
# Seconds that a relaxation of 20 GB may take.
_LARGE_LIMIT = 900.0


def scalability(size: Size) -> tuple[Panel, ...]:
    """Large data at 2 γ0, for both losses."""
    panels = []
    for shapes, title, limit, procedures in (
        (_SHAPES[size], "{}", None, ("relaxation_once", "subgradient_once")),
        (_LARGE_SHAPES[size], "{}, 20 GB", _LARGE_LIMIT, ("relaxation_once",)),
    ):
        for loss, task in _LOSSES if shapes else ():
            cells = [_large_cell(size, float(x), shape, task, limit) for x, shape in enumerate(shapes)]
            panels.append(_panel(size, title.format(loss), cells, procedures))
    return tuple(panels)


def _large_cell(size: Size, x: float, shape: _Shape, task: str, limit: float | None) -> Cell:
    n, p, k, _ = shape
    cell = _cell(size, x, n=n, factor=2.0, p=p, k=k, task=task, dtype="float32")
    plan = cell.plan if limit is None else replace(cell.plan, relaxed_seconds=limit)
    return replace(cell, source=replace(cell.source, k=k), plan=plan, label=f"n {n}\np {p}\nk {k}")


def _not_slower(shape: _Shape, loss: str, paper: float) -> Finding:
    """The relaxation takes no longer than the paper's on data of this shape, reading included."""

    def of_shape(row: Row) -> bool:
        return (row["n"], row["p"], row["k_true"]) == shape[:3]

    text = f"{loss}, {shape.label}: no slower than the paper's {paper} s"
    return between(text, where(elapsed, of_shape), ("relaxation",), 0.0, paper, panels=loss)


def _study(
    name: str, title: str, panels: Callable[[Size], tuple[Panel, ...]], x: str, x_scale: str, *findings: Finding,
    turn: bool = False, waiting: bool = False, remark: str = "",
) -> Study:  # fmt: skip
    """A study of computation times; in the paper, those over γ and k have one panel for each method.

    ``waiting`` adds a figure of elapsed seconds, which include the time that a fit waits for the disk.
    """
    look = turned(seconds) if turn else seconds
    figures = [Figure("seconds", title, look, x, "seconds of the processor", x_scale, "log", turned=turn)]
    if waiting:
        figures.append(Figure("elapsed", title, elapsed, x, "elapsed seconds", x_scale, "log"))
    return Study(name, title, panels, tuple(figures), findings, remark)


STUDIES = (
    _study(
        "time-gamma",
        "Time as γ grows",
        by_gamma,
        "γ / γ0",
        "log",
        grows("time grows with γ", seconds, "exact", least=0.3),
        between(
            "for small γ the exact method takes less than 10 s", seconds, ("exact",), 0.0, 10.0, x=lambda x: x <= 0.25
        ),
        between(
            "for small γ the relaxation takes less than 2 s", seconds, ("relaxation",), 0.0, 2.0, x=lambda x: x <= 0.25
        ),
        turn=True,
        remark="Searches end at their limit of 3 s (small) or 60 s (paper size); in the paper at 600 s.",
    ),
    _study(
        "time-k",
        "Time as k grows",
        by_k,
        "k",
        "log",
        grows("the exact method's time grows at most polynomially with k", seconds, "exact", least=-3.0, most=3.0),
        grows("the relaxation's time grows at most polynomially with k", seconds, "relaxation", least=-3.0, most=3.0),
        turn=True,
    ),
    _study(
        "time-snr",
        "Time as noise falls",
        by_snr,
        "signal-to-noise ratio",
        "log",
        grows("the exact method is slower at low SNR", seconds, "exact", least=-5.0, most=-0.02),
        grows("the relaxation is slower at low SNR", seconds, "relaxation", least=-5.0, most=-0.02),
    ),
    _study(
        "time-rho",
        "Time as correlation grows",
        by_rho,
        "correlation of neighbours ρ",
        "linear",
        hardly_varies("correlation hardly matters for the exact method", seconds, "exact", most=3.0),
        hardly_varies("correlation hardly matters for the relaxation", seconds, "relaxation", most=3.0),
    ),
    _study(
        "time-p",
        "Time as p and n grow",
        by_p,
        "number of features p",
        "log",
        grows("the exact method's time is about linear in p", seconds, "exact", least=0.5, most=1.5),
        grows("the relaxation's time is about linear in p", seconds, "relaxation", least=0.5, most=1.5),
        grows("MCP's time is about linear in p", seconds, "mcp", least=0.5, most=1.5),
        remark="n = p / 5 grows too, so a time that is linear in p grows like the square root of the matrix's size.",
    ),
    _study(
        "time-n",
        "Time as n grows",
        by_n,
        "n / p",
        "log",
        grows_less("the exact method is less sensitive to n than MCP", seconds, "exact", "mcp"),
        grows_less("the relaxation is less sensitive to n than MCP", seconds, "relaxation", "mcp"),
        grows_less("the relaxation is less sensitive to n than the elastic net", seconds, "relaxation", "elastic_net"),
    ),
    _study(
        "scalability",
        "Large data",
        scalability,
        "",
        "linear",
        *(
            _not_slower(shape, loss, paper)
            for shape in (*_SHAPES["paper"], *_LARGE_SHAPES["paper"])
            for (loss, _), paper in zip(_LOSSES, shape.paper, strict=True)
        ),
        remark="At paper size data are made in blocks on disk and read from there; the paper's were in 250 GB of "
        "memory. The sub-gradient method, which needs up to 200 passes, runs on the first shape only. Findings are "
        "about elapsed seconds.",
        waiting=True,
    ),
)
