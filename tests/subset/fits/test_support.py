"""The objective of a support, against conic programming and scikit-learn."""

from itertools import product

import numpy as np
import pytest

from covering import every_pair
from oracles import EXPONENTIAL, scikit_learn_value, squared_values, support_value, support_values
from samples import LOSS_NAMES, sample, sample_weights
from sparsest.core.problem import make_problem
from sparsest.subset.fits.support import fit_support

GAMMAS = (1e-3, 1.0, 1e3, np.inf)
# Numbers of observations and features: no feature, fewer than, as many as, and more than observations.
SHAPES = ((40, 0), (40, 4), (8, 8), (8, 12))
# Whether there is an intercept, and whether there are weights.
FITS = [(True, False), (True, True), (False, False), (False, True)]


class Case:
    """A problem whose support is its first m columns."""

    def __init__(self, loss, shape, gamma=1.0, fit_intercept=True, weighted=False, seed=3):
        n, self.m = shape
        self.X, self.y = sample(loss, n, max(self.m, 1), seed, noise=1.5)
        self.weights = sample_weights(weighted, n)
        settings = {"gamma": gamma, "loss": loss, "fit_intercept": fit_intercept, "sample_weight": self.weights}
        self.problem = make_problem(self.X, self.y, max(self.m, 1), **settings)
        self.oracle = (loss, self.X[:, : self.m], self.y, gamma, fit_intercept, self.weights)

    def fit(self, **options):
        return fit_support(self.problem, np.arange(self.m), **options)


@every_pair(loss=LOSS_NAMES, shape_and_gamma=list(product(SHAPES, GAMMAS)), fit=FITS)
def test_value_and_gap(loss, shape_and_gamma, fit):
    (shape, gamma), (fit_intercept, weighted) = shape_and_gamma, fit
    case = Case(loss, shape, gamma, fit_intercept, weighted)
    fit = case.fit()
    total = case.problem.weights.sum()
    assert 0.0 <= fit.primal - fit.dual <= max(1e-8 * fit.primal, 1e-10 * total)
    if np.isinf(gamma) and case.m >= case.problem.n:
        assert fit.primal <= 1e-10 * total
    else:
        expected = support_value(*case.oracle)
        # The conic solver is less precise for exponential cones, so its model may be worse.
        assert fit.primal <= expected * (1.0 + 1e-6) + 1e-12 * total
        assert fit.primal >= expected * (1.0 - (1e-6 if loss not in EXPONENTIAL else 1e-4)) - 1e-8 * total


@every_pair(loss=LOSS_NAMES, gamma=GAMMAS, fit_intercept=[True, False], weighted=[False, True])
def test_dual_point(loss, gamma, fit_intercept, weighted):
    """The dual point is feasible, and -γX'α are the coefficients; without a ridge it is orthogonal to X."""
    case = Case(loss, (40, 4), gamma, fit_intercept, weighted)
    fit = case.fit()
    np.testing.assert_allclose(case.problem.feasible(fit.alpha), fit.alpha, rtol=1e-12, atol=1e-14)
    products = case.problem.design.tdot(fit.alpha)
    size = case.problem.column_norms * np.linalg.norm(fit.alpha)
    if np.isinf(gamma):
        assert np.all(np.abs(products) <= 1e-5 * size)
    else:
        # The gap is quadratic in the error: a relative gap of 1e-8 allows errors of 1e-4 in the coefficients.
        np.testing.assert_allclose(-gamma * products, fit.w, atol=1e-4 * np.abs(fit.w).max())


@pytest.mark.parametrize("gamma", [1e-3, 1.0, 1e3, np.inf])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_scikit_learn_agrees(loss, gamma, fit_intercept, weighted):
    case = Case(loss, (40, 4), gamma, fit_intercept, weighted)
    assert case.fit().primal == pytest.approx(scikit_learn_value(*case.oracle), rel=1e-9)


@pytest.mark.parametrize("gamma", [1e-2, 1.0, 1e3])
@pytest.mark.parametrize(("fit_intercept", "weighted"), [(True, True), (False, False)])
@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
def test_generalised_linear_models_agree(loss, gamma, fit_intercept, weighted):
    case = Case(loss, (40, 4), gamma, fit_intercept, weighted)
    assert case.fit().primal == pytest.approx(scikit_learn_value(*case.oracle), rel=1e-8)


@pytest.mark.parametrize("gamma", [1e-3, 1e-2, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
def test_libsvm_agrees(loss, gamma, weighted):
    """It is less precise, so its model may only be worse."""
    case = Case(loss, (40, 4), gamma, True, weighted)
    theirs, ours = scikit_learn_value(*case.oracle), case.fit().primal
    assert (1.0 - 1e-5) * theirs <= ours <= (1.0 + 1e-8) * theirs


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_derivative_with_respect_to_the_indicator(loss):
    """``∂c/∂s_j = -(γ/2)(X_j'α)²``, where a fractional feature is its column times ``√s_j``."""
    case = Case(loss, (40, 4), gamma=0.02)
    block, h = case.problem.design.columns(np.arange(4)), 1e-3
    gains = case.problem.gains(case.fit().alpha)
    for j in range(4):
        around = []
        for s in (1.0 - h, 1.0 + h):
            scaled = block.copy()
            scaled[:, j] *= np.sqrt(s)
            around.append(case.fit(columns=scaled).primal)
        assert (around[1] - around[0]) / (2.0 * h) == pytest.approx(-gains[j], rel=1e-2, abs=1e-2 * gains.max())


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_start_does_not_change_the_result(loss, fit_intercept):
    case = Case(loss, (40, 4), fit_intercept=fit_intercept)
    start = (np.array([3.0, -2.0, 5.0, 1.0]), 2.0 if fit_intercept else 0.0)
    assert case.fit(start=start).primal == pytest.approx(case.fit().primal, rel=1e-8)
    assert np.array_equal(start[0], [3.0, -2.0, 5.0, 1.0])


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_price_is_in_both_values(loss):
    case = Case(loss, (40, 4))
    priced = make_problem(case.X, case.y, l0_penalty=0.25, gamma=1.0, loss=loss)
    fit, free = fit_support(priced, np.arange(3)), fit_support(case.problem, np.arange(3))
    assert fit.primal == pytest.approx(free.primal + 0.75, rel=1e-12)
    assert fit.dual == pytest.approx(free.dual + 0.75, rel=1e-12)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("gamma", [1.0, np.inf])
def test_duplicated_and_constant_columns(loss, gamma):
    """A singular system has the objective of the distinct columns, with 2γ for a pair of equal ones."""
    X, y = sample(loss, 40, 3, 5, noise=1.5)
    doubled = np.column_stack([X, X, np.full(40, 2.5)])
    pair = make_problem(doubled, y, 7, gamma=gamma, loss=loss)
    single = make_problem(X, y, 3, gamma=2.0 * gamma, loss=loss)
    expected = fit_support(single, np.arange(3)).primal
    assert fit_support(pair, np.arange(7)).primal == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_scale_of_the_columns(loss, scale):
    """Columns times t with γ/t² give the same value."""
    X, y = sample(loss, 40, 3, 6, noise=1.5)
    expected = fit_support(make_problem(X, y, 3, gamma=1.0, loss=loss), np.arange(3)).primal
    scaled = make_problem(scale * X, y, 3, gamma=1.0 / scale**2, loss=loss)
    assert fit_support(scaled, np.arange(3)).primal == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("gamma", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("weighted", [False, True])
def test_normal_equations_of_all_supports_agree(gamma, weighted):
    X, y = sample("squared", 20, 6, 7)
    weights = sample_weights(weighted, 20)
    problem = make_problem(X, y, 6, gamma=gamma, sample_weight=weights)
    values, expected = squared_values(X, y, gamma, weights), support_values(problem)
    assert values.keys() == expected.keys() and len(values) == 64
    assert list(values.values()) == pytest.approx(list(expected.values()), rel=1e-9)
