"""Is the default ridge near the cross-validated best?  Held-out errors for multiples of it, on real data.

    python benchmarks/ridge.py --data ../shared/data [--folds 5] [--k 5 10] [--seconds 5]

For every data set, loss and k: the mean held-out error (squared error over that of the mean; deviance over that of the
rate) at γ = factor times the default, by the method "relaxation" on standardised columns, and the factor of the least.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import KFold, StratifiedKFold

from sparsest import best_subset
from sparsest.core.data import make_data
from sparsest.core.ridge import default_gamma
from sparsest.warming import warmup

FACTORS = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
REGRESSION = ("diabetes64", "prostate_esl", "hitters", "communities_crime", "eyedata200", "riboflavin", "wheat_dart")
CLASSES = ("spam_esl", "ma_singh", "ma_golub", "ma_alon", "ma_gravier", "tcga_lung_mirna", "madelon")


def load(folder):
    data = np.load(folder / "data.npz")
    X = sp.load_npz(folder / "X.npz") if (folder / "X.npz").exists() else data["X"]
    return np.asarray(X, dtype=float) if not sp.issparse(X) else X, data["y"]


def error(loss, y, margin):
    """Mean squared error, or mean deviance."""
    return np.mean((y - margin) ** 2) if loss == "squared" else 2.0 * np.mean(np.logaddexp(0.0, -y * margin))


def held_out(X, y, loss, k, factor, folds, seconds):
    errors, nulls = [], []
    for train, test in folds:
        gamma = factor * default_gamma(make_data(X[train], y[train], loss=loss, standardize=True))
        result = best_subset(
            X[train], y[train], k, loss=loss, gamma=gamma, standardize=True, method="relaxation", time_limit=seconds
        )
        null = best_subset(X[train], y[train], 0, loss=loss, gamma=gamma, standardize=True, method="local").intercept
        errors.append(error(loss, y[test], X[test] @ result.coef + result.intercept))
        nulls.append(error(loss, y[test], null))
    return np.mean(errors) / np.mean(nulls)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--sets", nargs="+", default=[*REGRESSION, *CLASSES])
    asked = parser.parse_args()
    warmup()
    print(f"{'':32}" + "".join(f"{factor:>9g}" for factor in FACTORS) + "   best factor, error at 1 over the best")
    for name in asked.sets:
        X, y = load(asked.data / name)
        loss = "squared" if name in REGRESSION else "logistic"
        if loss == "logistic":
            y = np.where(y == np.unique(y)[-1], 1.0, -1.0)
        splitter = KFold if loss == "squared" else StratifiedKFold
        folds = list(splitter(asked.folds, shuffle=True, random_state=0).split(np.zeros(len(y)), y))
        for k in asked.k:
            found = [held_out(X, y, loss, k, factor, folds, asked.seconds) for factor in FACTORS]
            best = int(np.argmin(found))
            print(
                f"{name + f' {loss} k {k}':32}" + "".join(f"{one:9.3f}" for one in found)
                + f"   {FACTORS[best]:g}, {found[FACTORS.index(1.0)] / found[best]:.2f}",
                flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    main()
