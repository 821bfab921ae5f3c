"""A few searches that call kernels of all kinds; run as a script it prints what they find, compiled or not."""

from __future__ import annotations

import json

import numpy as np
import scipy.sparse as sp

from samples import hard, sample
from sparsest import best_subset, penalty_path
from sparsest.core.designs import as_design
from sparsest.subset.tree.tuning import Tuning


def found():
    """Objectives and bounds of searches by regions and by leaps, coefficients of paths, and moments of columns."""
    X, y = hard(12, 10)
    lazily = {"tuning": Tuning(full_gram=0, adapt_first=1, adapt_first_per_survivor=0.0, adapt_levels=1)}
    results = [
        best_subset(X, y, 3, gamma=0.1, gap_tol=1e-9, options=lazily),
        best_subset(*sample("squared", 20, 6), 3, gamma=np.inf),
        best_subset(*sample("logistic", 20, 6), 3, gamma=0.3, n_jobs=1),
        best_subset(*sample("hinge", 20, 6), l0_penalty=0.3, gamma=0.3, method="relaxation"),
    ]
    values = [value for result in results for value in (result.objective, result.lower_bound)]
    for storage in (np.asarray, sp.csc_array):
        values += penalty_path(storage(X), y, "mcp", alphas=5).coefs.toarray().ravel().tolist()
    for order in ("C", "F"):
        moments, products = as_design(np.asarray(X, dtype=np.float32, order=order)).survey(np.ones(12), y)
        values += [*moments.mean.tolist(), *moments.variance.tolist(), *products.tolist()]
    return values


if __name__ == "__main__":
    print(json.dumps(found()))
