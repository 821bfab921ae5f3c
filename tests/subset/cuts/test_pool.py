"""Cuts are below the objective of every support, for any dual point, k and γ."""

import numpy as np
import pytest

from checks import best_subset, check_certificate
from oracles import sample_values
from samples import LOSS_NAMES, sample
from sparsest.core.problem import make_problem
from sparsest.subset.cuts.pool import CutPool
from sparsest.subset.fits.support import fit_support


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("gamma", [0.3, 2.0])
def test_cuts_are_below_every_support(loss, gamma):
    """The cut of a support's dual point equals the objective at that support."""
    n, p = 14, 6
    X, y = sample(loss, n, p)
    problem = make_problem(X, y, 3, loss=loss, gamma=0.3)
    values, pool = sample_values(loss, n, p, 0, gamma, True, False), CutPool()
    rng, chosen = np.random.default_rng(0), np.array([1, 4])
    for alpha in (*(problem.feasible(start) for start in rng.standard_normal((5, n))), np.zeros(n)):
        pool.add(problem, alpha)
    own = pool.add(problem, fit_support(problem.with_gamma(gamma), chosen).alpha)
    assert len(pool) == own + 1 == 7
    for number in range(len(pool)):
        constant, q = pool.cut(number, problem.with_gamma(gamma))
        assert q.shape == (p,) and (q >= 0.0).all()
        for support, value in values.items():
            assert constant - q[list(support)].sum() <= value + 1e-8 * abs(value)
    constant, q = pool.cut(own, problem.with_gamma(gamma))
    assert constant - q[chosen].sum() == pytest.approx(values[1, 4], rel=1e-6)


def test_the_ridge_scales_the_gains():
    X, y = sample("squared", 14, 6)
    problem, pool = make_problem(X, y, 3, gamma=0.3), CutPool()
    pool.add(problem, problem.feasible(-y))
    constant, q = pool.cut(0, problem)
    other_constant, other_q = pool.cut(0, problem.with_gamma(0.9))
    assert other_constant == constant
    np.testing.assert_allclose(other_q, 3.0 * q)


def test_a_pool_can_be_used_for_other_k_and_gamma():
    X, y = sample("squared", 30, 14, 2)
    pool = CutPool()
    best_subset(X, y, 4, gamma=0.5, method="cuts", options={"pool": pool})
    known = len(pool)
    for change in ({"k": 3, "gamma": 0.5}, {"k": 4, "gamma": 0.7}):
        again = best_subset(X, y, method="cuts", options={"pool": pool}, **change)
        alone = best_subset(X, y, method="cuts", **change)
        assert again.objective == pytest.approx(alone.objective, rel=1.1e-4)
        check_certificate(again, X, y)
    assert len(pool) > known


OTHERS = {
    "fewer columns": (lambda X, y: (X[:, :8], y), {}, "different p, fingerprint"),
    "fewer rows": (lambda X, y: (X[:20], y[:20]), {}, "different n, fingerprint"),
    "another response": (lambda X, y: (X, y + X[:, 0]), {}, "different fingerprint"),
    "another entry": (lambda X, y: (np.where(X[3, 4] == X, 0.0, X), y), {}, "different fingerprint"),
    "weights": (lambda X, y: (X, y), {"sample_weight": np.arange(1.0, 31.0)}, "different fingerprint"),
    "another loss": (lambda X, y: (X, y), {"loss": "huber", "delta": 1.0}, "different loss, parameters"),
    "no intercept": (lambda X, y: (X, y), {"fit_intercept": False}, "different fit_intercept"),
    "standardised columns": (lambda X, y: (X, y), {"standardize": True}, "different standardize"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_pool_is_rejected_for_other_data(kind):
    change, settings, message = OTHERS[kind]
    X, y = sample("squared", 30, 14, 2)
    pool = CutPool()
    best_subset(X, y, 4, gamma=0.5, method="cuts", options={"pool": pool})
    known = len(pool)
    with pytest.raises(ValueError, match=rf"pool holds cuts of other data \({message}.*\): give a new CutPool"):
        best_subset(*change(X, y), 4, gamma=0.5, method="cuts", options={"pool": pool}, **settings)
    assert len(pool) == known
