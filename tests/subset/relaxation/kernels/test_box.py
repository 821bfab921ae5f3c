"""The kernels of coefficients in a box against grids and a conic solver, compiled and plain."""

import cvxpy as cp
import numpy as np
import pytest

from oracles import precise
from sparsest.subset.relaxation.kernels import box as kernels
from sparsest.subset.relaxation.kernels import fista as relaxation

M, BOX = 7, 0.8
FORMS = [(0, 0.0), (1, 0.0), (3, 0.0), (M, 0.0), (M, 0.15), (M, 1.5), (3, 0.15), (1, 0.5)]
forms = pytest.mark.parametrize(("budget", "price"), FORMS)
forcings = pytest.mark.parametrize("forced", [(), (1, 4)], ids=str)
# Different roots √δ, small ones for which only the box matters, and zeros.
scales = pytest.mark.parametrize("scale", [1.0, 0.1, 0.0])


def data(seed, forced, scale):
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(M) * rng.choice([0.1, 1.0, 3.0], M)
    v[2], v[6] = 0.0, -v[5]
    mask = np.zeros(M, dtype=bool)
    mask[list(forced)] = True
    return v, scale * rng.uniform(0.3, 2.0, M), mask


def conic_omega(w, roots, forced, budget, price, box=BOX):
    """Ω of a cvxpy expression, and the constraints on its indicator."""
    s = cp.Variable(M)
    terms = [0.5 * roots[j] ** 2 * cp.quad_over_lin(w[j], s[j]) + price * s[j] for j in range(M)]
    limits = [s >= 0, s <= 1, cp.abs(w) <= box * s, *(s[j] == 1 for j in np.flatnonzero(forced))]
    return cp.sum(terms), [*limits, cp.sum(s[np.flatnonzero(~forced)]) <= budget]


@pytest.mark.parametrize("root", [0.0, 0.2, 1.0, 3.0])
@pytest.mark.parametrize("box", [1e-3, 0.5, 40.0])
def test_gain_is_the_best_on_a_grid(run, root, box):
    w = np.linspace(-box, box, 20001)
    for u in (0.0, 1e-3, -0.7, 2.0, -30.0):
        best = (u * w - 0.5 * root**2 * w**2).max()
        assert run(kernels.gain_in_box)(u, root, box) == pytest.approx(
            best, rel=1e-6, abs=1e-12 + (root * (w[1] - w[0])) ** 2
        )


@forms
@forcings
@scales
@pytest.mark.parametrize("L", [0.2, 5.0])
def test_proximal_step_and_penalty_are_those_of_a_conic_program(run, budget, price, forced, scale, L):
    v, roots, mask = data(1, forced, scale)
    out = np.empty(M)
    highest = relaxation.largest_sigma(price)
    for start in (0.0, 0.4, 50.0):
        run(kernels.proximal_in_box)(v, L, roots, mask, budget, BOX, start, highest, out)
        penalty, _ = run(kernels.penalty_in_box)(out, roots, mask, budget, price, BOX, start, highest)
        x = cp.Variable(M)
        value, limits = conic_omega(x, roots, mask, budget, price)
        best = precise(0.5 * L * cp.sum_squares(x - v) + value, limits, 1e-10 if budget else 1e-8)
        assert 0.5 * L * float((out - v) @ (out - v)) + penalty == pytest.approx(best, rel=1e-6, abs=1e-7)
        if start == 0.0:
            np.testing.assert_allclose(out, x.value, atol=1e-3)


@forms
@forcings
@scales
def test_penalty_of_any_coefficients(run, budget, price, forced, scale):
    w, roots, mask = data(2, forced, scale)
    w *= 0.9 * BOX / np.abs(w).max()
    w[~mask] *= min(1.0, 0.9 * budget * BOX / np.abs(w[~mask]).sum())
    value, limits = conic_omega(w, roots, mask, budget, price)
    found, sigma = run(kernels.penalty_in_box)(w, roots, mask, budget, price, BOX, 0.0, relaxation.largest_sigma(price))
    assert found == pytest.approx(precise(value, limits), rel=1e-6, abs=1e-8) and sigma > 0.0


def test_no_coefficient_beyond_the_box_or_its_budget(run):
    roots, mask = np.ones(M), np.zeros(M, dtype=bool)
    for w, budget in ((np.full(M, 0.5), 4), (np.eye(M)[0] * 0.81, 4), (np.eye(M)[3], 1)):
        assert run(kernels.penalty_in_box)(w, roots, mask, budget, 0.0, BOX, 0.0, np.inf)[0] == np.inf


@forms
@scales
@pytest.mark.parametrize("box", [0.2, 0.8, 1e6])
def test_a_quadratic_is_relaxed_to_its_gap(run, budget, price, scale, box):
    """Gains account for the box; a box larger than all coefficients changes nothing."""
    rng = np.random.default_rng(4)
    A = rng.standard_normal((5, M))
    H, c = A.T @ A, 3.0 * rng.standard_normal(M)
    roots, mask = (scale or 1e-3) * rng.uniform(0.5, 2.0, M), np.arange(M) == 2
    omega = relaxation.Regulariser(roots, mask, budget, price, box)
    w = np.zeros(M)
    primal, dual, *_ = run(relaxation.relax_quadratic)(H, c, omega, w, 1.0, 1e-7, np.inf, 3000)
    x = cp.Variable(M)
    value, limits = conic_omega(x, roots, mask, budget, price, box)
    best = precise(0.5 * cp.sum_squares(A @ x) - c @ x + value, limits, 1e-9) if box < 10 else primal
    assert dual <= best + 1e-6 * (1.0 + abs(best)) and primal >= best - 1e-6 * (1.0 + abs(best))
    if box < 10:
        assert primal - dual <= 1e-4 * (1.0 + abs(best))
