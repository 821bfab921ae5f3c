"""Coefficients in a box: every method against enumeration, and the relaxation against conic programming."""

import numpy as np
import pytest

from checks import against_enumeration, best_subset, best_subset_path, check_certificate
from oracles import EXPONENTIAL, relaxation_value, support_value
from samples import DIFFERENCES, LOSS_NAMES, sample, sample_weights
from sparsest import api
from sparsest.problem import make_problem
from sparsest.result import Result, Status
from sparsest.settings import METHODS
from sparsest.solvers.relaxation.living import Living
from sparsest.solvers.relaxation.relaxer import Relaxer
from sparsest.solvers.shared.support import fit_support

N, P = 14, 6


def box_of(loss):
    """A box that some coefficients of the samples reach, and others do not."""
    return 0.4 if loss in DIFFERENCES else 0.15


losses = pytest.mark.parametrize("loss", LOSS_NAMES)
gammas = pytest.mark.parametrize("gamma", [0.3, np.inf])


@losses
@gammas
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(N, 0), (N, 4), (5, 8)], ids=str)
def test_the_value_of_a_support(loss, gamma, fit_intercept, shape):
    """Against conic programming, also with more features than observations."""
    n, m = shape
    X, y = sample(loss, n, max(m, 1), 3)
    weights = sample_weights(True, n)
    settings = {"loss": loss, "gamma": gamma, "fit_intercept": fit_intercept, "sample_weight": weights}
    seen = set()
    for box in (0.3 * box_of(loss), box_of(loss), 3.0):
        fit = fit_support(make_problem(X, y, max(m, 1), max_coef=box, **settings), np.arange(m))
        expected = support_value(loss, X[:, :m], y, gamma, fit_intercept, weights, max_coef=box)
        assert (np.abs(fit.w) <= box).all()
        assert -1e-15 <= fit.primal - fit.dual <= max(1e-8 * fit.primal, 1e-9 * weights.sum())
        assert fit.primal <= expected * (1.0 + 1e-6) + 1e-9
        assert fit.primal >= expected * (1.0 - (1e-6 if loss not in EXPONENTIAL else 1e-4)) - 1e-7
        seen |= set((np.abs(fit.w) >= box * (1.0 - 1e-6)).tolist())
    assert seen == ({False, True} if m else set())


@losses
@gammas
@pytest.mark.parametrize("form", [{"k": 2}, {"l0_penalty": 0.3}, {"k": 3, "l0_penalty": 0.1}], ids=str)
def test_the_relaxation(loss, gamma, form):
    """Its value, and a bound that is below it and near."""
    X, y = sample(loss, N, P)
    settings = {"loss": loss, "gamma": gamma, "max_coef": box_of(loss)}
    for forced in ({}, {"include": (2,), "exclude": (0,)}):
        problem = make_problem(X, y, **form, **forced, **settings)
        relaxed = Relaxer(1e-6).relax(problem, problem.root, Living(problem))
        expected = relaxation_value(loss, X, y, gamma, True, max_coef=box_of(loss), **form, **forced)
        assert relaxed.dual <= expected * (1.0 + 1e-6) and relaxed.primal >= expected * (1.0 - 1e-6)
        assert relaxed.dual >= expected * (1.0 - 3e-5)


@losses
@gammas
@pytest.mark.parametrize("method", METHODS)
def test_every_method_against_enumeration(loss, gamma, method):
    settings = {"options": {"max_iterations": 60}} if method == "subgradient" else {}
    settings |= {"n_jobs": 1} if method == "tree" else {}
    reached = against_enumeration(
        loss, True, True, seeds=(0,), gamma=gamma, max_coef=box_of(loss), method=method, **settings
    )
    if method in ("tree", "cuts"):
        assert not reached[False]
    else:
        assert reached[True] >= 0.6 * reached.total()
