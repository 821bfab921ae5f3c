"""The kernels of the Boolean relaxation against sorting, closed forms and a conic solver, compiled and plain."""

import cvxpy as cp
import numpy as np
import pytest

from oracles import precise
from sparsest.core.sparsity import Region, Sparsity
from sparsest.subset.relaxation.kernels import fista
from sparsest.subset.relaxation.kernels import regulariser as kernels

M = 7
# A budget, a price, or both.
FORMS = [(0, 0.0), (1, 0.0), (3, 0.0), (M, 0.0), (M, 0.15), (M, 1.5), (3, 0.15), (1, 0.5)]
forms = pytest.mark.parametrize(("budget", "price"), FORMS)
forcings = pytest.mark.parametrize("forced", [(), (1, 4)], ids=str)


def data(seed, forced=()):
    """Coefficients with a zero and a tie, different roots √δ, and the mask of the forced features."""
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(M) * rng.choice([0.1, 1.0, 3.0], M)
    w[2], w[6] = 0.0, -w[5]
    mask = np.zeros(M, dtype=bool)
    mask[list(forced)] = True
    return w, rng.uniform(0.3, 2.0, M), mask


def omega(w, roots, forced, budget, price):
    """Ω(w) by sorting: the largest entries have s = 1, the others share the rest of the budget.

    If the price leaves part of the budget unused, entries below its threshold are penalised separately.
    """
    a = np.abs(roots * w)
    total = float((0.5 * a[forced] ** 2 + price).sum())
    a = -np.sort(-a[~forced])
    threshold = np.sqrt(2.0 * price)
    spent = np.minimum(1.0, a / threshold).sum() if price > 0 else float(np.count_nonzero(a))
    if spent <= budget:
        return total + float(np.where(a >= threshold, 0.5 * a**2 + price * (a > 0), threshold * a).sum())
    total += price * budget
    if budget == 0:
        return np.inf
    for r in range(budget):
        share = a[r:].sum() / (budget - r)
        if (r == 0 or a[r - 1] > share) and share >= a[r] * (1.0 - 1e-14):
            return total + 0.5 * float(a[:r] @ a[:r] + (budget - r) * share**2)
    raise AssertionError("one share must fit")


def conic_omega(w, roots, forced, budget, price):
    """Ω of a cvxpy expression, and the constraints on its indicator."""
    s = cp.Variable(M)
    terms = [0.5 * roots[j] ** 2 * cp.quad_over_lin(w[j], s[j]) + price * s[j] for j in range(M)]
    limits = [s >= 0, s <= 1, s[forced] == 1] if forced.any() else [s >= 0, s <= 1]
    free = np.flatnonzero(~forced)
    return cp.sum(terms), [*limits, cp.sum(s[free]) <= budget]


# The sums of clipped lines


@pytest.mark.parametrize("start", [0.0, 1e-3, 0.7, 1e3, np.inf, np.nan])
@pytest.mark.parametrize("budget", [1, 2, 5])
@pytest.mark.parametrize("shifted", [False, True])
def test_best_sigma_solves_its_equation(run, start, budget, shifted):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        a = np.abs(rng.standard_normal(12)) * 10.0 ** rng.integers(-3, 4, 12)
        a[:2] = 0.0
        shift = rng.uniform(0.0, 2.0, 12) if shifted else np.zeros(12)
        sigma = run(kernels.best_sigma)(a, shift, budget, start)
        assert np.clip(sigma * a - shift, 0.0, 1.0).sum() == pytest.approx(budget, rel=1e-10)


def test_best_sigma_at_the_ends(run):
    a, shift = np.array([0.0, 2.0, 1.0]), np.zeros(3)
    assert run(kernels.best_sigma)(a, shift, 2, 0.0) == np.inf
    assert run(kernels.best_sigma)(a, shift, 3, 1.0) == np.inf
    assert run(kernels.best_sigma)(a, shift, 0, 0.0) == 0.0
    assert run(kernels.best_sigma)(np.zeros(3), shift, 0, 0.0) == np.inf


# The regulariser and its proximal step


@forms
@forcings
def test_penalty_value_is_the_closed_form(run, budget, price, forced):
    for seed in range(10):
        w, roots, mask = data(seed, forced)
        for start in (0.0, 0.3, 50.0):
            value, sigma = run(kernels.penalty_value)(w, kernels.Regulariser(roots, mask, budget, price), start)
            assert value == pytest.approx(omega(w, roots, mask, budget, price), rel=1e-10)
        if budget > 0:
            used = ~mask & (w != 0)
            taken = np.minimum(1.0, sigma * roots[used] * np.abs(w[used])).sum()
            assert taken <= budget * (1.0 + 1e-10)


@pytest.mark.parametrize(("budget", "price"), [(1, 0.0), (3, 0.0), (M, 0.4), (2, 0.1)])
@forcings
def test_closed_form_is_the_least_value(budget, price, forced):
    """The closed form itself against a conic program."""
    w, roots, mask = data(3, forced)
    value, limits = conic_omega(w, roots, mask, budget, price)
    assert omega(w, roots, mask, budget, price) == pytest.approx(precise(value, limits), rel=1e-7)


def take_step(run, v, L, roots, mask, budget, price, start=0.0):
    out, a, shift = np.empty(M), np.empty(M), np.empty(M)
    run(kernels.proximal)(v, L, kernels.Regulariser(roots, mask, budget, price), start, a, shift, out)
    return out


@forms
@forcings
@pytest.mark.parametrize("L", [0.2, 5.0])
def test_proximal_step_has_no_better_neighbour(run, budget, price, forced, L):
    """The function is strongly convex, so at its minimum no short move in any direction improves it."""
    for seed in range(3):
        v, roots, mask = data(seed, forced)
        w = take_step(run, v, L, roots, mask, budget, price)

        def value(x, v=v, roots=roots, mask=mask):
            return 0.5 * L * float((x - v) @ (x - v)) + omega(x, roots, mask, budget, price)

        at_w = value(w)
        rng = np.random.default_rng(seed)
        moves = [*np.eye(M), *-np.eye(M), *rng.standard_normal((40, M)), v - w, -w]
        assert all(value(w + t * d) >= at_w - 1e-12 * (1 + at_w) for d in moves for t in (1e-1, 1e-3, 1e-5))


@pytest.mark.parametrize(("budget", "price"), [(1, 0.0), (3, 0.0), (M, 0.4), (2, 0.1)])
@forcings
def test_proximal_step_is_that_of_a_conic_solver(budget, price, forced):
    v, roots, mask = data(4, forced)
    x = cp.Variable(M)
    value, limits = conic_omega(x, roots, mask, budget, price)
    precise(0.5 * 2.0 * cp.sum_squares(x - v) + value, limits)
    w = take_step(lambda kernel: kernel, v, 2.0, roots, mask, budget, price)
    np.testing.assert_allclose(w, x.value, atol=1e-5)


@pytest.mark.parametrize("start", [0.0, 1e-4, 1e4])
def test_proximal_step_does_not_depend_on_its_start(start):
    v, roots, mask = data(5, (1,))
    first = take_step(lambda kernel: kernel, v, 1.0, roots, mask, 2, 0.0)
    np.testing.assert_allclose(take_step(lambda kernel: kernel, v, 1.0, roots, mask, 2, 0.0, start), first, rtol=1e-9)


# Gains


@forms
@forcings
def test_dual_gain_is_that_of_the_problem(run, budget, price, forced):
    for seed in range(5):
        u, roots, mask = data(seed, forced)
        q = 0.5 * (u / roots) ** 2
        region = Region(np.flatnonzero(mask), np.empty(0, dtype=np.intp), M)
        expected = Sparsity(budget + len(forced), price).gain(q, region)
        gain = run(kernels.dual_gain)(u, kernels.Regulariser(roots, mask, budget, price))
        assert gain == pytest.approx(expected, rel=1e-12, abs=1e-14)


# The quadratic


def quadratic(seed, rank=M):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rank, M))
    return np.asfortranarray(A.T @ A), A.T @ rng.standard_normal(rank) * 2.0


def relax(run, H, c, roots, mask, budget, price, tolerance=1e-10, cutoff=np.inf, most=20_000, w=None):
    w = np.zeros(M) if w is None else w
    L = 1.02 * float(np.linalg.eigvalsh(H)[-1])
    return w, run(fista.relax_quadratic)(
        H, c, kernels.Regulariser(roots, mask, budget, price), w, L, tolerance, cutoff, most
    )


@pytest.mark.parametrize(("budget", "price"), [(1, 0.0), (3, 0.0), (M, 0.0), (M, 0.4), (M, 3.0), (2, 0.2)])
@forcings
@pytest.mark.parametrize("rank", [3, 12])
def test_relaxed_quadratic_is_that_of_a_conic_solver(budget, price, forced, rank):
    H, c = quadratic(rank, rank)
    _, roots, mask = data(0, forced)
    x = cp.Variable(M)
    value, limits = conic_omega(x, roots, mask, budget, price)
    expected = precise(0.5 * cp.quad_form(x, cp.psd_wrap(H)) - c @ x + value, limits)
    w, (primal, dual, iterations, _, _) = relax(lambda kernel: kernel, H, c, roots, mask, budget, price)
    assert primal == pytest.approx(expected, rel=1e-7, abs=1e-7)
    assert primal - 1e-9 <= dual <= primal + 1e-12 and 0 < iterations < 20_000
    assert primal == pytest.approx(0.5 * w @ H @ w - c @ w + omega(w, roots, mask, budget, price), rel=1e-10)


def test_an_interrupted_relaxation_continues_unchanged(run):
    H, c = quadratic(1, 12)
    _, roots, mask = data(0, ())
    whole, (primal, *_) = relax(run, H, c, roots, mask, 2, 0.0, tolerance=0.0, most=20)
    omega_of, w, L = kernels.Regulariser(roots, mask, 2, 0.0), np.zeros(M), 1.02 * float(np.linalg.eigvalsh(H)[-1])
    momentum = fista.Momentum(np.empty(M), np.empty(M), np.zeros(1))
    for _ in range(4):
        value, _, count, L, _ = run(fista.relax_further)(H, c, omega_of, w, L, 0.0, np.inf, 5, momentum)
        assert count == 5
    np.testing.assert_allclose(w, whole, rtol=1e-9, atol=1e-12)
    assert value == pytest.approx(primal, rel=1e-12)


@forms
@forcings
def test_relaxed_quadratic_bounds_itself_at_every_precision(run, budget, price, forced):
    H, c = quadratic(1)
    _, roots, mask = data(1, forced)
    optimum = relax(lambda kernel: kernel, H, c, roots, mask, budget, price)[1][0]
    for most in (0, 1, 7, 30):
        primal, dual, iterations, L, _ = relax(run, H, c, roots, mask, budget, price, most=most)[1]
        assert dual <= optimum + 1e-9 and primal >= optimum - 1e-9
        assert iterations <= most and np.linalg.eigvalsh(H)[-1] <= L


def test_relaxed_quadratic_from_an_inadmissible_start(run):
    """A start that violates the budget has an infinite value, and the iteration leaves it."""
    H, c = quadratic(2)
    _, roots, mask = data(2, (1,))
    w, (primal, dual, *_) = relax(run, H, c, roots, mask, 0, 0.0, w=np.ones(M))
    assert np.flatnonzero(w).tolist() == [1] and primal - dual <= 1e-9


@pytest.mark.parametrize(("budget", "price"), [(2, 0.0), (M, 0.4), (2, 0.1)])
def test_cutoff_stops_early(run, budget, price):
    H, c = quadratic(5)
    _, roots, mask = data(5)
    _, (primal, _, whole, _, _) = relax(run, H, c, roots, mask, budget, price)
    _, (_, dual, iterations, _, _) = relax(run, H, c, roots, mask, budget, price, cutoff=1.2 * primal)
    assert 1.2 * primal <= dual <= primal and iterations < whole


@pytest.mark.parametrize(("budget", "price"), [(2, 0.0), (M, 0.4), (2, 0.1)])
def test_compiled_equals_uncompiled(budget, price):
    H, c = quadratic(6)
    _, roots, mask = data(6, (1,))
    (first, told), (second, said) = (
        relax(how, H, c, roots, mask, budget, price, most=40) for how in (lambda f: f, lambda f: f.py_func)
    )
    np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.hstack(told), np.hstack(said), rtol=1e-9)


def test_products_and_eigenvalue(run):
    H, c = quadratic(7)
    c[3] = 0.0
    out = np.empty(M)
    run(fista.gradient_product)(H, c, out)
    np.testing.assert_allclose(out, H @ c, rtol=1e-12, atol=1e-12)
    assert run(fista.largest_eigenvalue)(H, 200) == pytest.approx(np.linalg.eigvalsh(H)[-1], rel=1e-6)
    assert run(fista.largest_eigenvalue)(np.zeros((3, 3)), 5) == 0.0


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
@pytest.mark.parametrize("place", ["H", "c", "w"])
@forms
def test_numbers_out_of_range_end_the_relaxation(run, bad, place, budget, price):
    """It returns after a few steps; the bound is -inf, NaN or valid."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((20, M))
    parts = {"H": np.asfortranarray(A.T @ A), "c": rng.standard_normal(M), "w": np.zeros(M)}
    H, c, w = (part.copy(order="F") for part in parts.values())
    {"H": H, "c": c, "w": w}[place].flat[3] = bad
    H = np.asfortranarray(np.maximum(H, H.T)) if place == "H" else H
    forced = np.zeros(M, dtype=bool)

    def solve(H, c, w):
        with np.errstate(all="ignore"):
            return run(fista.relax_quadratic)(
                H, c, kernels.Regulariser(np.ones(M), forced, budget, price), w, 30.0, 1e-9, np.inf, 400
            )

    primal, dual, iterations, _, _ = solve(H, c, w)
    assert iterations <= 400
    assert not dual > primal
    if place == "w":
        # For any start, no bound exceeds the optimum of the problem.
        optimum = solve(*parts.values())[0]
        assert not dual > optimum + 1e-8
