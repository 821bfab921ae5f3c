"""γ by leave-one-out against cross-validation and the default: held-out errors on real data.

    python benchmarks/leave_one_out.py --data ../shared/data [--splits 3] [--k 5 10]

A third of the rows is held out, several times.  On the rest γ is the default, that of ``gamma="loo"``, or that of the
least error in five folds among the multiples of the default in ``ridge.py``, each by the method "relaxation".
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from ridge import CLASSES, FACTORS, REGRESSION, error, load
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from sparsest import best_subset
from sparsest.core.data import make_data
from sparsest.core.ridge import default_gamma
from sparsest.warming import warmup

METHODS = ("auto", "loo", "cv")


def fitted(X, y, loss, k, gamma):
    return best_subset(X, y, k, gamma=gamma, loss=loss, method="relaxation", time_limit=20.0)


def by_folds(X, y, loss, k):
    """The multiple of the default γ with the least error in five folds."""
    center = default_gamma(make_data(X, y, loss=loss, standardize=True))
    split = (
        KFold(5, shuffle=True, random_state=0)
        if loss == "squared"
        else StratifiedKFold(5, shuffle=True, random_state=0)
    )
    totals = np.zeros(len(FACTORS))
    for train, test in split.split(X, y):
        for i, factor in enumerate(FACTORS):
            model = fitted(X[train], y[train], loss, k, factor * center)
            totals[i] += error(loss, y[test], model.decision_function(X[test]))
    return FACTORS[int(np.argmin(totals))] * center


def compare(X, y, loss, k, splits):
    """Held-out errors over that of the constant model, means over the splits."""
    kind = ShuffleSplit if loss == "squared" else StratifiedShuffleSplit
    errors = {method: [] for method in METHODS}
    for train, test in kind(splits, test_size=1 / 3, random_state=0).split(X, y):
        null = fitted(X[train], y[train], loss, 0, 1.0)
        scale = error(loss, y[test], null.decision_function(X[test]))
        for method in METHODS:
            gamma = by_folds(X[train], y[train], loss, k) if method == "cv" else method
            model = fitted(X[train], y[train], loss, k, gamma)
            errors[method].append(error(loss, y[test], model.decision_function(X[test])) / scale)
    return [np.mean(errors[method]) for method in METHODS]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10])
    asked = parser.parse_args()
    warmup()
    print("| data | n × p | k | auto | loo | cv |\n|---|---|---|---|---|---|")
    for name, loss in [(n, "squared") for n in REGRESSION] + [(n, "logistic") for n in CLASSES]:
        X, y = load(asked.data / name)
        if loss == "logistic":
            y = np.where(y == np.unique(y)[1], 1.0, -1.0)
        for k in asked.k:
            cells = [f"{one:.3f}" for one in compare(X, y, loss, k, asked.splits)]
            print(f"| {name} | {X.shape[0]} × {X.shape[1]} | {k} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
