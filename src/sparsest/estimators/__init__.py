"""Estimators for scikit-learn."""

from sparsest.estimators.best_subset import BestSubsetClassifier, BestSubsetRegressor
from sparsest.estimators.penalized import PenalizedClassifier, PenalizedRegressor
from sparsest.estimators.stability import StabilitySelection

__all__ = [
    "BestSubsetClassifier",
    "BestSubsetRegressor",
    "PenalizedClassifier",
    "PenalizedRegressor",
    "StabilitySelection",
]
