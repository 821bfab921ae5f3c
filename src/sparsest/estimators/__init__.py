"""Estimators for scikit-learn."""

from sparsest.estimators.best_subset import BestSubsetClassifier, BestSubsetRegressor
from sparsest.estimators.penalized import PenalizedClassifier, PenalizedRegressor

__all__ = ["BestSubsetClassifier", "BestSubsetRegressor", "PenalizedClassifier", "PenalizedRegressor"]
