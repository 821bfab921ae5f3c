"""Exact best subset against other exact solvers: one run, same data, same tolerance, warm.

Every answer is re-evaluated in one objective.

    OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1 python benchmarks/exact.py [--limit 60] [--peers okridge gurobi ...]
    [--part tiny|small|strong|wide|targets|hard|real|noridge|classes|cost ...]

Peers: OKRidge (at most k features), the paper's outer approximation on Gurobi's free licence (``engine="gurobi"``, p
≤ 1900) and on HiGHS, and L0BnB and El0ps, which solve the penalised form (there ours is timed on the same penalised
problem).  R's ``leaps`` for the problem without a ridge.  Install them by ``pip install "numpy<2" okridge l0bnb el0ps
gurobipy highspy`` and, for El0ps, ``apt-get install openmpi-bin``.

A peer runs in a separate process that has solved a small problem before (compiled code), with at most 12 GB; its
time has its own preparation in it, its search gets the whole limit, and after five times the limit it is stopped.  The
gaps are those of our objective: OKRidge's tolerance is rescaled, as it omits ``y @ y``.  OKRidge 0.1.1 calls, where p
> n, a ``lower_solve`` that it has renamed ``lower_solve_fast``: we restore the name.  L0BnB needs a start (without one
it finds no good answer in time) and a bound on the coefficients: it gets the answer of our local search, whose time
does not count, and 1.5 times its largest coefficient.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
from exact_peers import CONSTRAINED, PENALISED, REPEATS, attempt, dismiss, objective, ours, quickest, warming
from sklearn.exceptions import ConvergenceWarning
from table import Row

from sparsest import best_subset
from sparsest.datasets import load_folder, make_toeplitz

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
# Strong ridges at which L0BnB or our own cuts were faster: p, k, i.
WON_BY_OTHERS = (
    [(2000, 20, i) for i in range(5)] + [(2000, 50, i) for i in range(4)] + [(20_000, 20, 0), (20_000, 50, 0)]
)
# k, SNR, λ/n, ρ, and the gap in per cent that is wanted.
HARD = ((50, 1, 1.0, 0.5, 1.2), (50, 5, 0.1, 0.5, 11.5), (50, 5, 3.4, 0.9, 0.05))
# Real data, with the gaps in per cent that there were.
REAL = {"riboflavin": 21.0, "wheat_dart": 18.0}


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
        price, first = priced(X, y, k, ridge, limit)
        spent, result = quickest(X, y, limit, l0_penalty=price, gamma=1 / ridge)
        print(
            f"  penalised, price {price:.4g}: {result.status.name} gap {result.gap:.1e}"
            f" {spent.wall:.3f} s, CPU {spent.cpu:.3f} s, {result.support.size} features",
            flush=True,
        )
        for name in penalised:
            show(name, attempt(name, X, y, price, ridge, limit, first), spent, result.objective)


def priced(X, y, k, ridge, limit):
    """A price at which about k features are best, and what our local search finds for it."""
    values = [ours(X, y, limit, k=j, gamma=1 / ridge, method="local")[1].objective for j in (k - 1, k + 1)]
    price = 0.5 * (values[0] - values[1])
    return price, ours(X, y, limit, l0_penalty=price, gamma=1 / ridge, method="local")[1].coef


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


def strong_data(p, k):
    """The data of the strong ridges, and γ0."""
    data = make_toeplitz(1000, p, k, rho=0.5, snr=1.0, rng=0)
    return data, p / (k * 1000 * float(np.square(data.X).sum(axis=1).max()))


def strong(limit, peers, p=2000):
    print("\nstrong ridge: n = 1000, rho .5, SNR 1, gamma = 2^i gamma0")
    for k in (20, 50):
        data, gamma0 = strong_data(p, k)
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
    for k, snr, scaled, rho, wanted in HARD:
        data = make_toeplitz(1000, 5000, k, rho=rho, snr=snr, rng=0)
        compare(f"k {k} SNR {snr} lambda/n {scaled} rho {rho} [{wanted}%]", data, k, 1000 * scaled, limit, peers)


def real(limit, peers):
    print(f"\nreal data, standardised columns, k = 10, default gamma, gap after {limit:.0f} s")
    for name in REAL:
        data = load_folder(DATA / name)
        result = best_subset(data.X, data.y, 10, time_limit=limit)
        print(f"{name}: {result.status.name} gap {result.gap:.2%}, {result.n_nodes} nodes", flush=True)


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


PARTS = {part.__name__: part for part in (tiny, small, strong, wide, targets, hard, real, noridge, classes, cost)}


def rows(limit: float = 60.0) -> Iterator[Row]:
    """Figures that have targets: CPU time where L0BnB or our cuts were faster, and gaps of hard problems."""
    warm_up()
    for p, k, i in WON_BY_OTHERS:
        data, gamma0 = strong_data(p, k)
        ridge = 1 / (2.0**i * gamma0)
        price, first = priced(data.X, data.y, k, ridge, limit)
        spent, _ = quickest(data.X, data.y, limit, l0_penalty=price, gamma=1 / ridge)
        found = [attempt("l0bnb", data.X, data.y, price, ridge, limit, first) for _ in range(REPEATS)]
        # Without an answer of the peer there is no figure.
        theirs = min((answer[0].cpu for answer in found if not isinstance(answer, str)), default=np.nan)
        ratio = spent.cpu / theirs
        yield Row(f"strong ridge, p = {p}, k = {k}, 2^{i} γ0, CPU time", ratio, "of L0BnB", 0.8)
    dismiss()
    for k, snr, scaled, rho, wanted in HARD:
        data = make_toeplitz(1000, 5000, k, rho=rho, snr=snr, rng=0)
        _, result = ours(data.X, data.y, limit, k=k, gamma=1 / (1000 * scaled))
        yield Row(
            f"k = {k}, SNR {snr}, λ/n = {scaled}, ρ = {rho}, after {limit:.0f} s", 100 * result.gap, "% gap", wanted
        )
    for name, before in REAL.items():
        data = load_folder(DATA / name)
        result = best_subset(data.X, data.y, 10, time_limit=limit)
        yield Row(f"{name}, k = 10, after {limit:.0f} s", 100 * result.gap, "% gap", before)


def warm_up(*losses: str) -> None:
    """Compile what is needed for the squared loss and others, and let gaps be printed without warnings."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    warm = warming()
    labels = np.sign(warm.y)
    for loss in ("squared", *losses):
        best_subset(
            warm.X, warm.y if loss == "squared" else labels, 5, gamma=0.1, loss=loss, standardize=False, time_limit=2.0
        )
    ours(warm.X, warm.y, 2.0, l0_penalty=20.0, gamma=0.1)


def main() -> None:
    known = [*CONSTRAINED, *PENALISED, "leaps"]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--peers", nargs="*", choices=known, default=known)
    arguments = parser.parse_args()
    warm_up("logistic", "squared_hinge", "hinge")
    for part in arguments.part:
        PARTS[part](arguments.limit, arguments.peers)
    dismiss()


if __name__ == "__main__":
    main()
