"""Prediction intervals with a guaranteed coverage: conformal prediction by MAPIE around an estimator of sparsest.

The features are chosen anew in every fold, so that the intervals know of the selection.  They hold without any model of
the noise (Barber, Candès, Ramdas and Tibshirani 2021: at least 1 - 2α, about 1 - α in practice).

    pip install mapie && python examples/prediction_intervals.py
"""

from __future__ import annotations

import numpy as np
from mapie.regression import CrossConformalRegressor
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import sparsest


def main() -> tuple[float, float]:
    """Print coverage and width of the intervals for rows that were held out, and return both."""
    X, y = load_diabetes(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
    model = sparsest.BestSubsetRegressor(k=4)
    intervals = CrossConformalRegressor(model, confidence_level=0.9, cv=10, random_state=0)
    intervals.fit_conformalize(X_train, y_train)
    _, limits = intervals.predict_interval(X_test)
    low, high = limits[:, 0, 0], limits[:, 1, 0]
    coverage, width = float(np.mean((low <= y_test) & (y_test <= high))), float(np.mean(high - low))
    print(f"{coverage:.1%} of {y_test.size} held-out responses lie in their 90 % interval, which is {width:.0f} wide")
    print(f"intervals that ignore the features would be {np.diff(np.quantile(y_train, [0.05, 0.95]))[0]:.0f} wide")
    return coverage, width


if __name__ == "__main__":
    main()
