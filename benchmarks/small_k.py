"""Few features of many: two or three of some thousands by trying all of them, at any ridge, each proof verified.

    python benchmarks/small_k.py [--limit 60] [--part pairs|triples|limits|wide|four ...]

``pairs`` and ``triples`` are the riboflavin data (71 × 4088), and data of the shape 44 × 3116, with the default ridge,
with gamma = 1000 and without a ridge; ``limits`` are two features of riboflavin that are nonnegative or in a box;
``wide`` is data of the shape 100 × 20,000; ``four`` is riboflavin with k = 4 and 5 and gamma = 10/n, where the gap
after the limit counts.  Each line has the status, the gap, and wall and CPU seconds of
the solve and of ``verify``, which is to take at most twice as long as the solve.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from table import Row

from sparsest import Certificate, best_subset
from sparsest.datasets import load_folder
from sparsest.warming import warmup

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
RIDGES = {"default ridge": "auto", "gamma 1000": 1e3, "no ridge": np.inf}
# Seconds that are wanted for riboflavin, for the shape 44 × 3116, and for 100 × 20,000.
WANTED = {("riboflavin", 2): 0.5, ("riboflavin", 3): 20.0, ("44 x 3116", 2): 0.4, ("100 x 20000", 2): 8.0}


class Timed(NamedTuple):
    """Wall and CPU seconds of a solve and of the check of its certificate, and the gap."""

    solve: float
    solve_cpu: float
    check: float
    check_cpu: float
    gap: float


def riboflavin():
    data = load_folder(DATA / "riboflavin")
    return np.asarray(data.X, dtype=float), np.asarray(data.y, dtype=float)


def sparse_signal(n, p, seed=0):
    """Normal columns; the response is the sum of two of them and noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    return X, X[:, 0] + X[:, 1] + rng.standard_normal(n)


def timed(work):
    begin, begin_cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, time.perf_counter() - begin, time.process_time() - begin_cpu


def measure(title, X, y, k, gamma, limit, **limits):
    result, solve, solve_cpu = timed(lambda: best_subset(X, y, k, gamma=gamma, time_limit=limit, **limits))
    content = result.certificate.to_bytes()
    verdict, check, check_cpu = timed(lambda: Certificate.from_bytes(content).verify(X, y, k=k))
    assert verdict, verdict.reasons
    print(
        f"{title:40} {result.status.name:10} gap {result.gap:7.1e}  solve {solve:6.2f} s (CPU {solve_cpu:6.2f})  "
        f"verify {check:6.2f} s (CPU {check_cpu:6.2f})  {len(content):7d} bytes  {result.support.tolist()}",
        flush=True,
    )
    return Timed(solve, solve_cpu, check, check_cpu, result.gap)


def compared(name, X, y, k, limit, **limits) -> Iterator[Row]:
    for words, gamma in RIDGES.items():
        title = f"{name}, k = {k}, {words}"
        found = measure(title, X, y, k, gamma, limit, **limits)
        if (name, k) in WANTED:
            yield Row(title, found.solve, "s", WANTED[name, k])
        yield Row(f"{title}: verify", found.check / found.solve, "x solve", 2.0)
        yield Row(f"{title}: gap", 1e4 * found.gap, "1e-4", 1.0)


def pairs(limit):
    yield from compared("riboflavin", *riboflavin(), 2, limit)
    yield from compared("44 x 3116", *sparse_signal(44, 3116), 2, limit)


def triples(limit):
    yield from compared("riboflavin", *riboflavin(), 3, limit)
    yield from compared("44 x 3116", *sparse_signal(44, 3116), 3, limit)


def limits(limit):
    yield from compared("riboflavin, nonnegative", *riboflavin(), 2, limit, lower=0.0)
    yield from compared("riboflavin, in a box", *riboflavin(), 2, limit, max_coef=0.1)


def wide(limit):
    yield from compared("100 x 20000", *sparse_signal(100, 20_000), 2, limit)


def four(limit):
    """No target: the gap after the limit is what counts."""
    X, y = riboflavin()
    for k in (4, 5):
        measure(f"riboflavin, k = {k}, gamma 10/n", X, y, k, 10.0 / X.shape[0], limit)
    yield from ()


PARTS = {"pairs": pairs, "triples": triples, "limits": limits, "wide": wide, "four": four}


def rows(limit: float = 60.0) -> Iterator[Row]:
    """All figures that have targets."""
    warmup()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for part in (pairs, triples, limits, wide):
        yield from part(limit)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    given = parser.parse_args()
    warmup()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for part in given.part:
        for row in PARTS[part](given.limit):
            print(row, flush=True)


if __name__ == "__main__":
    main()
