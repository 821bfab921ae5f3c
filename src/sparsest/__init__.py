"""Select the few features that matter, and prove it.

The public names are loaded on first use, so importing the package costs little.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparsest import datasets, metrics, plots
    from sparsest.core.designs.interactions import interactions
    from sparsest.core.row_summary import RowSummary, reduce_rows
    from sparsest.core.structure.user_rules import Structure
    from sparsest.estimators import (
        BestSubsetClassifier,
        BestSubsetClassifierCV,
        BestSubsetRegressor,
        BestSubsetRegressorCV,
        PenalizedClassifier,
        PenalizedClassifierCV,
        PenalizedRegressor,
        PenalizedRegressorCV,
        StabilitySelection,
        TimeBudget,
    )
    from sparsest.paths.api import penalty_path
    from sparsest.paths.path_result import PathResult, Stop
    from sparsest.proofs import Certificate, Verdict
    from sparsest.results.inference import Inference
    from sparsest.results.result import Result
    from sparsest.runtime.events import Status
    from sparsest.selection.advise import Advice, advise
    from sparsest.selection.bootstrap import bootstrap
    from sparsest.selection.bootstrap_result import BootstrapResult
    from sparsest.selection.certified import CertifiedChoice
    from sparsest.selection.certified_search import certified_choice
    from sparsest.selection.criteria import information_criterion
    from sparsest.selection.splitting import MultiSplitResult, multi_split
    from sparsest.subset.api import best_subset, best_subset_path, near_optimal

__version__ = "0.2.0"

_HOMES = {
    "interactions": "core.designs.interactions",
    "best_subset": "subset.api",
    "best_subset_path": "subset.api",
    "near_optimal": "subset.api",
    "penalty_path": "paths.api",
    "Structure": "core.structure.user_rules",
    "RowSummary": "core.row_summary",
    "reduce_rows": "core.row_summary",
    "Inference": "results.inference",
    "PathResult": "paths.path_result",
    "Stop": "paths.path_result",
    "Certificate": "proofs",
    "Verdict": "proofs",
    "BestSubsetClassifier": "estimators",
    "BestSubsetClassifierCV": "estimators",
    "BestSubsetRegressor": "estimators",
    "BestSubsetRegressorCV": "estimators",
    "PenalizedClassifier": "estimators",
    "PenalizedClassifierCV": "estimators",
    "PenalizedRegressor": "estimators",
    "PenalizedRegressorCV": "estimators",
    "StabilitySelection": "estimators",
    "TimeBudget": "estimators",
    "Result": "results.result",
    "Status": "runtime.events",
    "Advice": "selection.advise",
    "BootstrapResult": "selection.bootstrap_result",
    "CertifiedChoice": "selection.certified",
    "MultiSplitResult": "selection.splitting",
    "advise": "selection.advise",
    "bootstrap": "selection.bootstrap",
    "certified_choice": "selection.certified_search",
    "information_criterion": "selection.criteria",
    "multi_split": "selection.splitting",
}
_MODULES = ("datasets", "metrics", "plots")

__all__ = [
    "Advice",
    "BestSubsetClassifier",
    "BestSubsetClassifierCV",
    "BestSubsetRegressor",
    "BestSubsetRegressorCV",
    "BootstrapResult",
    "Certificate",
    "CertifiedChoice",
    "Inference",
    "MultiSplitResult",
    "PathResult",
    "PenalizedClassifier",
    "PenalizedClassifierCV",
    "PenalizedRegressor",
    "PenalizedRegressorCV",
    "Result",
    "RowSummary",
    "StabilitySelection",
    "Status",
    "Stop",
    "Structure",
    "TimeBudget",
    "Verdict",
    "advise",
    "best_subset",
    "best_subset_path",
    "bootstrap",
    "certified_choice",
    "datasets",
    "information_criterion",
    "interactions",
    "metrics",
    "multi_split",
    "near_optimal",
    "penalty_path",
    "plots",
    "reduce_rows",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"sparsest.{name}")
    if name in _HOMES:
        return getattr(import_module(f"sparsest.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'sparsest' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
