"""A box of coefficients: what ``max_coef`` does to the bounds of a hard classification problem.

Squared hinge, n = 1000, p = 5000, k = 10, ρ = 0.3, SNR 6, nγ = 100; M is a multiple of the largest coefficient of the
model that the local search finds.  Bounds are held against its objective: it is a model of each of the problems.

    python benchmarks/boxes.py [--seconds 60] [--nodes 512]
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from table import Row

from sparsest import best_subset
from sparsest.datasets import make_toeplitz

N, P, K, SCALED_GAMMA = 1000, 5000, 10, 100.0
FACTORS = (None, 2.0, 1.5, 1.2, 1.0)
SETTINGS = {"loss": "squared_hinge", "gamma": SCALED_GAMMA / N, "standardize": False}
# Of the gap without a box, what a box of 1.5 times the largest coefficient is to leave; and the root's at 1.2, which is
# 41 % when rounded.
WANTED_SHARE, WANTED_ROOT = 0.5, 0.415


def instance():
    data = make_toeplitz(N, P, K, rho=0.3, snr=6.0, task="classification", rng=0)
    model = best_subset(data.X, data.y, K, method="local", **SETTINGS)
    return data, model.objective, float(np.abs(model.coef).max())


def gap(data, best, box, **limits):
    """The gap to the best model, nodes, and seconds of wall clock and of all processors."""
    wall, processors = time.perf_counter(), time.process_time()
    result = best_subset(data.X, data.y, K, max_coef=box, **SETTINGS, **limits)
    spent = time.perf_counter() - wall, time.process_time() - processors
    return max(best - result.lower_bound, 0.0) / best, result.n_nodes, *spent


def rows(limits=None):
    warnings.simplefilter("ignore", ConvergenceWarning)
    limits = limits or {"time_limit": 60.0}
    data, best, largest = instance()
    root = gap(data, best, 1.2 * largest, method="relaxation", options={"polish": False})[0]
    yield Row("root gap with M = 1.2 max|w|", 100.0 * root, "%", 100.0 * WANTED_ROOT)
    free, boxed = (gap(data, best, box, **limits)[0] for box in (None, 1.5 * largest))
    yield Row("gap with M = 1.5 max|w|, of that without", boxed / free, "times", WANTED_SHARE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--nodes", type=int, help="stop after this many nodes instead, so that load does not matter")
    asked = parser.parse_args()
    limits = {"time_limit": asked.seconds} if asked.nodes is None else {"node_limit": asked.nodes, "time_limit": np.inf}
    warnings.simplefilter("ignore", ConvergenceWarning)
    data, best, largest = instance()
    print(f"objective {best:.6g}, largest coefficient {largest:.4g}")
    for factor in FACTORS:
        box = None if factor is None else factor * largest
        root = gap(data, best, box, method="relaxation", options={"polish": False})
        tree = gap(data, best, box, **limits)
        print(
            f"M = {'inf' if factor is None else f'{factor:g} max|w|':<12} root {root[0]:6.1%}   tree {tree[0]:8.2%},"
            f" {tree[1]:6} nodes, {tree[2]:6.1f} s, {tree[3]:6.1f} s of processors",
            flush=True,
        )


if __name__ == "__main__":
    main()
