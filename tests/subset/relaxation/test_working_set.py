"""The relaxation on packed columns, against a conic solver."""

import numpy as np
import pytest

from covering import every_pair
from oracles import objective, relaxation_value, support_value
from samples import LOSS_NAMES, sample, sample_weights
from sparsest.core.problem import make_problem
from sparsest.core.sparsity import Region
from sparsest.subset.relaxation.kernels.regulariser import dual_gain, penalty_value
from sparsest.subset.relaxation.proximal_newton import ProximalNewton
from sparsest.subset.relaxation.working_set import make_regulariser, solve_working_set
from sparsest.subset.relaxation.working_solution import Stop, WorkingSet

N, P = 24, 6


def solve(loss, form, forced, fit_intercept=True, weighted=False, tolerance=1e-8, **limits):
    X, y = sample(loss, N, P, 4)
    weights = sample_weights(weighted, N)
    settings = {"loss": loss, "gamma": 0.3, "fit_intercept": fit_intercept, "sample_weight": weights}
    problem = make_problem(X, y, **form, **settings)
    region = Region(np.array(forced, dtype=np.intp), np.empty(0, dtype=np.intp), P)
    omega = make_regulariser(problem, region, np.arange(P))
    columns = problem.design.columns(np.arange(P))
    part = WorkingSet(problem, columns, omega)
    return (X, y, weights), part, solve_working_set(part, np.zeros(P), 0.0, Stop(tolerance, **limits))


@every_pair(
    loss=LOSS_NAMES,
    form=[{"k": 2}, {"k": P}, {"l0_penalty": 0.4}, {"l0_penalty": 0.0}, {"k": 3, "l0_penalty": 0.05}],
    forced=[(), (1, 4)],
    fit=[(True, True), (False, False)],
)
def test_both_values_are_that_of_a_conic_solver(loss, form, forced, fit):
    fit_intercept, weighted = fit
    (X, y, weights), (problem, columns, omega), point = solve(loss, form, forced, fit_intercept, weighted)
    expected = relaxation_value(loss, X, y, 0.3, fit_intercept, weights, **form, include=forced)
    assert point.primal == pytest.approx(expected, rel=1e-6)
    assert point.dual == pytest.approx(expected, rel=1e-6)
    # The values are those of the returned points.
    value = (
        problem.weights @ problem.loss.value(problem.y, columns @ point.w + point.b)
        + penalty_value(point.w, omega, 0.0)[0]
    )
    assert point.primal == pytest.approx(value, rel=1e-12)
    dual = -problem.conjugate_sum(point.alpha) - dual_gain(columns.T @ point.alpha, omega)
    assert point.dual == pytest.approx(dual, rel=1e-9)


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_forced_features_that_use_up_the_budget_are_alone(loss):
    (X, y, _), part, point = solve(loss, {"k": 2}, (1, 4))
    assert part.omega.budget == 0
    assert np.flatnonzero(point.w).tolist() == [1, 4]
    assert point.primal == pytest.approx(support_value(loss, X[:, [1, 4]], y, 0.3, True), rel=1e-6)
    centred = X - X.mean(axis=0)
    assert objective(loss, centred, y, point.w, point.b, 0.3) == pytest.approx(point.primal, rel=1e-9)
    if point.source is not None:
        assert np.flatnonzero(point.source[0]).tolist() == [1, 4]


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_a_dual_value_above_the_cutoff_is_enough(loss):
    best = solve(loss, {"k": 2}, ())[-1]
    stopped = solve(loss, {"k": 2}, (), cutoff=0.5 * best.dual)[-1]
    assert 0.5 * best.dual <= stopped.dual <= best.primal * (1.0 + 1e-9)
    assert stopped.iterations <= best.iterations


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_without_time_the_values_are_still_those_of_the_point(loss):
    best = solve(loss, {"k": 2}, ())[-1]
    _, (problem, columns, omega), stopped = solve(loss, {"k": 2}, (), expired=lambda: True, stretch=0.0)
    # It ends after one step, or after one stretch of iterations of the kernel.
    assert stopped.iterations <= 1 < best.iterations
    assert stopped.dual <= best.primal * (1.0 + 1e-9)
    assert stopped.primal >= best.dual * (1.0 - 1e-9)
    dual = -problem.conjugate_sum(problem.feasible(stopped.alpha)) - dual_gain(columns.T @ stopped.alpha, omega)
    assert stopped.dual <= dual + 1e-9 * abs(dual)


def test_gram_matrices_follow_the_curvatures():
    _, part, _ = solve("squared_hinge", {"k": 2}, ())
    newton, columns = ProximalNewton(part), part.columns
    rng = np.random.default_rng(0)
    curvature = np.ones(N)
    for changes in (N, 3, 0, 2, N // 2 + 1, 5):
        curvature = curvature.copy()
        curvature[rng.choice(N, changes, replace=False)] = rng.choice([1e-4, 1.0], changes)
        np.testing.assert_allclose(newton._gram(curvature), columns.T @ (curvature[:, None] * columns), rtol=1e-10)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_stretches_reach_the_same_point(loss):
    """The result does not depend on how often the clock is checked."""
    asked = []
    whole, parts = (
        solve(loss, {"k": 2}, (), stretch=stretch, expired=lambda: bool(asked.append(1)))[-1]
        for stretch in (1e9, 100.0)
    )
    assert len(asked) > 10
    assert parts.primal - parts.dual <= 1e-8
    assert parts.dual == pytest.approx(whole.dual, rel=1e-8)
