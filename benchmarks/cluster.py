"""Passes over a matrix on a Dask cluster of two processes, against the kernel in memory; and many rows as few.

    python benchmarks/cluster.py [--megabytes 200] [--chunks 4] [--rows 10000000] [--columns 50]

The matrix has as many columns as fill the chunks, 10,000 rows of float32, in chunks of columns; each chunk is generated
on its worker.  A pass is ``X'a`` for one vector, and for eight.  The reference is the same kernel on the same number of
bytes in this process, with one thread for each worker.  Only ratios within a run mean something.

``--rows`` is for ``reduce_rows`` from a generator: its time without the generator's own.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator

import dask.array as da
import distributed
import numpy as np

import sparsest
from sparsest.core.designs import Dense, as_design
from sparsest.proofs.grid import Call

N = 10_000


def random_block(block_info: dict | None = None, **_: object) -> np.ndarray:
    """A chunk that depends on its place alone."""
    place = block_info[None]
    rng = np.random.default_rng(place["chunk-location"])
    return np.asfortranarray(rng.standard_normal(place["chunk-shape"], dtype=np.float32))


def best(work: Callable[[], object], repeats: int = 5) -> float:
    """The shortest time of several."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def timed_product(block: np.ndarray, a: np.ndarray, own: None) -> float:
    """CPU seconds of a product with a block."""
    begin = time.process_time()
    Dense(block, thread_bytes=sys.maxsize).tdot(a)
    return time.process_time() - begin


def nothing(block: np.ndarray, shared: np.ndarray, own: None) -> None:
    """What a pass costs without work."""


def cpu_seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """The shortest CPU time of several."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def passes(megabytes: int, chunks: int) -> None:
    width = megabytes * 1_000_000 // (4 * N)
    p = width * chunks
    array = da.map_blocks(random_block, chunks=((N,), (width,) * chunks), dtype=np.float32, meta=np.empty((0, 0), "f4"))
    there = as_design(array)
    here = as_design(np.asfortranarray(np.random.default_rng(0).standard_normal((N, p), dtype=np.float32)))
    gigabytes = 4 * N * p / 1e9
    print(f"{N} x {p} float32, {gigabytes:.2f} GB in {chunks} chunks of {megabytes} MB")
    print("| pass | cluster, s | GB/s | in memory, s | GB/s | ratio |\n|---|---|---|---|---|---|")
    for m in (1, 8):
        a = np.random.default_rng(1).standard_normal((N, m))
        of_cluster, in_memory = best(lambda a=a: there.tdot(a)), best(lambda a=a: here.tdot(a))
        rates = gigabytes / of_cluster, gigabytes / in_memory
        print(
            f"| X'a, {m} vectors | {of_cluster:.3f} | {rates[0]:.1f} | {in_memory:.3f} | {rates[1]:.1f} "
            f"| {of_cluster / in_memory:.2f} |"
        )
    calls, a = [Call(0, j) for j in range(chunks)], np.ones(N)
    of_workers = min(sum(there.grid.run(timed_product, calls, [a])) for _ in range(5))
    of_kernel = cpu_seconds(lambda: here.tdot(a))
    print(f"CPU seconds, one vector: workers {of_workers:.3f}, in memory {of_kernel:.3f}, {of_workers / of_kernel:.2f}")
    print(f"a pass without work: {1e3 * best(lambda: there.grid.run(nothing, calls, [a])):.1f} ms")
    print(f"a column to this process: {1e3 * best(lambda: there.grid.gather(np.array([3])), 3):.1f} ms")
    y = np.random.default_rng(2).standard_normal(N)
    begin = time.perf_counter()
    result = sparsest.best_subset(array, y, 5, gamma=1e-5, method="relaxation", time_limit=300.0)
    print(f"relaxation: {time.perf_counter() - begin:.1f} s, gap {result.gap:.1e} (with generating the chunks again)")
    begin = time.perf_counter()
    verdict = result.certificate.verify(array, y)
    print(f"verify: {time.perf_counter() - begin:.1f} s, {verdict.valid} (with generating the chunks again)")


def rows(n: int, p: int, height: int = 100_000) -> None:
    spent = [0.0]

    def chunks() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        rng = np.random.default_rng(0)
        for _ in range(n // height):
            begin = time.perf_counter()
            X = rng.standard_normal((height, p), dtype=np.float32)
            y = X[:, 3] - X[:, 7] + rng.standard_normal(height, dtype=np.float32)
            spent[0] += time.perf_counter() - begin
            yield X, y

    begin = time.perf_counter()
    summary = sparsest.reduce_rows(chunks())
    seconds = time.perf_counter() - begin - spent[0]
    given = {"sample_weight": summary.sample_weight}
    begin = time.perf_counter()
    result = sparsest.best_subset(summary.X, summary.y, 2, **given)
    solving = time.perf_counter() - begin
    gigabytes = 4 * n * p / 1e9
    print(f"reduce_rows {n} x {p}: {seconds:.1f} s ({gigabytes / seconds:.2f} GB/s), generator {spent[0]:.1f} s")
    print(f"relative error {summary.relative_error:.1e}; best subset of 2: {solving:.2f} s, {result.status.name}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--chunks", type=int, default=4)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=50)
    asked = parser.parse_args()
    settings = {"n_workers": 2, "processes": True, "threads_per_worker": 1, "host": "127.0.0.1"}
    with (
        distributed.LocalCluster(**settings, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster),
    ):
        passes(asked.megabytes, asked.chunks)
    rows(asked.rows, asked.columns)


if __name__ == "__main__":
    main()
