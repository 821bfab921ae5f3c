"""Groups, limits and prices: published sizes, the nodes that nested limits and prices of rows save, abess, SCIP.

    python benchmarks/structure.py [--part sizes|nodes|rows|big-m|abess ...] [--seeds 5] [--big-m-seconds 60]

Every proof is verified in the same run, which is not timed.  The ridge is the default unless the case says otherwise.
Kernels are compiled before.

L0Group's demonstration: n = 1000, ten groups of ten, five active with coefficients of 1, ρ = 0.3, SNR 10, λ0 = 1e4,
λ2 = 1e3, big-M 3.  The demonstration does not say all; these are the two readings in which five groups are chosen.  We
limit every coefficient to 3 instead of the norm of every group: more models are admitted, and the norms of the best one
are below 3, so it is the best of both problems.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from table import Row

from sparsest import Result, Structure, best_subset
from sparsest.core.problem import make_problem
from sparsest.core.structure.rules import NestedLimits, Rules
from sparsest.subset.tree.method import Tree
from sparsest.subset.tree.tuning import DEFAULT_TUNING
from sparsest.warming import warmup


class Case(NamedTuple):
    """A data set with groups of columns."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    coef: np.ndarray


def simulated(n: int, n_groups: int, size: int, active: int, snr: float, seed: int, correlation: str | None) -> Case:
    """Normal columns; the active groups have coefficients of 1, or standard normal ones without correlation."""
    rng = np.random.default_rng(seed)
    p, groups = n_groups * size, np.repeat(np.arange(n_groups), size)
    X = rng.standard_normal((n, p))
    if correlation is not None:
        at = np.arange(p)
        distance = np.abs(at[:, None] - at)
        cov = 0.3**distance if correlation == "falling" else np.where(distance == 0, 1.0, 0.3)
        X = X @ np.linalg.cholesky(cov).T
    chosen = np.isin(groups, rng.choice(n_groups, active, replace=False))
    coef = np.where(chosen, 1.0 if correlation is not None else rng.standard_normal(p), 0.0)
    signal = X @ coef
    return Case(X, signal + np.sqrt(signal.var() / snr) * rng.standard_normal(n), groups, coef)


def timed(X: np.ndarray, y: np.ndarray, k: int | None = None, **settings) -> tuple[float, Result]:
    """Seconds and result of a best subset, whose certificate is verified afterwards."""
    began = time.perf_counter()
    result = best_subset(X, y, k, **settings)
    seconds = time.perf_counter() - began
    assert result.certificate is not None
    verdict = result.certificate.verify(X, y)
    assert verdict, verdict.reasons
    return seconds, result


def demonstration() -> Iterator[tuple[str, float, Result]]:
    """L0Group's demonstration in two readings of its loss and its correlations."""
    plain = {"max_coef": 3.0, "standardize": False, "fit_intercept": False, "gap_tol": 1e-4}
    # λ2‖w‖² beside ‖y - Xw‖² (halved here) and beside ½‖y - Xw‖².
    for correlation, loss, gamma, price in (("falling", "‖r‖²", 1e-3, 5e3), ("equal", "½‖r‖²", 5e-4, 1e4)):
        data = simulated(1000, 10, 10, 5, 10.0, 0, correlation)
        asked = {"l0_penalty": price, "gamma": gamma, "feature_groups": data.groups, **plain}
        timed(data.X, data.y, **asked)
        seconds, result = timed(data.X, data.y, **asked)
        norms = np.sqrt(np.bincount(data.groups, result.coef**2))
        assert set(data.groups[result.support]) == set(data.groups[data.coef != 0.0]) and norms.max() <= 3.0
        yield f"L0Group's demonstration, {loss}, {correlation} correlations", seconds, result


def many_groups(seeds: int) -> Iterator[tuple[str, float, Result]]:
    """2,000 groups of five, ten of them true."""
    for seed in range(seeds):
        data = simulated(1000, 2000, 5, 10, 5.0, seed, None)
        seconds, result = timed(data.X, data.y, 10, feature_groups=data.groups)
        yield f"2,000 groups of 5, seed {seed}", seconds, result


class NumberAlone(Rules):
    """Rules of which bounds keep only the number of units; propagation keeps all."""

    def nested(self, k: int) -> NestedLimits:
        """The limits of no rules."""
        return Rules(self.n_units).nested(k)


# How many times as many nodes the bound of k alone may take.
MOST_NODES = 20


def one_of_each(seeds: int) -> Iterator[tuple[str, int, int, bool]]:
    """Nodes with nested limits, and with the bound of k alone, which may be stopped at a multiple of them.

    One of each of 20 groups of three; the strongest nine features are in three groups.
    """
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        n, n_groups, k = 200, 20, 6
        X, w = rng.standard_normal((n, 3 * n_groups)), np.zeros(3 * n_groups)
        w[:9] = rng.uniform(1.0, 1.5, 9)
        w[9 : 3 * k : 3] = rng.uniform(0.5, 1.0, k - 3)
        y = X @ w + rng.standard_normal(n)
        limits = Structure(limits=[(range(3 * g, 3 * g + 3), 1) for g in range(n_groups)])
        problem = make_problem(X, y, k, gamma=5.0 / n, structure=limits)
        result = Tree(time_limit=np.inf, n_jobs=1).solve(problem)
        assert result.status.name == "OPTIMAL" and result.certificate is not None and result.certificate.verify(X, y)
        rules = problem.sparsity.rules
        weak = problem.with_sparsity(replace(problem.sparsity, rules=NumberAlone(rules.n_units, rules.limits)))
        other = Tree(time_limit=np.inf, n_jobs=1, node_limit=MOST_NODES * max(result.n_nodes, 10)).solve(weak)
        yield f"one of each of 20 groups, seed {seed}", result.n_nodes, other.n_nodes, other.status.name == "OPTIMAL"


def contradicted(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, dict]:
    """A problem with rules that exclude the true features, which bounds know through prices of rows only."""
    n, p, k = 200, 40, 8
    X, w = rng.standard_normal((n, p)), np.zeros(p)
    if kind == "costs":
        true = rng.choice(p, 12, replace=False)
        w[true] = rng.uniform(0.5, 1.5, 12)
        costs = rng.uniform(1.0, 3.0, p) + 2.0 * w
        settings = {"k": 12, "structure": Structure(costs=costs.tolist(), max_cost=0.4 * float(costs[true].sum()))}
    elif kind == "columns":
        sizes = rng.integers(1, 6, 20)
        groups = np.repeat(np.arange(20), sizes)
        true, X = rng.choice(20, k, replace=False), rng.standard_normal((n, groups.size))
        w = np.where(np.isin(groups, true), rng.uniform(0.15, 0.5, groups.size), 0.0)
        limit = Structure(max_columns=int(0.5 * sizes[true].sum()))
        settings = {"k": k, "feature_groups": groups.tolist(), "structure": limit}
    elif kind in ("strong heredity", "weak heredity"):
        A, pairs = rng.standard_normal((n, 10)), [(a, b) for a in range(10) for b in range(a)]
        X = np.column_stack([A, *(A[:, a] * A[:, b] for a, b in pairs)])
        w = np.append(rng.uniform(0.0, 0.3, 10), np.zeros(45))
        w[10 + rng.choice(45, 5, replace=False)] = rng.uniform(0.5, 1.2, 5)
        how = "all" if kind == "strong heredity" else "any"
        settings = {"k": k, "structure": Structure(requires=[(10 + i, list(ab), how) for i, ab in enumerate(pairs)])}
    elif kind == "exclusive pairs":
        for j in range(1, p):
            X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
        for at in rng.choice(p // 4, 5, replace=False):
            w[4 * at : 4 * at + 3] = rng.uniform(0.5, 1.2, 3)
        near = [[a, b] for a in range(p) for b in range(max(a - 2, 0), a) if rng.random() < 0.7]
        settings = {"k": k, "structure": Structure(exclusive=near)}
    else:
        w[:k] = rng.uniform(0.5, 1.2, k)
        settings = {"k": k, "structure": Structure(limits=[(range(8, 24), 3, 16), (range(20, 40), 2, 20)])}
    return X, X @ w + rng.standard_normal(n), settings


CONTRADICTED = ("costs", "columns", "strong heredity", "weak heredity", "exclusive pairs", "least numbers")


def with_prices(seeds: int) -> Iterator[tuple[str, int, float, int, float, bool]]:
    """Nodes and seconds of CPU time with prices of rows, and without, stopped at a multiple of these nodes."""
    plain = DEFAULT_TUNING._replace(first_price_steps=0)
    for kind in CONTRADICTED:
        for seed in range(seeds):
            X, y, settings = contradicted(kind, np.random.default_rng(seed))
            problem = make_problem(X, y, settings.pop("k"), gamma=10.0 / len(y), **settings)
            began = time.process_time()
            result = Tree(time_limit=np.inf, n_jobs=1).solve(problem)
            seconds = time.process_time() - began
            assert result.status.name == "OPTIMAL" and result.certificate is not None
            assert result.certificate.verify(X, y)
            most, began = MOST_NODES * max(result.n_nodes, 10), time.process_time()
            other = Tree(time_limit=np.inf, n_jobs=1, node_limit=most, tuning=plain).solve(problem)
            spent = time.process_time() - began
            yield f"{kind}, seed {seed}", result.n_nodes, seconds, other.n_nodes, spent, other.status.name == "OPTIMAL"


def against_abess(seeds: int) -> Iterator[tuple[str, float, float, float, Result]]:
    """The relative excess of the objective of abess's groups, with or without its ridge, over ours; seconds of both."""
    from abess.linear import LinearRegression

    for seed in range(seeds):
        for n, snr in ((200, 2.0), (100, 1.0)):
            data = simulated(n, 100, 4, 8, snr, seed, None)
            X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
            seconds, result = timed(X, data.y, 8, feature_groups=data.groups, standardize=False, time_limit=20.0)
            gamma = result.statement.gamma
            found, began = [], time.perf_counter()
            for alpha in (0.0, 1.0 / gamma):
                peer = LinearRegression(support_size=8, alpha=alpha, group=data.groups).fit(X, data.y)
                found.append(np.flatnonzero(np.isin(data.groups, np.unique(data.groups[peer.coef_ != 0.0]))))
            theirs = 0.5 * (time.perf_counter() - began)
            excess = min(ridge_value(X[:, chosen], data.y, gamma) for chosen in found) / result.objective - 1.0
            yield f"abess, {n} × 100 groups of 4, SNR {snr:g}, seed {seed}", excess, seconds, theirs, result


def ridge_value(X: np.ndarray, y: np.ndarray, gamma: float) -> float:
    """The least losses and ridge of some columns."""
    centred = y - y.mean()
    w = np.linalg.solve(X.T @ X + np.eye(X.shape[1]) / gamma, X.T @ centred)
    return float(0.5 * ((centred - X @ w) ** 2).sum() + 0.5 / gamma * (w @ w))


def big_m(X: np.ndarray, y: np.ndarray, groups: np.ndarray, k: int, gamma: float, limit: float, seconds: float):
    """Seconds, objective and whether it is proved: |w_j| ≤ M z_g, Σz ≤ k, by SCIP."""
    import cvxpy as cp

    w, b, z = cp.Variable(X.shape[1]), cp.Variable(), cp.Variable(groups.max() + 1, boolean=True)
    objective = 0.5 * cp.sum_squares(y - X @ w - b) + 0.5 / gamma * cp.sum_squares(w)
    model = cp.Problem(cp.Minimize(objective), [cp.abs(w) <= limit * z[groups], cp.sum(z) <= k])
    began = time.perf_counter()
    model.solve(solver=cp.SCIP, scip_params={"limits/time": seconds, "limits/gap": 1e-4})
    return time.perf_counter() - began, float(model.value), model.status == "optimal"


def against_big_m(seeds: int, most: float) -> Iterator[tuple[str, float, float, float, bool]]:
    """Our seconds, SCIP's, the relative difference of objectives, and whether SCIP ended."""
    for seed in range(seeds):
        data = simulated(100, 15, 3, 4, 2.0, seed, None)
        asked = {"feature_groups": data.groups, "standardize": False, "max_coef": 3.0, "gamma": 0.1}
        timed(data.X, data.y, 4, **asked)
        seconds, result = timed(data.X, data.y, 4, **asked)
        theirs, objective, ended = big_m(data.X, data.y, data.groups, 4, 0.1, 3.0, most)
        yield (
            f"big-M in SCIP, 100 × 15 groups of 3, seed {seed}",
            seconds,
            theirs,
            objective / result.objective - 1,
            ended,
        )


def rows() -> Iterator[Row]:
    """All figures with a target."""
    warmup()
    warnings.simplefilter("ignore")
    for case, seconds, _ in demonstration():
        yield Row(case, seconds, "s", 0.5)
    for case, seconds, _ in many_groups(2):
        yield Row(case, seconds, "s", 10.0)
    counts = [(nested, alone) for _, nested, alone, _ in one_of_each(10)]
    share = sum(nested for nested, _ in counts) / sum(alone for _, alone in counts)
    yield Row("one of each of 20 groups: nodes of ten instances", share, "of k alone", 0.25)
    for case, ours, theirs, _, _ in against_big_m(2, 60.0):
        yield Row(case, ours / theirs, "of its time", 0.02)


def show_sizes(seeds: int, _: float) -> None:
    for case, seconds, result in (*demonstration(), *many_groups(seeds)):
        what = f"{result.status.name}, gap {result.gap:.1e}, {result.n_nodes} nodes"
        print(f"{case:<60}{seconds:8.2f} s, {what}", flush=True)


def show_nodes(seeds: int, _: float) -> None:
    for case, nested, alone, ended in one_of_each(seeds):
        print(f"{case:<60}{nested:6d} nodes, with k alone {'' if ended else 'above '}{alone}", flush=True)


def show_rows(seeds: int, _: float) -> None:
    for case, nodes, seconds, others, their_seconds, ended in with_prices(seeds):
        what = f"without prices {'' if ended else 'above '}{others} nodes, {their_seconds:.2f} s"
        print(f"{case:<60}{nodes:6d} nodes, {seconds:.2f} s, {what}", flush=True)


def show_big_m(seeds: int, most: float) -> None:
    for case, ours, theirs, excess, ended in against_big_m(seeds, most):
        what = f"SCIP {theirs:.2f} s{'' if ended else ' (stopped)'}, its objective {excess:+.1e}"
        print(f"{case:<60}{ours:8.3f} s, {what}, {theirs / ours:.0f} times", flush=True)


def show_abess(seeds: int, _: float) -> None:
    for case, excess, ours, theirs, result in against_abess(seeds):
        proved = f"{result.status.name}, gap {result.gap:.1e}"
        print(f"{case:<60}{ours:8.2f} s, {proved}, abess {theirs:.3f} s, its excess {excess:+.1e}", flush=True)


PARTS = {"sizes": show_sizes, "nodes": show_nodes, "rows": show_rows, "big-m": show_big_m, "abess": show_abess}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--big-m-seconds", type=float, default=60.0)
    given = parser.parse_args()
    warmup()
    warnings.simplefilter("ignore")
    for part in given.part:
        PARTS[part](given.seeds, given.big_m_seconds)


if __name__ == "__main__":
    main()
