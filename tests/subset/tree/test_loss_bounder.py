"""Bounds for losses other than the squared one: feasible dual points, as a proof stores them."""

import numpy as np
import pytest

from samples import LOSS_NAMES, sample
from sparsest.core.problem import make_problem
from sparsest.core.sparsity import Region
from sparsest.proofs.steps import DualPoint, PrimalPoint
from sparsest.subset.dual import bound_from_gains
from sparsest.subset.relaxation.solution import Start
from sparsest.subset.tree.bounder import BounderOptions, Request
from sparsest.subset.tree.loss_bounder import LossBounder

losses = pytest.mark.parametrize("loss", [loss for loss in LOSS_NAMES if loss != "squared"])
SURVIVORS, STATE = np.array([0, 1, 3, 4, 6]), np.array([0, 1, -1, 0, 0], dtype=np.int8)


def relaxed(loss, rounding=0.0):
    X, y = sample(loss, 22, 7, 10)
    problem = make_problem(X, y, 3, loss=loss, gamma=0.3, sample_weight=np.linspace(0.5, 2.0, 22))
    bounder = LossBounder(problem, SURVIVORS, BounderOptions(rounding))
    [outcome] = bounder.solve([Request(bounder.start(Start(np.arange(7), np.zeros(7), 0.0)), STATE)], 1e3)
    return problem, bounder, outcome


@losses
@pytest.mark.parametrize("rounding", [0.0, 1e-3])
def test_points_are_feasible_and_bound_their_region(loss, rounding):
    """The bound is that of the dual point over all features, with excluded features forced out."""
    problem, bounder, outcome = relaxed(loss, rounding)
    alpha = outcome.point.alpha
    ratio = alpha / problem.weights
    np.testing.assert_allclose(problem.loss.project(problem.y, ratio), ratio, rtol=1e-12, atol=1e-14)
    assert abs(alpha.sum()) <= 1e-12 * np.abs(alpha).sum()
    alive = SURVIVORS[STATE >= 0]
    np.testing.assert_allclose(outcome.point.u[STATE >= 0], problem.design.tdot(alpha, alive), rtol=1e-9, atol=1e-9)
    region = Region(np.array([1]), np.array([2, 5, 3]), 7)
    bound = bound_from_gains(problem, alpha, problem.gains(alpha), region)
    assert outcome.bound == pytest.approx(bound, rel=1e-9)
    assert bounder.tighten(outcome.point, STATE.copy(), -np.inf).needed is None


@losses
def test_rounded_points_are_the_stored_ones(loss):
    problem, bounder, outcome = relaxed(loss, 1e-3)
    stored = bounder.proof_point(outcome.point, [])
    assert stored.values.dtype == np.float32
    if isinstance(stored, PrimalPoint):
        w, _ = outcome.point.source
        assert np.array_equal(stored.values, w[w != 0].astype(np.float32)) and (w == w.astype(np.float32)).all()
        assert set(stored.features) <= set(SURVIVORS[STATE >= 0])
    else:
        assert isinstance(stored, DualPoint) and stored.values.shape == (problem.n,)
        np.testing.assert_allclose(stored.values, outcome.point.alpha, rtol=1e-6, atol=1e-7)


@losses
def test_warm_starts_reproduce_the_bound(loss):
    """The warm start of an open node gives its bound again; α is kept if it does not follow from the coefficients."""
    _, bounder, outcome = relaxed(loss)
    warm = bounder.compress(outcome.point)
    assert (warm.alpha is None) == (outcome.point.source is not None)
    [again] = bounder.solve([Request(warm, STATE)], outcome.bound - 1e-6 * abs(outcome.bound))
    assert again.iterations == 0 and again.bound >= outcome.bound - 1e-6 * abs(outcome.bound)


def test_starts_keep_survivors():
    _, bounder, _ = relaxed("logistic")
    warm = bounder.start(Start(np.array([2, 3, 6]), np.array([1.0, 2.0, 0.0]), 0.5))
    assert warm.positions.tolist() == [2] and warm.w.tolist() == [2.0] and warm.b == 0.5
    assert bounder.nbytes() == bounder.columns.nbytes == 22 * 5 * 8
