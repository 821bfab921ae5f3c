"""What a process has to compile after ``sparsest.warming.warmup`` in another; run as a script it prints it as JSON."""

from __future__ import annotations

import json
import sys
import warnings
from itertools import product

import numpy as np
import scipy.sparse as sp
from numba.core import event
from sklearn.exceptions import ConvergenceWarning

from checks import best_subset, best_subset_path
from covering import pairwise_cases
from samples import SMOOTH_NAMES, sample
from sparsest import near_optimal, penalty_path
from sparsest.core.losses import LOSSES
from sparsest.core.penalties import PENALTIES
from sparsest.datasets import load_diabetes_quadratic
from sparsest.subset.api import METHODS

STORAGES = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "CSC": sp.csc_array,
    "CSR": sp.csr_array,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "float32": lambda X: X.astype(np.float32),
    "float32 F": lambda X: np.asfortranarray(X, dtype=np.float32),
    "float32 CSC": lambda X: sp.csc_array(X.astype(np.float32)),
    "integers": lambda X: np.round(3.0 * X).astype(int),
    "read-only": lambda X: sealed(np.ascontiguousarray(X)),
    "read-only F": lambda X: sealed(np.asfortranarray(X)),
}
FORMS = (
    {"k": 2},
    {"l0_penalty": 0.4},
    {"k": 2, "l0_penalty": {0: 0.4}},
    {"k": 0},
    {"k": 1},
    {"k": 4, "include": (1, 3), "exclude": (0,)},
)


class Listener(event.Listener):
    """Notes what is compiled."""

    def __init__(self):
        self.compiled = []

    def on_start(self, event):
        self.compiled.append(f"{event.data['dispatcher'].__name__}{event.data['args']}")

    def on_end(self, event):
        pass


def sealed(X):
    X = X.copy(order="K")
    X.flags.writeable = False
    return X


def fit_subsets():
    """Every loss with every method, form, shape and storage, and any two of these; matrices of one column or row."""
    for loss, method, form in pairwise_cases(LOSSES, METHODS, FORMS):
        X, y = sample(loss, 14, 6)
        few = {"max_iterations": 10} if method == "subgradient" else {}
        best_subset(X, y, **form, loss=loss, method=method, gamma=0.3, time_limit=np.inf, options=few)
    for loss, shape, form in pairwise_cases(LOSSES, ((14, 1), (3, 2), (10, 13)), ({"k": 1}, {"l0_penalty": 0.2})):
        X, y = sample(loss, *shape)
        best_subset(X, y, **form, loss=loss, gamma=1.0, fit_intercept=False, time_limit=np.inf)
    for loss, storage in product(LOSSES, STORAGES.values()):
        X, y = sample(loss, 14, 16)
        settings = {"sample_weight": np.linspace(0.5, 2.0, 14), "standardize": True, "time_limit": np.inf}
        best_subset(storage(X), y, 3, loss=loss, gamma=0.3, method="relaxation", **settings)
    for loss in LOSSES:
        X, y = sample(loss, 14, 6)
        near_optimal(best_subset(X, y, 2, loss=loss, gamma=0.3), X, y, within=0.05)
        best_subset_path(X, y, [1, 3], gamma=0.3, loss=loss, time_limit=np.inf)
        for method, gamma in product(("tree", "relaxation"), (0.3, np.inf)):
            best_subset(X, y, 2, gamma=gamma, loss=loss, max_coef=0.3, method=method, time_limit=np.inf)
    best_subset(X.astype(np.float32), y.astype(np.float32), 2, gamma=1)
    for storage in STORAGES.values():
        X, y = sample("squared", 14, 16)
        best_subset(storage(X), y, 3, gamma=0.3, standardize=True, time_limit=np.inf)


def fit_special_cases():
    """Leaps and bounds, and more features than observations, where ridges are shifted."""
    diabetes = load_diabetes_quadratic()
    for k in (1, 3, 64):
        best_subset(diabetes.X, diabetes.y, k, gamma=np.inf, standardize=True)
    best_subset(diabetes.X, diabetes.y, 5, gamma=np.inf, include=(3,))
    best_subset(diabetes.X, diabetes.y, l0_penalty=5000.0, gamma=np.inf, standardize=True, node_limit=2000)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 200)) + rng.standard_normal((40, 1))
    y = X[:, :4].sum(axis=1) + 6.0 * rng.standard_normal(40)
    shifted = best_subset(X, y, 6, gamma=0.1, gap_tol=0.0, node_limit=1000)
    assert "adapting" in shifted.trace["seconds"]
    X = rng.standard_normal((30, 1600))
    best_subset(X, X[:, 0] + 3.0 * rng.standard_normal(30), 3, gamma=0.1, gap_tol=0.0, node_limit=100)


def fit_paths():
    """Every penalty with every smooth loss, and with every storage; matrices of one column."""
    # Tiny samples of two classes are separated: concave penalties find no minimum there, and say so.
    warnings.simplefilter("ignore", ConvergenceWarning)
    cases = [*product(SMOOTH_NAMES, PENALTIES, ("C", "CSC")), *product(("squared",), PENALTIES, STORAGES)]
    for loss, penalty, storage in cases:
        settings = {"l1_ratio": 0.3} if penalty == "elastic_net" else {}
        for shape in ((20, 6), (12, 30)):
            X, y = sample(loss, *shape)
            factor = np.arange(shape[1]) % 3
            X = STORAGES[storage](X)
            penalty_path(X, y, penalty, loss=loss, alphas=8, penalty_factor=factor, **settings)
    for p in (1, 2):
        X, y = sample("squared", 15, p)
        for storage in STORAGES.values():
            penalty_path(storage(X), y, alphas=3, concavity=3, penalty="mcp")


if __name__ == "__main__":
    listener = Listener()
    event.register("numba:compile", listener)
    fit_subsets()
    fit_special_cases()
    fit_paths()
    registries = [name for name in ("numba.np.npyimpl", "numba.cpython.mathimpl") if name in sys.modules]
    print(json.dumps({"compiled": listener.compiled, "registries": registries}))
