"""All supports near the optimum: exactly those that enumeration finds."""

import numpy as np
import pytest
import scipy.sparse as sp

from checks import best_subset
from oracles import supports
from samples import sample
from sparsest import near_optimal
from sparsest.core.problem import make_problem
from sparsest.runtime.events import Status
from sparsest.subset.fits.support import fit_support
from sparsest.subset.tree.method import Tree
from sparsest.subset.tree.near_optimal import NearOptimalSearch

P = 9


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
@pytest.mark.parametrize(
    "form",
    [{"k": 3}, {"l0_penalty": 0.7}, {"k": 3, "l0_penalty": 0.2}, {"k": 4, "include": (1,), "exclude": (2,)}],
    ids=str,
)
def test_complete(loss, form):
    X, y = sample(loss, 30, P, 7)
    result = best_subset(X, y, loss=loss, gamma=0.3, gap_tol=1e-6, time_limit=np.inf, **form)
    values = admissible_values(make_problem(X, y, loss=loss, gamma=0.3, **form), **form)
    for within in (0.0, 0.02, 0.15):
        found = near_optimal(result, X, y, within=within, limit=1000, time_limit=np.inf)
        assert found.complete and found.status is Status.OPTIMAL
        wanted = {support for support, value in values.items() if value <= found.threshold * (1.0 + 1e-9)}
        assert {tuple(support.tolist()) for support in found.supports} == wanted
        assert found.objectives == sorted(found.objectives)
        assert found.objectives[0] == pytest.approx(result.objective, rel=1e-6)


def admissible_values(problem, k=P, include=(), exclude=(), l0_penalty=None):
    """The objective of every support that the problem allows."""
    return {
        support: fit_support(problem, np.array(support, dtype=np.intp)).primal
        for support in supports(P, k)
        if set(include) <= set(support) and not set(exclude) & set(support)
    }


def test_results_are_not_complete_at_a_limit():
    X, y = sample("squared", 30, P, 7)
    result = best_subset(X, y, 4, gamma=0.3)
    found = near_optimal(result, X, y, within=0.5, limit=2)
    assert not found.complete and len(found.supports) == 2
    assert repr(found).startswith("NearOptimal(") and "2 supports with objectives from" in repr(found)
    assert "others are not excluded" in repr(found)


def test_bad_input():
    X, y = sample("squared", 30, P, 7)
    result = best_subset(X, y, 2, gamma=0.3)
    for settings, message in (({"within": -1.0}, "within"), ({"limit": 0}, "limit")):
        with pytest.raises(ValueError, match=message):
            near_optimal(result, X, y, **settings)


def test_only_the_data_of_the_fit_are_accepted():
    X, y = sample("logistic", 30, P, 7)
    weights = np.linspace(0.5, 2.0, 30)
    result = best_subset(X, y, 2, loss="logistic", gamma=0.3, standardize=True, sample_weight=weights)
    labels = np.where(y > 0, "yes", "no")
    for form in (X, np.asfortranarray(X), sp.csc_array(X)):
        assert near_optimal(result, form, labels, sample_weight=weights).complete
    for A, b, w in ((X, y, None), (X + 1e-9, y, weights), (X, -y, weights), (X[1:], y[1:], weights[1:])):
        with pytest.raises(ValueError, match="are not those of the result: give the data of the fit again"):
            near_optimal(result, A, b, sample_weight=w)
    with pytest.raises(ValueError, match="for data with 9 columns, this X has 8"):
        near_optimal(result, X[:, :8], y, sample_weight=weights)


def test_models_without_any_loss_are_within_every_distance():
    """With a constant response all supports are optimal, and none may be excluded."""
    X = np.random.default_rng(0).standard_normal((30, 4))
    result = best_subset(X, np.ones(30), 1)
    assert result.objective == 0.0
    found = near_optimal(result, X, np.ones(30))
    assert result.support.tolist() in [support.tolist() for support in found.supports]
    few = near_optimal(result, X, np.ones(30), limit=1)
    assert not few.complete


def test_without_a_proof_nothing_is_complete():
    X, y = sample("squared", 30, 6, 3)
    problem = make_problem(X, y, 2, gamma=0.1)
    result = best_subset(X, y, 2, gamma=0.1, standardize=False)
    proved, unproved = (
        NearOptimalSearch(0.5, 100, Tree(proof=proof)).solve(problem, result) for proof in (True, False)
    )
    assert proved.complete and not unproved.complete
    assert [s.tolist() for s in proved.supports] == [s.tolist() for s in unproved.supports]
