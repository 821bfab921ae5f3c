"""Estimators for scikit-learn."""

from sparsest.estimators.best_subset import BestSubsetClassifier, BestSubsetRegressor
from sparsest.estimators.best_subset_cv import BestSubsetClassifierCV, BestSubsetRegressorCV
from sparsest.estimators.penalized import PenalizedClassifier, PenalizedRegressor
from sparsest.estimators.penalized_cv import PenalizedClassifierCV, PenalizedRegressorCV
from sparsest.estimators.stability import StabilitySelection
from sparsest.estimators.time_budget import TimeBudget

__all__ = [
    "BestSubsetClassifier",
    "BestSubsetClassifierCV",
    "BestSubsetRegressor",
    "BestSubsetRegressorCV",
    "PenalizedClassifier",
    "PenalizedClassifierCV",
    "PenalizedRegressor",
    "PenalizedRegressorCV",
    "StabilitySelection",
    "TimeBudget",
]
