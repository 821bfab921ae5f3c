"""What proofs cost: bytes for each node, and seconds to assemble and check them, beside those of the solve.

    python benchmarks/proofs.py [--limit 60] [--part solved|hard|leaps|single|mapped ...]

Each line has the gap, the nodes, the seconds of the solve, those of them that went into assembling and checking the
proof, the bytes of the file for each node, and the seconds of ``verify``, with their ratio to the solve's.

``single`` compares ``verify`` of proofs with a single leaf with a product ``X'y``: wanted are at most ten of them.
``mapped`` solves the relaxation on float32 columns that are mapped from a file: ``verify`` is to take at most 1.5 times
as long as the solve.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sparsest import Certificate, best_subset
from sparsest.datasets import load_diabetes_quadratic, make_toeplitz
from sparsest.warming import warmup


def report(name, X, y, k, limit, **settings):
    begin = time.perf_counter()
    result = best_subset(X, y, k, standardize=False, time_limit=limit, **settings)
    solve = time.perf_counter() - begin
    content = result.certificate.to_bytes()
    begin = time.perf_counter()
    verdict = Certificate.from_bytes(content).verify(X, y, k=k)
    check = time.perf_counter() - begin
    assert verdict, verdict.reasons
    nodes = max(result.n_nodes, 1)
    seconds = result.trace["seconds"]
    print(
        f"{name:32} gap {result.gap:8.2e}  nodes {result.n_nodes:7d}  solve {solve:6.2f} s "
        f"(assembling {seconds.get('assembling', 0.0):.2f}, checking {seconds['checking']:.2f})  "
        f"{len(content) / 1e6:7.2f} MB, {len(content) / nodes:6.0f} bytes a node  verify {check:6.2f} s, "
        f"ratio {check / solve:.2f}",
        flush=True,
    )


def synthetic(instances, limit):
    for k, snr, scaled in instances:
        data = make_toeplitz(1000, 5000, k, rho=0.5, snr=snr, rng=0)
        gamma = 1.0 / (1000 * scaled)
        report(f"k {k} SNR {snr} lambda/n {scaled}", data.X, data.y, k, limit, gamma=gamma, fit_intercept=False)


def solved(limit):
    synthetic(((10, 1, 0.1), (50, 5, 0.3), (20, 1, 0.3)), limit)


def hard(limit):
    synthetic(((50, 1, 1.0), (50, 5, 0.1), (20, 1, 0.1)), limit)


def leaps(limit):
    data = load_diabetes_quadratic()
    for k in (8, 10):
        report(f"diabetes64 k {k}, no ridge", data.X, data.y, k, limit, gamma=np.inf)


def best_of(repeats, work):
    """The shortest of some times."""
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


def single(limit):
    for n, p in ((1000, 2000), (1000, 20000)):
        rng = np.random.default_rng(0)
        X = np.asfortranarray(rng.standard_normal((n, p)))
        y = X[:, :5].sum(axis=1) + rng.standard_normal(n)
        result = best_subset(X, y, 5, time_limit=limit)
        assert result.certificate.verify(X, y)
        solve = best_of(10, lambda X=X, y=y: best_subset(X, y, 5, time_limit=limit))
        verify = best_of(10, lambda X=X, y=y, result=result: result.certificate.verify(X, y))
        product = best_of(50, lambda X=X, y=y: X.T @ y)
        print(
            f"{n} x {p}: solve {1e3 * solve:.1f} ms, verify {1e3 * verify:.1f} ms, product {1e3 * product:.2f} ms: "
            f"{verify / product:.1f} products",
            flush=True,
        )


def mapped(limit, n=10_000, p=100_000, k=10):
    """Columns of independent normal numbers, written in blocks; y from k of them, for hinge its sign."""
    with TemporaryDirectory() as folder:
        X = np.memmap(Path(folder) / "X", dtype=np.float32, mode="w+", shape=(n, p), order="F")
        rng = np.random.default_rng(0)
        for begin in range(0, p, 1000):
            X[:, begin : begin + 1000] = rng.standard_normal((1000, n), dtype=np.float32).T
        y = X[:, :: p // k][:, :k].sum(axis=1, dtype=np.float64) + rng.standard_normal(n)
        for loss, response in (("squared", y), ("hinge", np.sign(y))):
            begin = time.perf_counter()
            result = best_subset(X, response, k, loss=loss, method="relaxation", time_limit=limit)
            solve = time.perf_counter() - begin
            begin = time.perf_counter()
            verdict = result.certificate.verify(X, response)
            check = time.perf_counter() - begin
            assert verdict and verdict.lower_bound == result.lower_bound, verdict.reasons
            print(
                f"{n} x {p} {loss}: gap {result.gap:.1e}, solve {solve:.2f} s (checking "
                f"{result.trace['seconds']['checking']:.2f}), verify {check:.2f} s, ratio {check / solve:.2f}",
                flush=True,
            )


def main():
    parts = {"solved": solved, "hard": hard, "leaps": leaps, "single": single, "mapped": mapped}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--part", nargs="+", choices=parts, default=list(parts))
    arguments = parser.parse_args()
    # Gaps are printed.
    warnings.simplefilter("ignore", ConvergenceWarning)
    warmup()
    for name in arguments.part:
        parts[name](arguments.limit)


if __name__ == "__main__":
    main()
