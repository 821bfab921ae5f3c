"""Estimators for scikit-learn."""

from sparsest.estimators.best_subset import BestSubsetClassifier, BestSubsetRegressor

__all__ = ["BestSubsetClassifier", "BestSubsetRegressor"]
