"""The dense form of columns, compiled and plain, against NumPy."""

import numpy as np
import pytest

from sparsest.core.designs import as_design
from sparsest.core.designs.columns import path_columns
from sparsest.core.kernels import lines as kernels
from sparsest.core.kernels.descent import sweep
from sparsest.core.penalties import make_penalty
from sparsest.runtime.jit import kernel

N, P, M = 12, 7, 4


@kernel
def compiled(form, w, step, target, origin, chosen, lam, penalty, tau, fresh, grad):
    """All that a form does, in one call."""
    room = kernels.fits(form, M, 0)
    kernels.take_in(form, 0, M)
    kernels.slopes(form, w, 0, origin, grad)
    kernels.residual(form, w, target, tau)
    kernels.products(form, chosen, chosen.size, tau, tau.sum(), fresh)
    worst = sweep(form, w, grad, lam, penalty, np.arange(M), M, 0.0)
    w += step
    kernels.restart(form, w, step, target, grad)
    return room, worst, kernels.has_stale_slopes(form), kernels.entries_in_use(form, M)


@pytest.mark.parametrize("how", ["compiled", "plain"])
def test_a_form_does_what_numpy_does(how):
    rng = np.random.default_rng(0)
    X, weights = np.asfortranarray(rng.standard_normal((N, P))), rng.dirichlet(np.full(N, 5.0))
    form, root, y = path_columns(as_design(X), weights, False), np.sqrt(weights), rng.standard_normal(N)
    form.names[:M] = [5, 0, 3, 1]
    E = root[:, None] * X[:, form.names[:M]]
    w, step, tau, fresh, grad = rng.standard_normal(M), rng.standard_normal(M), np.empty(N), np.empty(2), np.empty(M)
    start, target, penalty = w.copy(), root * y, make_penalty("l1")
    run = compiled if how == "compiled" else compiled.py_func
    room, worst, stale, entries = run(
        form, w, step, target, -X.T @ (weights * y), np.array([2, 6]), np.full(M, 0.1), penalty, tau, fresh, grad
    )
    np.testing.assert_allclose(tau, E @ start - target, atol=1e-12)
    np.testing.assert_allclose(fresh, X[:, [2, 6]].T @ tau, atol=1e-12)
    np.testing.assert_allclose(grad, E.T @ (E @ w - target), atol=1e-12)
    assert room and worst > 0.0 and not stale and entries == M * M
    assert not kernels.fits(form, form.names.size, 0)
