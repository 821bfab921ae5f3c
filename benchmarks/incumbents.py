"""Incumbents: what the tree has found after a second against cheaper methods, and what each of its starts contributes.

Every support is refitted in one objective; a value counts as worse from 1e-4 on, the tree's tolerance.

    python benchmarks/incumbents.py [--instances 0 200] [--real] [--limit 1] [--starts]

Random instances (Toeplitz, squared loss, no intercept) go through n = 100 to 500, p = 200 to 4000, k = 5 to 20, SNR
0.5 to 6, ρ = 0.2 to 0.9 and γ = 2^4 to 2^12 γ0; the real ones have standardised columns, k = 10 and the default γ.
Peers: our ``relaxation`` and ``local`` (forward selection and swaps), abess with and without the ridge, and the swaps
of L0Learn: a path by coordinate descent, then exchanges of one coordinate as long as any is better.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from table import Row

from sparsest import best_subset
from sparsest.datasets import load_folder, make_toeplitz

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
WORSE = 1e-4
REGRESSION = ("riboflavin", "wheat_dart", "eyedata200", "communities_crime", "diabetes64")
CLASSES = ("ma_singh", "ma_golub", "ma_alon", "ma_gravier", "arcene100")


def ours(X, y, k, gamma, loss, method, limit):
    settings = {"gamma": gamma, "loss": loss, "standardize": False, "fit_intercept": loss != "squared"}
    return best_subset(X, y, k, method=method, time_limit=limit, **settings)


def value(X, y, support, gamma, loss):
    """The objective of a support."""
    if loss != "squared":
        fixed = {"include": support, "gamma": gamma, "loss": loss, "standardize": False, "method": "local"}
        return best_subset(X, y, len(support), **fixed).objective
    Z = X[:, support]
    w = np.linalg.solve(Z.T @ Z + np.eye(len(support)) / gamma, Z.T @ y)
    return 0.5 * float(np.sum((y - Z @ w) ** 2)) + 0.5 / gamma * float(w @ w)


def abess(X, y, k, gamma, loss):
    from abess.linear import LinearRegression, LogisticRegression

    model = LinearRegression if loss == "squared" else LogisticRegression
    found = []
    for alpha in (0.0, 1 / gamma / X.shape[0]):
        with contextlib.redirect_stdout(io.StringIO()):
            fitted = model(support_size=k, alpha=alpha, fit_intercept=loss != "squared").fit(X, y)
        found.append(value(X, y, np.flatnonzero(np.ravel(fitted.coef_)), gamma, loss))
    return min(found)


def swaps(X, y, k, gamma, loss):
    """Coordinate descent over a falling price per feature, then exchanges of single coordinates; squared loss."""
    if loss != "squared":
        return np.inf
    squares = np.square(X).sum(axis=0)
    w, r = np.zeros(X.shape[1]), y.copy()
    price = 0.5 * float(np.max((X.T @ y) ** 2 / (squares + 1 / gamma)))
    last = None
    while np.count_nonzero(w) < k and price > 1e-9:
        price *= 0.9
        descend(X, w, r, squares, gamma, price)
        if np.count_nonzero(w) <= k:
            last = w.copy(), r.copy()
    if np.count_nonzero(w) > k:
        smallest = np.argsort(np.abs(w) * np.sqrt(squares))[:-k]
        r += X[:, smallest] @ w[smallest]
        w[smallest] = 0.0
    return min(exchange(X, y, *start, squares, gamma) for start in ((w, r), last))


def descend(X, w, r, squares, gamma, price):
    """Coordinate descent among the features whose gain exceeds the price and those inside."""
    curvature = squares + 1 / gamma
    for _ in range(20):
        gains = 0.5 * (X.T @ r + w * squares) ** 2 / curvature
        moved = 0.0
        for j in np.flatnonzero((gains > price) | (w != 0)):
            target = X[:, j] @ r + w[j] * squares[j]
            new = target / curvature[j] if 0.5 * target**2 / curvature[j] > price else 0.0
            if new != w[j]:
                r -= (new - w[j]) * X[:, j]
                moved, w[j] = max(moved, abs(new - w[j])), new
        if moved < 1e-4:
            return


def exchange(X, y, w, r, squares, gamma):
    """Take one coordinate out and the best one in, as long as that helps; then refit."""
    curvature = squares + 1 / gamma
    improved = True
    while improved:
        improved = False
        for j in np.flatnonzero(w):
            rest = r + w[j] * X[:, j]
            products = X.T @ rest
            gains = 0.5 * products**2 / curvature
            gains[(w != 0) & (np.arange(w.size) != j)] = 0.0
            i = int(np.argmax(gains))
            if i != j and gains[i] > (1 + 1e-9) * gains[j]:
                w[j], w[i] = 0.0, products[i] / curvature[i]
                r = rest - w[i] * X[:, i]
                improved = True
    return value(X, y, np.flatnonzero(w), gamma, "squared")


def random_instance(seed):
    rng = np.random.default_rng(seed)
    n, p, k = (int(rng.choice(values)) for values in ((100, 200, 500), (200, 1000, 4000), (5, 10, 20)))
    snr, rho, power = (float(rng.choice(values)) for values in ((0.5, 1, 6), (0.2, 0.7, 0.9), (4, 8, 12)))
    data = make_toeplitz(n, p, k, rho=rho, snr=snr, rng=seed)
    gamma0 = p / (k * n * float(np.square(data.X).sum(axis=1).max()))
    title = f"{seed}: n {n} p {p} k {k} SNR {snr:g} rho {rho:g} 2^{power:g}"
    return title, data.X, data.y, k, 2**power * gamma0, "squared"


def real_instance(name):
    data = load_folder(DATA / name)
    X, loss = np.asarray(data.X, dtype=float), "squared" if name in REGRESSION else "logistic"
    X = X - X.mean(axis=0)
    X = X[:, X.std(axis=0) > 1e-9]
    X /= X.std(axis=0)
    y = data.y - np.mean(data.y) if loss == "squared" else np.where(data.y == np.unique(data.y)[1], 1.0, -1.0)
    if loss == "squared":
        y = y / y.std()
    return f"{name}: n {X.shape[0]} p {X.shape[1]}", X, y, 10, (10.0 if loss == "squared" else 40.0) / X.shape[0], loss


class Tally:
    """Where each method and each start of the tree ended, relative to the best."""

    def __init__(self):
        self.excess, self.seconds, self.worse = {}, {}, []
        # What each start led to by itself, in the instances where there was a search from it.
        self.starts = {}

    def add(self, instance, limit):
        title, X, y, k, gamma, loss = instance
        found = {}
        tree = []
        jobs = {
            "tree": lambda: tree.append(ours(X, y, k, gamma, loss, "tree", limit)) or tree[0].objective,
            "relaxation": lambda: ours(X, y, k, gamma, loss, "relaxation", 60.0).objective,
            "local": lambda: ours(X, y, k, gamma, loss, "local", 60.0).objective,
            "abess": lambda: abess(X, y, k, gamma, loss),
            "swaps": lambda: swaps(X, y, k, gamma, loss),
        }
        for name, job in jobs.items():
            start = time.perf_counter()
            found[name] = job()
            self.seconds.setdefault(name, []).append(time.perf_counter() - start)
        best = min(found.values())
        for name, objective in found.items():
            if np.isfinite(objective):
                self.excess.setdefault(name, []).append(objective / best - 1)
        for name, objective in tree[0].trace.get("starts", {}).items():
            self.starts.setdefault(name, []).append(objective / best - 1)
        if found["tree"] > (1 + WORSE) * best:
            self.worse.append(title)
            print(f"{title}: tree worse: {found}", flush=True)

    def show(self):
        count = len(self.excess["tree"])
        print(f"{count} instances, the tree worse than another method in {len(self.worse)}")
        for name, excess in self.excess.items():
            print(
                f"    {name:10s} best in {np.mean(np.array(excess) <= WORSE):6.1%}, on average {np.mean(excess):.2%}"
                f" above the best, at most {np.max(excess):.1%}; median {np.median(self.seconds[name]):.2f} s",
                flush=True,
            )

    def show_starts(self):
        print(f"starts, where the gap stayed open: {len(self.starts.get('detours', []))} instances")
        for name, excess in self.starts.items():
            print(
                f"    {name:18s} {len(excess):3d} times, best in {np.mean(np.array(excess) <= WORSE):6.1%},"
                f" on average {np.mean(excess):.2%} above the best, at most {np.max(excess):.1%}",
                flush=True,
            )


def rows(limit: float = 1.0) -> Iterator[Row]:
    """Figures that have targets: how often another method has a better model than the tree after a second."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    for title, instances in (
        ("200 random instances", map(random_instance, range(200))),
        ("10 real ones", map(real_instance, REGRESSION + CLASSES)),
    ):
        tally = Tally()
        for instance in instances:
            tally.add(instance, limit)
        yield Row(f"{title}, the tree's model is worse", len(tally.worse), "times", 0)
        yield Row(f"{title}, most that it is above the best", 100 * max(tally.excess["tree"]), "%", 0.01)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, nargs=2, default=(0, 200))
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--limit", type=float, default=1.0)
    parser.add_argument("--starts", action="store_true", help="show what each start of the tree led to")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    tally = Tally()
    numbers = range(*arguments.instances)
    for instance in map(real_instance, REGRESSION + CLASSES) if arguments.real else map(random_instance, numbers):
        tally.add(instance, arguments.limit)
    tally.show()
    if arguments.starts:
        tally.show_starts()


if __name__ == "__main__":
    main()
