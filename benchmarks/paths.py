"""Penalty paths against glmnet, adelie, pycasso and skglm: same data, same alphas, one run.

    python benchmarks/paths.py [--case NAME ...] [--penalty NAME ...] [--loss NAME ...] [--peer NAME ...]
        [--repeat 3] [--defaults] [--tol TOL]

Every solver gets the columns standardised to mean square 1, a centred response of unit variance and the same
alphas; only the solver is timed (in R inside R), in CPU time, the best of some repetitions counts, and compilation
never does.
Precision is computed here from the returned coefficients: ``excess`` is the largest relative excess of a solver's
objective over the other's at the same alpha, ``violation`` the largest violation of the optimality
conditions relative to alpha.  Every peer runs at its default tolerance, then at a hundredth of the one before,
until it is as precise as asked (an excess of 1e-7 for the convex penalties, a violation of 1e-3 for the others,
whose local minima differ) or takes more than three times as long as we do; with ``--defaults`` at its default alone.
We run once, at our default or the tolerance given.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from table import Row

from sparsest.core.losses import make_loss
from sparsest.core.penalties import make_penalty
from sparsest.datasets import load_folder, make_toeplitz
from sparsest.paths.api import penalty_path

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SETTINGS = {"l1": {}, "elastic_net": {"l1_ratio": 0.5}, "mcp": {"concavity": 3.0}, "scad": {"concavity": 3.7}}
N_ALPHAS, RATIO = 100, 0.01
LADDER = (1e-7, 1e-9, 1e-11, 1e-13)  # every peer's default is the first
EXCESS, VIOLATION, PATIENCE = 1e-7, 1e-3, 3.0
# Seconds of calls that are timed together, and from which on a call is not repeated.
BATCH, SLOW = 0.1, 10.0


def dense_case(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    data = make_toeplitz(n, p, 50, rho=0.5, snr=1.0, rng=0)
    return data.X, data.y


def sparse_case(n: int, p: int, density: float = 0.01) -> tuple[sp.csc_array, np.ndarray]:
    rng = np.random.default_rng(0)
    X = sp.random_array((n, p), density=density, rng=rng, format="csc", data_sampler=rng.standard_normal)
    X = X[:, np.diff(X.indptr) > 0]
    signal = X[:, :50] @ rng.standard_normal(50)
    return sp.csc_array(X), signal + rng.standard_normal(n) * signal.std()


def folder_case(name: str) -> tuple[np.ndarray, np.ndarray]:
    data = load_folder(DATA / name)
    X = np.asarray(data.X, dtype=float)
    labels = np.unique(data.y)
    y = data.y == labels[1] if labels.size == 2 else data.y
    return X[:, X.std(axis=0) > 0.0], np.asarray(y, dtype=float)


CASES: dict[str, Callable] = {
    "1000x5000": lambda: dense_case(1000, 5000),
    "500x20000": lambda: dense_case(500, 20000),
    "5000x1000": lambda: dense_case(5000, 1000),
    "200x100000": lambda: dense_case(200, 100000),
    "csc 1000x5000": lambda: sparse_case(1000, 5000),
    "csc 5000x20000": lambda: sparse_case(5000, 20000),
    "riboflavin 71x4088": lambda: folder_case("riboflavin"),
    "communities 1994x100": lambda: folder_case("communities_crime"),
    "spam 4601x57": lambda: folder_case("spam_esl"),
}


def standardise(X):
    """Columns of mean square 1; dense ones centred too (a sparse X keeps its zeros)."""
    if sp.issparse(X):
        scaled = sp.csc_array(X @ sp.diags_array(1.0 / np.sqrt(X.power(2).mean(axis=0))))
        scaled.sort_indices()
        return scaled
    X = X - X.mean(axis=0)
    return np.asfortranarray(X / np.sqrt((X**2).mean(axis=0)))


def objectives(X, y, coefs, intercepts, alphas, penalty, loss):
    """The objective of every column of ``coefs``."""
    margin = X @ coefs + intercepts
    fit = make_loss(loss).value(y[:, None], margin).mean(axis=0)
    dense = coefs.toarray() if sp.issparse(coefs) else coefs
    return fit + penalty.value(dense, alphas).sum(axis=0)


def violations(X, y, coefs, intercepts, alphas, penalty, loss):
    """The largest violation of the optimality conditions per alpha, relative to it."""
    margin = X @ coefs + intercepts
    grad = X.T @ make_loss(loss).derivative(y[:, None], margin) / y.size
    dense = coefs.toarray() if sp.issparse(coefs) else coefs
    active = np.abs(grad + penalty.derivative(dense, alphas))
    return (np.where(dense == 0.0, np.abs(grad) - penalty.threshold(alphas), active) / alphas).max(axis=0)


def best_time(run: Callable, repeat: int):
    """The shortest CPU time of some calls, short ones in batches, and a result; a slow call is not repeated."""
    best, count = np.inf, 1
    for _ in range(repeat):
        start = time.process_time()
        for _ in range(count):
            result = run()
        best = min(best, (time.process_time() - start) / count)
        if best > SLOW:
            break
        count = int(np.ceil(BATCH / best))
    return best, result


def ours(X, y, alphas, name, loss, repeat, precision):
    def run(alphas=alphas):
        return penalty_path(X, y, name, loss=loss, alphas=alphas, standardize=False, **SETTINGS[name], **precision)

    run(alphas[:2])
    seconds, result = best_time(run, repeat)
    return seconds, result, run


def glmnet(X, y, alphas, name, loss, repeat, tol, limits=""):
    if name in ("mcp", "scad"):
        return None
    mixing = SETTINGS[name].get("l1_ratio", 1.0)
    family = {"squared": "gaussian", "logistic": "binomial", "poisson": "poisson"}[loss]
    with tempfile.TemporaryDirectory() as folder:
        read = _write_for_r(X, y, alphas, folder)
        script = f"""
suppressMessages(library(glmnet)); library(Matrix); setwd("{folder}")
{read}
y <- readBin("y", "double", {y.size}); a <- readBin("a", "double", {alphas.size})
best <- Inf; count <- 1
for (i in 1:{repeat}) {{ t <- sum(proc.time()[1:2])
  for (j in 1:count)
    f <- glmnet(X, y, family="{family}", alpha={mixing}, lambda=a, thresh={tol}, standardize=FALSE, maxit=1e7{limits})
  best <- min(best, max(sum(proc.time()[1:2]) - t, 1e-3) / count); count <- ceiling({BATCH} / best)
  if (best > {SLOW}) break }}
b <- as.matrix(f$beta); writeBin(c(best, ncol(b), as.numeric(f$a0), as.numeric(b)), "out")"""
        Path(folder, "run.R").write_text(script)
        subprocess.run(["Rscript", str(Path(folder, "run.R"))], check=True, capture_output=True, text=True)
        out = np.fromfile(Path(folder, "out"))
    m = int(out[1])
    return out[0], out[2 + m :].reshape(m, X.shape[1]).T, out[2 : 2 + m]


def glmnet_limits(X, y, alphas, repeat):
    """The Lasso of positive coefficients, at glmnet's default tolerance."""
    return glmnet(X, y, alphas, "l1", "squared", repeat, LADDER[0], ", lower.limits=0")


def _write_for_r(X, y, alphas, folder) -> str:
    """Write the arrays; returns the R text that reads X."""
    (y > 0 if set(np.unique(y)) == {-1.0, 1.0} else y).astype(float).tofile(Path(folder, "y"))
    alphas.tofile(Path(folder, "a"))
    n, p = X.shape
    if not sp.issparse(X):
        X.ravel(order="F").tofile(Path(folder, "X"))
        return f'X <- matrix(readBin("X", "double", {n * p}), {n}, {p})'
    for name, part in (("v", X.data), ("i", X.indices.astype(np.int32)), ("p", X.indptr.astype(np.int32))):
        part.tofile(Path(folder, name))
    return (
        f'X <- new("dgCMatrix", x=readBin("v", "double", {X.nnz}), i=readBin("i", "integer", {X.nnz}), '
        f'p=readBin("p", "integer", {p + 1}), Dim=c({n}L, {p}L))'
    )


def adelie(X, y, alphas, name, loss, repeat, tol):
    import adelie as ad

    if name in ("mcp", "scad"):
        return None
    matrix = ad.matrix.sparse(sp.csc_matrix(X)) if sp.issparse(X) else ad.matrix.dense(X)
    glm = ad.glm.gaussian(y) if loss == "squared" else ad.glm.binomial((y > 0).astype(float))

    def fit():
        return ad.grpnet(
            matrix, glm, alpha=SETTINGS[name].get("l1_ratio", 1.0), lmda_path=alphas, tol=tol, irls_tol=tol,
            adev_tol=1.0, ddev_tol=0.0, early_exit=False, progress_bar=False,
        )  # fmt: skip

    seconds, state = best_time(fit, repeat)
    return seconds, sp.csc_array(state.betas.T), np.asarray(state.intercepts)


def pycasso(X, y, alphas, name, loss, repeat, tol):
    import pycasso as peer

    if name == "elastic_net" or sp.issparse(X):
        return None
    labels = (y > 0).astype(float) if loss == "logistic" else y
    family = "gaussian" if loss == "squared" else "binomial"
    matrix = np.ascontiguousarray(X)

    def fit():
        solver = peer.Solver(
            matrix,
            labels,
            lambdas=alphas.copy(),
            penalty=name,
            gamma=SETTINGS[name].get("concavity", 3.0),
            family=family,
            prec=tol,
        )
        solver.train()
        return solver

    seconds, solver = best_time(fit, repeat)
    coef = solver.coef()
    return seconds, np.asarray(coef["beta"]).T, np.asarray(coef["intercept"])


def skglm(X, y, alphas, name, loss, repeat, tol):
    from skglm.datafits import Logistic, Quadratic
    from skglm.penalties import L1, SCAD, L1_plus_L2, MCPenalty
    from skglm.solvers import AndersonCD

    penalty = {
        "l1": lambda: L1(1.0), "elastic_net": lambda: L1_plus_L2(1.0, 0.5), "mcp": lambda: MCPenalty(1.0, 3.0),
        "scad": lambda: SCAD(1.0, 3.7),
    }[name]()  # fmt: skip
    datafit = Quadratic() if loss == "squared" else Logistic()
    matrix = sp.csc_matrix(X) if sp.issparse(X) else X

    def fit(alphas=alphas):
        return AndersonCD(tol=tol, fit_intercept=True).path(matrix, y, datafit, penalty, alphas)

    fit(alphas[:2])
    seconds, (_, coefs, *_) = best_time(fit, 1)
    return seconds, coefs[:-1], coefs[-1]


PEERS = {"glmnet": glmnet, "adelie": adelie, "pycasso": pycasso, "skglm": skglm}


def prepared(case, name, loss):
    """The data of a case as all solvers get them, and the alphas."""
    X, y = CASES[case]()
    X = standardise(X)
    y = (y - y.mean()) / y.std()
    if loss == "logistic":
        y = np.where(y > 0, 1.0, -1.0)
    start = penalty_path(X, y, name, loss=loss, alphas=1, standardize=False, **SETTINGS[name])
    return X, y, np.geomspace(start.alphas[0], RATIO * start.alphas[0], N_ALPHAS)


def compare(case, name, loss, repeat, peers, ladder, precision):
    X, y, alphas = prepared(case, name, loss)
    penalty = make_penalty(name, **SETTINGS[name])

    def judge(coefs, intercepts):
        settings = (X, y, coefs, intercepts, alphas[: len(intercepts)], penalty, loss)
        return objectives(*settings), violations(*settings).max()

    print(f"\n{case}  {loss}  {name}")
    seconds, path, _ = ours(X, y, alphas, name, loss, repeat, precision)
    mine, violation = judge(path.coefs[:, path.solved], path.intercepts[path.solved])
    gap = "" if path.dual_gaps is None else f"gap {path.dual_gaps[path.solved].max():.0e}   "
    print(
        f"    {'sparsest':10s} {seconds:8.3f} s   {gap}violation {violation:.0e}   {mine.size} alphas, "
        f"{np.sum(path.solved & ~path.converged)} not converged, {path.n_iter.sum()} sweeps",
        flush=True,
    )
    for peer in peers:
        for tol in ladder:
            try:
                answer = PEERS[peer](X, y, alphas, name, loss, repeat, tol)
            except Exception as error:
                said = getattr(error, "stderr", None) or str(error)
                print(f"    {peer:10s}   failed: {type(error).__name__}: {' '.join(said.split())[-120:]}")
                break
            if answer is None:
                break
            theirs_seconds, *solution = answer
            theirs, violation = judge(*solution)
            m = min(theirs.size, mine.size)
            relative = theirs[:m] / mine[:m] - 1.0
            print(
                f"    {peer:10s} {theirs_seconds:8.3f} s   tolerance {tol:.0e}   ours/theirs "
                f"{seconds / theirs_seconds:6.2f}   their excess {relative.max():8.1e}   our excess "
                f"{-relative.min():8.1e}   violation {violation:.0e}   {theirs.size} alphas",
                flush=True,
            )
            precise = relative.max() <= EXCESS if penalty.convex else violation <= VIOLATION
            if precise or theirs_seconds > PATIENCE * seconds:
                break


# What is wanted with every solver at its default: cases, loss, penalties, the peers whose fastest counts, and the
# largest share of its time.
WIDE_AND_TALL = ("1000x5000", "500x20000", "5000x1000", "200x100000")
TARGETS = (
    (WIDE_AND_TALL, "squared", ("l1", "elastic_net"), ("glmnet", "adelie"), 1.0),
    (("csc 1000x5000", "csc 5000x20000"), "squared", ("l1", "elastic_net"), ("glmnet", "adelie"), 0.6),
    (("riboflavin 71x4088",), "squared", ("l1", "elastic_net"), ("glmnet", "adelie"), 0.4),
    (("communities 1994x100", "spam 4601x57"), "squared", ("l1", "elastic_net"), ("glmnet",), 1.0),
    (("1000x5000", "riboflavin 71x4088", "communities 1994x100", "spam 4601x57"), "squared", ("mcp", "scad"),
     ("pycasso",), 0.7),
    (("1000x5000", "communities 1994x100", "spam 4601x57"), "logistic", ("l1", "elastic_net"), ("glmnet",), 1.0),
)  # fmt: skip


# Data of two classes: real ones, and n, p of simulated ones.
CLASSES = ("arcene100", "ma_alon", "ma_golub", "ma_gravier", "ma_singh", "ma_west", "madelon", "spam_esl",
           "tcga_lung_mirna")  # fmt: skip
SIMULATED_CLASSES = ((200, 1000), (500, 2000), (1000, 5000), (1000, 200))


def unconverged(name: str) -> tuple[int, int]:
    """Numbers of unconverged and of all points of logistic paths over 25 data sets with two classes."""
    sets = [(data.X, data.y) for data in (load_folder(DATA / folder) for folder in CLASSES)]
    for (n, p), rho, snr in product(SIMULATED_CLASSES, (0.2, 0.8), (0.5, 3.0)):
        data = make_toeplitz(n, p, 10, rho=rho, snr=snr, rng=1)
        sets.append((data.X, data.y > np.median(data.y)))
    paths = [penalty_path(X, y, name, loss="logistic") for X, y in sets]
    return sum((path.solved & ~path.converged).sum() for path in paths), sum(path.solved.sum() for path in paths)


def rows() -> Iterator[Row]:
    """Our time over the fastest peer's, measured before and after it; some 10 minutes."""
    warnings.simplefilter("ignore")
    for name in ("mcp", "scad"):
        failed, all_points = unconverged(name)
        yield Row(f"points that did not converge, logistic, {name}", failed, f"of {all_points}", 0)
    for cases, loss, penalties, peers, target in TARGETS:
        for case, name in product(cases, penalties):
            X, y, alphas = prepared(case, name, loss)
            seconds, _, again = ours(X, y, alphas, name, loss, 3, {})
            answers = {peer: PEERS[peer](X, y, alphas, name, loss, 3, LADDER[0]) for peer in peers}
            fastest = min(answers, key=lambda peer: answers[peer][0])
            theirs, *_, intercepts = answers[fastest]
            if len(intercepts) < alphas.size:
                # A peer that gives up early is compared on the alphas that it has solved.
                seconds, _, again = ours(X, y, alphas[: len(intercepts)], name, loss, 3, {})
            seconds = min(seconds, best_time(again, 3)[0])
            unit = f"of {fastest}" if len(intercepts) == alphas.size else f"of {fastest}, {len(intercepts)} alphas"
            yield Row(f"{case}, {loss}, {name}", seconds / theirs, unit, target)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--penalty", nargs="*", default=list(SETTINGS), choices=list(SETTINGS))
    parser.add_argument("--loss", nargs="*", default=["squared"], choices=["squared", "logistic"])
    parser.add_argument("--peer", nargs="*", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--defaults", action="store_true", help="peers at their default tolerance alone")
    parser.add_argument("--tol", type=float, help="our tolerance")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    ladder = LADDER[:1] if options.defaults else LADDER
    precision = {} if options.tol is None else {"tol": options.tol}
    for loss in options.loss:
        for case in options.case:
            for name in options.penalty:
                compare(case, name, loss, options.repeat, options.peer, ladder, precision)


if __name__ == "__main__":
    main()
