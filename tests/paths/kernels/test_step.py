"""A step along a path, compiled and plain: optimality conditions and the gap, from the columns alone."""

import numpy as np
import pytest

from sparsest.core.designs import as_design
from sparsest.core.designs.columns import path_columns
from sparsest.core.penalties import make_penalty
from sparsest.paths.gradients import make_memory
from sparsest.paths.kernels import step as kernels

N, P = 25, 40
PENALTIES = {name: make_penalty(name, 0.5 if name == "elastic_net" else 1.0) for name in ("l1", "elastic_net", "scad")}


def make_case(penalty, sparse, seed=0):
    """Everything a step takes, before the largest alpha; and the columns, times √ω."""
    import scipy.sparse as sp

    rng = np.random.default_rng(seed)
    X = np.asfortranarray(rng.standard_normal((N, P)))
    weights = rng.dirichlet(np.full(N, 5.0))
    root, y = np.sqrt(weights), X[:, 0] - X[:, 1] + 0.3 * rng.standard_normal(N)
    columns = path_columns(as_design(sp.csc_array(X) if sparse else X), weights, False)
    target = root * y
    origin, slope = -X.T @ (root * target), penalty.threshold(np.ones(P))
    norms = np.sqrt(weights @ X**2)
    null_loss = 0.5 * float(target @ target)
    # No feature is unpenalised: what their dual points need is not used.
    fixed = kernels.Fixed(origin, np.ones(P), slope, norms, root, target, null_loss, np.inf, 0.0, 0.0)
    room = columns.names.size
    at = kernels.Point(
        *np.zeros((4, room)), -target, np.zeros(N), np.zeros(1, dtype=np.intp), np.ones(P, dtype=bool),
        np.zeros(P, dtype=np.intp), np.zeros(P),
    )  # fmt: skip
    top = float((np.abs(origin) / slope).max())
    return columns, at, fixed, make_memory(-target, origin, top), top, root[:, None] * X


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", PENALTIES)
def test_steps_end_at_minima(run, name, sparse):
    penalty = PENALTIES[name]
    columns, at, fixed, memory, top, E = make_case(penalty, sparse)
    before = last = top
    for share in (0.7, 0.5, 0.4):
        alpha, ratio = share * top, (last - share * top) / (before - last) if before > last else 0.0
        assert run(kernels.begin)(columns, at, fixed, memory, alpha, last, ratio)
        code, sweeps, worst, loss, gap = run(kernels.solve)(
            columns, penalty, at, fixed, memory, alpha, 1e-9, penalty.convex, False, 10_000, np.inf
        )
        assert code == kernels.DONE and sweeps > 0 and (gap <= 1e-9 or not penalty.convex)
        w, m = np.zeros(P), at.size[0]
        w[columns.names[:m]] = at.w[:m]
        tau = E @ w - fixed.target
        slope = E.T @ tau
        assert loss == pytest.approx(0.5 * tau @ tau, rel=1e-9)
        distance = np.where(
            w == 0.0, np.abs(slope) - penalty.threshold(alpha), np.abs(slope + penalty.derivative(w, alpha))
        )
        assert distance.max() <= worst + 1e-12 and worst <= 1e-5 * alpha
        before, last = last, alpha
    assert np.count_nonzero(w) >= 2


def test_a_step_says_what_it_lacks(run):
    penalty = PENALTIES["l1"]
    columns, at, fixed, memory, top, _ = make_case(penalty, False)
    rest = fixed, memory, 0.3 * top, 1e-12, True, True
    assert run(kernels.solve)(columns, penalty, at._replace(w=at.w[:1]), *rest, 10_000, np.inf)[0] == kernels.FULL
    columns, at, *_ = make_case(penalty, True)
    columns.carried[:] = -fixed.target
    assert run(kernels.solve)(columns, penalty, at, *rest, 3, np.inf)[0] == kernels.EXHAUSTED
    assert run(kernels.solve)(columns, penalty, at, *rest, 10_000, 0.0)[0] == kernels.SLOW
