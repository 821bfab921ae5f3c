"""Regression on synthetic data: Toeplitz correlations, and the hard design without mutual incoherence."""

from __future__ import annotations

from dataclasses import replace

from sparsest.studies.catalog.regimes import (
    COMPARED,
    METHODS,
    N_ROWS,
    RELATIVE_TIME,
    SMALL,
    SMOKE,
    Regime,
    between,
    over_n,
)
from sparsest.studies.findings import between as within
from sparsest.studies.findings import larger, ordered
from sparsest.studies.samples import Source
from sparsest.studies.study import Figure, Panel, Size, Study
from sparsest.studies.views import (
    accuracy,
    chosen_k,
    false_discovery_rate,
    fixed_k,
    over_k,
    seconds_relative_to_lasso,
    test_error,
    true_against_false,
    view,
)

_PAPER = (
    Regime("low noise", 6.0, 20_000, 100, between(500, 200, 3900), between(40, 12, 200), 900, between(40, 10, 250)),
    Regime("medium noise", 1.0, 10_000, 50, between(500, 300, 5600), between(15, 7, 113), 1100, between(5, 5, 110)),
    Regime("high noise", 0.05, 2_000, 10, between(500, 500, 10_000), between(4, 1, 20), 3500, between(2, 2, 44)),
)
_PAPER_HARD_NS = (between(500, 300, 4700), between(500, 400, 6500), between(500, 700, 13_800))
_REGIMES: dict[Size, tuple[Regime, ...]] = {"smoke": SMOKE, "small": SMALL, "paper": _PAPER}

_ACCURACY, _CHOSEN_ACCURACY = view(fixed_k, accuracy), view(chosen_k, accuracy)
_MSE = view(fixed_k, test_error)
_FDR = view(chosen_k, false_discovery_rate)


def toeplitz(size: Size) -> tuple[Panel, ...]:
    """Three levels of noise times two of correlation; all studies of Toeplitz data share these fits."""
    return tuple(
        over_n(regime, Source("toeplitz", rho=rho), f"{regime.name}, {name} correlation", size, COMPARED)
        for regime in _REGIMES[size]
        for name, rho in (("low", 0.2), ("high", 0.7))
    )


def hard(size: Size) -> tuple[Panel, ...]:
    """Three levels of noise on the hard design."""
    regimes = _REGIMES[size]
    if size == "paper":
        regimes = tuple(regime._replace(ns=ns) for regime, ns in zip(regimes, _PAPER_HARD_NS, strict=True))
    return tuple(over_n(regime, Source("hard"), regime.name, size, METHODS, over_k=False) for regime in regimes)


def _at_roc(size: Size) -> tuple[Panel, ...]:
    """The cells of figures over k alone."""
    ns = {regime.name: regime.roc_n for regime in _REGIMES[size]}
    return tuple(
        replace(panel, title=f"{panel.title}, n = {n}", cells=tuple(cell for cell in panel.cells if cell.n == n))
        for panel in toeplitz(size)
        for n in [ns[panel.name.split(",")[0]]]
    )


STUDIES = (
    Study(
        "reg-fixed-k",
        "Regression with the true number of features",
        toeplitz,
        (
            Figure("accuracy", "Accuracy as n increases", _ACCURACY, N_ROWS, "accuracy A"),
            RELATIVE_TIME,
            Figure("mse", "Mean squared error on test rows", _MSE, N_ROWS, "test mean squared error"),
        ),
        (
            within(
                "accuracy tends to 1 for all methods as n grows",
                _ACCURACY,
                ("exact", "relaxation", "elastic_net", "mcp", "scad"),
                0.95,
                1.0,
                panels="low noise",
            ),
            larger("the elastic net is less accurate than SCAD", _ACCURACY, "scad", "elastic_net"),
            larger("SCAD is less accurate than MCP", _ACCURACY, "mcp", "scad"),
            larger("the exact method is slightly ahead of MCP", _ACCURACY, "exact", "mcp"),
            larger("the exact method is ahead of its relaxation", _ACCURACY, "exact", "relaxation"),
            larger("the exact method has a smaller test error than the relaxation", _MSE, "relaxation", "exact"),
            larger("the relaxation has a smaller test error than MCP", _MSE, "mcp", "relaxation"),
            within(
                "all methods take at most 10 to 100 times a Lasso path",
                seconds_relative_to_lasso,
                ("exact", "relaxation", "elastic_net", "mcp", "scad"),
                0.0,
                100.0,
                largest_x=False,
            ),
        ),
    ),
    Study(
        "reg-roc",
        "True against false features over the number of features",
        _at_roc,
        (Figure("roc", "True against false features", true_against_false(), "false features", "true features"),),
        (
            larger(
                "at low correlation the exact method finds more true features than the elastic net",
                over_k(accuracy),
                "exact",
                "elastic_net",
                panels="low correlation",
            ),
            larger(
                "at high correlation and noise the elastic net finds more true features than the exact method",
                over_k(accuracy),
                "elastic_net",
                "exact",
                panels="high noise, high correlation",
            ),
        ),
    ),
    Study(
        "reg-mse-by-k",
        "Validation error over the number of features",
        _at_roc,
        (
            Figure(
                "validation",
                "Mean squared error on validation rows over k",
                over_k(lambda row: row["validation"]),
                "number of features k",
                "validation mean squared error",
                mark_true_k=True,
            ),
        ),
        (
            within(
                "the size chosen by exact, relaxation and MCP is near the true one",
                view(chosen_k, lambda row: row["k"] / row["k_true"]),
                ("exact", "relaxation", "mcp"),
                0.7,
                1.4,
                panels="low noise",
                largest_x=False,
            ),
        ),
    ),
    Study(
        "reg-cv-k",
        "Regression with the number of features chosen on validation rows",
        toeplitz,
        (
            Figure("accuracy", "Accuracy as n increases, k chosen", _CHOSEN_ACCURACY, N_ROWS, "accuracy A"),
            Figure("fdr", "False discovery rate as n increases, k chosen", _FDR, N_ROWS, "false discovery rate"),
        ),
        (
            ordered(
                "accuracy falls in the order elastic net, SCAD, MCP, exact, relaxation",
                _CHOSEN_ACCURACY,
                ("elastic_net", "scad", "mcp", "exact", "relaxation"),
            ),
            ordered(
                "the false discovery rate falls in the order elastic net, SCAD, MCP, exact",
                _FDR,
                ("elastic_net", "scad", "mcp", "exact"),
            ),
            within("exact and relaxation have 0 to 30 % false features", _FDR, ("exact", "relaxation"), 0.0, 0.3),
            within("MCP and SCAD have 15 to 50 %", _FDR, ("mcp", "scad"), 0.15, 0.5),
            within("the elastic net has about 80 %", _FDR, ("elastic_net",), 0.7, 0.9),
        ),
    ),
    Study(
        "reg-hard-fixed-k",
        "Regression on the hard design with the true number of features",
        hard,
        (
            Figure("accuracy", "Accuracy as n increases", _ACCURACY, N_ROWS, "accuracy A"),
            Figure("mse", "Mean squared error on test rows", _MSE, N_ROWS, "test mean squared error"),
            RELATIVE_TIME,
        ),
        (
            within("the elastic net stalls below 1", _ACCURACY, ("elastic_net",), 0.0, 0.97, panels="low noise"),
            within("the others reach 1", _ACCURACY, ("exact", "mcp", "scad"), 0.95, 1.0, panels="low noise"),
            larger("the exact method is ahead of the relaxation", _ACCURACY, "exact", "relaxation"),
            larger("the exact method is ahead of MCP", _ACCURACY, "exact", "mcp"),
        ),
    ),
    Study(
        "reg-hard-cv-k",
        "Regression on the hard design with the number of features chosen on validation rows",
        hard,
        (
            Figure("accuracy", "Accuracy as n increases, k chosen", _CHOSEN_ACCURACY, N_ROWS, "accuracy A"),
            Figure("fdr", "False discovery rate as n increases, k chosen", _FDR, N_ROWS, "false discovery rate"),
        ),
        (
            within("exact and relaxation have 0 to 30 % false features", _FDR, ("exact", "relaxation"), 0.0, 0.3),
            within("MCP has 10 to 60 %", _FDR, ("mcp",), 0.1, 0.6),
            within("SCAD has 20 to 70 %", _FDR, ("scad",), 0.2, 0.7),
            within("the elastic net has about 80 %", _FDR, ("elastic_net",), 0.7, 0.9),
        ),
    ),
)
