"""What bounds from pairs of features would bring: gaps at the root of regions of few features.

    python benchmarks/pairs.py [--data riboflavin wheat_dart toeplitz] [--features 60] [--k 6]

The objective is ``w'Qw/2 - c'w`` plus a constant, with ``Q = X'X + I/γ``.  A matrix B under Q is taken out, and its
part of the objective is replaced by its convex hull over the supports: the identity over γ (the Boolean relaxation),
the best diagonal, or the best matrix with 2 × 2 blocks for pairs of correlated features, by semidefinite programs.
A region has the features of the relaxation's model on all data, and those with the largest products with its residual.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import cvxpy as cp
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sparsest import best_subset
from sparsest.datasets import load_folder, make_toeplitz

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
RIDGES = (10.0, 100.0)  # nγ


def standardised(name: str, k: int) -> tuple[np.ndarray, np.ndarray]:
    data = make_toeplitz(200, 1000, k, rho=0.5, snr=3, rng=0) if name == "toeplitz" else load_folder(DATA / name)
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y, dtype=float)
    X = X[:, X.std(axis=0) > 0.0]
    return (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()


def region(X: np.ndarray, y: np.ndarray, k: int, gamma: float, size: int) -> np.ndarray:
    """The columns of the region."""
    found = best_subset(X, y, k, gamma=gamma, method="relaxation", standardize=False, fit_intercept=False)
    products = np.abs(X.T @ (y - X @ found.coef))
    products[found.support] = np.inf
    return X[:, np.sort(np.argsort(-products)[:size])]


def correlated_pairs(X: np.ndarray) -> list[tuple[int, int]]:
    """Pairs without a common feature, those with the largest correlations first."""
    size = X.shape[1]
    similar, left, pairs = np.triu(np.abs(np.corrcoef(X.T)), 1), set(range(size)), []
    for i, j in zip(*np.unravel_index(np.argsort(-similar, axis=None), similar.shape), strict=True):
        if i < j and i in left and j in left:
            pairs.append((int(i), int(j)))
            left -= {i, j}
    return pairs


def bound(X: np.ndarray, y: np.ndarray, k: int, gamma: float, pairs: list[tuple[int, int]]) -> float:
    """The least value of the relaxation with the best B that has these blocks, and is diagonal elsewhere."""
    size = X.shape[1]
    w, z, square = cp.Variable((size, 1)), cp.Variable(size), cp.Variable((size, size), symmetric=True)
    constraints = [cp.bmat([[np.ones((1, 1)), w.T], [w, square]]) >> 0, cp.sum(z) <= k, z >= 0, z <= 1]
    for i, j in pairs:
        # Shares of the supports {i}, {j} and {i, j}, and what each of them contributes to w and its square.
        shares, one, both = cp.Variable(3, nonneg=True), cp.Variable(2), cp.Variable((2, 1))
        one_square, both_square = cp.Variable(2), cp.Variable((2, 2), symmetric=True)
        share = cp.reshape(shares[2], (1, 1), order="C")
        constraints += [cp.sum(shares) <= 1, cp.bmat([[share, both.T], [both, both_square]]) >> 0]
        constraints += [square[i, j] == both_square[0, 1]]
        for a, feature in enumerate((i, j)):
            constraints += [
                z[feature] == shares[a] + shares[2],
                w[feature, 0] == one[a] + both[a, 0],
                square[feature, feature] == one_square[a] + both_square[a, a],
                cp.quad_over_lin(one[a], shares[a]) <= one_square[a],
            ]
    alone = set(range(size)) - {feature for pair in pairs for feature in pair}
    constraints += [cp.quad_over_lin(w[j, 0], z[j]) <= square[j, j] for j in alone]
    quadratic = X.T @ X + np.eye(size) / gamma
    objective = 0.5 * cp.trace(quadratic @ square) - (X.T @ y) @ w[:, 0] + 0.5 * y @ y
    return float(cp.Problem(cp.Minimize(objective), constraints).solve(solver=cp.CLARABEL))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", default=["riboflavin", "wheat_dart", "toeplitz"])
    parser.add_argument("--features", type=int, default=60)
    parser.add_argument("--k", type=int, default=6)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in asked.data:
        everything, y = standardised(name, asked.k)
        for scaled in RIDGES:
            gamma = scaled / y.size
            X = region(everything, y, asked.k, gamma, asked.features)
            settings = {"gamma": gamma, "standardize": False, "fit_intercept": False, "time_limit": 20.0}
            best = best_subset(X, y, asked.k, **settings).objective
            bounds = (
                best_subset(X, y, asked.k, method="relaxation", **settings).lower_bound,
                bound(X, y, asked.k, gamma, []),
                bound(X, y, asked.k, gamma, correlated_pairs(X)),
            )
            gaps = [f"{1.0 - value / best:.1%}" for value in bounds]
            print(f"{name}, nγ = {scaled:g}: ridge alone, best diagonal, best pairs", *gaps, flush=True)


if __name__ == "__main__":
    main()
