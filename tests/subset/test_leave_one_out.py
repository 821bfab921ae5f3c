"""The ridge by leave-one-out: the best one for its support, which is the best one for the ridge."""

import numpy as np
import pytest

from checks import best_subset, check_certificate
from samples import sample
from sparsest import BestSubsetClassifier, BestSubsetRegressor, best_subset_path
from sparsest.core.problem import make_problem
from sparsest.runtime.faults import injected
from sparsest.subset.fits.influence import leave_one_out_error
from sparsest.subset.fits.support import fit_support

N, P = 40, 8


def loo_error(problem, support, gamma):
    changed = problem.with_gamma(gamma)
    return leave_one_out_error(changed, fit_support(changed, support))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_support_and_ridge_agree(loss):
    """The result is optimal for its γ, and no γ of a fine grid has a smaller error on its support."""
    X, y = sample(loss, N, P, seed=2, noise=2.0)
    result = best_subset(X, y, 3, gamma="loo", loss=loss)
    history = result.trace["leave_one_out"]
    assert history["stable"] and history["gammas"][-1] == result.statement.gamma
    assert np.array_equal(history["supports"][-1], result.support)
    problem = make_problem(X, y, 3, loss=loss, gamma=1.0)
    found = loo_error(problem, result.support, result.statement.gamma)
    assert history["errors"][-1] == pytest.approx(found, rel=1e-6)
    grid = result.statement.gamma * np.geomspace(1e-2, 1e2, 81)
    assert found <= min(loo_error(problem, result.support, gamma) for gamma in grid) * (1 + 1e-6)
    again = best_subset(X, y, 3, gamma=result.statement.gamma, loss=loss)
    assert np.array_equal(again.support, result.support)
    check_certificate(result, X, y)


def test_noise_shrinks_more():
    """The ridge follows the noise; nothing but noise is shrunk as far as it goes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, P))
    signal = X[:, :2].sum(axis=1)
    gammas = [
        best_subset(X, signal + noise * rng.standard_normal(60), 2, gamma="loo").statement.gamma
        for noise in (0.01, 1.0, 30.0)
    ]
    assert gammas[0] > 10 * gammas[1] > 10 * gammas[2]


def test_rounds_that_go_round_end():
    """Where supports and ridges never agree, the turn with the smallest error ends it."""
    X, y = sample("squared", N, P)
    turns = []

    def contrary(turn):
        n, one = len(turns), turn.support[:1]
        turns.append(turn._replace(support=one, gamma=0.1 if n % 2 else 1e-5, error=float(n)))
        return turns[-1]

    with injected("turn", contrary):
        result = best_subset(X, y, 2, gamma="loo")
    assert 2 <= len(turns) < 12 and not result.trace["leave_one_out"]["stable"]
    assert result.statement.gamma in (0.1, 1e-5)


def test_estimators_paths_screening_and_no_features():
    X, y = sample("squared", N, P, seed=2)
    fitted = BestSubsetRegressor(k=3, gamma="loo", screen=P).fit(X, y)
    assert fitted.result_.trace["leave_one_out"]["stable"] and fitted.result_.trace["screening"]["safe"]
    labels = np.where(y > np.median(y), "b", "a")
    assert BestSubsetClassifier(k=2, gamma="loo").fit(X, labels).score(X, labels) > 0.6
    empty, full = best_subset_path(X, y, [0, P], gamma="loo")
    assert empty.support.size == 0 and full.trace["leave_one_out"]["stable"]


def test_refusals():
    X, y = sample("hinge", N, P)
    with pytest.raises(ValueError, match=r"hinge loss has no curvature.*cross-validation"):
        best_subset(X, y, 2, loss="hinge", gamma="loo")
    with pytest.raises(ValueError, match=r"gamma must be .*'auto' or 'loo'"):
        best_subset(X, y, 2, gamma="cv")
