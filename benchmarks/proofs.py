"""What proofs cost: bytes for each node, seconds to put them together, and to check them, beside those of the solve.

    python benchmarks/proofs.py [--limit 60] [--part solved|hard|leaps ...]

Each line has the gap, the nodes, the seconds of the solve and of putting the proof together, the bytes of the file for
each node, and the seconds of reading and checking it, with their ratio to the solve's.  Wanted: a ratio of at most 1,
500 bytes for each node, and less than a second to put a proof of 100,000 nodes together.
"""

from __future__ import annotations

import argparse
import time
import warnings

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
    print(
        f"{name:32} gap {result.gap:8.2e}  nodes {result.n_nodes:7d}  solve {solve:6.2f} s "
        f"(proof put together in {result.trace['seconds'].get('assembling', 0.0):.2f} s)  "
        f"{len(content) / 1e6:7.2f} MB, {len(content) / nodes:6.0f} bytes a node  check {check:6.2f} s, "
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


def main():
    parts = {"solved": solved, "hard": hard, "leaps": leaps}
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
