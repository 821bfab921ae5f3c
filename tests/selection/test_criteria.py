"""Information criteria against their definitions, written out once more over fits of scikit-learn."""

from math import comb, inf, log, pi

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from checks import best_subset, best_subset_path
from samples import sample
from sparsest import information_criterion, penalty_path
from sparsest.selection.criteria import CRITERIA, Criterion

N, P = 30, 8


def by_hand(name, minus_twice_log_l, d, s, n, p, xi=1.0):
    return (
        minus_twice_log_l
        + {
            "aic": 2 * d,
            "aicc": 2 * d + 2 * d * (d + 1) / (n - d - 1),
            "bic": d * log(n),
            "ebic": d * log(n) + 2 * xi * log(comb(p, s)),
            "gic": d * log(log(n)) * log(p),
            "mbic": d * log(n) + 2 * s * log(max(p / 4 - 1, 1)),
        }[name]
    )


def minus_twice_log_l(loss, y, u):
    if loss == "squared":
        return N * (log(2 * pi * np.mean((y - u) ** 2)) + 1)
    return 2 * np.logaddexp(0, -y * u).sum()


@pytest.mark.parametrize("name", CRITERIA)
def test_least_squares(name):
    """Without a ridge: the normal distribution, a degree of freedom for each coefficient and the variance."""
    X, y = sample("squared", N, P)
    result = best_subset(X, y, 3, gamma=np.inf)
    chosen = X[:, result.support]
    rss = float(np.sum((y - LinearRegression().fit(chosen, y).predict(chosen)) ** 2))
    variance = rss / N
    log_l = float(np.sum(-0.5 * np.log(2 * pi * variance) - 0.5 * (rss / N) / variance) * N)
    assert information_criterion(result, X, y, name, xi=0.7) == pytest.approx(
        by_hand(name, -2 * log_l, 5, 3, N, P, 0.7), rel=1e-10
    )
    # A known variance takes no degree of freedom.
    known = -2 * (-0.5 * N * log(2 * pi * 2.0) - 0.5 * rss / 2.0)
    found = information_criterion(result, X, y, name, noise_variance=2.0, n_candidates=50)
    assert found == pytest.approx(by_hand(name, known, 4, 3, N, 50), rel=1e-10)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_counts_effective_degrees_of_freedom(loss, fit_intercept):
    """The trace of the hat matrix, written out; row duplication is a weight of 2."""
    X, y = sample(loss, N, P)
    result = best_subset(X, y, 3, gamma=0.2, loss=loss, fit_intercept=fit_intercept)
    A = np.column_stack([X[:, result.support], np.ones(N)])[:, : 3 + fit_intercept]
    u = X @ result.coef + result.intercept
    curvature = np.ones(N) if loss == "squared" else 1 / (2 + np.exp(u) + np.exp(-u))
    penalty = np.diag([5.0, 5.0, 5.0, 0.0][: A.shape[1]])
    hat = A @ np.linalg.solve(A.T @ (curvature[:, None] * A) + penalty, A.T * curvature)
    fit = minus_twice_log_l(loss, y, u)
    expected = fit + log(N) * (np.trace(hat) + (loss == "squared"))
    assert information_criterion(result, X, y) == pytest.approx(expected, rel=1e-6)
    settings = {"gamma": 0.1, "loss": loss, "fit_intercept": fit_intercept}
    twice = best_subset(np.vstack([X, X]), np.tile(y, 2), 3, **settings)
    heavy = best_subset(X, y, 3, sample_weight=np.full(N, 2.0), **settings)
    assert information_criterion(twice, np.vstack([X, X]), np.tile(y, 2)) == pytest.approx(
        information_criterion(heavy, X, y, sample_weight=np.full(N, 2.0)), rel=1e-8
    )


@pytest.mark.parametrize(("loss", "penalty"), [("squared", "l1"), ("logistic", "mcp")])
def test_paths_count_nonzero_coefficients(loss, penalty):
    X, y = sample(loss, N, P)
    path = penalty_path(X, y, penalty, loss=loss, alphas=[0.3, 0.2, 0.1])
    found = information_criterion(path, X, y, "ebic")
    margins = X @ path.coefs.toarray() + path.intercepts
    for i, s in enumerate(path.n_nonzero):
        fit = minus_twice_log_l(loss, y, margins[:, i])
        d = s + 1 + (loss == "squared")
        assert found[i] == pytest.approx(by_hand("ebic", fit, d, int(s), N, P), rel=1e-10)


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize(("loss", "variance"), [("squared", None), ("squared", 0.4), ("logistic", None)])
def test_values_lead_back_to_losses(name, loss, variance):
    criterion = Criterion(name, loss, 25.0, 12, True, variance)
    for size, losses in ((0, 7.0), (3, 1.5)):
        assert criterion.losses_at(criterion.value(losses, size), size) == pytest.approx(losses, rel=1e-12)


def test_too_many_degrees_of_freedom():
    """AICc has no value there; a perfect fit of an unknown variance beats everything."""
    assert Criterion("aicc", "squared", 10.0, 20, True).value(0.0, 7) == inf
    assert Criterion("bic", "squared", 10.0, 20, True).value(0.0, 7) == -inf
    assert Criterion("ebic", "squared", 10.0, 3, True).penalty(5, 5) == inf


def test_refusals():
    X, y = sample("hinge", N, P)
    result = best_subset(X, y, 2, loss="hinge", gamma=0.3)
    with pytest.raises(ValueError, match=r"hinge loss has no likelihood.*cross-validation"):
        information_criterion(result, X, y)
    X, y = sample("squared", N, P)
    result = best_subset(X, y, 2, gamma=0.3)
    with pytest.raises(ValueError, match=r"unknown criterion .r2.; choose one of aic, "):
        information_criterion(result, X, y, "r2")
    with pytest.raises(ValueError, match="not those of the result"):
        information_criterion(result, X, y + 1)
    with pytest.raises(ValueError, match="model must be a Result, a list of them or a PathResult"):
        information_criterion("result", X, y)
    with pytest.raises(ValueError, match="n_candidates must be"):
        information_criterion(result, X, y, n_candidates=1)
    with pytest.raises(ValueError, match="noise_variance is for the squared loss"):
        Criterion("bic", "logistic", 10.0, 3, True, noise_variance=1.0)
    with pytest.raises(ValueError, match="at least 3 observations"):
        Criterion("gic", "squared", 2.0, 3, True)


def test_a_list_of_results():
    X, y = sample("squared", 40, 6)
    models = best_subset_path(X, y, [0, 1, 3], gamma=0.5)
    alone = [information_criterion(model, X, y, "bic") for model in models]
    np.testing.assert_array_equal(information_criterion(models, X, y, "bic"), alone)
    with pytest.raises(ValueError, match="model must be a Result, a list of them or a PathResult"):
        information_criterion([], X, y)
