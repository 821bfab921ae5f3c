"""Blocks within limits, compiled and plain, against a general solver."""

from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import minimize

from paths.kernels.test_blocks import PENALTIES, STARTS, M, N, make_case, objective
from sparsest.core.penalties import L1, ElasticNet
from sparsest.paths.kernels import blocks, boxes

LAM = 0.7


def some_pushes(rng):
    """Pushes of four features, of which some have no room or no limit."""
    push = rng.choice([0.0, 0.2, 0.7, 2.0], 4) * rng.uniform(0.5, 1.5, 4)
    return push, rng.choice([0.0, 0.1, 1.0, np.inf], 4) * rng.uniform(0.5, 1.5)


@pytest.mark.parametrize("penalty", [L1(), ElasticNet(0.6)])
@pytest.mark.parametrize("shift", [0.0, 0.1])
def test_conjugates_against_a_general_solver(penalty, shift, run):
    rng, finite = np.random.default_rng(0), 0
    slope = penalty.threshold(LAM)
    for _ in range(40):
        push, room = some_pushes(rng)
        ratio, cost = run(boxes.box_terms)(penalty, push, room, 0, 4, LAM, shift, 0.9)
        unlimited = room == np.inf
        expected = (np.linalg.norm(push[unlimited]) + shift) / slope if unlimited.any() else 0.0
        assert ratio == pytest.approx(expected)
        if cost == np.inf:
            assert penalty == L1() and ratio >= 1.0
            continue
        if cost == 0.0:
            assert 0.9 * np.linalg.norm(push[room > 0.0]) <= slope - 0.9 * shift
            continue
        ridge, part = float(penalty.second_derivative(1.0, LAM)), slope - 0.9 * shift

        def minus(w, push=push, part=part, ridge=ridge):
            size = max(np.linalg.norm(w), 1e-12)
            return part * size + 0.5 * ridge * size**2 - 0.9 * push @ w, part * w / size + ridge * w - 0.9 * push

        start, within = np.minimum(push, room), [(0.0, one) for one in room]
        best = -minimize(minus, start, jac=True, bounds=within, options={"ftol": 1e-15, "gtol": 1e-9}).fun
        assert cost == pytest.approx(best, abs=1e-6)
        finite += 1
    assert finite > 10


def test_pushes_of_features_without_a_penalty(run):
    """What is held at a limit costs the push times the room."""
    ratio, cost = run(boxes.box_terms)(L1(), np.array([2.0, 3.0]), np.array([0.5, 0.0]), 0, 2, 0.0, 0.0, 1.0)
    assert ratio == 0.0 and cost == pytest.approx(1.0)
    assert run(boxes.box_terms)(L1(), np.array([2.0]), np.array([np.inf]), 0, 1, 0.0, 0.0, 1.0) == (np.inf, np.inf)


def test_a_push_that_is_scaled_to_its_threshold_costs_what_limits_cost(run):
    rng = np.random.default_rng(1)
    for _ in range(50):
        push = rng.uniform(0.5, 3.0, 3)
        ratio, _ = run(boxes.box_terms)(L1(), push, np.full(3, np.inf), 0, 3, LAM, 0.0, 1.0)
        assert run(boxes.box_terms)(L1(), push, np.full(3, np.inf), 0, 3, LAM, 0.0, 1.0 / ratio)[1] == 0.0
        room = np.array([np.inf, np.inf, 0.3])
        ratio, _ = run(boxes.box_terms)(L1(), push, room, 0, 3, LAM, 0.0, 1.0)
        cost = run(boxes.box_terms)(L1(), push, room, 0, 3, LAM, 0.0, 1.0 / ratio)[1]
        assert cost == pytest.approx(push[2] * 0.3 / ratio, rel=1e-6)


def test_sums(run):
    rng = np.random.default_rng(2)
    parts = [some_pushes(rng) for _ in range(3)]
    push, room = (np.concatenate(part) for part in zip(*parts, strict=True))
    lam, shift, penalty = np.array([0.5, 0.7, 0.2]), np.array([0.0, 0.1, 0.0]), ElasticNet(0.6)
    largest, total = run(boxes.sum_of_boxes)(penalty, push, room, np.array([0, 4, 8, 12]), lam, shift, 0.8)
    terms = [run(boxes.box_terms)(penalty, *parts[g], 0, 4, lam[g], shift[g], 0.8) for g in range(3)]
    assert largest == pytest.approx(max(ratio for ratio, _ in terms))
    assert total == pytest.approx(sum(cost for _, cost in terms))


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda penalty: type(penalty).__name__)
@pytest.mark.parametrize("seed", range(3))
def test_stationary_points_within_limits(run, lines, penalty, seed):
    X, y, model, values, vectors, grad = make_case(lines)
    rng = np.random.default_rng(seed)
    lower, upper = rng.choice([-np.inf, 0.0, -0.1], M), rng.choice([np.inf, 0.0, 0.2], M)
    box = boxes.Box(lower, upper)
    w, lam = np.zeros(M), np.repeat([0.3, 0.2, 0.0, 0.1], np.diff(STARTS))
    sweeps, worst = run(blocks.descend_blocks)(
        model, box, values, vectors, w, grad, lam, STARTS, penalty, 1e-8, np.int64(5000)
    )
    assert worst <= 1e-8 and sweeps > 2 and w.any() and (w >= lower).all() and (w <= upper).all()
    np.testing.assert_allclose(grad, X.T @ (X @ w - y) / N, atol=1e-11)
    assert run(blocks.block_violation)(grad, w, lam, STARTS, penalty, box) == pytest.approx(worst, abs=1e-11)
    here = objective(X, y, w, lam, penalty)
    for _ in range(50):
        near = np.clip(w + 1e-4 * rng.standard_normal(M), lower, upper)
        assert objective(X, y, near, lam, penalty) >= here - 1e-10
    if not penalty.convex:
        return
    share = getattr(penalty, "l1_ratio", 1.0)
    u, total = cp.Variable(M), 0.0
    for (begin, end), s in zip(pairwise(STARTS), lam[STARTS[:-1]], strict=True):
        total += s * (share * cp.norm(u[begin:end]) + 0.5 * (1.0 - share) * cp.sum_squares(u[begin:end]))
    total += cp.sum_squares(y - X @ u) / (2 * N)
    within = [u[np.isfinite(lower)] >= lower[np.isfinite(lower)], u[np.isfinite(upper)] <= upper[np.isfinite(upper)]]
    assert here <= cp.Problem(cp.Minimize(total), within).solve(solver="CLARABEL") * (1.0 + 1e-7)
