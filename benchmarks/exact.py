"""Exact best subset against other exact solvers: one run, same data, same tolerance, warm.

Every answer is re-evaluated in one objective.

    python benchmarks/exact.py [--part strong|targets|hard|noridge|classes|cost ...] [--limit 60] [--peers okridge
    gurobi ...]

Peers: OKRidge (at most k features), the paper's outer approximation on Gurobi's free licence (``engine="gurobi"``, p
≤ 1900) and on HiGHS, and L0BnB and El0ps, which solve the penalised form (there ours is timed on the same penalised
problem).  R's ``leaps`` for the problem without a ridge.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from sparsest import best_subset
from sparsest.datasets import load_folder, make_toeplitz

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
TOLERANCE = 1e-4


def objective(X, y, w, ridge):
    return 0.5 * float(np.sum((y - X @ w) ** 2)) + 0.5 * ridge * float(w @ w)


def ours(X, y, limit, **settings):
    start = time.perf_counter()
    result = best_subset(X, y, fit_intercept=False, time_limit=limit, gap_tol=TOLERANCE, **settings)
    return time.perf_counter() - start, result


def okridge(X, y, k, ridge, limit):
    from okridge.tree import BNBTree

    start = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        tree = BNBTree(X=np.ascontiguousarray(X), y=y, lambda2=ridge, max_memory_GB=8)
        _, w, gap, _, _ = tree.solve(k=k, gap_tol=TOLERANCE, verbose=False, time_limit=limit)
    return time.perf_counter() - start, objective(X, y, np.asarray(w), ridge), gap


def gurobi(X, y, k, ridge, limit):
    if X.shape[1] > 1900:
        return None
    seconds, result = ours(X, y, limit, k=k, gamma=1 / ridge, method="cuts", engine="gurobi")
    return seconds, result.objective, result.gap


def highs(X, y, k, ridge, limit):
    seconds, result = ours(X, y, limit, k=k, gamma=1 / ridge, method="cuts")
    return seconds, result.objective, result.gap


def l0bnb(X, y, price, ridge, limit, size):
    from l0bnb import BNBTree

    start = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        found = BNBTree(np.ascontiguousarray(X), y).solve(
            price, 0.5 * ridge, 5 * size, gap_tol=TOLERANCE, time_limit=limit
        )
    w = np.asarray(found.beta)
    return time.perf_counter() - start, objective(X, y, w, ridge) + price * np.count_nonzero(w), found.gap


def el0ps(X, y, price, ridge, limit, size):
    from el0ps.datafit import Leastsquares
    from el0ps.penalty import L2norm
    from el0ps.solver import BnbSolver

    start = time.perf_counter()
    solver = BnbSolver(relative_gap=TOLERANCE, time_limit=limit)
    found = solver.solve(Leastsquares(y), L2norm(0.5 * ridge), np.asfortranarray(X), price)
    w = np.asarray(found.x)
    return (
        time.perf_counter() - start,
        objective(X, y, w, ridge) + price * np.count_nonzero(w),
        found.rel_gap if hasattr(found, "rel_gap") else np.nan,
    )


CONSTRAINED = {"okridge": okridge, "gurobi": gurobi, "highs": highs}
PENALISED = {"l0bnb": l0bnb, "el0ps": el0ps}


def attempt(peer, *arguments):
    """A peer's time, objective and gap, or why there is none."""
    try:
        return peer(*arguments)
    except Exception as error:  # a peer that fails is reported, not hidden
        return f"{type(error).__name__}: {error}"[:70]


def show(name, found, seconds, best):
    if found is None:
        return
    if isinstance(found, str):
        print(f"    {name:8s} {found}", flush=True)
        return
    print(
        f"    {name:8s} {found[0]:8.2f} s  {found[0] / seconds:8.1f} x ours  gap {found[2]:.1e}"
        f"  objective {found[1] / best - 1:+.1e} relative to ours",
        flush=True,
    )


def compare(title, data, k, ridge, limit, peers):
    X, y = data.X, data.y
    seconds, result = ours(X, y, limit, k=k, gamma=1 / ridge)
    tree = result.trace["seconds"].get("tree", 0.0)
    root_gap = (result.objective - result.trace["relaxation"]["dual"]) / result.objective
    print(
        f"{title}: {result.status.name} gap {result.gap:.2e}  {seconds:.2f} s (tree {tree:.2f} s),"
        f" {result.n_nodes} nodes,"
        f" {result.trace['nodes_per_second']:.0f} nodes/s, root gap {root_gap:.1e}",
        flush=True,
    )
    for name in set(peers) & set(CONSTRAINED):
        show(name, attempt(CONSTRAINED[name], X, y, k, ridge, limit), seconds, result.objective)
    penalised = sorted(set(peers) & set(PENALISED))
    if penalised:
        values = [ours(X, y, limit, k=j, gamma=1 / ridge, method="local")[1].objective for j in (k - 1, k + 1)]
        price, size = 0.5 * (values[0] - values[1]), float(np.abs(result.coef).max())
        seconds, result = ours(X, y, limit, l0_penalty=price, gamma=1 / ridge)
        print(
            f"  penalised, price {price:.4g}: {result.status.name} gap {result.gap:.1e}"
            f" {seconds:.2f} s, {result.support.size} features"
        )
        for name in penalised:
            show(name, attempt(PENALISED[name], X, y, price, ridge, limit, size), seconds, result.objective)


def strong(limit, peers):
    print("\nstrong ridge: n = 1000, rho .5, SNR 1, gamma = 2^i gamma0")
    for p in (2000, 20_000):
        for k in (20, 50):
            data = make_toeplitz(1000, p, k, rho=0.5, snr=1.0, rng=0)
            gamma0 = p / (k * 1000 * float(np.square(data.X).sum(axis=1).max()))
            for i in (0, 1, 2, 3, 4, 5):
                compare(f"p {p} k {k} i {i}", data, k, 1 / (2.0**i * gamma0), limit, peers)


def targets(limit, peers):
    print("\nn = 1000, p = 5000, rho .5; prototype's seconds after the root on one thread in brackets")
    for k, snr, scaled, prototype in (
        (10, 5, 0.1, 0.01),
        (10, 1, 0.1, 2.2),
        (10, 5, 0.03, 0.9),
        (50, 5, 0.3, 2.8),
        (20, 1, 0.3, 7.2),
    ):
        data = make_toeplitz(1000, 5000, k, rho=0.5, snr=snr, rng=0)
        compare(f"k {k} SNR {snr} lambda/n {scaled} [{prototype}]", data, k, 1000 * scaled, limit, peers)


def hard(limit, peers):
    print(f"\nhard: n = 1000, p = 5000, gap after {limit:.0f} s; wanted below in brackets")
    for k, snr, scaled, rho, wanted in (
        (50, 1, 1.0, 0.5, "1.2%"),
        (50, 5, 0.1, 0.5, "10%"),
        (50, 5, 3.4, 0.9, "0.05%"),
    ):
        data = make_toeplitz(1000, 5000, k, rho=rho, snr=snr, rng=0)
        compare(f"k {k} SNR {snr} lambda/n {scaled} rho {rho} [{wanted}]", data, k, 1000 * scaled, limit, peers)


LEAPS = """
library(leaps)
X <- matrix(readBin("{X}", "double", {n} * {p}), {n}, {p}); y <- readBin("{y}", "double", {n})
seconds <- system.time(r <- regsubsets(X, y, nvmax = {k}, really.big = TRUE, method = "exhaustive"))["elapsed"]
cat(seconds, summary(r)$rss[{k}] / 2)
"""


def noridge(limit, peers):
    print("\nno ridge: diabetes64, 442 x 64")
    data = load_folder(DATA / "diabetes64")
    n, p = data.X.shape
    best_subset(data.X[:, :8], data.y, 3, gamma=np.inf)
    for k in (8, 10):
        start = time.perf_counter()
        result = best_subset(data.X, data.y, k, gamma=np.inf, time_limit=limit)
        seconds = time.perf_counter() - start
        print(f"k {k}: {result.status.name} gap {result.gap:.1e} {seconds:.2f} s, {result.n_nodes} nodes", flush=True)
        if "leaps" not in peers:
            continue
        with tempfile.TemporaryDirectory() as folder:
            files = Path(folder, "X"), Path(folder, "y")
            np.asarray(data.X, dtype=float).T.tofile(files[0])
            np.asarray(data.y, dtype=float).tofile(files[1])
            script = LEAPS.format(X=files[0], y=files[1], n=n, p=p, k=k)
            try:
                done = subprocess.run(
                    ["Rscript", "-e", script], capture_output=True, text=True, check=True, timeout=5 * limit
                )
                leaps, value = map(float, done.stdout.split())
                print(
                    f"    leaps {leaps:.1f} s, {leaps / seconds:.0f} x ours,"
                    f" objective {value / result.objective - 1:+.1e}"
                )
            except subprocess.TimeoutExpired:
                print(f"    leaps not finished after {5 * limit:.0f} s, more than {5 * limit / seconds:.0f} x ours")


def classes(limit, peers):
    print("\nclassification: n = 1000, p = 5000, k = 10, rho .3, SNR 6")
    data = make_toeplitz(1000, 5000, 10, rho=0.3, snr=6.0, task="classification", rng=0)
    for loss, scaled, wanted in (
        ("logistic", 10, "optimal within 3 s"),
        ("squared_hinge", 10, "optimal within 3 s"),
        ("logistic", 100, "gap < 3%"),
        ("squared_hinge", 100, "gap < 3%"),
        ("hinge", 10, "gap < 0.1%"),
    ):
        start = time.perf_counter()
        result = best_subset(data.X, data.y, 10, gamma=scaled / 1000, loss=loss, time_limit=limit)
        seconds = time.perf_counter() - start
        print(
            f"{loss} n*gamma {scaled} [{wanted}]: {result.status.name} gap {result.gap:.2e}"
            f" {seconds:.2f} s, {result.n_nodes} nodes",
            flush=True,
        )


def cost(limit, peers):
    """Plot the time against p and k."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.5))
    for axis, name, values in ((axes[0], "p", (1000, 3000, 10_000, 30_000)), (axes[1], "k", (5, 10, 20, 40))):
        seconds = []
        for value in values:
            p, k = (value, 10) if name == "p" else (5000, value)
            data = make_toeplitz(1000, p, k, rho=0.5, snr=5.0, rng=0)
            spent, result = ours(data.X, data.y, limit, k=k, gamma=1 / 300)
            seconds.append(spent)
            print(f"{name} = {value}: {spent:.2f} s, {result.status.name}, {result.n_nodes} nodes", flush=True)
        axis.loglog(values, seconds, "o-", color="tab:green")
        axis.set(
            xlabel=name,
            ylabel="seconds to optimality",
            title=f"n = 1000, {'k = 10' if name == 'p' else 'p = 5000'}, λ/n = 0.3",
        )
        axis.grid(alpha=0.3, which="both")
    figure.tight_layout()
    figure.savefig(Path(__file__).with_name("exact_cost.png"), dpi=120)


PARTS = {"strong": strong, "targets": targets, "hard": hard, "noridge": noridge, "classes": classes, "cost": cost}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--peers", nargs="*", default=[*CONSTRAINED, *PENALISED, "leaps"])
    arguments = parser.parse_args()
    warm = make_toeplitz(60, 40, 3, rng=0)
    labels = np.sign(warm.y)
    for loss in ("squared", "logistic", "squared_hinge", "hinge"):
        best_subset(warm.X, warm.y if loss == "squared" else labels, 3, gamma=0.1, loss=loss)
    for name in set(arguments.peers) & set(CONSTRAINED):
        attempt(CONSTRAINED[name], warm.X, warm.y, 3, 10.0, 10.0)
    for name in set(arguments.peers) & set(PENALISED):
        attempt(PENALISED[name], warm.X, warm.y, 1.0, 10.0, 10.0, 1.0)
    for part in arguments.part:
        PARTS[part](arguments.limit, arguments.peers)


if __name__ == "__main__":
    main()
