"""Choosing k, γ and α by cross-validation: what a grid costs, and what it chooses.

    python benchmarks/selection.py grid [--choices]
    python benchmarks/selection.py lasso [--peer NAME ...]

``grid``: 20 k × 8 γ × 5 folds of 500 × 2000 at once, against the cells fitted alone, of which every twentieth is timed
and the sum scaled up; ``--choices`` fits all of them and compares what is chosen.
``lasso``: 10 folds and 100 alphas of 1000 × 5000, against R's cv.glmnet and scikit-learn's LassoCV on the same folds,
alphas and standardised columns; one thread each, R is timed inside R.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from paths import _write_for_r, standardise
from sklearn.linear_model import LassoCV
from sklearn.model_selection import KFold

from sparsest import BestSubsetRegressor, BestSubsetRegressorCV, PenalizedRegressorCV
from sparsest.data import make_data
from sparsest.datasets import make_toeplitz
from sparsest.ridge import gamma_grid

EVERY = 20


def timed(run):
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def grid(choices: bool) -> None:
    data = make_toeplitz(500, 2000, 10, rho=0.5, snr=3.0, rng=0)
    X, y = data.X, data.y
    folds = list(KFold(5).split(X))
    ks = list(range(1, 21))
    gammas = gamma_grid(make_data(X, y, standardize=True), 20)[5:13]
    model = BestSubsetRegressorCV(ks, gammas=gammas, cv=folds, method="local")
    model.fit(X[:, :50], y)
    seconds, model = timed(lambda: model.fit(X, y))
    print(f"{len(ks)} k × {gammas.size} γ × 5 folds at once: {seconds:.2f} s; k = {model.k_}, γ = {model.gamma_:.4g}")
    cells = [(k, g, fold) for fold in range(5) for g in gammas for k in ks]

    def alone(cell):
        k, gamma, fold = cell
        train, test = folds[fold]
        single = BestSubsetRegressor(k, gamma=gamma, method="relaxation").fit(X[train], y[train])
        return ((single.predict(X[test]) - y[test]) ** 2).mean()

    alone(cells[0])
    if not choices:
        # 20 k in a row: a step of 21 takes all of them in turn.
        sample = cells[:: EVERY + 1]
        spent, _ = timed(lambda: [alone(cell) for cell in sample])
        total = spent * len(cells) / len(sample)
        print(f"{len(sample)} of {len(cells)} cells alone: {spent:.2f} s, so all {total:.1f} s")
        print(f"ratio {seconds / total:.3f}")
        return
    errors = np.array([alone(cell) for cell in cells]).reshape(5, gammas.size, len(ks)).mean(axis=0)
    i, j = np.unravel_index(errors.argmin(), errors.shape)
    ours = -model.cv_results_["mean_test_score"].reshape(len(ks), gammas.size).T
    apart = np.abs(ours / errors - 1.0)
    print(f"alone k = {ks[j]}, γ = {gammas[i]:.4g}; scores differ by up to {apart.max():.1e}, by more than 1e-4 in "
          f"{(apart > 1e-4).sum()} of {apart.size} cells")  # fmt: skip


def lasso(peers: list[str]) -> None:
    data = make_toeplitz(1000, 5000, 50, rho=0.5, snr=1.0, rng=0)
    X, y = standardise(data.X), data.y - data.y.mean()
    fold = np.random.default_rng(0).permutation(1000) % 10
    splits = [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(10)]
    top = np.abs(X.T @ y).max() / 1000
    alphas = np.geomspace(top, 0.01 * top, 100)
    settings = {"alphas": alphas, "cv": splits}
    if "sparsest" in peers:
        model = PenalizedRegressorCV(**settings, standardize=False)
        PenalizedRegressorCV(alphas=alphas[:2], cv=2).fit(X, y)
        seconds, model = min((timed(lambda: model.fit(X, y)) for _ in range(3)), key=lambda pair: pair[0])
        print(f"sparsest   {seconds:7.2f} s   alpha {model.alpha_:.5f}   error {-model.best_score_:.5f}")
    if "sklearn" in peers:
        seconds, model = timed(lambda: LassoCV(**settings).fit(X, y))
        print(
            f"LassoCV    {seconds:7.2f} s   alpha {model.alpha_:.5f}   error {model.mse_path_.mean(axis=1).min():.5f}"
        )
    if "glmnet" in peers:
        with tempfile.TemporaryDirectory() as folder:
            read = _write_for_r(X, y, alphas, folder)
            (fold + 1.0).tofile(Path(folder, "f"))
            script = f"""
suppressMessages(library(glmnet)); setwd("{folder}")
{read}
y <- readBin("y", "double", 1000); a <- readBin("a", "double", 100); f <- readBin("f", "double", 1000)
best <- Inf
for (i in 1:3) {{ t <- proc.time()[3]
  m <- cv.glmnet(X, y, lambda=a, foldid=f, standardize=FALSE)
  best <- min(best, proc.time()[3] - t) }}
writeBin(c(best, m$lambda.min, min(m$cvm)), "out")"""
            Path(folder, "run.R").write_text(script)
            subprocess.run(["Rscript", str(Path(folder, "run.R"))], check=True, capture_output=True, text=True)
            seconds, alpha, error = np.fromfile(Path(folder, "out"))
        print(f"cv.glmnet  {seconds:7.2f} s   alpha {alpha:.5f}   error {error:.5f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["grid", "lasso"])
    parser.add_argument("--choices", action="store_true")
    parser.add_argument("--peer", nargs="*", default=["sparsest", "glmnet", "sklearn"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.what == "grid":
        grid(options.choices)
    else:
        lasso(options.peer)


if __name__ == "__main__":
    main()
