"""Models that are chosen by cross-validation, compared on held-out rows.

    python benchmarks/held_out.py --store rows.jsonl [--set NAME ...] [--method NAME ...] [--splits 5] [--limit 10]
    python benchmarks/held_out.py --store rows.jsonl --table [--before old.jsonl]

Six Toeplitz regimes at a tenth of the paper's size and ten real sets, split into training and held-out rows several
times (other seeds for the regimes): mean squared error over that of the mean, or deviance over that of the constant,
number of features, and seconds.  Every row is added to the store as soon as it is known, and what is there already is
not computed again.  ``--table`` shows the means over splits, and the paired differences of the best subset from abess
and, with ``--before``, from the store of another version, with their standard errors.  All methods but cv.glmnet, which
is run at its defaults, get the same five folds.  Seconds are of CPU time; set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LassoCV
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from paths import DATA, _write_for_r
from sparsest import BestSubsetClassifierCV, BestSubsetRegressorCV, PenalizedClassifierCV, PenalizedRegressorCV
from sparsest.datasets import load_folder, make_toeplitz

HELD_OUT_SHARE, N_TOEPLITZ_HELD_OUT, N_FOLDS = 0.3, 1000, 5
# Paired differences of more standard errors than this count.
CLEAR = 2.0


def toeplitz(n, p, k, rho, snr):
    def split(seed):
        data = make_toeplitz(n + N_TOEPLITZ_HELD_OUT, p, k, rho=rho, snr=snr, rng=seed)
        return data.X[:n], data.y[:n], data.X[n:], data.y[n:], False

    return split


def real(name, rows=None):
    def split(seed):
        data = load_folder(DATA / name)
        X = np.asarray(data.X.toarray() if hasattr(data.X, "toarray") else data.X, dtype=float)
        y = data.y
        if rows is not None:
            keep = np.sort(np.random.default_rng(0).permutation(len(y))[:rows])
            X, y = X[keep], y[keep]
        classes = y.dtype.kind in "USO" or np.unique(y).size == 2
        if classes:
            y = (y == np.unique(y)[1]).astype(int)
        train, test = train_test_split(
            np.arange(len(y)), test_size=HELD_OUT_SHARE, random_state=seed, stratify=y if classes else None
        )
        return X[train], y[train], X[test], y[test], classes

    return split


REGIMES = {
    "low noise, ρ = 0.2": toeplitz(500, 2000, 10, 0.2, 6.0),
    "low noise, ρ = 0.7": toeplitz(500, 2000, 10, 0.7, 6.0),
    "medium noise, ρ = 0.2": toeplitz(500, 1000, 5, 0.2, 1.0),
    "medium noise, ρ = 0.7": toeplitz(500, 1000, 5, 0.7, 1.0),
    "high noise, ρ = 0.2": toeplitz(500, 200, 1, 0.2, 0.05),
    "high noise, ρ = 0.7": toeplitz(500, 200, 1, 0.7, 0.05),
}
REAL = {
    "diabetes64": real("diabetes64"),
    "prostate_esl": real("prostate_esl"),
    "hitters": real("hitters"),
    "communities_crime": real("communities_crime"),
    "eyedata200": real("eyedata200"),
    "riboflavin": real("riboflavin"),
    "wheat_dart": real("wheat_dart"),
    "ma_golub": real("ma_golub"),
    "ma_gravier": real("ma_gravier"),
    "spam_esl": real("spam_esl", rows=1000),
}
SETS = {**REGIMES, **REAL}


class Abess:
    """abess's cross-validation at its defaults, on given folds."""

    def __init__(self, classes, folds):
        import abess

        self.model = (abess.LogisticRegression if classes else abess.LinearRegression)(cv=len(folds))
        self.folds = folds

    def fit(self, X, y):
        fold = np.empty(len(y), dtype=int)
        for i, (_, test) in enumerate(self.folds):
            fold[test] = i
        return self.model.fit(X, y, cv_fold_id=fold)


class Glmnet:
    """R's cv.glmnet at its defaults, with the alpha of the least error; seconds are taken inside R."""

    def __init__(self, classes):
        self.family = "binomial" if classes else "gaussian"

    def fit(self, X, y):
        with tempfile.TemporaryDirectory() as folder:
            read = _write_for_r(X, y, np.zeros(1), folder)
            script = f"""
suppressMessages(library(glmnet)); setwd("{folder}"); set.seed(0)
{read}
y <- readBin("y", "double", {y.size})
t <- proc.time(); m <- cv.glmnet(X, y, family="{self.family}"); d <- proc.time() - t
writeBin(c(d[1] + d[2], as.numeric(coef(m, s="lambda.min"))), "out")"""
            Path(folder, "run.R").write_text(script)
            subprocess.run(["Rscript", str(Path(folder, "run.R"))], check=True, capture_output=True, text=True)
            self.cpu_seconds, self.intercept_, *coef = np.fromfile(Path(folder, "out"))
        self.coef_ = np.array(coef)
        return self


class StandardisedLasso:
    """scikit-learn's LassoCV on standardised columns, on given folds."""

    def __init__(self, folds):
        self.model = make_pipeline(StandardScaler(), LassoCV(cv=folds))

    def fit(self, X, y):
        scaler, lasso = (step for _, step in self.model.fit(X, y).steps)
        self.coef_ = lasso.coef_ / scaler.scale_
        self.intercept_ = lasso.intercept_ - scaler.mean_ @ self.coef_
        return self


def estimators(classes, folds, limit):
    """The methods by name, each made when it is wanted."""
    subset = BestSubsetClassifierCV if classes else BestSubsetRegressorCV
    path = PenalizedClassifierCV if classes else PenalizedRegressorCV
    return {
        "best subset": lambda: subset(cv=folds, time_limit=limit),
        "best subset, no proof": lambda: subset(cv=folds, method="local"),
        "cv.glmnet": lambda: Glmnet(classes),
        "LassoCV": lambda: StandardisedLasso(folds),
        "abess": lambda: Abess(classes, folds),
        "best subset, one se": lambda: subset(cv=folds, time_limit=limit, selection="one_se"),
        "Lasso": lambda: path(cv=folds),
        "relaxed Lasso": lambda: path(cv=folds, relax=True),
        "elastic net": lambda: path("elastic_net", cv=folds),
        "MCP": lambda: path("mcp", cv=folds),
        "SCAD": lambda: path("scad", cv=folds),
    }


METHODS = tuple(estimators(False, [], 0.0))


def error_of(model, X_test, y_test, y, classes):
    """The error over that of the constant model."""
    margin = X_test @ np.ravel(model.coef_) + np.ravel(model.intercept_)[0]
    if not classes:
        return ((margin - y_test) ** 2).mean() / ((y.mean() - y_test) ** 2).mean()
    sign, share = np.where(y_test == 1, 1.0, -1.0), y.mean()
    constant = -(np.log(share) * y_test + np.log(1.0 - share) * (1 - y_test)).mean()
    return np.logaddexp(0.0, -sign * margin).mean() / constant


def row(name, method, seed, limit):
    """Fit one method to one split of a set and judge it."""
    X, y, X_test, y_test, classes = SETS[name](seed)
    splitter = (StratifiedKFold if classes else KFold)(N_FOLDS, shuffle=True, random_state=seed)
    estimator = estimators(classes, list(splitter.split(X, y)), limit)[method]()
    wall, cpu = time.perf_counter(), time.process_time()
    model = estimator.fit(X, y)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    found = {"set": name, "method": method, "split": seed, "n": X.shape[0], "p": X.shape[1]}
    found |= {"error": error_of(model, X_test, y_test, y, classes), "features": int(np.count_nonzero(model.coef_))}
    if classes:
        margin = X_test @ np.ravel(model.coef_) + np.ravel(model.intercept_)[0]
        found["wrong"] = float(np.mean((margin > 0) != (y_test == 1)))
    if hasattr(model, "k_"):
        found |= {"k": model.k_, "gamma": model.gamma_, "gap": model.gap_}
    return found | {"seconds": wall, "cpu_seconds": getattr(model, "cpu_seconds", cpu)}


def read(store):
    rows = [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []
    return {(found["set"], found["method"], found["split"]): found for found in rows}


def compute(store, names, methods, n_splits, limit):
    done = read(store)
    for seed in range(n_splits):
        for name in names:
            for method in methods:
                # LassoCV does not support classification.
                if (name, method, seed) in done or (method == "LassoCV" and SETS[name](seed)[-1]):
                    continue
                found = row(name, method, seed, limit)
                with store.open("a") as file:
                    file.write(json.dumps(found) + "\n")
                print(f"{name:22s} {method:20s} split {seed}   error {found['error']:.3f}   "
                      f"{found['features']:4d} features   {found['seconds']:7.2f} s", flush=True)  # fmt: skip


def show(done, methods):
    """Markdown tables of errors, features and seconds; a row is over the splits that all of its methods have."""
    for title, key, form in (
        ("error", "error", "{:.3f}"), ("features", "features", "{:.0f}"), ("seconds", "cpu_seconds", "{:.2f}"),
    ):  # fmt: skip
        print(f"| {title} | splits | {' | '.join(methods)} |\n|{'---|' * (len(methods) + 2)}")
        for name in SETS:
            known = {method: {s for n, m, s in done if (n, m) == (name, method)} for method in methods}
            known = {method: splits for method, splits in known.items() if splits}
            shared = set.intersection(*known.values()) if known else set()
            means = {method: np.mean([done[name, method, s][key] for s in shared]) for method in known if shared}
            if means:
                cells = (form.format(means[method]) if method in means else "" for method in methods)
                print(f"| {name} | {len(shared)} | {' | '.join(cells)} |")
        print()


def compare(done, ours, theirs):
    """The paired differences of the errors of two methods, for each set."""
    for name in SETS:
        splits = [s for (n, m, s) in done if (n, m) == (name, ours) and (name, theirs, s) in done]
        if splits:
            one, other = (np.array([done[name, m, s]["error"] for s in splits]) for m in (ours, theirs))
            mean = np.mean(one - other)
            error = np.std(one - other, ddof=1) / np.sqrt(len(splits)) if len(splits) > 1 else np.inf
            verdict = ("worse" if mean > 0.0 else "better") + ("" if abs(mean) > CLEAR * error else ", not clearly")
            print(f"{name}: {ours} {one.mean():.3f}, {theirs} {other.mean():.3f}, difference {mean:+.4f} ± "
                  f"{error:.4f}, {len(splits)} splits: {verdict}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--table", action="store_true", help="only show what is in the store")
    parser.add_argument("--before", type=Path, help="the store of another version, to be compared with")
    parser.add_argument("--set", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--method", nargs="*", default=list(METHODS), choices=METHODS)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds of the tree for the model of all data")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if not options.table:
        compute(options.store, options.set, options.method, options.splits, options.limit)
    done = read(options.store)
    if options.before is not None:
        done |= {(name, f"{method}, before", s): row for (name, method, s), row in read(options.before).items()}
    methods = list(dict.fromkeys(method for _, method, _ in done))
    show(done, methods)
    for method in ("best subset", "best subset, no proof"):
        for other in (f"{method}, before", "abess", "cv.glmnet"):
            compare(done, method, other)


if __name__ == "__main__":
    main()
