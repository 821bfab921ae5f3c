"""Choosing k, γ and α by cross-validation: what a grid costs, and what it chooses.

    python benchmarks/selection.py grid [--choices]
    python benchmarks/selection.py lasso [--peer NAME ...]
    python benchmarks/selection.py table [--set NAME ...]

``grid``: 20 k × 8 γ × 5 folds of 500 × 2000 at once, against the cells fitted alone, of which every twentieth is timed
and the sum scaled up; ``--choices`` fits all of them and compares what is chosen.
``lasso``: 10 folds and 100 alphas of 1000 × 5000, against R's cv.glmnet and scikit-learn's LassoCV on the same folds,
alphas and standardised columns; one thread each, R is timed inside R.
``table``: every method that chooses by cross-validation, and abess's, on six Toeplitz regimes and ten real sets: error
on held-out rows (mean squared error over that of the mean, or deviance over that of the constant), features, seconds.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from paths import DATA, _write_for_r, standardise
from sklearn.linear_model import LassoCV
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from sparsest import (
    BestSubsetClassifierCV,
    BestSubsetRegressor,
    BestSubsetRegressorCV,
    PenalizedClassifierCV,
    PenalizedRegressorCV,
)
from sparsest.data import make_data
from sparsest.datasets import load_folder, make_toeplitz
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


def toeplitz(n, p, k, rho, snr, seed=0):
    data = make_toeplitz(n + 1000, p, k, rho=rho, snr=snr, rng=seed)
    return data.X[:n], data.y[:n], data.X[n:], data.y[n:], False


def real(name, positive=None, rows=None):
    data = load_folder(DATA / name)
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    X, y = np.asarray(X, dtype=float), data.y
    if rows is not None:
        keep = np.sort(np.random.default_rng(0).permutation(len(y))[:rows])
        X, y = X[keep], y[keep]
    classes = positive is not None or y.dtype.kind in "USO" or np.unique(y).size == 2
    if classes:
        y = (y == (positive if positive is not None else np.unique(y)[1])).astype(int)
    train, test = train_test_split(
        np.arange(len(y)), test_size=0.3, random_state=0, stratify=y if classes else None
    )  # fmt: skip
    return X[train], y[train], X[test], y[test], classes


SETS = {
    "low noise, ρ = 0.2": lambda: toeplitz(500, 2000, 10, 0.2, 6.0),
    "low noise, ρ = 0.7": lambda: toeplitz(500, 2000, 10, 0.7, 6.0),
    "medium noise, ρ = 0.2": lambda: toeplitz(500, 1000, 5, 0.2, 1.0),
    "medium noise, ρ = 0.7": lambda: toeplitz(500, 1000, 5, 0.7, 1.0),
    "high noise, ρ = 0.2": lambda: toeplitz(500, 200, 1, 0.2, 0.05),
    "high noise, ρ = 0.7": lambda: toeplitz(500, 200, 1, 0.7, 0.05),
    "diabetes64": lambda: real("diabetes64"),
    "prostate_esl": lambda: real("prostate_esl"),
    "hitters": lambda: real("hitters"),
    "communities_crime": lambda: real("communities_crime"),
    "eyedata200": lambda: real("eyedata200"),
    "riboflavin": lambda: real("riboflavin"),
    "wheat_dart": lambda: real("wheat_dart"),
    "ma_golub": lambda: real("ma_golub"),
    "ma_gravier": lambda: real("ma_gravier"),
    "spam_esl": lambda: real("spam_esl", rows=1000),
}


def abess_cv(classes, folds):
    import abess

    return (abess.LogisticRegression if classes else abess.LinearRegression)(cv=len(folds))


def fit_abess(model, X, y, folds):
    ids = np.empty(sum(test.size for _, test in folds), dtype=int)
    for i, (_, test) in enumerate(folds):
        ids[test] = i
    return model.fit(X, y, cv_fold_id=ids)


def methods(classes, folds):
    subset = BestSubsetClassifierCV if classes else BestSubsetRegressorCV
    path = PenalizedClassifierCV if classes else PenalizedRegressorCV
    limits = {"cv": folds, "time_limit": 20.0}
    yield "best subset", subset(**limits)
    yield "best subset, one se", subset(**limits, selection="one_se")
    yield "Lasso", path(cv=folds)
    yield "relaxed Lasso", path(cv=folds, relax=True)
    yield "elastic net", path("elastic_net", cv=folds)
    yield "MCP", path("mcp", cv=folds)
    yield "SCAD", path("scad", cv=folds)
    yield "abess", abess_cv(classes, folds)


def held_out(model, X, y, X_test, y_test, classes):
    """Error over that of the constant model."""
    if not classes:
        return ((model.predict(X_test) - y_test) ** 2).mean() / ((y.mean() - y_test) ** 2).mean()
    coef, intercept = np.ravel(model.coef_), np.ravel(model.intercept_)[0]
    sign = np.where(y_test == 1, 1.0, -1.0)
    deviance = np.logaddexp(0.0, -sign * (X_test @ coef + intercept)).mean()
    share = y.mean()
    return deviance / -(np.log(share) * y_test + np.log(1.0 - share) * (1 - y_test)).mean()


def table(names: list[str], only: list[str] | None) -> None:
    for name in names:
        X, y, X_test, y_test, classes = SETS[name]()
        splitter = (StratifiedKFold if classes else KFold)(5, shuffle=True, random_state=0)
        folds = list(splitter.split(X, y))
        print(f"{name}: {X.shape[0]} × {X.shape[1]}, {len(y_test)} rows held out", flush=True)
        for method, model in methods(classes, folds):
            if only and method not in only:
                continue
            fit = partial(fit_abess, model, X, y, folds) if method == "abess" else partial(model.fit, X, y)
            seconds, model = timed(fit)
            error = held_out(model, X, y, X_test, y_test, classes)
            size = np.count_nonzero(model.coef_)
            wrong = f"   wrong {np.mean(model.predict(X_test) != y_test):.3f}" if classes else ""
            print(f"    {method:20s} error {error:.3f}   {size:4d} features   {seconds:7.2f} s{wrong}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["grid", "lasso", "table"])
    parser.add_argument("--choices", action="store_true")
    parser.add_argument("--peer", nargs="*", default=["sparsest", "glmnet", "sklearn"])
    parser.add_argument("--set", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--method", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.what == "grid":
        grid(options.choices)
    elif options.what == "lasso":
        lasso(options.peer)
    else:
        table(options.set, options.method)


if __name__ == "__main__":
    main()
