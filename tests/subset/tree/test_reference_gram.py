"""The Gram matrix that nodes share: its entries, when it applies, and relaxations that use it."""

import numpy as np
import pytest

from checks import best_subset
from samples import hard
from sparsest.core.problem import make_problem
from sparsest.runtime.events import Status
from sparsest.subset.relaxation.memory import CurvedGram
from sparsest.subset.relaxation.working_set import make_regulariser, solve_working_set
from sparsest.subset.relaxation.working_solution import Stop, WorkingSet
from sparsest.subset.tree.reference_gram import ReferenceGram, reference_at
from sparsest.subset.tree.tuning import DEFAULT_TUNING

N, P = 60, 20


# Use the matrix for small problems too.
ALWAYS = DEFAULT_TUNING._replace(reference_operations=0.0)


def labelled(loss):
    X, y = hard(N, P)
    return X, np.where(y > np.median(y), 1.0, -1.0) if loss == "logistic" else np.abs(np.rint(y))


def test_entries_inside_and_outside():
    rng = np.random.default_rng(0)
    columns, h = rng.standard_normal((N, P)), rng.random(N)
    reference = ReferenceGram(columns, h, np.array([7, 0, 3, 5]), ALWAYS)
    for chosen in ([0, 7], [3, 5, 0, 11]):
        part = columns[:, chosen]
        found = reference.of(np.array(chosen), part)
        np.testing.assert_allclose(found.matrix, part.T @ (h[:, None] * part), atol=1e-12)
        assert found.curvature is h
    assert reference.of(np.array([0, 1]), columns[:, :2]) is None


def test_small_matrices_and_losses_without_curvature_have_no_reference():
    X, y = labelled("logistic")
    margin, none = np.zeros(N), np.arange(0)
    assert reference_at(make_problem(X, y, 3, loss="logistic"), X, margin, none) is None
    for loss in ("hinge", "squared"):
        large = np.zeros((N, 50_000))
        assert reference_at(make_problem(X, y, 3, loss=loss), large, margin, none) is None


def test_features_with_coefficients_and_large_gradients_are_inside():
    X, y = labelled("logistic")
    problem = make_problem(X, y, 3, loss="logistic", standardize=False)
    reference = reference_at(problem, X, np.zeros(N), np.array([4]), ALWAYS._replace(reference_features=6))
    gradient = np.abs(X.T @ problem.loss.derivative(problem.y, np.zeros(N)))
    gradient[4] = np.inf
    assert set(np.flatnonzero(reference.slot >= 0)) == set(np.argsort(-gradient)[:6])
    np.testing.assert_allclose(reference.curvature, 0.25)


@pytest.mark.parametrize("share", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_any_reference_leads_to_the_same_solution(loss, fit_intercept, share):
    """Curvatures that are far too small or too large only take more steps."""
    X, y = labelled(loss)
    problem = make_problem(X, y, 4, gamma=0.5, loss=loss, fit_intercept=fit_intercept)
    columns = problem.design.columns(np.arange(P))
    omega = make_regulariser(problem, problem.root, np.arange(P))
    h = np.full(N, 0.25 * share)
    reference = CurvedGram(columns.T @ (h[:, None] * columns), h)
    given = WorkingSet(problem, columns, omega), np.zeros(P), 0.0, Stop(1e-7)
    plain, other = solve_working_set(*given), solve_working_set(*given, reference=reference)
    assert other.primal - other.dual <= 1e-7
    assert other.primal == pytest.approx(plain.primal, abs=2e-7)


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_searches_with_a_reference_find_the_same_optimum(loss):
    X, y = labelled(loss)
    settings = {"k": 4, "loss": loss, "gamma": 1.0, "method": "tree"}
    one, two = (best_subset(X, y, n_jobs=n_jobs, options={"tuning": ALWAYS}, **settings) for n_jobs in (1, 2))
    assert one.status is two.status is Status.OPTIMAL and one.n_nodes == two.n_nodes
    best = best_subset(X, y, **{**settings, "method": "cuts"})
    assert one.objective == pytest.approx(best.objective, rel=1.1e-4)
