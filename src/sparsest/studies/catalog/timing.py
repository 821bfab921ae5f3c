"""Times of single fits without tuning: how they grow with γ, k, noise, correlation, p and n."""

from __future__ import annotations

from dataclasses import replace

from sparsest.studies.findings import Finding, grows
from sparsest.studies.procedures import Plan
from sparsest.studies.samples import Source
from sparsest.studies.study import Cell, Figure, Panel, Size, Study
from sparsest.studies.views import seconds

_P: dict[Size, int] = {"smoke": 60, "small": 1000, "paper": 5000}
_SETS: dict[Size, int] = {"smoke": 1, "small": 3, "paper": 10}
_LIMIT: dict[Size, float] = {"smoke": 0.5, "small": 5.0, "paper": 60.0}
_PROCEDURES = ("exact_once", "relaxation_once", "subgradient_once")


def _cell(size: Size, x: float, *, n: int, k: int, factor: float, **source: float) -> Cell:
    base = Source("toeplitz", p=_P[size], k=k, snr=1.0, rho=0.5, n_validation=10, n_test=10)
    plan = Plan(timed_k=k, exact_seconds=_LIMIT[size], gamma_factor=factor)
    return Cell(replace(base, **source), n, plan, x)  # type: ignore[arg-type]


def _panel(size: Size, title: str, cells: list[Cell]) -> Panel:
    return Panel(title, title, tuple(cells), _SETS[size], _PROCEDURES)


def by_gamma(size: Size) -> tuple[Panel, ...]:
    """γ doubled, for three numbers of rows."""
    p, factors = _P[size], [2.0**i for i in range(0, 3 if size == "smoke" else 12, 2)]
    return tuple(
        _panel(size, f"n = {n}", [_cell(size, x, n=n, k=p // 100 + 1, factor=x) for x in factors])
        for n in (p // 10, p // 5, 2 * p // 5)
    )


def by_k(size: Size) -> tuple[Panel, ...]:
    """K from few to a fifth of the features, at three values of γ."""
    p = _P[size]
    ks = sorted({max(2, p * share // 1000) for share in (1, 2, 5, 10, 20, 50, 100, 200)})
    return tuple(
        _panel(size, f"γ = {2**i} γ0", [_cell(size, k, n=p // 5, k=k, factor=2.0**i) for k in ks]) for i in (0, 2, 4)
    )


def by_snr(size: Size) -> tuple[Panel, ...]:
    """Noise, at half of γ0."""
    p = _P[size]
    snrs = (0.05, 0.25, 1.0, 6.0)
    return (_panel(size, "SNR", [_cell(size, s, n=p // 5, k=p // 100 + 1, factor=0.5, snr=s) for s in snrs]),)


def by_rho(size: Size) -> tuple[Panel, ...]:
    """Correlation, at half of γ0."""
    p = _P[size]
    rhos = (0.0, 0.2, 0.5, 0.7, 0.9)
    return (_panel(size, "ρ", [_cell(size, 1.0 + r, n=p // 5, k=p // 100 + 1, factor=0.5, rho=r) for r in rhos]),)


def by_p(size: Size) -> tuple[Panel, ...]:
    """P and n together, n = p/5."""
    ps = [_P[size] // 4, _P[size] // 2, _P[size], 2 * _P[size]]
    return (_panel(size, "n = p / 5", [_cell(size, p, n=p // 5, k=p // 100 + 1, factor=0.5, p=p) for p in ps]),)


def by_n(size: Size) -> tuple[Panel, ...]:
    """N alone."""
    ns = [_P[size] // 20, _P[size] // 10, _P[size] // 5, _P[size] // 2]
    return (_panel(size, f"p = {_P[size]}", [_cell(size, n, n=n, k=_P[size] // 100 + 1, factor=0.5) for n in ns]),)


def scalability(size: Size) -> tuple[Panel, ...]:
    """The sizes of the paper's table that fit into memory, at 2 γ0; the largest here takes 8 GB."""
    shapes: dict[Size, tuple[tuple[int, int, int], ...]] = {
        "smoke": ((50, 200, 5),),
        "small": ((1000, 10_000, 10), (5000, 10_000, 10), (1000, 50_000, 10), (1000, 50_000, 50)),
        "paper": ((10_000, 100_000, 100),),
    }
    procedures = ("relaxation_once", "subgradient_once")
    cells = [_cell(size, float(p), n=n, k=k, factor=2.0, p=p) for n, p, k in shapes[size]]
    return tuple(
        Panel(f"n = {cell.n}, p = {cell.source.p}, k = {cell.source.k}", "", (cell,), _SETS[size], procedures)
        for cell in cells
    )


def _study(name: str, title: str, panels: object, x: str, x_scale: str, *findings: Finding) -> Study:
    figure = Figure("seconds", title, seconds, x, "seconds", x_scale, "log")
    return Study(name, title, panels, (figure,), findings)  # type: ignore[arg-type]


STUDIES = (
    _study(
        "time-gamma",
        "Time as γ grows",
        by_gamma,
        "γ / γ0",
        "log",
        grows("time grows with γ", seconds, "exact", least=0.3),
    ),
    _study(
        "time-k",
        "Time as k grows",
        by_k,
        "k",
        "log",
        grows("at most polynomial in k", seconds, "exact", least=-1, most=3),
    ),
    _study(
        "time-snr",
        "Time as noise falls",
        by_snr,
        "signal-to-noise ratio",
        "log",
        grows("slower at low SNR", seconds, "exact", least=-5.0, most=-0.02),
    ),
    _study(
        "time-rho",
        "Time as correlation grows",
        by_rho,
        "1 + ρ",
        "linear",
        grows("correlation hardly matters", seconds, "relaxation", least=-1.0, most=1.0),
    ),
    _study(
        "time-p",
        "Time as p and n grow",
        by_p,
        "p",
        "log",
        grows("about linear in p (n grows too: at most quadratic)", seconds, "relaxation", least=0.3, most=2.3),
    ),
    _study(
        "time-n",
        "Time as n grows",
        by_n,
        "n",
        "log",
        grows("about linear in n", seconds, "relaxation", least=-0.5, most=1.5),
    ),
    _study("scalability", "Large data", scalability, "p", "linear"),
)
