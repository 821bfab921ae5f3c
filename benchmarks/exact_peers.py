"""The peers of ``exact.py``, each in a separate process, and our solver timed in the same way."""

from __future__ import annotations

import contextlib
import gc
import io
import multiprocessing
import resource
import time
from typing import NamedTuple

import numpy as np

from sparsest import best_subset
from sparsest.datasets import make_toeplitz

TOLERANCE = 1e-4
MEMORY = 12 * 10**9  # bytes, of every peer
REPEATS = 5  # of short calls, of which the quickest counts
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
    """The least of some times where one is short: such times are mostly the machine's."""
    runs = [ours(X, y, limit, **settings)]
    while len(runs) < REPEATS and runs[0][0].wall < 0.5 * limit:
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


def dismiss():
    """End the processes of all peers."""
    for process, pipe in WORKERS.values():
        pipe.send(())
        process.join()
    WORKERS.clear()
