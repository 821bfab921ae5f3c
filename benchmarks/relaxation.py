"""The Boolean relaxation against glmnet's Lasso path and the published sub-gradient method: one run, same data, warm.

    python benchmarks/relaxation.py [--part squared|losses|scaling|memory ...]

``ours`` is ``best_subset(method="relaxation")``: the relaxation to a computed gap of 1e-4, rounding, refit and
polish.  glmnet fits 100 values of lambda (Lasso, its default tolerance) and is timed inside R.  Only ratios within a
run mean something.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from table import Row

from sparsest import best_subset
from sparsest.datasets import make_toeplitz

# Losses, nγ, and the multiples of glmnet's time that are wanted; at nγ = 1 the hinge took 0.9 of it before.
TARGETS = (("hinge", 1.0, 0.9), ("hinge", 10.0, 4.0), ("squared_hinge", 100.0, 2.0))

GLMNET = """
suppressMessages(library(glmnet))
p <- {p}; n <- {n}
X <- matrix(readBin("{X}", "double", n * p), n, p); y <- readBin("{y}", "double", n)
family <- "{family}"
if (family == "binomial") y <- as.factor(y)
invisible(glmnet(X[, 1:20], y, family = family))
times <- sapply(1:{repeats}, function(i) system.time(glmnet(X, y, family = family, nlambda = 100))["elapsed"])
cat(min(times))
"""


def glmnet_seconds(X: np.ndarray, y: np.ndarray, family: str, repeats: int = 1) -> float:
    """Seconds of glmnet's path on the same data, measured in R."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "X.bin"), Path(folder, "y.bin")
        np.asfortranarray(X, dtype=float).T.tofile(files[0])
        np.asarray(y, dtype=float).tofile(files[1])
        n, p = X.shape
        script = GLMNET.format(n=n, p=p, X=files[0], y=files[1], family=family, repeats=repeats)
        done = subprocess.run(["Rscript", "-e", script], capture_output=True, text=True, check=True)
    return float(done.stdout.strip())


def timed(**settings):
    """Best of two runs."""
    best, result = np.inf, None
    for _ in range(2):
        start = time.perf_counter()
        result = best_subset(standardize=False, **settings)
        best = min(best, time.perf_counter() - start)
    return best, result


def gamma0(X: np.ndarray, k: int) -> float:
    n, p = X.shape
    return p / (k * n * float(np.square(X).sum(axis=1).max()))


def squared(n: int = 1000, p: int = 20_000, k: int = 100) -> None:
    print(f"\nsquared loss, n = {n}, p = {p}, k = {k}, SNR 6, gamma = 2^i gamma0")
    print("rho   i   ours s  passes  relax. gap  glmnet s  ours/glmnet  subgradient s  sub./ours  value ours / sub.")
    for rho in (0.2, 0.7):
        data = make_toeplitz(n, p, k, rho=rho, snr=6.0, rng=0)
        peer = glmnet_seconds(data.X, data.y, "gaussian", 2)
        for i in range(11):
            gamma = 2.0**i * gamma0(data.X, k)
            ours, result = timed(X=data.X, y=data.y, k=k, gamma=gamma, method="relaxation")
            start = time.perf_counter()
            other = best_subset(
                data.X, data.y, k, gamma=gamma, method="subgradient", standardize=False, time_limit=600, gap_tol=0.0
            )
            slow = time.perf_counter() - start
            trace = result.trace["relaxation"]
            print(
                f"{rho:.1f}  {i:2d}  {ours:7.3f}  {trace['passes']:6.1f}  {trace['gap']:10.1e}  {peer:8.3f}"
                f"  {ours / peer:11.2f}"
                f"  {slow:13.2f}  {slow / ours:9.1f}  {result.objective:.8g} / {other.objective:.8g}",
                flush=True,
            )


def losses(n: int = 1000, p: int = 10_000, k: int = 50) -> None:
    print(f"\nother losses, n = {n}, p = {p}, k = {k}, SNR 6, rho 0.5")
    print("loss                          n*gamma   ours s  relax. gap  glmnet binomial s  ratio")
    data = make_toeplitz(n, p, k, rho=0.5, snr=6.0, task="classification", rng=0)
    regression = make_toeplitz(n, p, k, rho=0.5, snr=6.0, rng=0)
    peer = glmnet_seconds(data.X, data.y, "binomial", 2)
    for loss in ("logistic", "squared_hinge", "hinge", "epsilon_insensitive", "squared_epsilon_insensitive"):
        for scaled in (1.0, 10.0, 100.0):
            source = regression if "epsilon" in loss else data
            settings = {"X": source.X, "y": source.y, "k": k, "gamma": scaled / n, "loss": loss}
            ours, result = timed(method="relaxation", time_limit=300, **settings)
            gap = result.trace["relaxation"]["gap"]
            print(f"{loss:28s}  {scaled:7.0f}  {ours:7.2f}  {gap:10.1e}  {peer:17.2f}  {ours / peer:5.2f}", flush=True)


def scaling() -> None:
    print("\ncost against p (n = 1000) and n (p = 5000), k = 20, n*gamma = 1, squared loss")
    for name, sizes in (("p", (2000, 10_000, 50_000, 100_000)), ("n", (500, 2000, 8000))):
        seconds = []
        for size in sizes:
            n, p = (1000, size) if name == "p" else (size, 5000)
            data = make_toeplitz(n, p, 20, rho=0.5, snr=6.0, rng=0)
            seconds.append(timed(X=data.X, y=data.y, k=20, gamma=1.0 / n, method="relaxation")[0])
            print(f"  {name} = {size:7d}: {seconds[-1]:.3f} s", flush=True)
            del data
        slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
        print(f"  exponent in {name}: {slope:.2f}")


def memory(n: int = 1000, p: int = 100_000) -> None:
    data = make_toeplitz(n, p, 50, rho=0.5, snr=6.0, rng=0)
    tracemalloc.start()
    best_subset(data.X, data.y, 50, gamma=10.0 / n, method="relaxation", standardize=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    print(f"\npeak extra memory at p = {p}: {peak / data.X.nbytes:.1%} of X")


def rows(n: int = 1000, p: int = 10_000, k: int = 50) -> Iterator[Row]:
    """Figures that have targets: the hinge losses over glmnet's binomial path."""
    data = make_toeplitz(n, p, k, rho=0.5, snr=6.0, task="classification", rng=0)
    peer = glmnet_seconds(data.X, data.y, "binomial", 2)
    for loss, scaled, target in TARGETS:
        best_subset(data.X[:60, :40], data.y[:60], 3, gamma=0.1, loss=loss, method="relaxation")
        ours, _ = timed(X=data.X, y=data.y, k=k, gamma=scaled / n, loss=loss, method="relaxation", time_limit=300)
        yield Row(f"relaxation, {loss}, nγ = {scaled:g}", ours / peer, "of glmnet", target)


PARTS = {"squared": squared, "losses": losses, "scaling": scaling, "memory": memory}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", nargs="*", choices=PARTS, default=list(PARTS))
    warm = make_toeplitz(60, 40, 3, rng=0)
    for loss in ("squared", "squared_epsilon_insensitive", "epsilon_insensitive"):
        best_subset(warm.X, warm.y, 3, gamma=0.1, loss=loss, method="relaxation", standardize=False)
    for part in parser.parse_args().part:
        PARTS[part]()


if __name__ == "__main__":
    main()
