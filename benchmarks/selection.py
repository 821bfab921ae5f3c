"""Choosing k, γ and α by cross-validation: what a grid costs, and what it chooses.

    python benchmarks/selection.py grid [--case NAME] [--choices]
    python benchmarks/selection.py lasso [--peer NAME ...]
    python benchmarks/selection.py subsets [--set NAME ...]

``grid``: 20 k × 8 γ × 5 folds of 500 × 2000 (or logistic regressions of ``breast_cancer``) at once, against the cells
fitted alone by the method "relaxation", of which every twenty-first is timed and the sum scaled up; ``--choices`` fits
all of them and compares what is chosen.
``lasso``: 10 folds and 100 alphas of 1000 × 5000, against R's cv.glmnet and scikit-learn's LassoCV on the same folds,
alphas and standardised columns.
``subsets``: BestSubsetRegressorCV and BestSubsetClassifierCV at their defaults, without the model of all data and its
proof, against R's cv.glmnet at its defaults, on real sets: five folds of ours, ten of cv.glmnet.

All times are CPU seconds; set OPENBLAS_NUM_THREADS=1.  R's are taken inside R.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LassoCV
from sklearn.model_selection import KFold
from table import Row

from paths import DATA, _write_for_r, standardise
from sparsest import (
    BestSubsetClassifier,
    BestSubsetClassifierCV,
    BestSubsetRegressor,
    BestSubsetRegressorCV,
    PenalizedRegressorCV,
)
from sparsest.core.data import make_data
from sparsest.core.ridge import gamma_grid
from sparsest.datasets import load_folder, make_toeplitz

EVERY, N_FOLDS = 21, 5
# Shares that are wanted: of the cells fitted alone, of cv.glmnet's time and of LassoCV's.
GRID_TARGET, GLMNET_TARGET, LASSO_CV_TARGET = 0.1, 1.0, 1 / 3
# The most that cross-validated best subsets may take, in times of cv.glmnet.
SUBSETS_TARGET = 4.0
SUBSETS = (
    "prostate_esl", "hitters", "diabetes64", "eyedata200", "riboflavin", "communities_crime", "wheat_dart", "ma_alon",
    "ma_gravier", "ma_golub", "ma_singh", "tcga_lung_mirna", "spam_esl",
)  # fmt: skip


def timed(run):
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


class Case:
    """A grid of data: all cells at once, and single ones."""

    def __init__(self, name):
        self.classes = name == "breast_cancer"
        if self.classes:
            self.X, self.y = load_breast_cancer(return_X_y=True)
        else:
            data = make_toeplitz(500, 2000, 10, rho=0.5, snr=3.0, rng=0)
            self.X, self.y = data.X, data.y
        self.folds = list(KFold(N_FOLDS, shuffle=self.classes, random_state=0 if self.classes else None).split(self.X))
        self.ks = list(range(1, 21))
        loss = "logistic" if self.classes else "squared"
        self.gammas = gamma_grid(make_data(self.X, self.y, loss=loss, standardize=True), 20)[5:13]
        self.cells = [(k, g, fold) for fold in self.folds for g in self.gammas for k in self.ks]

    def at_once(self):
        estimator = BestSubsetClassifierCV if self.classes else BestSubsetRegressorCV
        model = estimator(self.ks, gammas=self.gammas, cv=self.folds, method="local")
        model.fit(self.X[:, :25], self.y)
        return timed(lambda: model.fit(self.X, self.y))

    def alone(self, cell):
        """The score of a cell whose model is fitted by itself."""
        k, gamma, (train, test) = cell
        estimator = BestSubsetClassifier if self.classes else BestSubsetRegressor
        model = estimator(k, gamma=gamma, method="relaxation").fit(self.X[train], self.y[train])
        if not self.classes:
            return -((model.predict(self.X[test]) - self.y[test]) ** 2).mean()
        margin = np.where(self.y[test] == 1, 1.0, -1.0) * model.decision_function(self.X[test])
        return -2.0 * np.logaddexp(0.0, -margin).mean()

    def seconds_alone(self):
        """CPU seconds of all cells, from every twenty-first: so all of the twenty ks take part in turn."""
        sample = self.cells[::EVERY]
        self.alone(sample[0])
        return timed(lambda: [self.alone(cell) for cell in sample])[0] * len(self.cells) / len(sample)


def grid(name: str, choices: bool) -> None:
    case = Case(name)
    seconds, model = case.at_once()
    print(f"20 k × 8 γ × 5 folds at once: {seconds:.2f} s; k = {model.k_}, γ = {model.gamma_:.4g}")
    if not choices:
        total = case.seconds_alone()
        print(f"all cells alone {total:.1f} s; ratio {seconds / total:.3f}")
        return
    scores = np.array([case.alone(cell) for cell in case.cells]).reshape(N_FOLDS, 8, 20).mean(axis=0)
    i, j = np.unravel_index(scores.argmax(), scores.shape)
    apart = np.abs(model.cv_results_["mean_test_score"].reshape(20, 8).T / scores - 1.0)
    print(f"alone k = {case.ks[j]}, γ = {case.gammas[i]:.4g}; scores differ by up to {apart.max():.1e}, by more than "
          f"1e-4 in {(apart > 1e-4).sum()} of {apart.size} cells")  # fmt: skip


class Lasso:
    """The same folds, alphas and standardised columns for all; each gives seconds, the chosen alpha, and its error."""

    def __init__(self):
        data = make_toeplitz(1000, 5000, 50, rho=0.5, snr=1.0, rng=0)
        self.X, self.y = standardise(data.X), data.y - data.y.mean()
        self.fold = np.random.default_rng(0).permutation(1000) % 10
        top = np.abs(self.X.T @ self.y).max() / 1000
        self.alphas = np.geomspace(top, 0.01 * top, 100)
        splits = [(np.flatnonzero(self.fold != i), np.flatnonzero(self.fold == i)) for i in range(10)]
        self.settings = {"alphas": self.alphas, "cv": splits}

    def sparsest(self):
        model = PenalizedRegressorCV(**self.settings, standardize=False)
        PenalizedRegressorCV(alphas=self.alphas[:2], cv=2).fit(self.X, self.y)
        seconds = min(timed(lambda: model.fit(self.X, self.y))[0] for _ in range(3))
        return seconds, model.alpha_, -model.best_score_

    def sklearn(self):
        seconds, model = timed(lambda: LassoCV(**self.settings).fit(self.X, self.y))
        return seconds, model.alpha_, model.mse_path_.mean(axis=1).min()

    def glmnet(self):
        with tempfile.TemporaryDirectory() as folder:
            read = _write_for_r(self.X, self.y, self.alphas, folder)
            (self.fold + 1.0).tofile(Path(folder, "f"))
            script = f"""
suppressMessages(library(glmnet)); setwd("{folder}")
{read}
y <- readBin("y", "double", 1000); a <- readBin("a", "double", 100); f <- readBin("f", "double", 1000)
best <- Inf
for (i in 1:3) {{ t <- proc.time()
  m <- cv.glmnet(X, y, lambda=a, foldid=f, standardize=FALSE)
  d <- proc.time() - t
  best <- min(best, d[1] + d[2]) }}
writeBin(c(best, m$lambda.min, min(m$cvm)), "out")"""
            Path(folder, "run.R").write_text(script)
            subprocess.run(["Rscript", str(Path(folder, "run.R"))], check=True, capture_output=True, text=True)
            return tuple(np.fromfile(Path(folder, "out")))


class Subsets:
    """Cross-validation of a real set: seconds, and the least held-out deviance in units of cv.glmnet's."""

    def __init__(self, name):
        data = load_folder(DATA / name)
        self.X = np.asarray(data.X.toarray() if hasattr(data.X, "toarray") else data.X, dtype=float)
        labels = np.unique(data.y)
        self.classes = data.y.dtype.kind in "USO" or labels.size == 2
        self.y = (data.y == labels[1]).astype(float) if self.classes else np.asarray(data.y, dtype=float)

    def sparsest(self):
        """The best of three; the time of the model of all data is taken away."""
        estimator = BestSubsetClassifierCV if self.classes else BestSubsetRegressorCV
        estimator(gammas=(1.0,), cv=2, method="local").fit(self.X, self.y)
        best = np.inf
        for _ in range(3):
            seconds, model = timed(lambda: estimator(method="local").fit(self.X, self.y))
            best = min(best, seconds - model.result_.seconds)
        return best, -model.best_score_, model.k_

    def glmnet(self):
        family, n = ("binomial" if self.classes else "gaussian"), self.y.size
        with tempfile.TemporaryDirectory() as folder:
            read = _write_for_r(self.X, self.y, np.zeros(1), folder)
            script = f"""
suppressMessages(library(glmnet)); setwd("{folder}")
{read}
y <- readBin("y", "double", {n})
best <- Inf
for (i in 1:3) {{ set.seed(i); t <- proc.time()
  m <- cv.glmnet(X, y, family="{family}")
  d <- proc.time() - t
  best <- min(best, d[1] + d[2]) }}
writeBin(c(best, min(m$cvm), m$nzero[m$lambda == m$lambda.min]), "out")"""
            Path(folder, "run.R").write_text(script)
            subprocess.run(["Rscript", str(Path(folder, "run.R"))], check=True, capture_output=True, text=True)
            return tuple(np.fromfile(Path(folder, "out")))


def subsets(names: list[str]) -> None:
    print("| set | cv.glmnet | ours | times | its deviance, features | ours |\n|---|---|---|---|---|---|")
    for name in names:
        case = Subsets(name)
        (theirs, error, size), (ours, own, k) = case.glmnet(), case.sparsest()
        print(f"| {name} | {theirs:.3f} s | {ours:.3f} s | {ours / theirs:.1f} | {error:.4g}, {size:.0f} | {own:.4g}, "
              f"{k} |", flush=True)  # fmt: skip


PEERS = ("sparsest", "glmnet", "sklearn")


def lasso(peers: list[str]) -> None:
    case = Lasso()
    for peer in peers:
        seconds, alpha, error = getattr(case, peer)()
        print(f"{peer:10s} {seconds:7.2f} s   alpha {alpha:.5f}   error {error:.5f}", flush=True)


def rows() -> Iterator[Row]:
    """Figures that have targets."""
    case = Case("toeplitz")
    seconds, _ = case.at_once()
    yield Row("20 k × 8 γ × 5 folds, 500 × 2000", seconds / case.seconds_alone(), "of cells", GRID_TARGET)
    paths = Lasso()
    ours, *_ = paths.sparsest()
    yield Row("Lasso, 10 folds × 100 alphas, 1000 × 5000", ours / paths.glmnet()[0], "of cv.glmnet", GLMNET_TARGET)
    yield Row("the same", ours / paths.sklearn()[0], "of LassoCV", LASSO_CV_TARGET)
    for name in SUBSETS:
        case = Subsets(name)
        yield Row(f"best subsets, {name}", case.sparsest()[0] / case.glmnet()[0], "of cv.glmnet", SUBSETS_TARGET)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["grid", "lasso", "subsets"])
    parser.add_argument("--case", default="toeplitz", choices=["toeplitz", "breast_cancer"])
    parser.add_argument("--choices", action="store_true")
    parser.add_argument("--peer", nargs="*", default=PEERS, choices=PEERS)
    parser.add_argument("--set", nargs="*", default=SUBSETS, choices=SUBSETS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.what == "grid":
        grid(options.case, options.choices)
    elif options.what == "subsets":
        subsets(options.set)
    else:
        lasso(options.peer)


if __name__ == "__main__":
    main()
