"""Compiled steps along a path against the steps in Python, for every storage."""

import numpy as np
import pytest
import scipy.sparse as sp

from sparsest.core.data import make_data
from sparsest.core.penalties import make_penalty
from sparsest.paths.compiled_walk import CompiledWalk
from sparsest.paths.features import FeatureRules
from sparsest.paths.general_walk import GeneralWalk
from sparsest.paths.task import make_task
from sparsest.paths.walks import make_walk

N, P = 60, 300
PENALTIES = {name: make_penalty(name, 0.5 if name == "elastic_net" else 1.0) for name in ("l1", "elastic_net", "mcp")}
STORAGES = {
    "fortran": np.asfortranarray,
    "rows": np.ascontiguousarray,
    "float32": lambda X: np.asfortranarray(X, dtype=np.float32),
    "int8": lambda X: np.asfortranarray(np.round(2.0 * X), dtype=np.int8),
    "sparse": sp.csc_array,
    "sparse float32": lambda X: sp.csc_array(X.astype(np.float32)),
}


def make_case(storage, penalty, tol=1e-9, intercept=True, weighted=True, free=()):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, P)) * (rng.random((N, P)) < 0.4) + rng.uniform(-0.5, 0.5, P)
    y = X[:, :8] @ rng.standard_normal(8) + rng.standard_normal(N)
    weights = rng.uniform(0.3, 2.0, N) if weighted else None
    data = make_data(STORAGES[storage](X), y, fit_intercept=intercept, standardize=intercept, sample_weight=weights)
    factor = rng.uniform(0.5, 1.5, P)
    factor[list(free)] = 0.0
    return make_task(data, PENALTIES[penalty], FeatureRules(factor), tol, 10_000)


def coefficients(fit):
    out = np.zeros(P)
    out[fit.features] = fit.w
    return out


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("penalty", PENALTIES)
def test_both_walks_find_the_same(storage, penalty):
    task = make_case(storage, penalty, free=(3, 250))
    compiled, general = make_walk(task), GeneralWalk(task)
    assert isinstance(compiled, CompiledWalk)
    assert compiled.alpha_max == pytest.approx(general.alpha_max, rel=1e-7)
    for share in (0.8, 0.6, 0.5):
        a, b = (walk.advance(share * general.alpha_max) for walk in (compiled, general))
        np.testing.assert_allclose(coefficients(a), coefficients(b), atol=1e-5)
        assert a.b == pytest.approx(b.b, abs=1e-7) and a.locally_convex == b.locally_convex


def test_few_features_join_where_long_steps_foresee_many():
    """With few observations almost all gradients of others may seem to reach their limits."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 4000)) + 2.0 * rng.standard_normal((40, 1)), np.repeat([-1.0, 1.0], 20)
    walk = make_walk(
        make_task(make_data(X, y, loss="logistic"), PENALTIES["l1"], FeatureRules(np.ones(4000)), 1e-6, 10_000)
    )
    fit = walk.advance(0.01 * walk.alpha_max)
    assert fit.gap <= 1e-6 and 0 < fit.features.size < walk.set.index.size < 600


@pytest.mark.parametrize("storage", ["fortran", "sparse"])
@pytest.mark.parametrize("penalty", ["l1", "elastic_net"])
@pytest.mark.parametrize("intercept, weighted", [(True, False), (False, True)])
@pytest.mark.parametrize("free", [(), (2, 5)])
def test_the_gap_bounds_the_excess(storage, penalty, intercept, weighted, free):
    """The objective is recomputed from the data; a precise walk tells the minimum."""
    settings = {"intercept": intercept, "weighted": weighted, "free": free}
    task = make_case(storage, penalty, tol=1e-2, **settings)
    rough, precise = make_walk(task), make_walk(make_case(storage, penalty, tol=1e-12, **settings))
    null = 0.5 * task.weights @ (task.y - rough.null_intercept) ** 2

    def objective(fit, alpha):
        w = coefficients(fit)
        rest = task.y - fit.b - task.view.dot(w)
        return 0.5 * task.weights @ rest**2 + task.penalty.value(w, alpha * task.factor).sum()

    seen = []
    for alpha in np.geomspace(1.0, 0.05, 12) * rough.alpha_max:
        fit, best = rough.advance(alpha), precise.advance(alpha)
        excess = (objective(fit, alpha) - objective(best, alpha)) / null
        assert -1e-11 <= excess <= fit.gap <= 1e-2
        seen.append(excess)
    assert max(seen) > 1e-8


@pytest.mark.parametrize("storage", ["fortran", "sparse"])
def test_features_come_and_go(storage):
    """Buffers grow, features at zero are let go, and the way back leads to the same models."""
    task = make_case(storage, "l1")
    walk = make_walk(task)
    down = {share: coefficients(walk.advance(share * walk.alpha_max)) for share in (0.5, 0.2, 0.02)}
    largest = walk.size
    assert np.count_nonzero(down[0.02]) > 32
    for share in (0.2, 0.5):
        np.testing.assert_allclose(coefficients(walk.advance(share * walk.alpha_max)), down[share], atol=1e-5)
    walk.advance(0.99 * walk.alpha_max)
    walk.advance(0.98 * walk.alpha_max)
    assert largest <= 256 or walk.size < largest
    assert walk.size + np.count_nonzero(walk.outside) == P


@pytest.mark.parametrize("storage", ["fortran", "sparse"])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_stretch_is_its_alphas(storage, penalty):
    """Walked in one go or one by one, alphas have the same models; the last alpha is far."""
    task = make_case(storage, penalty, free=(3,))
    walk, single = make_walk(task), make_walk(task)
    alphas = np.append(np.geomspace(1.0, 0.3, 12), 0.1) * walk.alpha_max
    fits = []
    while len(fits) < alphas.size:
        fits += walk.follow(alphas[len(fits) :], P + 1, False)
    assert len(fits) == alphas.size and walk.alpha == alphas[-1]
    for fit, alpha in zip(fits, alphas, strict=True):
        expected = single.advance(float(alpha))
        np.testing.assert_allclose(coefficients(fit), coefficients(expected), atol=1e-5)
        assert np.all(fit.w != 0.0) and fit.locally_convex == expected.locally_convex
        assert fit.kkt <= 1e-5 and (fit.gap is None or fit.gap <= task.tol)


def test_a_stretch_ends_with_enough_features():
    walk = make_walk(make_case("fortran", "l1"))
    fits = walk.follow(np.geomspace(1.0, 0.2, 30) * walk.alpha_max, 5, False)
    assert len(fits) < 30 and all(fit.w.size < 5 for fit in fits[:-1])


@pytest.mark.parametrize("storage", ["fortran", "sparse"])
def test_sweeps_are_limited(storage):
    task = make_case(storage, "l1", tol=1e-12)
    walk = make_walk(task)
    walk.task = task.__class__(**{**task.__dict__, "max_iter": 3})
    fit = walk.advance(0.3 * walk.alpha_max)
    assert fit.n_sweeps <= 3 and fit.gap > 1e-12
