"""Losses of counts and costs: penalty paths against glmnet, best subsets against abess, wide ranges, real data.

    python benchmarks/losses.py [--part paths subsets ranges real ...] [--limit 30] [--repeat 3]

``paths``: Poisson and logistic Lasso and elastic-net paths, as in ``paths.py``: same data and alphas, times of the
solvers alone.  ``subsets``: abess with the same k and ridge; its support is refitted with ours, so that both answers
are values of one objective.  ``ranges``: counts whose means go from 0.05 to 5,000.  ``real``: comments on blog posts,
and salaries of baseball players (the folder ``shared/data``).  Every best subset comes with its gap, and its
certificate is verified.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import paths
from paths import N_ALPHAS, RATIO, SETTINGS
from sparsest import best_subset
from sparsest.core.data import make_data
from sparsest.core.penalties import make_penalty
from sparsest.core.problem import make_problem
from sparsest.core.ridge import default_gamma
from sparsest.datasets import load_folder, make_toeplitz
from sparsest.paths.api import penalty_path
from sparsest.subset.fits.support import fit_support

# Objectives that are this near, relatively, have the same deviances to four digits.
EQUAL = 1e-4
PATH_CASES = ("1000x5000", "5000x1000", "csc 1000x5000")


def responses(loss: str, signal, rng):
    """Counts, costs or labels whose (logarithms of) means follow a signal."""
    u = signal / signal.std()
    if loss == "logistic":
        return np.where(u + rng.standard_normal(u.size) > 0, 1.0, -1.0)
    if loss == "gamma":
        return rng.gamma(2.0, 0.5, u.size) * np.exp(0.5 * u)
    if loss == "negative_binomial":
        return rng.poisson(rng.gamma(1.0, 1.0, u.size) * np.exp(1.0 + 0.5 * u)).astype(float)
    return rng.poisson(np.exp(1.0 + 0.5 * u)).astype(float)


def compare_paths(cases, repeat: int) -> None:
    """Our time over glmnet's at its default tolerance and at the first that is as precise, and both deviances."""
    for case in cases:
        X, signal = paths.CASES[case]()
        X = paths.standardise(X)
        for loss in ("poisson", "logistic"):
            y = responses(loss, signal, np.random.default_rng(1))
            for name in ("l1", "elastic_net"):
                compare_path(case, X, y, name, loss, repeat)


def compare_path(case, X, y, name, loss, repeat) -> None:
    start = penalty_path(X, y, name, loss=loss, alphas=1, standardize=False, **SETTINGS[name])
    alphas = np.geomspace(start.alphas[0], RATIO * start.alphas[0], N_ALPHAS)
    penalty = make_penalty(name, **SETTINGS[name])
    seconds, path = paths.ours(X, y, alphas, name, loss, repeat, {})
    solution = path.coefs[:, path.solved], path.intercepts[path.solved]
    mine = paths.objectives(X, y, *solution, alphas[: solution[1].size], penalty, loss)
    print(
        f"\n{case}  {loss}  {name}: {seconds:.3f} s, {mine.size} alphas, {solution[0][:, [-1]].nnz} features",
        flush=True,
    )
    for tol in paths.LADDER:
        theirs_seconds, *other = paths.glmnet(X, y, alphas, name, loss, repeat, tol)
        theirs = paths.objectives(X, y, *other, alphas[: other[1].size], penalty, loss)
        m = min(theirs.size, mine.size)
        excess = theirs[:m] / mine[:m] - 1.0
        ends = [paths.objectives(X, y, c[:, [m - 1]], b[m - 1], 0.0, penalty, loss)[0] for c, b in (solution, other)]
        print(
            f"    glmnet {theirs_seconds:.3f} s at {tol:.0e}: ours/theirs {seconds / theirs_seconds:.2f}, their excess "
            f"{excess.max():.1e}, ours {-excess.min():.1e}, half deviance at the end {ends[0]:.6f} and {ends[1]:.6f}",
            flush=True,
        )
        if excess.max() <= EQUAL:
            break


def solve(X, y, k, limit, **settings):
    """Our answer with its time, and whether its certificate holds."""
    start = time.perf_counter()
    result = best_subset(X, y, k, time_limit=limit, **settings)
    seconds = time.perf_counter() - start
    verdict = result.certificate.verify(X, y, **{name: settings[name] for name in ("exposure",) if name in settings})
    return seconds, result, "verified" if verdict else f"REFUSED: {verdict.reasons}"


def compare_subsets(limit: float) -> None:
    from abess import GammaRegression, PoissonRegression

    for loss, peer in (("poisson", PoissonRegression), ("gamma", GammaRegression)):
        for n, p, k, rho in ((500, 1000, 6, 0.5), (500, 1000, 10, 0.8), (1000, 200, 10, 0.9), (200, 2000, 5, 0.5)):
            data = make_toeplitz(n, p, k, rho=rho, snr=2.0, rng=0)
            X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
            y = responses(loss, X @ data.coef, np.random.default_rng(1))
            gamma = default_gamma(make_data(X, y, loss=loss))
            seconds, result, checked = solve(X, y, k, limit, loss=loss, gamma=gamma, standardize=False)
            start = time.perf_counter()
            model = peer(support_size=k, alpha=1.0 / (2.0 * gamma)).fit(X, y)
            theirs_seconds = time.perf_counter() - start
            problem = make_problem(X, y, k, loss=loss, gamma=gamma)
            theirs = fit_support(problem, np.flatnonzero(model.coef_)).primal
            print(
                f"{loss} {n} x {p}, k = {k}, rho = {rho}: ours {result.objective:.6f} (gap {result.gap:.1e}, "
                f"{result.n_nodes} nodes, {seconds:.2f} s, {checked}), abess {theirs:.6f} ({theirs_seconds:.2f} s), "
                f"abess - ours {theirs - result.objective:+.1e}",
                flush=True,
            )


def wide_ranges(limit: float) -> None:
    """No overflow for any means: warnings are errors here, except that of a search that stops early."""
    rng = np.random.default_rng(0)
    n, p, k = 1000, 200, 5
    X = rng.standard_normal((n, p))
    u = X[:, :k] @ np.ones(k)
    u = np.log(0.05) + (u - u.min()) / np.ptp(u) * np.log(5000.0 / 0.05)
    means = np.exp(u)
    draws = {
        "poisson": rng.poisson(means),
        "negative_binomial": rng.poisson(means * rng.gamma(1.0, 1.0, n)),
        "tweedie": rng.poisson(means),
        "gamma": means * rng.gamma(2.0, 0.5, n),
    }
    for loss, y in draws.items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ConvergenceWarning)
            seconds, result, checked = solve(X, y.astype(float), k, limit, loss=loss)
            path = penalty_path(X, y, loss=loss, alphas=50)
        print(
            f"{loss}: means {means.min():.2f} to {means.max():.0f}, y up to {y.max():.0f}: support "
            f"{result.support.tolist()}, gap {result.gap:.1e}, {seconds:.2f} s, {checked}; path of {path.solved.sum()} "
            f"alphas, {path.converged[path.solved].mean():.0%} converged, {path.seconds:.2f} s",
            flush=True,
        )


def real_data(limit: float) -> None:
    blog, players = load_folder(paths.DATA / "blogfeedback"), load_folder(paths.DATA / "hitters")
    cases = [
        ("comments on blog posts", blog.X, blog.y, blog.feature_names, ("poisson", "negative_binomial"), (3, 5)),
        ("salaries of players", players.X, np.exp(players.y), players.feature_names, ("gamma",), (4, 8)),
    ]
    for title, X, y, names, losses, ks in cases:
        for loss in losses:
            for k in ks:
                seconds, result, checked = solve(X, y, k, limit, loss=loss, feature_names=names)
                margin = X @ result.coef + result.intercept
                null = make_problem(X, y, 0, loss=loss)
                whole = fit_support(null, []).primal
                explained = 1.0 - float(result.loss.value(np.asarray(y, dtype=float), margin).sum()) / whole
                print(
                    f"{title}, {X.shape[0]} x {X.shape[1]}, {loss}, k = {k}: {', '.join(result.names)}; explained "
                    f"deviance {explained:.3f}, gap {result.gap:.1e}, {result.n_nodes} nodes, {seconds:.1f} s, "
                    f"{checked}",
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = ("paths", "subsets", "ranges", "real")
    parser.add_argument("--part", nargs="*", default=parts, choices=parts)
    parser.add_argument("--case", nargs="*", default=PATH_CASES, choices=list(paths.CASES))
    parser.add_argument("--limit", type=float, default=30.0)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    if "paths" in options.part:
        compare_paths(options.case, options.repeat)
    if "subsets" in options.part:
        compare_subsets(options.limit)
    if "ranges" in options.part:
        wide_ranges(options.limit)
    if "real" in options.part:
        real_data(options.limit)


if __name__ == "__main__":
    main()
