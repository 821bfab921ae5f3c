"""Real data: a gene-expression matrix with synthetic responses, and the types of lung tumours."""

from __future__ import annotations

from collections.abc import Sequence

from sparsest.studies.catalog.regimes import METHODS, PAPERS, plan, steps
from sparsest.studies.findings import about_equal, between, largest, smallest
from sparsest.studies.samples import Source
from sparsest.studies.study import Cell, Figure, Panel, Size, Study
from sparsest.studies.views import (
    Point,
    Row,
    accuracy,
    chosen_k,
    false_discovery_rate,
    test_error,
    true_against_false,
    view,
)

_SNRS = (0.05, 0.09, 0.14, 0.25, 0.42, 0.71, 1.22, 2.07, 3.52, 6.0)
_SNRS_OF_SIZE: dict[Size, tuple[float, ...]] = {"smoke": (6.0,), "small": (0.05, 0.25, 1.22, 6.0), "paper": _SNRS}
_KS: dict[Size, tuple[int, ...]] = {"smoke": (10, 50), "small": steps(20, 30, 170), "paper": steps(20, 5, 170)}
_K_TRUE = 50
_SETS: dict[Size, int] = {"smoke": 1, "small": 3, "paper": 10}


def real_x(size: Size) -> tuple[Panel, ...]:
    """One panel over the signal-to-noise ratio."""
    cells = tuple(
        Cell(
            Source("real-x", k=_K_TRUE, snr=snr, folder="tcga_rnaseq_6cohorts"), 0, plan(_KS[size], _K_TRUE, size), snr
        )
        for snr in _SNRS_OF_SIZE[size]
    )
    return (Panel("gene expression", "gene expression, six cohorts", cells, _SETS[size], METHODS),)


_LUNG = Source("real", "classification", folder="tcga_lung_mirna")
_LUNG_KS: dict[Size, tuple[int, ...]] = {
    "smoke": (5, 20), "small": (5, 10, 20, 40, 80, 120), "paper": (*steps(5, 5, 60), *steps(70, 10, 150)),
}  # fmt: skip


# In this study the paper compares the Lasso too, in addition to the elastic net.
_LUNG_METHODS = (*METHODS, "lasso")


def lung(size: Size) -> tuple[Panel, ...]:
    """One panel: ten random splits of the patients."""
    sets: dict[Size, int] = {"smoke": 1, "small": 5, "paper": 10}
    limit: dict[Size, float] = {"smoke": 0.5, "small": 5.0, "paper": 180.0}
    cell = Cell(_LUNG, 0, plan(_LUNG_KS[size], _LUNG_KS[size][1], size, limit[size]), 0.0)
    return (
        Panel("lung tumours", "adenocarcinoma against squamous cell carcinoma", (cell,), sets[size], _LUNG_METHODS),
    )


_ACCURACY, _FDR, _MSE = (view(chosen_k, value) for value in (accuracy, false_discovery_rate, test_error))
_SIZE = view(chosen_k, lambda row: row["n_selected"])
_AUC = view(chosen_k, lambda row: 1.0 - row["test"])
_SNR = "signal-to-noise ratio"
_ROC = true_against_false(lambda row: f"SNR = {row['x']:g}")
_OTHERS = ("exact", "relaxation", "scad")
# The paper's medians over ten splits: number of features chosen, and area under the ROC curve.
PAPERS_LUNG = {
    "exact": (87.5, 0.9798), "relaxation": (65.0, 0.9821), "lasso": (114.0, 0.9814), "elastic_net": (398.5, 0.9806),
    "mcp": (39.0, 0.9741), "scad": (79.5, 0.9752),
}  # fmt: skip


def relative_error(rows: Sequence[Row]) -> list[Point]:
    """The error on test rows divided by the smallest error of any method on the same data."""
    points = [point for point in _MSE(rows) if point.method in PAPERS]
    least: dict[tuple[float, int], float] = {}
    for point in points:
        least[point.x, point.set] = min(point.y, least.get((point.x, point.set), point.y))
    return [point._replace(y=point.y / least[point.x, point.set]) for point in points]


STUDIES = (
    Study(
        "reg-real-x",
        "Regression on a real design matrix",
        real_x,
        (
            Figure("accuracy", "Accuracy as the SNR increases, k chosen", _ACCURACY, _SNR, "accuracy A", "log"),
            Figure("fdr", "False discovery rate, k chosen", _FDR, _SNR, "false discovery rate", "log"),
            Figure(
                "mse", "Mean squared error on test rows, k chosen", _MSE, _SNR, "test mean squared error", "log", "log"
            ),
            Figure("roc", "True against false features", _ROC, "false features", "true features"),
        ),
        (
            largest("the elastic net is the most accurate", _ACCURACY, ("elastic_net",), (*_OTHERS, "mcp")),
            largest("the elastic net has the most false features", _FDR, ("elastic_net",), (*_OTHERS, "mcp")),
            smallest("MCP is the least accurate", _ACCURACY, ("mcp",), (*_OTHERS, "elastic_net")),
            smallest("MCP has the fewest false features", _FDR, ("mcp",), (*_OTHERS, "elastic_net")),
            between("test errors are nearly equal: at most 15 % above the best", relative_error, PAPERS, 1.0, 1.15),
        ),
        remark="The paper's RNA matrix (1145 × 14858) is not public; this is another one, 317 × 20531, of six cohorts.",
        chosen=True,
    ),
    Study(
        "class-real",
        "Types of lung tumours",
        lung,
        (
            Figure("size", "Number of features chosen", _SIZE, "", "features chosen"),
            Figure("auc", "AUC on test rows", _AUC, "", "AUC"),
        ),
        (
            about_equal("exact and relaxation have the same AUC", _AUC, "exact", "relaxation", 0.01),
            about_equal("exact and elastic net have the same AUC", _AUC, "exact", "elastic_net", 0.01),
            largest(
                "the elastic net chooses the most features",
                _SIZE,
                ("elastic_net",),
                ("exact", "relaxation", "mcp", "scad", "lasso"),
            ),
            smallest(
                "MCP chooses the fewest features",
                _SIZE,
                ("mcp",),
                ("exact", "relaxation", "elastic_net", "scad", "lasso"),
            ),
            smallest(
                "MCP and SCAD have the lowest AUC",
                _AUC,
                ("mcp", "scad"),
                ("exact", "relaxation", "elastic_net", "lasso"),
            ),
            between("AUC is about 0.98 for all", _AUC, (*PAPERS, "lasso"), 0.96, 1.0),
        ),
        remark="The paper has 14858 genes of 1145 patients; these are 1046 micro-RNAs of 1084. The paper's medians of "
        "features and AUC: "
        + "; ".join(f"{name} {size:g}, {auc:.4f}" for name, (size, auc) in PAPERS_LUNG.items())
        + ".",
        chosen=True,
    ),
)
