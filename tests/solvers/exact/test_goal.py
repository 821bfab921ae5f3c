"""Incumbents: the tree is never behind the cheaper methods, and polishing looks at every swap."""

from itertools import product

import numpy as np
import pytest

from checks import best_subset
from samples import sample
from sparsest.datasets import make_toeplitz
from sparsest.problem import make_problem
from sparsest.solvers.exact.goal import BestSupport
from sparsest.solvers.shared.clock import Clock
from sparsest.solvers.shared.local_search import LocalSearch
from sparsest.solvers.shared.support import fit_support

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize(("seed", "rho"), [(0, 0.2), (0, 0.7), (1, 0.2), (1, 0.7)])
def test_the_tree_is_not_behind_cheaper_methods_at_a_weak_ridge(seed, rho):
    """With few nodes, so that it is the starts that count; the relaxation alone was up to 40 % better here."""
    data = make_toeplitz(100, 600, 12, rho=rho, snr=6.0, rng=seed)
    gamma0 = 600 / (12 * 100 * float(np.square(data.X).sum(axis=1).max()))
    settings = {"gamma": 2**11 * gamma0, "fit_intercept": False}
    found = best_subset(data.X, data.y, 12, node_limit=5, **settings).objective
    for method in ("relaxation", "local"):
        other = best_subset(data.X, data.y, 12, method=method, **settings).objective
        assert found <= other * (1 + 1e-4)


def test_where_rounding_closes_the_gap_nobody_looks_at_neighbours(monkeypatch):
    data = make_toeplitz(200, 400, 5, rho=0.2, snr=6.0, rng=0)
    monkeypatch.setattr(LocalSearch, "search", None)
    result = best_subset(data.X, data.y, 5, gamma=1e-3, fit_intercept=False)
    assert result.status.name == "OPTIMAL" and result.n_nodes == 0


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_thorough_search_ends_where_no_swap_with_any_feature_is_better(loss):
    """Also where the pool of likely features has hardly any; the quadratic model of a loss may miss small steps."""
    X, y = sample(loss, 40, 30, 5)
    X[:, 15:] = X[:, :15] + 0.1 * X[:, 15:]
    problem = make_problem(X, y, 4, gamma=5.0, loss=loss)
    fit = LocalSearch(pool=1, trials=30).search(problem)
    outside = np.setdiff1d(np.arange(30), fit.support)
    values = [
        fit_support(problem, np.sort(np.append(np.delete(fit.support, out), into))).primal
        for out, into in product(range(4), outside)
    ]
    assert min(values) >= fit.primal * (1 - (1e-9 if loss == "squared" else 1e-3))


def test_a_given_start_and_roundings_are_polished_once_the_gap_stays_open():
    X, y = sample("squared", 40, 12, 6)
    problem = make_problem(X, y, 3, gamma=1.0)
    best = min(
        (fit_support(problem, np.array(s)) for s in product(range(12), repeat=3) if s[0] < s[1] < s[2]),
        key=lambda fit: fit.primal,
    )
    for support in ([9, 10, 11], [0, 5, 7]):
        goal = BestSupport(problem, Clock(np.inf), 1e-4, LocalSearch())
        goal.rounded(np.array(support))
        assert goal.fit.primal == fit_support(problem, np.array(support)).primal
        goal.search_locally()
        assert goal.fit.primal == pytest.approx(best.primal, rel=1e-9)
