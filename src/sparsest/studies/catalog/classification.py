"""Classification on synthetic data: the hinge loss for best subsets, the logistic loss for penalties."""

from __future__ import annotations

from sparsest.studies.catalog.regimes import METHODS, N_ROWS, RELATIVE_TIME, SMALL, SMOKE, Regime, between, over_n
from sparsest.studies.findings import about_equal, larger
from sparsest.studies.findings import between as within
from sparsest.studies.samples import Source
from sparsest.studies.study import Figure, Panel, Size, Study
from sparsest.studies.views import (
    accuracy,
    chosen_k,
    false_discovery_rate,
    fixed_k,
    test_error,
    view,
)

_PAPER = (
    Regime("low noise", 6.0, 10_000, 100, between(500, 400, 6500), between(40, 12, 200)),
    Regime("medium noise", 1.0, 5_000, 50, between(500, 500, 7500), between(15, 7, 113)),
    Regime("high noise", 0.05, 1_000, 10, between(500, 700, 11_700), between(4, 1, 20)),
)
_PAPER_HARD_NS = (between(500, 500, 8500), between(500, 600, 9500), between(500, 1000, 15_000))
# Fewer rows and sizes than for regression: a fit with the hinge loss takes several times as long.
_SMALL = (
    SMALL[0]._replace(p=1000, k=10, ns=(100, 250, 500), ks=(5, 10, 15, 20)),
    SMALL[1]._replace(p=500, k=5, ns=(100, 300, 600), ks=(3, 5, 8, 11)),
)
_REGIMES: dict[Size, tuple[Regime, ...]] = {"smoke": SMOKE[:1], "small": _SMALL, "paper": _PAPER}
_SETS: dict[Size, int] = {"smoke": 2, "small": 2, "paper": 10}
_LIMITS: dict[Size, float] = {"smoke": 0.5, "small": 2.0, "paper": 180.0}

_ACCURACY, _AUC = view(fixed_k, accuracy), view(fixed_k, test_error)
_CHOSEN_ACCURACY, _FDR = view(chosen_k, accuracy), view(chosen_k, false_discovery_rate)


def _panel(regime: Regime, source: Source, title: str, size: Size) -> Panel:
    return over_n(regime, source, title, size, METHODS, n_sets=_SETS[size], exact_seconds=_LIMITS[size], over_k=False)


def toeplitz(size: Size) -> tuple[Panel, ...]:
    """Levels of noise times two of correlation."""
    return tuple(
        _panel(regime, Source("toeplitz", "classification", rho=rho), f"{regime.name}, {name} correlation", size)
        for regime in _REGIMES[size]
        for name, rho in (("low", 0.2), ("high", 0.7))
    )


def hard(size: Size) -> tuple[Panel, ...]:
    """Levels of noise on the hard design."""
    regimes = _REGIMES[size]
    if size == "paper":
        regimes = tuple(regime._replace(ns=ns) for regime, ns in zip(regimes, _PAPER_HARD_NS, strict=True))
    return tuple(_panel(regime, Source("hard", "classification"), regime.name, size) for regime in regimes)


STUDIES = (
    Study(
        "class-fixed-k",
        "Classification with the true number of features",
        toeplitz,
        (
            Figure("accuracy", "Accuracy as n increases", _ACCURACY, N_ROWS, "accuracy A"),
            RELATIVE_TIME,
            Figure("auc", "1 - AUC on test rows", _AUC, N_ROWS, "1 - AUC"),
        ),
        (
            larger("MCP is slightly more accurate than the exact method", _ACCURACY, "mcp", "exact"),
            about_equal("exact and relaxation are equally accurate", _ACCURACY, "exact", "relaxation", 0.05),
            larger("the exact method has a better AUC than the elastic net", _AUC, "elastic_net", "exact"),
            larger("the exact method has a better AUC than MCP", _AUC, "mcp", "exact"),
        ),
    ),
    Study(
        "class-cv-k",
        "Classification with the number of features chosen on validation rows",
        toeplitz,
        (
            Figure("accuracy", "Accuracy as n increases, k chosen", _CHOSEN_ACCURACY, N_ROWS, "accuracy A"),
            Figure("fdr", "False discovery rate as n increases, k chosen", _FDR, N_ROWS, "false discovery rate"),
        ),
        (
            larger(
                "the elastic net is ahead of the exact method in accuracy", _CHOSEN_ACCURACY, "elastic_net", "exact"
            ),
            larger("the exact method has fewer false features than the elastic net", _FDR, "elastic_net", "exact"),
            larger("the exact method has fewer false features than MCP", _FDR, "mcp", "exact"),
            larger("the exact method has fewer false features than SCAD", _FDR, "scad", "exact"),
        ),
    ),
    Study(
        "class-hard-fixed-k",
        "Classification on the hard design with the true number of features",
        hard,
        (Figure("accuracy", "Accuracy as n increases", _ACCURACY, N_ROWS, "accuracy A"),),
        (
            within("the elastic net stalls below 1", _ACCURACY, ("elastic_net",), 0.0, 0.97, panels="low noise"),
            larger("the exact method is ahead of the relaxation", _ACCURACY, "exact", "relaxation"),
            larger("the relaxation is ahead of MCP", _ACCURACY, "relaxation", "mcp"),
        ),
    ),
)
