"""The kernels of coordinate descent, compiled and plain, against NumPy."""

import numpy as np
import pytest

from sparsest.core.kernels import descent as kernels
from sparsest.core.kernels import sparse as stored
from sparsest.core.penalties import make_penalty

from .quadratics import Case, M, N

NAMES = ("l1", "elastic_net", "mcp", "scad")
PENALTIES = {name: make_penalty(name, 0.6 if name == "elastic_net" else 1.0) for name in NAMES}
penalties = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)


@penalties
@pytest.mark.parametrize("kind", ["gram", "stored"])
def test_descent_ends_where_the_slopes_balance(run, kind, penalty):
    case = Case()
    lam = np.where(np.arange(M) == 3, 0.0, 2.0)
    w, grad = np.zeros(M), case.gradient.copy()
    sweeps, worst = run(kernels.descend)(case.model(kind), w, grad, lam, penalty, 1e-10, 5000)
    assert 0 < sweeps < 5000 and worst <= 1e-9
    slope = case.gradient + case.G @ w
    np.testing.assert_allclose(grad, slope, atol=1e-9)
    for j in range(M):
        if w[j] == 0.0:
            assert abs(slope[j]) <= penalty.threshold(lam[j]) + 1e-8
        else:
            assert slope[j] == pytest.approx(-penalty.derivative(w[j], lam[j]), abs=1e-8)
    assert 0 < np.count_nonzero(w) < M


@penalties
def test_compiled_and_plain_sweeps_are_the_same(penalty):
    case, lam, found = Case(seed=2), np.full(M, 1.5), []
    for kernel in (kernels.descend, kernels.descend.py_func):
        for kind in ("gram", "stored"):
            w, grad = np.full(M, 0.1), case.gradient + case.G @ np.full(M, 0.1)
            model = case.model(kind)
            if kind == "stored":
                stored.stored_step(model, w)
            kernel(model, w, grad, lam, penalty, 0.0, 4)
            found.append(np.concatenate([w, grad]))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-9, atol=1e-10)


@penalties
def test_violation_is_the_largest_distance(run, penalty):
    rng = np.random.default_rng(1)
    w, grad, lam = rng.standard_normal(M) * (np.arange(M) % 2), rng.standard_normal(M), rng.uniform(0.1, 1.0, M)
    distances = [
        abs(grad[j] + penalty.derivative(w[j], lam[j])) if w[j] else max(abs(grad[j]) - penalty.threshold(lam[j]), 0.0)
        for j in range(M)
    ]
    for m in (0, 3, M):
        assert run(kernels.violation)(grad, w, lam, m, penalty) == pytest.approx(max(distances[:m], default=0.0))


@penalties
def test_the_change_of_a_step_is_that_of_the_objective(run, penalty):
    case = Case(seed=3)
    w, lam = case.rng.standard_normal(M), case.rng.uniform(0.1, 1.0, M)
    step = case.rng.standard_normal(M) * (np.arange(M) % 3 > 0)

    def value(at):
        d = at - w
        return case.gradient @ d + 0.5 * d @ case.G @ d + sum(map(penalty.value, at, lam))

    found = run(kernels.step_change)(case.gradient, case.G @ step, step, w, lam, penalty)
    assert found == pytest.approx(value(w + step) - value(w), abs=1e-10)


@pytest.mark.parametrize("count", range(7))
def test_column_products(run, count):
    rng = np.random.default_rng(count)
    matrix, r, index = rng.standard_normal((8, N)), rng.standard_normal(N), rng.permutation(8)[:count]
    out = np.empty(count)
    run(kernels.column_products)(matrix, index, r, out)
    np.testing.assert_allclose(out, matrix[index] @ r, atol=1e-12)
