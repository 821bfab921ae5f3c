"""Relaxations over units with nested limits against conic programming, on working sets and over all features."""

import cvxpy as cp
import numpy as np
import pytest

from covering import every_pair
from oracles import _cvxpy_losses, loss_value, precise
from samples import LOSS_NAMES, sample
from sparsest import Structure
from sparsest.core.problem import make_problem
from sparsest.subset.relaxation.nested import levels_of, make_nested
from sparsest.subset.relaxation.quadratic import solve_quadratic
from sparsest.subset.relaxation.relaxer import relax_problem
from sparsest.subset.relaxation.working_solution import Stop

N, P, GAMMA = 20, 9, 0.3
UNITS = np.array([0, 0, 1, 2, 2, 3, 4, 4, 4])
SETS = [([0, 1], 1), ([2, 3, 4], 1)]
PRICES = [0.1, 0.0, 0.3, 0.05, 0.2]


def problem_of(loss, form, **settings):
    X, y = sample(loss, N, P, 5)
    first = [int(np.flatnonzero(g == UNITS)[0]) for g in range(5)]
    limits = [([first[g] for g in units], most) for units, most in SETS]
    given = {"feature_groups": UNITS.tolist(), "structure": Structure(limits=limits), "gamma": GAMMA, **settings}
    return X, y, make_problem(X, y, **form, loss=loss, **given)


def relaxation(loss, X, y, form, forced=(), low=-np.inf, high=np.inf):
    """The value of the relaxation by a conic solver."""
    w, b, s = cp.Variable(P), cp.Variable(), cp.Variable(5)
    limits = [s >= 0, s <= 1, *(s[g] == 1 for g in forced)]
    limits += [cp.sum(s[units]) <= most for units, most in SETS]
    if form.get("k") is not None:
        limits.append(cp.sum(s) <= form["k"])
    if np.isfinite(high):
        limits += [w <= high * s[UNITS], w >= low * s[UNITS]]
    ridge = sum(cp.quad_over_lin(w[np.flatnonzero(g == UNITS)], s[g]) for g in range(5))
    price = form.get("l0_penalty", 0.0)
    terms = cp.sum(_cvxpy_losses(loss, y, X @ w + b)) + 0.5 / GAMMA * ridge + np.broadcast_to(price, 5) @ s
    value, u = precise(terms, limits, 1e-9), X @ w.value + b.value
    return value + float(np.sum(loss_value(loss, y, u) - _cvxpy_losses(loss, y, u).value))


@every_pair(
    loss=LOSS_NAMES,
    form=[{"k": 2}, {"l0_penalty": PRICES}, {"k": 2, "l0_penalty": 0.2}],
    box=[None, 0.4],
    forced=[(), (3,)],
)
def test_the_relaxation_is_that_of_a_conic_solver(loss, form, box, forced):
    include = [int(np.flatnonzero(g == UNITS)[0]) for g in forced]
    X, y, problem = problem_of(loss, form, max_coef=box, include=include)
    high = np.inf if box is None else box
    expected = relaxation(loss, X, y, form, forced, -high, high)
    relaxed, _ = relax_problem(problem, 1e-5)
    assert relaxed.dual <= expected * (1.0 + 1e-6) + 1e-8
    assert relaxed.primal == pytest.approx(expected, rel=1e-4)
    assert relaxed.dual == pytest.approx(expected, rel=1e-4)
    indicator = relaxed.indicator(problem)
    assert indicator.min() >= 0.0 and indicator.max() <= 1.0 + 1e-12
    assert all(np.ptp(indicator[g == UNITS]) == 0.0 for g in range(5))


def test_ill_conditioned_quadratics_are_solved():
    """Alternating between w and s helps where steps of FISTA are short."""
    rng = np.random.default_rng(0)
    _, _, problem = problem_of("squared", {"k": 2})
    A = rng.standard_normal((30, P)) * 10.0 ** np.linspace(0.0, 3.0, P)
    H, c = A.T @ A, A.T @ rng.standard_normal(30)
    omega = make_nested(problem, problem.sparsity, problem.root, np.arange(P))
    w = np.zeros(P)
    primal, dual, iterations = solve_quadratic(H, c, omega, w, Stop(1e-7))
    assert 0.0 <= primal - dual <= 1e-7 and iterations < 5000


@pytest.mark.parametrize("seed", range(12))
def test_quadratics_with_prices_of_both_signs(seed):
    """Units without a product with the response have shares that jump from 0 to 1 where their price is made up for."""
    rng = np.random.default_rng(seed)
    _, _, problem = problem_of("squared", {"k": 2})
    prices = rng.choice([-0.6, -0.2, 0.0, 0.3], 5)
    rule = problem.sparsity.with_prices(prices)
    A, useless = rng.standard_normal((30, P)), np.isin(UNITS, rng.choice(5, 2, replace=False))
    H, c = A.T @ A, 0.2 * (A.T @ rng.standard_normal(30))
    H[np.ix_(useless, ~useless)] = H[np.ix_(~useless, useless)] = c[useless] = 0.0
    omega = make_nested(problem.with_sparsity(rule), rule, problem.root, np.arange(P))
    w, s = cp.Variable(P), cp.Variable(5)
    limits = [s >= 0, s <= 1, cp.sum(s) <= 2, *(cp.sum(s[units]) <= most for units, most in SETS)]
    ridge = sum(cp.quad_over_lin(w[np.flatnonzero(g == UNITS)], s[g]) for g in range(5))
    root = np.linalg.cholesky(H).T
    expected = precise(0.5 * cp.sum_squares(root @ w) - c @ w + 0.5 / GAMMA * ridge + prices @ s, limits, 1e-8)
    found = np.zeros(P)
    primal, dual, _ = solve_quadratic(H, c, omega, found, Stop(1e-7))
    assert dual <= expected + 1e-6 and expected - 1e-6 <= primal <= expected + 1e-5
    shares = levels_of(found, omega).shares
    assert all(sum(shares[g == UNITS][0] for g in units) <= most + 1e-9 for units, most in SETS)
