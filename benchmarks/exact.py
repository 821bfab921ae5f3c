"""Exact best subset against other exact solvers: one run, same data, same tolerance, warm.

Every answer is re-evaluated in one objective.

    OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python benchmarks/exact.py [--limit 60] [--peers okridge gurobi ...]
    [--part tiny|small|strong|wide|targets|hard|noridge|classes|cost ...]

Peers: OKRidge (at most k features), the paper's outer approximation on Gurobi's free licence (``engine="gurobi"``, p
≤ 1900) and on HiGHS, and L0BnB and El0ps, which solve the penalised form (there ours is timed on the same penalised
problem).  R's ``leaps`` for the problem without a ridge.  Install them by ``pip install "numpy<2" okridge l0bnb el0ps
gurobipy highspy`` and, for El0ps, ``apt-get install openmpi-bin``.

A peer runs in a process of its own that has solved a small problem before (compiled code), with at most 12 GB; its
time has its own preparation in it, its search gets the whole limit, and after five times the limit it is stopped.  The
gaps are those of our objective: OKRidge's tolerance is rescaled, as it omits ``y @ y``.  OKRidge 0.1.1 calls, where p
> n, a ``lower_solve`` that it has renamed ``lower_solve_fast``: we restore the name.  L0BnB needs a start (without one
it finds no good answer in time) and a bound on the coefficients: it gets the answer of our local search, whose time
does not count, and 1.5 times its largest coefficient.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import multiprocessing
import resource
import subprocess
import tempfile
import time
import warnings
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sparsest import best_subset
from sparsest.datasets import load_folder, make_toeplitz

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
TOLERANCE = 1e-4
MEMORY = 12 * 10**9  # bytes, of every peer
SPAWN = multiprocessing.get_context("spawn")


def objective(X, y, w, ridge):
    return 0.5 * float(np.sum((y - X @ w) ** 2)) + 0.5 * ridge * float(w @ w)


class Spent(NamedTuple):
    """Seconds of the clock, and of all threads."""

    wall: float
    cpu: float

    @classmethod
    def now(cls):
        return cls(time.perf_counter(), time.process_time())

    def since(self):
        now = Spent.now()
        return Spent(now.wall - self.wall, now.cpu - self.cpu)


def ours(X, y, limit, **settings):
    start = Spent.now()
    result = best_subset(X, y, fit_intercept=False, standardize=False, time_limit=limit, gap_tol=TOLERANCE, **settings)
    return start.since(), result


def quickest(X, y, limit, **settings):
    """The least of three times where one is short: such times are mostly the machine's."""
    runs = [ours(X, y, limit, **settings)]
    while len(runs) < 3 and runs[0][0].wall < 0.5 * limit:
        runs.append(ours(X, y, limit, **settings))
    return min(runs, key=lambda run: run[0].cpu)


def okridge(X, y, k, ridge, limit, best):
    from okridge.node import Node
    from okridge.tree import BNBTree

    needed = 7 * 8 * X.shape[1] ** 2
    if needed > MEMORY:
        raise MemoryError(f"seven dense p x p arrays of {needed / 1e9:.0f} GB")
    Node.lower_solve = Node.lower_solve_fast
    X, square = np.ascontiguousarray(X), float(y @ y)
    start = Spent.now()
    with contextlib.redirect_stdout(io.StringIO()):
        tree = BNBTree(X=X, y=y, lambda2=ridge, max_memory_GB=MEMORY / 1e9)
        tolerance = TOLERANCE * 2 * best / (square - 2 * best)
        _, w, _, bound, _ = tree.solve(k=k, gap_tol=tolerance, verbose=False, time_limit=limit)
    spent, value = start.since(), objective(X, y, np.asarray(w), ridge)
    return spent, value, max(1 - 0.5 * (bound + square) / value, 0.0)


def gurobi(X, y, k, ridge, limit, best):
    if X.shape[1] > 1900:
        raise ValueError("the free licence ends at 2000 variables")
    spent, result = ours(X, y, limit, k=k, gamma=1 / ridge, method="cuts", engine="gurobi")
    return spent, result.objective, result.gap


def highs(X, y, k, ridge, limit, best):
    spent, result = ours(X, y, limit, k=k, gamma=1 / ridge, method="cuts")
    return spent, result.objective, result.gap


def l0bnb(X, y, price, ridge, limit, first):
    from l0bnb import BNBTree

    X = np.ascontiguousarray(X)
    start = Spent.now()
    with contextlib.redirect_stdout(io.StringIO()):
        tree = BNBTree(X, y)
        bound = 1.5 * np.abs(first).max()
        found = tree.solve(price, 0.5 * ridge, bound, gap_tol=TOLERANCE, warm_start=first, time_limit=limit)
    spent, w = start.since(), np.asarray(found.beta)
    finished = tree.bfs_queue.empty() and tree.dfs_queue.empty()  # its gap is then that of the level before
    gap = min(found.gap, TOLERANCE) if finished else found.gap
    return spent, objective(X, y, w, ridge) + price * np.count_nonzero(w), gap


def el0ps(X, y, price, ridge, limit, first):
    from el0ps.datafit import Leastsquares
    from el0ps.penalty import L2norm
    from el0ps.solver import BnbSolver

    X, y = np.asfortranarray(X), np.ascontiguousarray(y)
    start = Spent.now()
    solver = BnbSolver(relative_gap=TOLERANCE, time_limit=limit)
    solver.package_results = lambda problem, results: results  # these have the bound, its own result has not
    found = solver.solve(Leastsquares(y), L2norm(0.5 * ridge), X, price)
    spent, w = start.since(), found.best_node.state.x_upper
    value = objective(X, y, w, ridge) + price * np.count_nonzero(w)
    return spent, value, max(1 - found.bound / value, 0.0)


CONSTRAINED = {"okridge": okridge, "gurobi": gurobi, "highs": highs}
PENALISED = {"l0bnb": l0bnb, "el0ps": el0ps}


WORKERS: dict = {}


def warming():
    """Data whose solution needs a tree, and too many features for leaps and bounds."""
    return make_toeplitz(60, 200, 5, snr=1.0, rng=0)


def serve(pipe, name):
    """Warm a peer up, then answer with its time, objective and gap, or why there is none."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    peer, warm = (CONSTRAINED | PENALISED)[name], warming()
    sparsity, hint = (5, 0.3 * float(warm.y @ warm.y)) if name in CONSTRAINED else (20.0, warm.coef)
    with contextlib.suppress(Exception):  # it fails again, and says so, on the problems
        peer(warm.X, warm.y, sparsity, 10.0, 10.0, hint)
    gc.freeze()  # OKRidge collects garbage at every node
    pipe.send("ready")
    while arguments := pipe.recv():
        try:
            pipe.send(peer(*arguments))
        except Exception as error:  # a peer that fails is reported, not hidden
            pipe.send(f"{type(error).__name__}: {error}"[:160])


def attempt(name, X, y, sparsity, ridge, limit, hint):
    """Ask the process of a peer; a process that dies or does not answer is replaced the next time."""
    try:
        if name not in WORKERS:
            pipe, theirs = SPAWN.Pipe()
            process = SPAWN.Process(target=serve, args=(theirs, name), daemon=True)
            process.start()
            theirs.close()
            WORKERS[name] = process, pipe
            pipe.recv()
        process, pipe = WORKERS[name]
        pipe.send((X, y, sparsity, ridge, limit, hint))
        if pipe.poll(5 * limit):
            return pipe.recv()
        reason = f"stopped without an answer after {5 * limit:.0f} s"
    except (EOFError, OSError):
        process.join()
        reason = f"its process ended with code {process.exitcode}"
    process.kill()
    del WORKERS[name]
    return reason


def show(name, found, spent, best):
    if isinstance(found, str):
        print(f"    {name:8s} no answer: {found}", flush=True)
        return
    print(
        f"    {name:8s} {found[0].wall:8.3f} s  CPU {found[0].cpu:8.3f} s, {found[0].cpu / spent.cpu:8.1f} x ours"
        f"  gap {found[2]:.1e}"
        f"  objective {found[1] / best - 1:+.1e} relative to ours",
        flush=True,
    )


def compare(title, data, k, ridge, limit, peers):
    X, y = data.X, data.y
    spent, result = quickest(X, y, limit, k=k, gamma=1 / ridge)
    tree = result.trace["seconds"].get("tree", 0.0)
    root_gap = (result.objective - result.trace["relaxation"]["dual"]) / result.objective
    print(
        f"{title}: {result.status.name} gap {result.gap:.2e}  {spent.wall:.3f} s, CPU {spent.cpu:.3f} s"
        f" (tree {tree:.2f} s), {result.n_nodes} nodes,"
        f" {result.trace['nodes_per_second']:.0f} nodes/s, root gap {root_gap:.1e}",
        flush=True,
    )
    for name in filter(CONSTRAINED.get, peers):
        show(name, attempt(name, X, y, k, ridge, limit, result.objective), spent, result.objective)
    penalised = [*filter(PENALISED.get, peers)]
    if penalised:
        values = [ours(X, y, limit, k=j, gamma=1 / ridge, method="local")[1].objective for j in (k - 1, k + 1)]
        price = 0.5 * (values[0] - values[1])
        spent, result = quickest(X, y, limit, l0_penalty=price, gamma=1 / ridge)
        first = ours(X, y, limit, l0_penalty=price, gamma=1 / ridge, method="local")[1].coef
        print(
            f"  penalised, price {price:.4g}: {result.status.name} gap {result.gap:.1e}"
            f" {spent.wall:.3f} s, CPU {spent.cpu:.3f} s, {result.support.size} features",
            flush=True,
        )
        for name in penalised:
            show(name, attempt(name, X, y, price, ridge, limit, first), spent, result.objective)


def tiny(limit, peers):
    print("\ntiny: n = 60, p = 12, k = 4; objective relative to the best of all subsets")
    data = make_toeplitz(60, 12, 4, snr=2.0, rng=0)
    X, y, k = data.X, data.y, 4

    def value(subset, ridge):
        Z = X[:, list(subset)]
        return objective(Z, y, np.linalg.solve(Z.T @ Z + ridge * np.eye(len(subset)), Z.T @ y), ridge)

    for ridge in (1.0, 30.0):
        best = [min(value(subset, ridge) for subset in combinations(range(12), size)) for size in range(13)]
        price = 0.5 * (best[k - 1] - best[k + 1])
        lowest = min(least + price * size for size, least in enumerate(best))
        penalised = ours(X, y, limit, l0_penalty=price, gamma=1 / ridge)[1]
        first = ours(X, y, limit, l0_penalty=price, gamma=1 / ridge, method="local")[1].coef
        mine = (ours(X, y, limit, k=k, gamma=1 / ridge)[1].objective / best[k] - 1, penalised.objective / lowest - 1)
        print(f"ridge {ridge:g}: ours {mine[0]:+.1e}, penalised {mine[1]:+.1e}", flush=True)
        for name in peers:
            if name in CONSTRAINED:
                wanted, found = best[k], attempt(name, X, y, k, ridge, limit, best[k])
            elif name in PENALISED:
                wanted, found = lowest, attempt(name, X, y, price, ridge, limit, first)
            else:
                continue
            print(f"    {name:8s} {found if isinstance(found, str) else f'{found[1] / wanted - 1:+.1e}'}", flush=True)


def small(limit, peers):
    print("\nsmall enough for every peer: n = 200, p = 300, rho .5")
    for k, snr, scaled in ((5, 5, 0.03), (5, 1, 0.1), (10, 5, 0.1)):
        data = make_toeplitz(200, 300, k, rho=0.5, snr=snr, rng=0)
        compare(f"k {k} SNR {snr} lambda/n {scaled}", data, k, 200 * scaled, limit, peers)


def strong(limit, peers, p=2000):
    print("\nstrong ridge: n = 1000, rho .5, SNR 1, gamma = 2^i gamma0")
    for k in (20, 50):
        data = make_toeplitz(1000, p, k, rho=0.5, snr=1.0, rng=0)
        gamma0 = p / (k * 1000 * float(np.square(data.X).sum(axis=1).max()))
        for i in (0, 1, 2, 3, 4, 5):
            compare(f"p {p} k {k} i {i}", data, k, 1 / (2.0**i * gamma0), limit, peers)


def wide(limit, peers):
    strong(limit, peers, p=20_000)


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
cat(seconds, format(summary(r)$rss[{k}] / 2, digits = 15))
"""


def noridge(limit, peers):
    print("\nno ridge: diabetes64, 442 x 64")
    data = load_folder(DATA / "diabetes64")
    n, p = data.X.shape
    best_subset(data.X[:, :8], data.y, 3, gamma=np.inf, standardize=False)
    for k in (8, 10):
        start = time.perf_counter()
        result = best_subset(data.X, data.y, k, gamma=np.inf, standardize=False, time_limit=limit)
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
            except (OSError, subprocess.CalledProcessError) as error:
                said = getattr(error, "stderr", None) or str(error)
                print(f"    leaps no answer: {' '.join(said.split())[-160:]}")


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
        result = best_subset(data.X, data.y, 10, gamma=scaled / 1000, loss=loss, standardize=False, time_limit=limit)
        seconds = time.perf_counter() - start
        print(
            f"{loss} n*gamma {scaled} [{wanted}]: {result.status.name} gap {result.gap:.2e}"
            f" {seconds:.2f} s, {result.n_nodes} nodes",
            flush=True,
        )


def cost(limit, peers):
    """Plot the time against p and k, the best of three."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter, ScalarFormatter

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.5))
    for axis, name, values in ((axes[0], "p", (1000, 3000, 10_000, 30_000)), (axes[1], "k", (5, 10, 20, 40))):
        seconds = []
        for value in values:
            p, k = (value, 10) if name == "p" else (5000, value)
            data = make_toeplitz(1000, p, k, rho=0.5, snr=5.0, rng=0)
            spent, result = quickest(data.X, data.y, limit, k=k, gamma=1 / 300)
            seconds.append(spent.wall)
            print(f"{name} = {value}: {spent.wall:.2f} s, {result.status.name}, {result.n_nodes} nodes", flush=True)
        axis.loglog(values, seconds, "o-", color="tab:green")
        axis.set(
            xlabel=name,
            ylabel="seconds to optimality",
            title=f"n = 1000, {'k = 10' if name == 'p' else 'p = 5000'}, λ/n = 0.3",
        )
        axis.set_xticks(values, [f"{value:,}" for value in values])
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.yaxis.set_major_formatter(ScalarFormatter())
        axis.yaxis.set_minor_formatter(ScalarFormatter())
        axis.grid(alpha=0.3, which="both")
    figure.tight_layout()
    figure.savefig(Path(__file__).with_name("exact_cost.png"), dpi=120)


PARTS = {part.__name__: part for part in (tiny, small, strong, wide, targets, hard, noridge, classes, cost)}


def main() -> None:
    known = [*CONSTRAINED, *PENALISED, "leaps"]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--peers", nargs="*", choices=known, default=known)
    arguments = parser.parse_args()
    # Gaps are printed.
    warnings.simplefilter("ignore", ConvergenceWarning)
    warm = warming()
    labels = np.sign(warm.y)
    for loss in ("squared", "logistic", "squared_hinge", "hinge"):
        best_subset(
            warm.X, warm.y if loss == "squared" else labels, 5, gamma=0.1, loss=loss, standardize=False, time_limit=2.0
        )
    ours(warm.X, warm.y, 2.0, l0_penalty=20.0, gamma=0.1)
    for part in arguments.part:
        PARTS[part](arguments.limit, arguments.peers)
    for process, pipe in WORKERS.values():
        pipe.send(())
        process.join()


if __name__ == "__main__":
    main()
