"""A Lasso path of the logistic loss on a file larger than the memory that the process may use: sparsest and pybiglasso.

    python benchmarks/limited_memory.py [--columns 6250] [--limit 0.5] [--folder FOLDER] [--peer-python PYTHON]
                                        [--repeat 1] [--smallest 0.05] [--seconds 1000]

The published case of pybiglasso is a float64 matrix of 20,000 × 75,000 (12 GB) in a group of 3 GB, and 20 alphas:
``--columns 75000 --limit 3``.  Its data and alphas are not published; 0.05 of the largest alpha is its default, and
leads to very many features in ours.  With the default of ``--seconds``, which ends a solver, this takes at most 40
minutes: about 5 for the data and 17 for each solver; what ends early or is killed is reported.

Both solvers read the same mapped file, in a control group of their own whose limit counts the page cache too; before
each run the file is evicted from the cache.  Both get the same alphas.  Precision is compared by the objectives: the
largest excess of either over the smaller one, and ours by its duality gap.  ``--peer-python`` is an interpreter that
has pybiglasso.  It needs the right to make control groups (version 1 or 2), as root has.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

N, ALPHAS, TRUE, BLOCK_BYTES = 20_000, 20, 25, 1 << 26
GROUPS = Path("/sys/fs/cgroup")


def build(folder: Path, p: int, smallest: float) -> None:
    """Write X in column order, 0/1 labels, and alphas from the largest useful one down to this share of it."""
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float64, (N, p), fortran_order=True)
    width = max(1, BLOCK_BYTES // (8 * N))
    for begin in range(0, p, width):
        X.T[begin : begin + width] = rng.standard_normal((min(width, p - begin), N))
    X.flush()
    u = X[:, :: p // TRUE][:, :TRUE] @ rng.choice([-0.4, 0.4], TRUE)
    y = (rng.random(N) < 1.0 / (1.0 + np.exp(-u))).astype(np.float64)
    largest = 0.0
    for begin in range(0, p, width):
        block = X[:, begin : begin + width]
        block = (block - block.mean(axis=0)) / block.std(axis=0)
        largest = max(largest, float(np.abs(block.T @ (y - y.mean())).max()) / N)
    np.save(folder / "y.npy", y)
    np.save(folder / "alphas.npy", largest * np.geomspace(1.0, smallest, ALPHAS))


def warm_up() -> None:
    """Compile or load the kernels of a path."""
    from sparsest import penalty_path

    rng = np.random.default_rng(1)
    X = np.asfortranarray(rng.standard_normal((200, 50)))
    penalty_path(X, (X[:, 0] > rng.standard_normal(200)).astype(float), loss="logistic", alphas=5)


def solve_ours(folder: Path, tol: float) -> tuple[object, np.ndarray]:
    """Our path."""
    from sparsest import penalty_path

    y, alphas = np.load(folder / "y.npy"), np.load(folder / "alphas.npy")
    warm_up()
    began = time.perf_counter()
    path = penalty_path(str(folder / "X.npy"), y, loss="logistic", alphas=alphas, tol=tol)
    seconds = time.perf_counter() - began
    more = {"gap": float(np.max(path.dual_gaps)), "passes": path.reading["passes"], "read": path.reading["bytes"]}
    return {"seconds": seconds, **more}, np.vstack([path.intercepts, path.coefs.toarray()])


def solve_pybiglasso(folder: Path, tol: float) -> tuple[object, np.ndarray]:
    """Its path with one thread, as it advises under a tight limit."""
    import pybiglasso

    X, y, alphas = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("X", "y", "alphas"))
    began = time.perf_counter()
    path = pybiglasso.biglasso(X, y, lambdas=np.array(alphas), eps=tol, stop_on_saturation=False, n_threads=1)
    seconds = time.perf_counter() - began
    return {"seconds": seconds}, np.vstack([path.intercept, path.coef.toarray()])


SOLVERS = {"sparsest": solve_ours, "pybiglasso": solve_pybiglasso}


@contextmanager
def group(limit: int) -> Iterator[tuple[Path, Path]]:
    """A control group with a limit of memory: the file for process ids, and that with the largest use."""
    first = (GROUPS / "memory").is_dir()
    folder = (GROUPS / "memory" if first else GROUPS) / f"limited-memory-{os.getpid()}"
    folder.mkdir()
    try:
        (folder / ("memory.limit_in_bytes" if first else "memory.max")).write_text(str(limit))
        yield folder / "cgroup.procs", folder / ("memory.max_usage_in_bytes" if first else "memory.peak")
    finally:
        folder.rmdir()


def run(name: str, python: str, folder: Path, limit: int, tol: float, most: float) -> dict[str, float] | None:
    """Run one solver in a process under the limit, after the file has left the page cache; None if it did not end."""
    with (folder / "X.npy").open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    command = [python, __file__, "--solve", name, "--folder", str(folder), "--tol", str(tol)]
    with group(limit) as (processes, peak):
        # The shell enters the group and becomes the solver.
        shell = f'echo $$ > {processes} && exec "$@"'
        try:
            done = subprocess.run(["sh", "-c", shell, "sh", *command], capture_output=True, text=True, timeout=most)
        except subprocess.TimeoutExpired:
            print(f"{name:<12}did not end in {most:.0f} s", flush=True)
            return None
        used = int(peak.read_text())
    if done.returncode:
        killed = ", killed for its use of memory" if done.returncode in (-9, 137) else ""
        print(f"{name:<12}ended with {done.returncode}{killed} {done.stderr[-2000:]}", flush=True)
        return None
    return json.loads(done.stdout.splitlines()[-1]) | {"group": used}


def objectives(folder: Path, coefs: np.ndarray) -> np.ndarray:
    """The mean logistic loss and alpha times the absolute coefficients of standardised columns, for every alpha."""
    X, y, alphas = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("X", "y", "alphas"))
    used = np.flatnonzero(np.abs(coefs[1:]).max(axis=1))
    columns = np.asarray(X[:, used])
    u = columns @ coefs[1 + used] + coefs[0]
    penalty = alphas * (np.abs(coefs[1 + used]) * columns.std(axis=0)[:, None]).sum(axis=0)
    return (np.logaddexp(0.0, u) - y[:, None] * u).mean(axis=0) + penalty


def compare(folder: Path, limit: int, pythons: dict[str, str], tols: dict[str, float], most: float) -> None:
    """Run both and print a line for each."""
    found: dict[str, dict[str, float]] = {}
    for name in SOLVERS:
        one = run(name, pythons[name], folder, limit, tols[name], most)
        if one is not None:
            print(f"{name:<12}{one['seconds']:8.1f} s", flush=True)
            found[name] = one
    values = {name: objectives(folder, np.load(folder / f"{name}.npy")) for name in found}
    least = np.min(list(values.values()), axis=0) if values else np.empty(0)
    for name, one in found.items():
        excess = float(((values[name] - least) / least).max())
        features = int((np.load(folder / f"{name}.npy")[1:, -1] != 0.0).sum())
        more = "".join(f"  {key} {one[key]:.3g}" for key in ("gap", "passes", "read") if key in one)
        sizes = f"group {one['group'] / 1e9:.2f} GB  anonymous {one['anonymous'] / 1e9:.2f} GB"
        disk = f"read from disk {one['disk'] / 1e9:.2f} GB"
        line = f"{name:<12}{one['seconds']:8.1f} s  {sizes}  {disk}  excess {excess:.1e}  {features} features{more}"
        print(line, flush=True)
    if len(found) == len(SOLVERS):
        ratio = found["sparsest"]["seconds"] / found["pybiglasso"]["seconds"]
        print(f"seconds of ours over those of pybiglasso: {ratio:.2f}", flush=True)


def solve(name: str, folder: Path, tol: float) -> None:
    """In the limited process: solve, keep the coefficients, print the figures."""
    figures, coefs = SOLVERS[name](folder, tol)
    np.save(folder / f"{name}.npy", coefs)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    disk = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())["read_bytes"]
    print(json.dumps({**figures, "anonymous": 1024 * int(status["RssAnon"].split()[0]), "disk": int(disk)}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, default=6250)
    parser.add_argument("--limit", type=float, default=0.5, help="GB")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--peer-python", default=sys.executable)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--smallest", type=float, default=0.05, help="the last alpha, as a share of the first")
    parser.add_argument("--seconds", type=float, default=1000.0, help="most seconds of a solver")
    parser.add_argument("--tol", type=float, default=1e-6, help="ours")
    parser.add_argument("--peer-tol", type=float, default=1e-7, help="that of pybiglasso, its default")
    parser.add_argument("--solve", choices=list(SOLVERS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.solve:
        solve(given.solve, given.folder, given.tol)
        return
    # The compiler takes more memory than a small limit leaves.
    warm_up()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        began = time.perf_counter()
        build(Path(folder), given.columns, given.smallest)
        print(f"data made in {time.perf_counter() - began:.0f} s", flush=True)
        pythons = {"sparsest": sys.executable, "pybiglasso": given.peer_python}
        tols = {"sparsest": given.tol, "pybiglasso": given.peer_tol}
        for _ in range(given.repeat):
            compare(Path(folder), int(1e9 * given.limit), pythons, tols, given.seconds)


if __name__ == "__main__":
    main()
