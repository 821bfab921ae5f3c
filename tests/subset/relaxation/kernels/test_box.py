"""The kernels of coefficients with bounds against grids and a conic solver, compiled and plain."""

import cvxpy as cp
import numpy as np
import pytest

from covering import every_pair
from oracles import precise
from sparsest.subset.relaxation.kernels import box as kernels
from sparsest.subset.relaxation.kernels.fista import relax_quadratic
from sparsest.subset.relaxation.kernels.regulariser import Regulariser, largest_sigma

M, BOX = 7, 0.8
# A box, signs, one-sided bounds, and a mixture of all kinds of bounds.
BOUNDS = {
    "box": (np.full(M, -BOX), np.full(M, BOX)),
    "signs": (np.zeros(M), np.full(M, np.inf)),
    "one-sided": (np.full(M, -0.5), np.full(M, np.inf)),
    "mixed": (
        np.array([-0.3, -np.inf, 0.0, -2.0, 0.0, -0.1, -np.inf]),
        np.array([0.2, 0.0, 0.5, np.inf, 0.0, 3.0, 0.4]),
    ),
}
FORMS = [(0, 0.0), (1, 0.0), (3, 0.0), (M, 0.0), (M, 0.15), (M, 1.5), (3, 0.15), (1, 0.5)]
forms = pytest.mark.parametrize(("budget", "price"), FORMS)
# Roots √δ: ordinary ones, small ones for which only bounds matter, and zeros, which need bounds on both sides.
CASES = [(scale, name) for name in BOUNDS for scale in (1.0, 0.1, *[0.0] * (name == "box"))]
axes = {"form": FORMS, "forced": [(), (1, 4)], "case": CASES}


def data(seed, forced, scale):
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(M) * rng.choice([0.1, 1.0, 3.0], M)
    v[2], v[6] = 0.0, -v[5]
    mask = np.zeros(M, dtype=bool)
    mask[list(forced)] = True
    return v, scale * rng.uniform(0.3, 2.0, M), mask


def conic_omega(w, roots, forced, budget, price, bounds):
    """Ω of a cvxpy expression, and the constraints on its indicator."""
    s = cp.Variable(M)
    terms = [0.5 * roots[j] ** 2 * cp.quad_over_lin(w[j], s[j]) + price * s[j] for j in range(M)]
    limits = [s >= 0, s <= 1, *sides(w, s, bounds), *(s[j] == 1 for j in np.flatnonzero(forced))]
    return cp.sum(terms), [*limits, cp.sum(s[np.flatnonzero(~forced)]) <= budget]


def sides(w, s, bounds):
    """``low s ≤ w ≤ high s`` for finite bounds."""
    low, high = (np.flatnonzero(np.isfinite(side)) for side in bounds)
    return [w[j] >= bounds[0][j] * s[j] for j in low] + [w[j] <= bounds[1][j] * s[j] for j in high]


@pytest.mark.parametrize("root", [0.0, 0.2, 1.0, 3.0])
@pytest.mark.parametrize(
    ("low", "high"), [(-1e-3, 1e-3), (-0.5, 0.5), (-40.0, 40.0), (0.0, 0.7), (-2.0, 0.1), (0.0, 0.0)]
)
def test_gain_is_the_best_on_a_grid(run, root, low, high):
    w = np.linspace(low, high, 20001)
    for u in (0.0, 1e-3, -0.7, 2.0, -30.0):
        best = (u * w - 0.5 * root**2 * w**2).max()
        assert run(kernels.gain_in_box)(u, root, low, high) == pytest.approx(
            best, rel=1e-6, abs=1e-12 + (root * (w[1] - w[0])) ** 2
        )


@pytest.mark.parametrize("root", [0.2, 1.0])
def test_gain_without_a_bound_on_one_side(run, root):
    for u in (0.0, 1.3, -0.7):
        free = 0.5 * (u / root) ** 2
        assert run(kernels.gain_in_box)(u, root, 0.0, np.inf) == pytest.approx(free if u > 0.0 else 0.0)
        assert run(kernels.gain_in_box)(u, root, -np.inf, 0.0) == pytest.approx(free if u < 0.0 else 0.0)


@every_pair(**axes, L=[0.2, 5.0])
def test_proximal_step_and_penalty_are_those_of_a_conic_program(run, form, forced, case, L):
    (budget, price), (scale, name) = form, case
    (v, roots, mask), bounds = data(1, forced, scale), BOUNDS[name]
    out = np.empty(M)
    highest = largest_sigma(price)
    for start in (0.0, 0.4, 50.0):
        run(kernels.proximal_in_box)(v, L, roots, mask, budget, *bounds, start, highest, out)
        penalty, _ = run(kernels.penalty_in_box)(out, roots, mask, budget, price, *bounds, start, highest)
        x = cp.Variable(M)
        value, limits = conic_omega(x, roots, mask, budget, price, bounds)
        best = precise(0.5 * L * cp.sum_squares(x - v) + value, limits, 1e-10 if budget else 1e-8)
        assert 0.5 * L * float((out - v) @ (out - v)) + penalty == pytest.approx(best, rel=1e-6, abs=1e-7)
        if start == 0.0:
            np.testing.assert_allclose(out, x.value, atol=1e-3)


@every_pair(**axes)
def test_penalty_of_any_coefficients(run, form, forced, case):
    (budget, price), (scale, name) = form, case
    (w, roots, mask), (low, high) = data(2, forced, scale), BOUNDS[name]
    w = 0.9 * np.clip(w, low, high)
    limits = np.where(w < 0.0, -low, high)
    shares = np.where(mask | (w == 0.0), 0.0, np.abs(w) / np.where(w == 0.0, 1.0, limits)).sum()
    w[~mask] *= min(1.0, 0.9 * budget / max(shares, 1e-300)) if budget else 0.0
    value, constraints = conic_omega(w, roots, mask, budget, price, (low, high))
    highest = largest_sigma(price)
    found, sigma = run(kernels.penalty_in_box)(w, roots, mask, budget, price, low, high, 0.0, highest)
    assert found == pytest.approx(precise(value, constraints, 1e-8), rel=1e-6, abs=1e-7) and sigma > 0.0


def test_no_coefficient_beyond_its_bounds_or_their_budget(run):
    roots, mask = np.ones(M), np.zeros(M, dtype=bool)
    for w, budget in ((np.full(M, 0.5), 4), (np.eye(M)[0] * 0.81, 4), (np.eye(M)[3], 1)):
        assert run(kernels.penalty_in_box)(w, roots, mask, budget, 0.0, *BOUNDS["box"], 0.0, np.inf)[0] == np.inf
    w = -0.1 * np.eye(M)[2]
    assert run(kernels.penalty_in_box)(w, roots, mask, 3, 0.0, *BOUNDS["signs"], 0.0, np.inf)[0] == np.inf
    assert run(kernels.penalty_in_box)(-w, roots, mask, 3, 0.0, *BOUNDS["signs"], 0.0, np.inf)[0] < np.inf


@every_pair(form=FORMS, case=[*CASES, (1.0, "wide"), (0.1, "wide")])
def test_a_quadratic_is_relaxed_to_its_gap(run, form, case):
    """Gains account for bounds; bounds larger than all coefficients change nothing."""
    (budget, price), (scale, name) = form, case
    rng = np.random.default_rng(4)
    A = rng.standard_normal((5, M))
    H, c = A.T @ A, 3.0 * rng.standard_normal(M)
    roots, mask = (scale or 1e-3) * rng.uniform(0.5, 2.0, M), np.arange(M) == 2
    bounds = (np.full(M, -1e6), np.full(M, 1e6)) if name == "wide" else BOUNDS[name]
    omega = Regulariser(roots, mask, budget, price, *bounds)
    w = np.zeros(M)
    primal, dual, *_ = run(relax_quadratic)(H, c, omega, w, 1.0, 1e-7, np.inf, 3000)
    x = cp.Variable(M)
    value, limits = conic_omega(x, roots, mask, budget, price, bounds)
    best = precise(0.5 * cp.sum_squares(A @ x) - c @ x + value, limits, 1e-8) if name != "wide" else primal
    assert dual <= best + 1e-6 * (1.0 + abs(best)) and primal >= best - 1e-6 * (1.0 + abs(best))
    if name != "wide":
        assert primal - dual <= 1e-4 * (1.0 + abs(best))
    assert (w >= bounds[0]).all() and (w <= bounds[1]).all()
