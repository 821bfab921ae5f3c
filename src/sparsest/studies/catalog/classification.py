"""Classification on synthetic data: the hinge loss for best subsets, the logistic loss for penalties."""

from __future__ import annotations

from sparsest.studies.catalog.regimes import (
    N_ROWS,
    PAPERS,
    RELATIVE_TIME,
    SMALL,
    SMOKE,
    Regime,
    all_sizes,
    over_n,
    steps,
    true_size_alone,
)
from sparsest.studies.findings import about_equal, between, larger, largest, smallest
from sparsest.studies.samples import Source
from sparsest.studies.study import Figure, Panel, Size, Study
from sparsest.studies.views import (
    accuracy,
    chosen_k,
    false_discovery_rate,
    fixed_k,
    seconds_relative_to_lasso,
    spread_of_methods,
    test_error,
    view,
)

_PAPER = (
    Regime("low noise", 6.0, 10_000, 100, steps(500, 400, 6500), steps(40, 12, 200)),
    Regime("medium noise", 1.0, 5_000, 50, steps(500, 500, 7500), steps(15, 7, 113)),
    Regime("high noise", 0.05, 1_000, 10, steps(500, 700, 11_700), steps(4, 1, 20)),
)
_PAPER_HARD_NS = (steps(500, 500, 8500), steps(500, 600, 9500), steps(500, 1000, 15_000))
# Fewer rows and sizes than for regression: a fit with the hinge loss takes several times as long.
_SMALL = (
    SMALL[0]._replace(p=1000, k=10, ns=(100, 250, 500), ks=(5, 10, 15, 20)),
    SMALL[1]._replace(p=500, k=5, ns=(100, 300, 600), ks=(3, 5, 8, 11)),
)
_REGIMES: dict[Size, tuple[Regime, ...]] = {"smoke": SMOKE[:1], "small": _SMALL, "paper": _PAPER}
_SETS: dict[Size, int] = {"smoke": 2, "small": 5, "paper": 10}
_LIMITS: dict[Size, float] = {"smoke": 0.5, "small": 2.0, "paper": 180.0}

_ACCURACY, _AUC = view(fixed_k, accuracy), view(fixed_k, test_error)
_CHOSEN_ACCURACY, _FDR = view(chosen_k, accuracy), view(chosen_k, false_discovery_rate)


def _panel(regime: Regime, source: Source, title: str, size: Size) -> Panel:
    return over_n(regime, source, title, size, n_sets=_SETS[size], exact_seconds=_LIMITS[size], over_k=False)


def toeplitz(size: Size) -> tuple[Panel, ...]:
    """One panel for each level of noise and each of two correlations."""
    return tuple(
        _panel(regime, Source("toeplitz", "classification", rho=rho), f"{regime.name}, {name} correlation", size)
        for regime in _REGIMES[size]
        for name, rho in (("low", 0.2), ("high", 0.7))
    )


def hard(size: Size) -> tuple[Panel, ...]:
    """One panel for each level of noise, on the hard design."""
    regimes = _REGIMES[size]
    if size == "paper":
        regimes = tuple(regime._replace(ns=ns) for regime, ns in zip(regimes, _PAPER_HARD_NS, strict=True))
    return tuple(_panel(regime, Source("hard", "classification"), regime.name, size) for regime in regimes)


_OTHERS = ("relaxation", "elastic_net", "mcp", "scad")
_PENALISED = ("elastic_net", "mcp", "scad")

STUDIES = (
    Study(
        "class-fixed-k",
        "Classification with the true number of features",
        true_size_alone(toeplitz),
        (
            Figure("accuracy", "Accuracy as n increases", _ACCURACY, N_ROWS, "accuracy A"),
            RELATIVE_TIME,
            Figure("auc", "1 - AUC on test rows", _AUC, N_ROWS, "1 - AUC"),
        ),
        (
            between(
                "differences in accuracy are small: best and worst are at most 0.15 apart",
                spread_of_methods(_ACCURACY, PAPERS),
                ("spread",),
                0.0,
                0.15,
            ),
            largest(
                "MCP is slightly the most accurate", _ACCURACY, ("mcp",), ("exact", "relaxation", "elastic_net", "scad")
            ),
            about_equal("exact and relaxation are equally accurate", _ACCURACY, "exact", "relaxation", 0.05),
            smallest("the exact method has the best AUC", _AUC, ("exact",), _OTHERS),
            between("all methods take at most 100 times a Lasso path", seconds_relative_to_lasso, PAPERS, 0.0, 100.0),
        ),
    ),
    Study(
        "class-cv-k",
        "Classification with the number of features chosen on validation rows",
        all_sizes(toeplitz),
        (
            Figure("accuracy", "Accuracy as n increases, k chosen", _CHOSEN_ACCURACY, N_ROWS, "accuracy A"),
            Figure("fdr", "False discovery rate as n increases, k chosen", _FDR, N_ROWS, "false discovery rate"),
        ),
        (
            smallest(
                "exact and relaxation are behind in accuracy", _CHOSEN_ACCURACY, ("exact", "relaxation"), _PENALISED
            ),
            smallest("exact and relaxation have fewer false features", _FDR, ("exact", "relaxation"), _PENALISED),
        ),
        chosen=True,
    ),
    Study(
        "class-hard-fixed-k",
        "Classification on the hard design with the true number of features",
        true_size_alone(hard),
        (Figure("accuracy", "Accuracy as n increases", _ACCURACY, N_ROWS, "accuracy A"),),
        (
            between(
                "the elastic net stalls below 1",
                _ACCURACY,
                ("elastic_net",),
                0.0,
                0.97,
                panels="low noise",
                largest_x=True,
            ),
            larger("the exact method is ahead of the relaxation", _ACCURACY, "exact", "relaxation"),
            largest("the relaxation is ahead of the rest", _ACCURACY, ("relaxation",), _PENALISED),
        ),
    ),
)
