"""Compilation of all kernels beforehand."""

from __future__ import annotations

from itertools import product

import numpy as np
import scipy.sparse as sp

from sparsest.core.designs import as_design, compile_kernels
from sparsest.core.kernels.descent import column_products, step_change
from sparsest.core.penalties import PENALTIES, make_penalty, path_penalty
from sparsest.core.strengths import make_strengths
from sparsest.paths.api import penalty_path
from sparsest.subset.api import best_subset
from sparsest.subset.relaxation.kernels.entering import pick_working_set
from sparsest.subset.tree.kernels.leaps import leap, make_levels
from sparsest.subset.tree.kernels.regions import distance_to_integral, tighten


def warmup() -> None:
    """Solve tiny problems that together call every kernel with all usual types.

    Storage, dtype and method hardly matter: kernels always get float64 in C order.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 16))
    y = X[:, 0] + 2.0 * rng.standard_normal(12)
    labels = np.sign(y)
    _compile_for_demo()
    best_subset(X[:, :6], y, 3, gamma=np.inf, include=(0,))
    # With more features than observations the tree searches by regions, here by many, and not by leaps and bounds.
    best_subset(X, y, 4, gamma=1.0, n_jobs=1)
    # With at most three features and no ridge all choices are tried.
    best_subset(X, y, 3, gamma=np.inf)
    best_subset(X, labels, 4, gamma=1.0, loss="logistic", n_jobs=1)
    best_subset(X, labels, 4, gamma=1.0, loss="hinge", method="relaxation")
    # A problem with prices of single features counts as one with a structure.
    best_subset(X, y, 4, l0_penalty={0: 0.1}, gamma=1.0, n_jobs=1)
    best_subset(X, labels, 4, l0_penalty={0: 0.1}, gamma=1.0, loss="logistic", n_jobs=1)
    stored = np.asfortranarray(X)
    stored.flags.writeable = False
    # Dense columns with large means are not handled by the compiled walk.
    for matrix, penalty in product((stored, X + 1e8, sp.csc_array(X)), PENALTIES):
        share = 0.5 if penalty == "elastic_net" else 1.0
        # Precise enough for Newton steps; classes must not be separated.
        penalty_path(matrix, y, penalty, alphas=5, l1_ratio=share, tol=1e-6)
        penalty_path(matrix, labels, penalty, loss="logistic", alphas=5, l1_ratio=share, max_features=3, tol=0.1)
        # Concave penalties are rescaled for losses that are not squared; penalty objects are not.
        penalty_path(matrix, labels, make_penalty(penalty, share), loss="logistic", alphas=5, max_features=3, tol=0.1)
    # Limits and groups with the Lasso; other penalties with them are compiled when they are first used.
    for matrix in (stored, sp.csc_array(X)):
        penalty_path(matrix, y, positive=True, alphas=5, tol=1e-6)
    for p in (10, 16):
        penalty_path(stored[:, :p], y, feature_groups=np.arange(p) // 2, alphas=5, tol=1e-6)
    # Newton steps of rescaled penalties, which the paths above may not take.
    zeros = np.zeros(1)
    for concave in (path_penalty("mcp"), path_penalty("scad")):
        step_change(zeros, zeros, zeros, zeros, make_strengths(zeros), concave)
    compile_kernels()
    for dtype in (np.float32, np.float64):
        design = as_design(sp.csc_array(X.astype(dtype)))
        design.tdot(np.ones(12), [0])
        design.moments(np.ones(12))


def _compile_for_demo() -> None:
    """Compile first the kernels that a demo, which compiles in another process at the same time, needs last."""
    nothing, one, state, index = np.empty(0), np.ones(1), np.zeros(1, dtype=np.int8), np.zeros(1, dtype=np.int64)
    leap(make_levels(3, 1), 0, 1, 2, 1.0, 0.0, np.zeros(1, dtype=bool), np.zeros(4, dtype=np.int32), 1)
    tighten(one, 0.0, one, state, 1, 0.0, nothing, nothing, 0.0)
    distance_to_integral(one)
    pick_working_set(one, state == 1, index, 0.0, np.int64(1), np.ones(1), index.copy())
    column_products(np.ones((1, 1)), index, one, np.ones(1))
