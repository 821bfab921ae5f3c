"""Real data: a gene-expression matrix with synthetic responses, and the types of lung tumours."""

from __future__ import annotations

from sparsest.studies.catalog.regimes import METHODS, SETS, between, plan
from sparsest.studies.findings import Finding, about_equal, larger
from sparsest.studies.findings import between as within
from sparsest.studies.samples import Source
from sparsest.studies.study import Cell, Figure, Panel, Size, Study
from sparsest.studies.views import (
    accuracy,
    chosen_k,
    false_discovery_rate,
    test_error,
    true_against_false,
    view,
)

_SNRS = (0.05, 0.09, 0.14, 0.25, 0.42, 0.71, 1.22, 2.07, 3.52, 6.0)
_SNRS_OF_SIZE: dict[Size, tuple[float, ...]] = {"smoke": (6.0,), "small": (0.05, 0.25, 1.22, 6.0), "paper": _SNRS}
_KS: dict[Size, tuple[int, ...]] = {"smoke": (10, 50), "small": between(20, 30, 170), "paper": between(20, 5, 170)}
_K_TRUE = 50


def real_x(size: Size) -> tuple[Panel, ...]:
    """One panel over the signal-to-noise ratio."""
    cells = tuple(
        Cell(
            Source("real-x", k=_K_TRUE, snr=snr, folder="tcga_rnaseq_6cohorts"), 0, plan(_KS[size], _K_TRUE, size), snr
        )
        for snr in _SNRS_OF_SIZE[size]
    )
    return (Panel("gene expression", "gene expression, six cohorts", cells, min(SETS[size], 3), METHODS),)


_LUNG = Source("real", "classification", folder="tcga_lung_mirna")
_LUNG_KS: dict[Size, tuple[int, ...]] = {
    "smoke": (5, 20), "small": (5, 10, 20, 40, 80, 120), "paper": (*between(5, 5, 60), *between(70, 10, 150)),
}  # fmt: skip


def lung(size: Size) -> tuple[Panel, ...]:
    """One panel: ten divisions of the patients."""
    sets: dict[Size, int] = {"smoke": 1, "small": 4, "paper": 10}
    limit: dict[Size, float] = {"smoke": 0.5, "small": 5.0, "paper": 180.0}
    cell = Cell(_LUNG, 0, plan(_LUNG_KS[size], _LUNG_KS[size][1], size, limit[size]), 0.0)
    return (Panel("lung tumours", "adenocarcinoma against squamous cell carcinoma", (cell,), sets[size], METHODS),)


_ACCURACY, _FDR, _MSE = (view(chosen_k, value) for value in (accuracy, false_discovery_rate, test_error))
_SIZE = view(chosen_k, lambda row: row["n_selected"])
_AUC = view(chosen_k, lambda row: 1.0 - row["test"])
_OTHERS = ("relaxation", "exact", "scad")
_SNR = "signal-to-noise ratio"


def _most_accurate() -> list[Finding]:
    return [
        larger(f"the elastic net is more accurate than {other}", _ACCURACY, "elastic_net", other) for other in _OTHERS
    ]


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
            Figure("roc", "True against false features", true_against_false(), "false features", "true features"),
        ),
        (
            *_most_accurate(),
            larger("the elastic net has more false features than MCP", _FDR, "elastic_net", "mcp"),
            larger("MCP is the least accurate", _ACCURACY, "exact", "mcp"),
            larger("MCP has the fewest false features", _FDR, "exact", "mcp"),
        ),
        remark="The paper's RNA matrix (1145 × 14858) is not public; this is another one, 317 × 20531, of six cohorts.",
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
            larger("the elastic net chooses the most features", _SIZE, "elastic_net", "exact"),
            within("AUC is about 0.98 for all", _AUC, ("exact", "relaxation", "elastic_net", "mcp", "scad"), 0.96, 1.0),
        ),
        remark="The paper has 14858 genes of 1145 patients; these are 1046 micro-RNAs of 1084.",
    ),
)
