"""Block coordinate descent, compiled and plain, against a general solver and by the conditions of optimality."""

from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest

from sparsest.core.penalties import L1, MCP, SCAD, ElasticNet, WithRidge
from sparsest.paths.kernels import blocks as kernels
from sparsest.paths.kernels.boxes import Unlimited

N = 30
STARTS = np.array([0, 3, 4, 9, 11])
M = int(STARTS[-1])
PENALTIES = [L1(), ElasticNet(0.4), MCP(3.0), SCAD(3.7), WithRidge(MCP(3.0), 0.5)]


def make_case(lines, dependent=False):
    """The model of a least-squares problem, its eigenvectors and its gradient at zero."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, M)) + rng.standard_normal((N, 1))
    if dependent:
        X[:, 5] = X[:, 4]
    X -= X.mean(axis=0)
    y = X[:, :6] @ rng.standard_normal(6) + rng.standard_normal(N)
    y -= y.mean()
    gram, grad, h = X.T @ X / N, -X.T @ y / N, np.full(N, 1.0 / N)
    values, vectors = np.empty(M), np.zeros((M, 5))
    for begin, end in pairwise(STARTS):
        found, turned = np.linalg.eigh(gram[begin:end, begin:end])
        values[begin:end], vectors[begin:end, : end - begin] = np.maximum(found, 0.0), turned
    model = kernels.LineBlocks(X.T.copy(), np.zeros(M), h, -y / N) if lines else kernels.GramBlocks(gram)
    return X, y, model, values, vectors, grad


def norms(w):
    return np.sqrt(np.add.reduceat(w**2, STARTS[:-1]))


def objective(X, y, w, lam, penalty):
    return 0.5 * ((y - X @ w) ** 2).mean() + penalty.value(norms(w), lam[STARTS[:-1]]).sum()


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: type(penalty).__name__)
@pytest.mark.parametrize("dependent", [False, True])
def test_stationary_points(run, lines, penalty, dependent):
    X, y, model, values, vectors, grad = make_case(lines, dependent)
    w, lam = np.zeros(M), np.repeat([0.3, 0.2, 0.0, 0.25], np.diff(STARTS))
    sweeps, worst = run(kernels.descend_blocks)(
        model, Unlimited(), values, vectors, w, grad, lam, STARTS, penalty, 1e-9, np.int64(5000)
    )
    assert worst <= 1e-9 and sweeps > 2 and w.any()
    np.testing.assert_allclose(grad, X.T @ (X @ w - y) / N, atol=1e-12)
    assert run(kernels.block_violation)(grad, w, lam, STARTS, penalty, Unlimited()) == pytest.approx(worst, abs=1e-12)
    rng = np.random.default_rng(1)
    here = objective(X, y, w, lam, penalty)
    assert all(objective(X, y, w + 1e-4 * rng.standard_normal(M), lam, penalty) >= here - 1e-10 for _ in range(50))


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_the_least_objective(run, share):
    X, y, model, values, vectors, grad = make_case(False)
    w, lam = np.zeros(M), np.repeat([0.5, 0.3, 0.4, 0.2], np.diff(STARTS))
    penalty = L1() if share == 1.0 else ElasticNet(share)
    run(kernels.descend_blocks)(
        model, Unlimited(), values, vectors, w, grad, lam, STARTS, penalty, 1e-9, np.int64(5000)
    )
    u = cp.Variable(M)
    parts = [u[begin:end] for begin, end in pairwise(STARTS)]
    total = cp.sum_squares(y - X @ u) / (2 * N) + sum(
        s * (share * cp.norm(part) + 0.5 * (1.0 - share) * cp.sum_squares(part))
        for s, part in zip(lam[STARTS[:-1]], parts, strict=True)
    )
    best = cp.Problem(cp.Minimize(total)).solve(solver="CLARABEL")
    assert objective(X, y, w, lam, penalty) == pytest.approx(best, rel=1e-7)


def test_grams_of_blocks(run):
    rng = np.random.default_rng(2)
    X, h = rng.standard_normal((N, M)), rng.uniform(0.1, 1.0, N)
    centre, out = h @ X / h.sum(), np.full((M, 5), np.nan)
    run(kernels.block_grams)(X.T.copy(), centre, h, 1, STARTS, out)
    for begin, end in pairwise(STARTS[1:]):
        part = X[:, begin:end] - centre[begin:end]
        np.testing.assert_allclose(out[begin:end, : end - begin], part.T @ (h[:, None] * part), atol=1e-12)
    assert np.isnan(out[0]).all()
