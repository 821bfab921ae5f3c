"""The relaxation of a quadratic on few columns, and its Newton steps."""

import numpy as np
import pytest

from sparsest.subset.relaxation.kernels.regulariser import Regulariser, dual_gain, penalty_value
from sparsest.subset.relaxation.quadratic import newton_step, solve_quadratic
from sparsest.subset.relaxation.working_solution import Stop

M = 30


def make(budget, price, n_forced=0, seed=0):
    """Ill-conditioned columns, for which FISTA alone converges slowly."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, M)) @ np.diag(10.0 ** rng.uniform(-1.5, 1.0, M)) + rng.standard_normal((60, 1))
    y = X[:, :6].sum(axis=1) + rng.standard_normal(60)
    omega = Regulariser(rng.uniform(0.2, 2.0, M), np.arange(M) < n_forced, budget, price)
    return X.T @ X, X.T @ y, omega


def value(H, c, omega, w):
    return 0.5 * w @ H @ w - c @ w + penalty_value(w, omega, 0.0)[0]


def bound(H, c, omega, w):
    return -0.5 * w @ H @ w - dual_gain(c - H @ w, omega)


def bounded(omega, low, high):
    return omega if low == -high == -np.inf else omega._replace(low=np.full(M, low), high=np.full(M, high))


forms = pytest.mark.parametrize(("budget", "price"), [(4, 0.0), (M, 3.0), (4, 0.5), (M, 0.0)])


@forms
@pytest.mark.parametrize("n_forced", [0, 3])
@pytest.mark.parametrize("stretch", [1e4, 1e9])
def test_the_values_meet_and_are_those_of_the_point(budget, price, n_forced, stretch):
    H, c, omega = make(budget, price, n_forced)
    w = np.zeros(M)
    primal, dual, _ = solve_quadratic(H, c, omega, w, Stop(1e-8, stretch=stretch))
    assert 0.0 <= primal - dual + 1e-9 <= 1e-8 + 1e-9
    assert primal == pytest.approx(value(H, c, omega, w), rel=1e-9)
    assert bound(H, c, omega, w) <= dual + 1e-9


@forms
def test_newton_steps_never_increase_the_value_and_end_at_the_solution(budget, price):
    H, c, omega = make(budget, price)
    solution = np.zeros(M)
    solve_quadratic(H, c, omega, solution, Stop(1e-10))
    rng = np.random.default_rng(1)
    for size in (1.0, 1e-2, 1e-4):
        w = solution * (1.0 + size * rng.standard_normal(M))
        before = value(H, c, omega, w)
        moved = newton_step(H, c, omega, w, penalty_value(w, omega, 0.0)[1], before)
        assert value(H, c, omega, w) < before if moved else value(H, c, omega, w) == before
    # The last step started with the active set, saturated features and signs of the solution.
    assert moved
    np.testing.assert_allclose(w, solution, rtol=1e-4, atol=1e-8)


def test_newton_steps_save_iterations():
    """Without bounds and with bounds of 0; for comparison, bounds too large to matter switch them off."""
    H, c, omega = make(6, 0.0, seed=3)
    for low in (-np.inf, 0.0):
        newton, none = (
            solve_quadratic(H, c, bounded(omega, low, high), np.zeros(M), Stop(1e-9)) for high in (np.inf, 1e140)
        )
        assert newton[0] == pytest.approx(none[0], abs=2e-9)
        assert newton[2] < 0.5 * none[2]


@pytest.mark.parametrize("n_forced", [0, 3])
@pytest.mark.parametrize(("budget", "price"), [(6, 0.0), (M, 0.4), (4, 0.2)])
def test_newton_steps_keep_signs(n_forced, budget, price):
    """Newton steps and plain iterations agree, and no coefficient leaves its bounds, also if it is forced in."""
    for seed in range(4):
        H, c, omega = make(budget, price, n_forced, seed=seed)
        low = np.where(np.arange(M) % 3 == 1, -np.inf, 0.0)
        high = np.where(np.arange(M) % 4 == 2, 0.0, np.inf)
        omega = omega._replace(low=low, high=high)
        found = []
        for newton in (True, False):
            w = np.zeros(M)
            found.append(solve_quadratic(H, c, omega, w, Stop(1e-8), newton=newton)[0])
            assert (w >= low).all() and (w <= high).all()
        assert found[0] == pytest.approx(found[1], abs=2e-8)
