"""The value of one support for the hinge and ε-insensitive losses: our interior-point method against libsvm.

Both fit the same columns at the same γ.  libsvm's tolerance is tightened until its relative primal-dual gap, computed
by us from its coefficients and dual variables, is as small as ours, or until the limit of its iterations or of time.

    python benchmarks/support_value.py --rows 200 1000 --columns 5 20
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR

from sparsest.core.problem import Problem, make_problem
from sparsest.datasets import make_toeplitz
from sparsest.subset.fits.support import fit_support

EPSILON = 0.1
MAX_ITERATIONS = 2_000_000
SETTINGS = {"kernel": "linear", "cache_size": 500, "max_iter": MAX_ITERATIONS}


class Timing(NamedTuple):
    seconds: float
    gap: float


def relative_gap(problem: Problem, w: np.ndarray, b: float, alpha: np.ndarray) -> float:
    """The gap between a model's objective and the value of the nearest feasible dual point."""
    block = problem.design.columns(np.arange(problem.p))
    primal = problem.primal(block @ w + b, w, 0)
    alpha = problem.feasible(alpha)
    dual = -problem.conjugate_sum(alpha) - 0.5 * problem.gamma * float(np.square(block.T @ alpha).sum())
    return (primal - dual) / primal


def ours(problem: Problem) -> Timing:
    best = np.inf
    for _ in range(3):
        begin = time.perf_counter()
        fit = fit_support(problem, np.arange(problem.p))
        best = min(best, time.perf_counter() - begin)
    return Timing(best, relative_gap(problem, fit.w, fit.b, fit.alpha))


def libsvm(problem: Problem, target: float, limit: float) -> Timing:
    """The first of ever tighter tolerances whose gap reaches the target, or the last that was tried."""
    block = problem.design.columns(np.arange(problem.p))
    machine = SVC(C=problem.gamma, **SETTINGS) if problem.loss.classification else None
    machine = machine or SVR(C=problem.gamma, epsilon=EPSILON, **SETTINGS)
    began = time.perf_counter()
    for tolerance in (1e-3, 1e-5, 1e-7, 1e-9):
        begin = time.perf_counter()
        machine.set_params(tol=tolerance).fit(block, problem.y)
        seconds = time.perf_counter() - begin
        alpha = np.zeros(problem.n)
        alpha[machine.support_] = -machine.dual_coef_[0] / problem.gamma
        timing = Timing(seconds, relative_gap(problem, machine.coef_[0], float(machine.intercept_[0]), alpha))
        if timing.gap <= target or time.perf_counter() - began > limit:
            break
    return timing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[200, 1000, 5000])
    parser.add_argument("--columns", type=int, nargs="*", default=[5, 20, 100])
    parser.add_argument("--n-gamma", type=float, nargs="*", default=[1.0, 10.0, 1000.0], help="values of n times γ")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds after which libsvm is not tightened")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"{'loss':<20}{'n':>6}{'|s|':>5}{'nγ':>8}{'ours s':>10}{'gap':>10}{'libsvm s':>10}{'gap':>10}{'ratio':>8}")
    cases = itertools.product(("hinge", "epsilon_insensitive"), options.rows, options.columns, options.n_gamma)
    for loss, n, m, n_gamma in cases:
        task = "classification" if loss == "hinge" else "regression"
        data = make_toeplitz(n, m, min(5, m), rho=0.5, snr=2.0, task=task, rng=0)
        problem = make_problem(data.X, data.y, m, gamma=n_gamma / n, loss=loss, epsilon=EPSILON)
        mine = ours(problem)
        theirs = libsvm(problem, max(mine.gap, 1e-8), options.limit)
        print(
            f"{loss:<20}{n:>6}{m:>5}{n_gamma:>8g}{mine.seconds:>10.4f}{mine.gap:>10.1e}"
            f"{theirs.seconds:>10.4f}{theirs.gap:>10.1e}{theirs.seconds / mine.seconds:>8.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
