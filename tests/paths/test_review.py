"""The second pass over a path of a concave penalty: solutions are replaced by better ones only."""

import numpy as np
import pytest

from samples import sample
from sparsest import PenalizedRegressorCV, penalty_path
from sparsest.core.data import make_data
from sparsest.core.losses import make_loss
from sparsest.core.penalties import path_penalty
from sparsest.core.strengths import make_strengths
from sparsest.paths.compiled_walk import CompiledWalk
from sparsest.paths.features import FeatureRules
from sparsest.paths.general_walk import GeneralWalk
from sparsest.paths.review import improve
from sparsest.paths.task import make_task
from sparsest.paths.walks import make_walk
from sparsest.runtime.clock import Clock
from sparsest.runtime.faults import injected

TOL = 1e-6


def wide(loss="squared", n=60, p=300, seed=0):
    """Correlated columns, more than rows, so that there are many minima."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X[:, 1:] += 0.8 * X[:, :-1]
    u = X[:, :24:3] @ rng.choice([-1.0, 1.0], 8)
    return X, u + rng.standard_normal(n) * u.std() if loss == "squared" else np.where(
        u + rng.logistic(size=n) > 0, 1.0, -1.0
    )


def walked(X, y, name, loss="squared", kind=make_walk, count=60):
    """A walk, its alphas, and the solutions that it found."""
    data = make_data(X, y, loss=make_loss(loss))
    walk = kind(make_task(data, path_penalty(name), FeatureRules(np.ones(X.shape[1])), TOL, 10_000))
    alphas = np.geomspace(walk.alpha_max, 0.03 * walk.alpha_max, count)
    fits = []
    while len(fits) < count:
        fits += walk.follow(alphas[len(fits) :], X.shape[1], False)
    return walk, alphas, fits


def objective(walk, fit, alpha):
    """Loss plus penalty, from the data; a rescaled penalty has the curvature of the fit."""
    task = walk.task
    u = task.view.dot(fit.w, fit.features) + fit.b
    lam = np.full(fit.w.size, alpha)
    lam = lam if fit.curvature is None else make_strengths(lam, fit.curvature)
    return task.weights @ task.loss.value(task.y, u) + task.penalty.value(fit.w, lam).sum()


@pytest.mark.parametrize("name", ["mcp", "scad"])
@pytest.mark.parametrize("kind", [make_walk, GeneralWalk])
@pytest.mark.parametrize("with_lasso", [False, True])
def test_only_better_solutions_replace_others(name, kind, with_lasso):
    walk, alphas, fits = walked(*wide(), name, kind=kind)
    assert isinstance(walk, CompiledWalk if kind is make_walk else GeneralWalk)
    before = [objective(walk, fit, alpha) for fit, alpha in zip(fits, alphas, strict=True)]
    found = list(fits)
    improve(walk, alphas, found, 300, Clock(np.inf), with_lasso)
    after = [objective(walk, fit, alpha) for fit, alpha in zip(found, alphas, strict=True)]
    replaced = [i for i in range(60) if found[i] is not fits[i]]
    assert replaced
    assert with_lasso or len(replaced) <= 9
    assert all(after[i] < before[i] * (1.0 - 1e-3) for i in replaced)
    assert all(found[i].kkt <= TOL for i in replaced)
    assert all(not fit.locally_convex for fit, new in zip(fits, found, strict=True) if fit is not new)


def test_the_lasso_leads_to_better_solutions_of_problems_with_more_features_than_rows_only():
    walk, alphas, fits = walked(*wide(), "scad")
    first = next(i for i, fit in enumerate(fits) if not fit.locally_convex)
    starts = {round(first + share * (59 - first)) for share in (0.25, 0.5, 0.75)}
    relaxed = []
    walk.relax = lambda alpha, *rest: relaxed.append(alpha) or type(walk).relax(walk, alpha, *rest)
    penalty = walk.task.penalty
    improve(walk, alphas, fits, 300, Clock(np.inf))
    assert relaxed and {int(np.flatnonzero(alphas == alpha)[0]) for alpha in relaxed} <= starts
    assert walk.task.penalty is penalty
    tall, alphas, fits = walked(*wide(n=400), "scad")
    tall.relax = None
    improve(tall, alphas, fits, 300, Clock(np.inf))


def test_the_lasso_is_left_out_if_it_is_not_wanted_or_too_large_and_in_cross_validation():
    X, y = wide()
    asked = []
    with injected("review", asked.append):
        PenalizedRegressorCV("scad", alphas=np.geomspace(1.0, 0.1, 5), cv=2).fit(X, y)
    # The path of all data, and those of the folds.
    assert asked == [False] * 3
    walk, alphas, fits = walked(X, y, "scad")
    walk.relax = None
    improve(walk, alphas, list(fits), 300, Clock(np.inf), with_lasso=False)
    improve(walk, alphas, list(fits), 300, Clock(np.inf), lasso_work=9 * 60 * 300)


def test_the_stored_loss_and_curvature_are_those_of_the_solution():
    for loss in ("squared", "logistic", "poisson"):
        X, y = sample(loss, 80, 30)
        walk, _, fits = walked(X, y, "mcp", loss=loss, count=15)
        for fit in fits:
            u = walk.task.view.dot(fit.w, fit.features) + fit.b
            assert fit.loss == pytest.approx(
                walk.task.weights @ walk.task.loss.value(walk.task.y, u), rel=1e-9, abs=1e-12
            )
            assert (fit.curvature is None) == (loss == "squared")
            if fit.curvature is not None:
                least = 4e-4 * walk.task.loss.smoothness if loss == "logistic" else 0.0
                second = walk.task.weights * np.maximum(walk.task.loss.second_derivative(walk.task.y, u), least)
                columns = walk.task.view.columns(fit.features)
                expected = second @ columns**2 / walk.task.norms[fit.features] ** 2
                np.testing.assert_allclose(fit.curvature, expected, rtol=1e-6)


def test_limits_are_kept():
    walk, alphas, fits = walked(*wide(), "mcp")
    unlimited, few, late = list(fits), list(fits), list(fits)
    improve(walk, alphas, unlimited, 300, Clock(np.inf))
    most = min(new.w.size for fit, new in zip(fits, unlimited, strict=True) if new is not fit) - 1
    improve(walk, alphas, few, most, Clock(np.inf))
    assert all(new is fit or new.w.size <= most for fit, new in zip(fits, few, strict=True))
    improve(walk, alphas, late, 300, Clock(0.0))
    assert all(new is fit for fit, new in zip(fits, late, strict=True))


def test_paths_are_the_same_every_time():
    X, y = wide()
    one, two = (penalty_path(X, y, "scad", tol=TOL, alphas=50) for _ in range(2))
    assert np.array_equal(one.coefs.toarray(), two.coefs.toarray())
    assert one.converged[one.solved].all()


def test_convex_penalties_have_no_second_pass():
    walk, alphas, fits = walked(*wide(), "l1")
    found = list(fits)
    improve(walk, alphas, found, 300, Clock(np.inf))
    assert all(new is fit for fit, new in zip(fits, found, strict=True))
