"""Work on the matrix: products and the first pass, against NumPy on blocks of converted columns, in one run.

    python benchmarks/designs.py [--rows 1000] [--columns 20000]

``before`` is what the library did before it had kernels for this: blocks of columns are converted to float64 and
multiplied by BLAS, and the finite check, the moments and X'y are three passes.  Only ratios within a run mean
something.
``--compile`` times the compilation of all kernels in a new process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

import numpy as np

from sparsest.core.designs import as_design, compile_kernels

BLOCK_BYTES = 1 << 24
COMPILE = """
import time
from sparsest.core.designs import compile_kernels
begin = time.perf_counter()
compile_kernels()
print(time.perf_counter() - begin)
"""


class Before:
    """Dense products by converted blocks."""

    def __init__(self, X: np.ndarray) -> None:
        self.array = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        n, p = self.array.shape
        width = max(1, p if self.array.dtype == np.float64 else BLOCK_BYTES // (8 * n))
        for start in range(0, p, width):
            part = slice(start, min(start + width, p))
            yield part, self.array[:, part].astype(np.float64, copy=False)

    def tdot(self, r: np.ndarray) -> np.ndarray:
        out = np.empty((self.array.shape[1], *r.shape[1:]))
        for part, block in self.blocks():
            np.matmul(block.T, r, out=out[part])
        return out

    def dot(self, w: np.ndarray) -> np.ndarray:
        out = np.zeros((self.array.shape[0], *w.shape[1:]))
        for part, block in self.blocks():
            out += block @ w[part]
        return out

    def columns(self, subset: np.ndarray) -> np.ndarray:
        return np.asfortranarray(self.array[:, subset], dtype=np.float64)

    def survey(self, weights: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        assert np.isfinite(self.array.sum(dtype=np.float64))
        n, p = self.array.shape
        mean, variance, total = np.empty(p), np.empty(p), weights.sum()
        width = max(1, BLOCK_BYTES // (8 * n))
        for start in range(0, p, width):
            part = slice(start, min(start + width, p))
            block = self.array[:, part].astype(np.float64)
            mean[part] = weights @ block / total
            block -= mean[part]
            np.square(block, out=block)
            variance[part] = weights @ block / total
        return mean, variance, self.tdot(y)


def seconds(work: Callable[[], object], repeat: int) -> float:
    """Best of several runs, after one that does not count."""
    times = []
    for _ in range(repeat + 1):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times[1:])


def compare(X: np.ndarray, repeat: int) -> None:
    rng = np.random.default_rng(1)
    n, p = X.shape
    before, now = Before(X), as_design(X)
    r, w, weights = rng.standard_normal(n), rng.standard_normal(p), rng.uniform(0.5, 2.0, n)
    R, W, few = rng.standard_normal((n, 4)), rng.standard_normal((p, 4)), rng.permutation(p)[: p // 20]
    many = rng.standard_normal((n, 32))
    works = {
        "survey": (lambda: before.survey(weights, r), lambda: now.survey(weights, r)),
        "tdot": (lambda: before.tdot(r), lambda: now.tdot(r)),
        "tdot, 4 vectors": (lambda: before.tdot(R), lambda: now.tdot(R)),
        "tdot, 32 vectors": (lambda: before.tdot(many), lambda: now.tdot(many)),
        "tdot, 5 % of columns": (lambda: before.columns(few).T @ r, lambda: now.tdot(r, few)),
        "dot": (lambda: before.dot(w), lambda: now.dot(w)),
        "dot, 4 vectors": (lambda: before.dot(W), lambda: now.dot(W)),
        "columns, 5 %": (lambda: before.columns(few), lambda: now.columns(few)),
    }
    order = "Fortran" if X.flags.f_contiguous else "C"
    print(f"{X.dtype} {n} × {p}, {order} order, {X.nbytes / 1e6:.0f} MB")
    for name, (old, new) in works.items():
        then, this = seconds(old, repeat), seconds(new, repeat)
        print(f"  {name:<22}{1e3 * then:9.2f} ms {1e3 * this:9.2f} ms   ratio {then / this:6.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--columns", type=int, default=20000)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--types", nargs="*", default=["float32", "float64", "int8"])
    parser.add_argument("--compile", action="store_true", help="time the compilation of the kernels, and nothing else")
    options = parser.parse_args()
    if options.compile:
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "SPARSEST_CACHE_DIR": cache}
            done = subprocess.run([sys.executable, "-c", COMPILE], env=environment, capture_output=True, check=True)
        print(f"compiling the kernels for float32 and float64 in both orders: {float(done.stdout):.1f} s")
        return
    compile_kernels()
    X = 20.0 * np.random.default_rng(0).standard_normal((options.rows, options.columns))
    for dtype in options.types:
        for order in ("F", "C"):
            compare(np.asarray(X, dtype=dtype, order=order), options.repeat)


if __name__ == "__main__":
    main()
