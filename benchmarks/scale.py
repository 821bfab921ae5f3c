"""Data on disk: the sizes of the paper and larger ones, built in blocks and read in blocks.

    python benchmarks/scale.py [--size small|paper|half|wide|tall|genotypes|all] [--order F|C] [--path] [--keep]
                               [--loss squared|hinge|both] [--kind float32|bed] [--folder FOLDER]

For every size and loss: seconds of the relaxation (method "relaxation", gap 1e-4), of one product X'r with the same
kernels from the page cache, of ``verify``; passes, bytes read, the largest anonymous memory of the process, gap, and
the seconds of the paper where it has them (250 GB of memory, cluster node).  With ``--path``, a Lasso path to 100
features too.  ``--kind bed`` compares packed genotypes with the same ones as int8.  Files are deleted unless
``--keep``.

``genotypes`` is the size for ``--kind bed``.  Disk space: small 0.3 GB, paper 4 GB, half 20 GB, wide and tall 40 GB
each, genotypes 0.6 GB packed.  Sizes larger than the memory measure the disk as much as the library; nothing else
should run.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from sparsest import best_subset, penalty_path
from sparsest.core.designs import Dense, as_design

# Observations and features, and the paper's seconds for the squared and the hinge loss.
SIZES = {
    "small": ((4_000, 20_000), {}),
    "paper": ((10_000, 100_000), {"squared": 12.9, "hinge": 37.3}),
    "half": ((10_000, 500_000), {"squared": 33.0, "hinge": 157.1}),
    "wide": ((10_000, 1_000_000), {}),
    "tall": ((100_000, 100_000), {}),
    "genotypes": ((5_000, 500_000), {}),
}
K, BLOCK_BYTES = 10, 1 << 26


class Anonymous:
    """The largest anonymous memory of this process inside the context, in bytes."""

    def __enter__(self) -> Anonymous:
        self.largest, self._done = self._now(), threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._done.wait(0.05):
            self.largest = max(self.largest, self._now())

    @staticmethod
    def _now() -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


def build(path: Path, shape: tuple[int, int], order: str) -> None:
    """Write standard normal numbers in single precision, block by block."""
    n, p = shape
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape, fortran_order=order == "F")
    lines, length = (X.T, n) if order == "F" else (X, p)
    height = max(1, BLOCK_BYTES // (4 * length))
    for begin in range(0, lines.shape[0], height):
        end = min(begin + height, lines.shape[0])
        lines[begin:end] = rng.standard_normal((end - begin, length), dtype=np.float32)
    X.flush()


def build_genotypes(path: Path, shape: tuple[int, int]) -> None:
    """Write packed genotypes of independent variants, block by block, with the files beside them."""
    n, p = shape
    rng, width = np.random.default_rng(0), -(-n // 4)
    with path.open("wb") as file:
        file.write(b"\x6c\x1b\x01")
        height = max(1, BLOCK_BYTES // (4 * width))
        for begin in range(0, p, height):
            codes = rng.choice(np.array([0, 2, 3], dtype=np.uint8), (min(height, p - begin), width, 4))
            file.write((codes << np.array([0, 2, 4, 6], dtype=np.uint8)).sum(axis=2, dtype=np.uint8).tobytes())
    path.with_suffix(".fam").write_text("".join(f"f s{i} 0 0 0 -9\n" for i in range(n)))
    path.with_suffix(".bim").write_text("".join(f"1 v{j} 0 {j} A G\n" for j in range(p)))


def response(design, loss: str) -> np.ndarray:
    """A response of ten columns and noise; its sign for the hinge loss."""
    columns = design.columns(np.linspace(0, design.shape[1] - 1, K).astype(int))
    columns -= columns.mean(axis=0)
    u = columns.sum(axis=1) / columns.std() + np.random.default_rng(1).standard_normal(design.shape[0])
    return u if loss == "squared" else np.where(u > 0.0, 1.0, -1.0)


def measure(name: str, X, loss: str, paper: float | None, path: bool) -> float:
    """Print one line of figures; return the seconds of the relaxation."""
    design = as_design(X)
    y = response(design, loss)
    r = np.random.default_rng(2).standard_normal(design.shape[0])
    design.tdot(r)
    start = time.perf_counter()
    design.tdot(r)
    product = time.perf_counter() - start
    some = design.take(np.arange(200))
    # Kernels for this storage are compiled before anything is measured.
    best_subset(some, y, k=2, loss=loss, method="relaxation")
    if path:
        penalty_path(some, y, loss=_of_path(loss), alphas=5)
    with Anonymous() as memory:
        start = time.perf_counter()
        result = best_subset(X, y, k=K, loss=loss, method="relaxation", time_limit=3600.0)
        seconds = time.perf_counter() - start
    start = time.perf_counter()
    valid = bool(result.certificate.verify(X, y))
    verifying = time.perf_counter() - start
    trace = result.trace
    reading = trace.get("reading", {"passes": float("nan"), "bytes": 0})
    beside = "" if paper is None else f"  paper {paper:.1f} s"
    figures = (
        f"{name:<28}{loss:<9}{seconds:8.2f} s{beside}", f"product {product:.2f} s",
        f"rounds {trace['relaxation']['rounds']}", f"passes {reading['passes']:.2f}",
        f"{reading['bytes'] / 1e9:.2f} GB",
        f"anonymous {memory.largest / 1e9:.2f} GB", f"gap {result.gap:.1e} {result.status.name}",
        f"verify {verifying:.2f} s {valid}",
    )  # fmt: skip
    print("  ".join(figures), flush=True)
    if path:
        start = time.perf_counter()
        found = penalty_path(X, y, loss=_of_path(loss), max_features=100)
        seconds_of_path = time.perf_counter() - start
        print(f"{'':<28}lasso path to {found.n_nonzero[-1]} features in {seconds_of_path:.2f} s", flush=True)
    return seconds


def _of_path(loss: str) -> str:
    return "squared" if loss == "squared" else "squared_hinge"


def run(size: str, order: str, losses: list[str], folder: Path, kind: str, path: bool, keep: bool) -> None:
    """Build the data of a size, measure, and delete them."""
    shape, papers = SIZES[size]
    name = f"{size} {shape[0]}x{shape[1]}"
    file = folder / (f"{size}.bed" if kind == "bed" else f"{size}_{order}.npy")
    if not file.exists():
        build_genotypes(file, shape) if kind == "bed" else build(file, shape, order)
    try:
        for loss in losses:
            if kind == "bed":
                packed = measure(f"{name} packed", str(file), loss, None, path)
                expanded = Dense(_expanded(as_design(str(file))))
                ratio = packed / measure(f"{name} int8", expanded, loss, None, path)
                print(f"{'':<24}packed over int8: {ratio:.2f} (wanted ≤ 1.5)", flush=True)
            else:
                measure(f"{name} {order}", str(file), loss, papers.get(loss), path)
    finally:
        if not keep:
            for ending in (file.suffix, ".fam", ".bim"):
                file.with_suffix(ending).unlink(missing_ok=True)


def _expanded(design) -> np.ndarray:
    """The genotypes as int8, for comparison."""
    n, p = design.shape
    matrix, width = np.empty((n, p), dtype=np.int8, order="F"), max(1, BLOCK_BYTES // (8 * n))
    for begin in range(0, p, width):
        index = np.arange(begin, min(begin + width, p))
        matrix[:, index] = design.columns(index)
    return matrix


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=[*SIZES, "all"], default="small")
    parser.add_argument("--order", choices=["F", "C"], default="F")
    parser.add_argument("--loss", choices=["squared", "hinge", "both"], default="both")
    parser.add_argument("--kind", choices=["float32", "bed"], default="float32")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--path", action="store_true")
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    losses = ["squared", "hinge"] if given.loss == "both" else [given.loss]
    rng = np.random.default_rng(3)
    for loss in losses:
        y = rng.standard_normal(100)
        best_subset(np.asfortranarray(rng.standard_normal((100, 50), dtype=np.float32)),
            y if loss == "squared" else np.sign(y), k=2, loss=loss, method="relaxation")  # fmt: skip
    for size in SIZES if given.size == "all" else [given.size]:
        run(size, given.order, losses, given.folder, given.kind, given.path, given.keep)


if __name__ == "__main__":
    main()
