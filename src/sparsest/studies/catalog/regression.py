"""Regression on synthetic data: Toeplitz correlations, and the hard design without mutual incoherence."""

from __future__ import annotations

from dataclasses import replace

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
from sparsest.studies.findings import (
    Finding,
    between,
    larger,
    largest,
    ordered,
    rises,
    smaller_in,
    smallest,
)
from sparsest.studies.samples import Source
from sparsest.studies.study import Figure, Panel, Size, Study
from sparsest.studies.views import (
    accuracy,
    chosen_k,
    false_discovery_rate,
    fixed_k,
    lost_to_correlation,
    over_k,
    over_relative_k,
    seconds_relative_to_lasso,
    spread_of_methods,
    test_error,
    timed_seconds,
    true_against_false,
    view,
)

_PAPER = (
    Regime("low noise", 6.0, 20_000, 100, steps(500, 200, 3900), steps(40, 12, 200), 900, steps(40, 10, 250)),
    Regime("medium noise", 1.0, 10_000, 50, steps(500, 300, 5600), steps(15, 7, 113), 1100, steps(5, 5, 110)),
    Regime("high noise", 0.05, 2_000, 10, steps(500, 500, 10_000), steps(4, 1, 20), 3500, steps(2, 2, 44)),
)
_PAPER_HARD_NS = (steps(500, 300, 4700), steps(500, 400, 6500), steps(500, 700, 13_800))
_REGIMES: dict[Size, tuple[Regime, ...]] = {"smoke": SMOKE, "small": SMALL, "paper": _PAPER}

_ACCURACY, _CHOSEN_ACCURACY = view(fixed_k, accuracy), view(chosen_k, accuracy)
_MSE = view(fixed_k, test_error)
_FDR = view(chosen_k, false_discovery_rate)


def _false_discoveries(text: str, methods: tuple[str, ...], low: float, high: float) -> Finding:
    """A finding about the false discovery rate at the largest n."""
    return between(text, _FDR, methods, low, high, largest_x=True)


def toeplitz(size: Size) -> tuple[Panel, ...]:
    """One panel for each of three levels of noise and two correlations; all studies of Toeplitz data share the fits."""
    return tuple(
        over_n(regime, Source("toeplitz", rho=rho), f"{regime.name}, {name} correlation", size, compared=True)
        for regime in _REGIMES[size]
        for name, rho in (("low", 0.2), ("high", 0.7))
    )


def hard(size: Size) -> tuple[Panel, ...]:
    """One panel for each of three levels of noise, on the hard design."""
    regimes = _REGIMES[size]
    if size == "paper":
        regimes = tuple(regime._replace(ns=ns) for regime, ns in zip(regimes, _PAPER_HARD_NS, strict=True))
    if size == "small":
        regimes = tuple(regime._replace(ns=regime.ns[1:]) for regime in regimes)
    return tuple(over_n(regime, Source("hard"), regime.name, size, over_k=False) for regime in regimes)


def _cells_over_k(size: Size) -> tuple[Panel, ...]:
    """Only the cells that figures over k show."""
    ns = {regime.name: regime.roc_n for regime in _REGIMES[size]}
    return tuple(
        replace(panel, title=f"{panel.title}, n = {n}", cells=tuple(cell for cell in panel.cells if cell.n == n))
        for panel in toeplitz(size)
        for n in [ns[panel.name.split(",")[0]]]
    )


_BY_SIZE = over_relative_k(accuracy)
_RELATIVE_SIZE = view(chosen_k, lambda row: row["k"] / row["k_true"])
_TIMES = between("all methods take at most 100 times a Lasso path", seconds_relative_to_lasso, PAPERS, 0.0, 100.0)

STUDIES = (
    Study(
        "reg-fixed-k",
        "Regression with the true number of features",
        true_size_alone(toeplitz),
        (
            Figure("accuracy", "Accuracy as n increases", _ACCURACY, N_ROWS, "accuracy A"),
            RELATIVE_TIME,
            Figure("mse", "Mean squared error on test rows", _MSE, N_ROWS, "test mean squared error"),
        ),
        (
            rises("accuracy grows with n for all methods in all regimes", _ACCURACY, PAPERS),
            between(
                "accuracy tends to 1 for all methods at low noise",
                _ACCURACY,
                PAPERS,
                0.95,
                1.0,
                panels="low noise",
                largest_x=True,
            ),
            smallest(
                "the elastic net is the least accurate",
                _ACCURACY,
                ("elastic_net",),
                ("exact", "relaxation", "mcp", "scad"),
            ),
            ordered(
                "correlation hurts the elastic net most, then SCAD, then MCP",
                lost_to_correlation(_ACCURACY),
                ("elastic_net", "scad", "mcp"),
            ),
            larger(
                "correlation hurts SCAD more than the exact method", lost_to_correlation(_ACCURACY), "scad", "exact"
            ),
            largest(
                "the exact method and MCP are the most accurate",
                _ACCURACY,
                ("exact", "mcp"),
                ("relaxation", "scad", "elastic_net"),
            ),
            larger("the exact method is slightly ahead of MCP", _ACCURACY, "exact", "mcp"),
            smaller_in(
                "noise evens the methods out", spread_of_methods(_ACCURACY, PAPERS), "spread", "high noise", "low noise"
            ),
            smallest(
                "the exact method has the smallest test error",
                _MSE,
                ("exact",),
                ("relaxation", "elastic_net", "mcp", "scad"),
            ),
            larger("the relaxation has a smaller test error than MCP", _MSE, "mcp", "relaxation"),
            _TIMES,
        ),
    ),
    Study(
        "reg-roc",
        "True against false features over the number of features",
        all_sizes(_cells_over_k),
        (Figure("roc", "True against false features", true_against_false(), "false features", "true features"),),
        (
            largest(
                "at low correlation the exact method and MCP find more true features than the others",
                _BY_SIZE,
                ("exact", "mcp"),
                ("relaxation", "elastic_net", "scad"),
                panels="low correlation",
            ),
            largest(
                "at high correlation the exact method and MCP lead for small models",
                _BY_SIZE,
                ("exact", "mcp"),
                ("elastic_net", "scad"),
                panels="high correlation",
                x=lambda share: share <= 1.0,
            ),
            largest(
                "at high correlation elastic net and SCAD lead for large models",
                _BY_SIZE,
                ("elastic_net", "scad"),
                ("exact", "mcp"),
                panels="high correlation",
                x=lambda share: share > 1.5,
            ),
            largest(
                "at high correlation and noise elastic net and SCAD find more true features than the others",
                _BY_SIZE,
                ("elastic_net", "scad"),
                ("exact", "relaxation", "mcp"),
                panels="high noise, high correlation",
            ),
        ),
    ),
    Study(
        "reg-mse-by-k",
        "Validation error over the number of features",
        all_sizes(_cells_over_k),
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
        tuple(
            between(
                f"at {noise} the size chosen by exact, relaxation and MCP is near the true one",
                _RELATIVE_SIZE,
                ("exact", "relaxation", "mcp"),
                0.7,
                1.4,
                panels=noise,
            )
            for noise in ("low noise", "medium noise", "high noise")
        ),
        chosen=True,
    ),
    Study(
        "reg-cv-k",
        "Regression with the number of features chosen on validation rows",
        all_sizes(toeplitz),
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
            larger("MCP has more false features than the relaxation", _FDR, "mcp", "relaxation"),
            _false_discoveries("exact and relaxation have 0 to 30 % false features", ("exact", "relaxation"), 0.0, 0.3),
            _false_discoveries("MCP and SCAD have 15 to 50 %", ("mcp", "scad"), 0.15, 0.5),
            _false_discoveries("the elastic net has about 80 %", ("elastic_net",), 0.7, 0.9),
        ),
        chosen=True,
    ),
    Study(
        "reg-hard-fixed-k",
        "Regression on the hard design with the true number of features",
        true_size_alone(hard),
        (
            Figure("accuracy", "Accuracy as n increases", _ACCURACY, N_ROWS, "accuracy A"),
            Figure("mse", "Mean squared error on test rows", _MSE, N_ROWS, "test mean squared error"),
            RELATIVE_TIME,
            Figure("seconds", "Seconds of a fit", timed_seconds, N_ROWS, "seconds of the processor", y_scale="log"),
        ),
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
            between(
                "the others reach 1",
                _ACCURACY,
                ("exact", "relaxation", "mcp", "scad"),
                0.95,
                1.0,
                panels="low noise",
                largest_x=True,
            ),
            largest(
                "the exact method is the most accurate",
                _ACCURACY,
                ("exact",),
                ("relaxation", "elastic_net", "mcp", "scad"),
            ),
            _TIMES,
        ),
    ),
    Study(
        "reg-hard-cv-k",
        "Regression on the hard design with the number of features chosen on validation rows",
        all_sizes(hard),
        (
            Figure("accuracy", "Accuracy as n increases, k chosen", _CHOSEN_ACCURACY, N_ROWS, "accuracy A"),
            Figure("fdr", "False discovery rate as n increases, k chosen", _FDR, N_ROWS, "false discovery rate"),
        ),
        (
            rises("accuracy grows with n for all methods", _CHOSEN_ACCURACY, PAPERS),
            _false_discoveries("exact and relaxation have 0 to 30 % false features", ("exact", "relaxation"), 0.0, 0.3),
            _false_discoveries("MCP has 10 to 60 %", ("mcp",), 0.1, 0.6),
            _false_discoveries("SCAD has 20 to 70 %", ("scad",), 0.2, 0.7),
            _false_discoveries("the elastic net has about 80 %", ("elastic_net",), 0.7, 0.9),
        ),
        chosen=True,
    ),
)
