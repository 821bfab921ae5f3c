"""Screening against enumeration: what it calls safe is optimal for all features, and every certificate holds."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from checks import best_subset, best_subset_path, check_certificate, solve
from oracles import best_of, sample_values
from samples import LOSS_NAMES, SMOOTH_NAMES, hard, sample
from sparsest import BestSubsetRegressor, Status, penalty_path
from sparsest.datasets import make_toeplitz

N, P = 14, 6


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("form", [{"k": 2}, {"l0_penalty": 0.3}, {"k": 3, "l0_penalty": 0.1, "include": (5,)}])
def test_against_enumeration(loss, form):
    """Safe or not, no bound is above the optimum of the whole problem; safe and OPTIMAL is the optimum."""
    verdicts = set()
    for seed, gamma, size in ((0, 1e-4, 4), (1, 0.3, 4), (2, 0.3, 3)):
        X, y = sample(loss, N, P, seed)
        optimum, _ = best_of(sample_values(loss, N, P, seed, gamma, True, False), **form)
        result = solve(X, y, loss=loss, gamma=gamma, method="tree", screen=size, **form)
        screening = result.trace["screening"]
        assert screening["kept"].size == size and set(result.support) <= set(screening["kept"])
        assert result.lower_bound <= optimum * (1 + 1e-8) and result.objective >= optimum * (1 - 1e-8)
        assert screening["safe"] == (screening["n_not_excluded"] == 0)
        assert screening["restricted_certificate"].verify(X, y)
        if screening["safe"]:
            assert result.status is Status.OPTIMAL and result.objective <= optimum * (1 + 1.1e-4)
        verdicts.add(screening["safe"])
    assert True in verdicts


@pytest.mark.parametrize("loss", SMOOTH_NAMES)
@pytest.mark.parametrize("form", [{"k": 2}, {"k": 3, "include": (5,), "exclude": (0,)}])
def test_a_path_ranks_features(loss, form):
    """Whatever is kept, no bound is above the optimum of the whole problem, and what is called safe is optimal."""
    for seed, gamma in ((0, 1e-4), (1, 0.3)):
        X, y = sample(loss, N, P, seed)
        optimum, _ = best_of(sample_values(loss, N, P, seed, gamma, True, False), **form)
        result = solve(X, y, loss=loss, gamma=gamma, method="tree", screen=4, screen_by="path", **form)
        screening = result.trace["screening"]
        assert screening["kept"].size == 4 and set(result.support) <= set(screening["kept"])
        assert set(form.get("include", ())) <= set(screening["kept"]) and not set(form.get("exclude", ())) & set(
            screening["kept"]
        )
        assert result.lower_bound <= optimum * (1 + 1e-8) and result.objective >= optimum * (1 - 1e-8)
        if screening["safe"]:
            assert result.status is Status.OPTIMAL and result.objective <= optimum * (1 + 1.1e-4)
        assert result.certificate.verify(X, y)


def test_the_path_keeps_what_enters_first():
    data = make_toeplitz(n=60, p=40, k=3, rho=0.3, snr=10.0, rng=0)
    result = best_subset(data.X, data.y, 3, gamma=0.02, screen=8, screen_by="path", standardize=True)
    path = penalty_path(data.X, data.y, max_features=16)
    entered = [j for i in range(path.alphas.size) for j in np.sort(path.coefs[:, [i]].indices)]
    order = list(dict.fromkeys(entered))
    assert len(set(order[:6]) - set(result.trace["screening"]["kept"])) == 0
    assert result.trace["screening"]["safe"] and result.certificate.verify(data.X, data.y, exclude=(), k=3)
    assert np.array_equal(result.support, data.support)
    with pytest.raises(ValueError, match="screen_by='path' needs a smooth loss"):
        best_subset(data.X, data.y, 3, loss="quantile", screen=8, screen_by="path")
    with pytest.raises(ValueError, match="unknown screen_by"):
        best_subset(data.X, data.y, 3, screen=8, screen_by="magic")


def test_safe_screening_proves_the_whole_problem():
    """Both with exact arithmetic and rounding bounds; the certificate is for all features, none of them excluded."""
    data = make_toeplitz(n=60, p=40, k=3, rho=0.3, snr=10.0, rng=0)
    result = best_subset(data.X, data.y, 3, gamma=0.02, screen=8)
    assert result.trace["screening"]["safe"] and result.status is Status.OPTIMAL
    assert result.statement.exclude == ()
    verdict = result.certificate.verify(data.X, data.y, exclude=(), k=3)
    assert verdict and result.certificate.verify(data.X, data.y, exact=True)
    whole = best_subset(data.X, data.y, 3, gamma=0.02)
    assert np.array_equal(whole.support, result.support)


def test_heuristic_screening_says_so():
    """Correlated columns and a weak ridge: dual points exclude little, and the warning tells what to do."""
    X, y = hard(n=60, p=40)
    with pytest.warns(ConvergenceWarning, match=r"screening was heuristic: .* raise screen"):
        result = BestSubsetRegressor(k=5, gamma=1.0, screen=6, standardize=False).fit(X, y).result_
    screening = result.trace["screening"]
    assert not screening["safe"] and screening["n_not_excluded"] > 0 and result.status is Status.HEURISTIC
    assert result.lower_bound <= screening["restricted_lower_bound"]
    check_certificate(result, X, y)


def test_other_methods_no_ridge_and_a_path():
    X, y = sample("squared", 30, 10, seed=1)
    for method in ("relaxation", "local", "cuts"):
        result = solve(X, y, 2, gamma=0.05, method=method, screen=5)
        assert result.trace["screening"]["kept"].size == 5
    result = solve(X, y, 2, gamma=np.inf, method="tree", screen=5)
    assert not result.trace["screening"]["safe"] and result.lower_bound == 0.0
    assert result.trace["screening"]["restricted_lower_bound"] > 0.0
    everything = solve(X, y, 2, gamma=0.05, method="tree", screen=99)
    assert everything.trace["screening"]["safe"] and everything.status is Status.OPTIMAL
    for result in best_subset_path(X, y, [1, 3], gamma=0.01, screen=5):
        assert result.trace["screening"]["kept"].size == 5
        check_certificate(result, X, y)


def test_too_few_features_are_refused():
    X, y = sample("squared", N, P)
    with pytest.raises(ValueError, match="screen must keep at least the 3 features"):
        best_subset(X, y, 3, screen=2)
    with pytest.raises(ValueError, match="screen must be a whole number"):
        best_subset(X, y, 3, screen=0.5)


def test_the_trace_shows_what_the_result_says_of_screening():
    X, y = sample("squared", 40, 10, 3)
    result = best_subset(X, y, 2, gamma=0.3, screen=5)
    assert result.trace["screening"] == result.screening._asdict() and result.screening.kept.size == 5
    assert best_subset(X, y, 2, gamma=0.3).screening is None


@pytest.mark.parametrize("method", ["tree", "cuts", "relaxation"])
def test_a_result_says_where_a_later_search_may_begin(method):
    X, y = sample("squared", 40, 10, 3)
    result = best_subset(X, y, 2, gamma=0.3, method=method, screen=5)
    relaxed, shown = result.restart.relaxed, result.trace["relaxation"]
    for name in ("features", "w", "b", "alpha"):
        assert np.array_equal(getattr(relaxed, name), shown[name])
    assert result.restart.subgradient is None and best_subset(X, y, 2, gamma=0.3, method="local").restart == (
        None,
        None,
    )
