"""Relaxations with stronger ridges: when they are used, and that bounds and models are those of the weak ridge."""

import numpy as np
import pytest

from checks import check_certificate
from oracles import enumerate_best, make_problem
from samples import LOSS_NAMES, sample
from sparsest.core.ridge import default_gamma
from sparsest.datasets import make_toeplitz
from sparsest.subset.relaxation.relaxer import relax_problem
from sparsest.subset.relaxation.stronger_ridges import gammas_before
from subset.relaxation.relaxing import relax


def weak(X, y, **settings):
    """A γ that is a thousand times the default one."""
    return 1000.0 * default_gamma(make_problem(X, y, 2, **settings).data)


def test_only_weak_ridges_of_wide_data_begin_with_stronger_ones():
    X, y = sample("squared", 10, 20)
    gamma = weak(X, y)
    gammas = gammas_before(make_problem(X, y, 2, gamma=gamma))
    assert gammas == sorted(gammas) and gammas[-1] < gamma <= 4.0 * gammas[-1]
    assert gammas[0] == pytest.approx(gamma / 4000.0)
    assert gammas_before(make_problem(X, y, 2, gamma=gamma / 100.0)) == []
    assert gammas_before(make_problem(X, y, 2, gamma=gamma, max_coef=3.0)) == []
    assert gammas_before(make_problem(X[:, :9], y, 2, gamma=gamma)) == []


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_bound_and_model(loss):
    """The bound is valid and verified, and polished models of noise reach the optimum nearly always."""
    for seed in range(3):
        X, y = sample(loss, 6, 8, seed)
        gamma = weak(X, y, loss=loss)
        assert gammas_before(make_problem(X, y, 2, gamma=gamma, loss=loss))
        optimum, _ = enumerate_best(X, y, 2, gamma=gamma, loss=loss)
        result, told = relax(X, y, k=2, gamma=gamma, loss=loss)
        assert result.lower_bound <= optimum * (1.0 + 1e-8) <= result.objective * (1.0 + 2e-8)
        assert told["dual"] <= told["primal"] * (1.0 + 1e-9)
        check_certificate(result, X, y)


def test_the_relaxation_of_the_weak_ridge_is_not_solved():
    """The values of the stronger relaxation enclose that of the weak ridge; the model is no worse than without it."""
    data = make_toeplitz(60, 150, 5, rho=0.5, snr=1.0, rng=0)
    gamma = weak(data.X, data.y)
    result, told = relax(data.X, data.y, k=5, gamma=gamma)
    problem = make_problem(data.X, data.y, 5, gamma=gamma)
    relaxed, _ = relax_problem(problem, 1e-4)
    assert told["dual"] <= relaxed.primal and relaxed.dual <= told["primal"]
    assert told["primal"] <= 0.1 * result.objective
    assert told["gap"] > 1e-2
    assert result.certificate.verify(data.X, data.y).valid
    unpolished, _ = relax(data.X, data.y, k=5, gamma=gamma, polish=False)
    assert result.objective <= unpolished.objective
    assert np.isfinite(unpolished.objective)
