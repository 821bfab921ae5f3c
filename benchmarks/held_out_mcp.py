"""MCP and SCAD for two classes, chosen by cross-validation, against ncvreg's choice on the same splits.

    python benchmarks/held_out_mcp.py [--set NAME ...] [--folds 5]

Mean AUC on held-out rows, number of features, and seconds of CPU time, beside those of ncvreg 3.16 (`cv.ncvreg` at its
defaults: ten folds, smallest deviance), which `../shared/reference/ncvreg/held_out.csv` holds for every split.  The
seconds of ncvreg are from another run, so that ratios are rough.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit

from paths import DATA
from sparsest import PenalizedClassifierCV
from sparsest.datasets import load_folder

# Splits of each set; of the last only the first rows are used for training.
SPLITS = {"ma_golub": 10, "ma_singh": 10, "arcene100": 10, "tcga_lung_mirna": 5, "spam_esl": 5}
TRAINING_ROWS = {"spam_esl": 800}
HELD_OUT_SHARE = 0.3


def splits(name):
    """Training and held-out rows as in the reference: columns that are constant in the training rows are left out."""
    data = load_folder(DATA / name)
    X = np.asarray(data.X.toarray() if hasattr(data.X, "toarray") else data.X, dtype=float)
    y = data.y == np.unique(data.y)[1]
    splitter = StratifiedShuffleSplit(SPLITS[name], test_size=HELD_OUT_SHARE, random_state=1)
    for train, test in splitter.split(X, data.y):
        rows = train[: TRAINING_ROWS.get(name)]
        varying = X[rows].std(axis=0) > 0.0
        yield X[rows][:, varying], y[rows], X[test][:, varying], y[test]


def ours(name, penalty, folds):
    """AUC, features and seconds of every split."""
    found = []
    for X, y, X_test, y_test in splits(name):
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = PenalizedClassifierCV(penalty, cv=folds).fit(X, y)
        seconds = time.process_time() - begin
        found.append((roc_auc_score(y_test, model.decision_function(X_test)), model.support_.size, seconds))
    return np.array(found)


def reference(name, penalty):
    """The same of ncvreg."""
    with open(DATA.parent / "reference" / "ncvreg" / "held_out.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if (row["data"], row["penalty"]) == (name, penalty.upper())]
    return np.array([[float(row[column]) for column in ("auc", "features", "seconds")] for row in rows])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", action="append", choices=SPLITS)
    parser.add_argument("--folds", type=int, default=None)
    asked = parser.parse_args()
    print("| data | penalty | AUC | ncvreg | difference | features | ncvreg | seconds | ncvreg |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in asked.set or SPLITS:
        for penalty in ("mcp", "scad"):
            mine, theirs = (rows.mean(axis=0) for rows in (ours(name, penalty, asked.folds), reference(name, penalty)))
            auc = f"{mine[0]:.3f} | {theirs[0]:.3f} | {mine[0] - theirs[0]:+.3f}"
            rest = f"{mine[1]:.1f} | {theirs[1]:.1f} | {mine[2]:.2f} | {theirs[2]:.2f}"
            print(f"| {name} | {penalty} | {auc} | {rest} |", flush=True)


if __name__ == "__main__":
    main()
