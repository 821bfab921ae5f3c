"""MCP and SCAD rescaled by the curvature of the loss: the estimating equation, recomputed from the data alone."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from covering import every_pair
from samples import SMOOTH_NAMES, sample, sample_weights
from sparsest import PathResult, PenalizedClassifier, penalty_path
from sparsest.core.losses import make_loss
from sparsest.core.penalties import MCP, SCAD, make_penalty
from sparsest.datasets import load_folder
from sparsest.paths.path_result import Stop

# Their second derivatives take two values.
JUMPING = ("huber", "squared_hinge", "squared_epsilon_insensitive")
CONTINUOUS = [name for name in SMOOTH_NAMES if name not in (*JUMPING, "squared")]


def slope(name, t, lam, g):
    """The derivative of MCP or SCAD for t ≥ 0."""
    if name == "mcp":
        return np.maximum(lam - t / g, 0.0)
    return np.where(t <= lam, lam, np.maximum(g * lam - t, 0.0) / (g - 1.0))


def violations(path, X, y, loss, name, g, l1_ratio=1.0, weights=None, factor=None, standardize=True, intercept=True):
    """The largest violation of the equation for each alpha, relative to alpha."""
    (n, p), made = X.shape, make_loss(loss)
    omega = np.ones(n) / n if weights is None else weights / weights.sum()
    center = omega @ X if intercept else np.zeros(p)
    scale = np.sqrt(omega @ (X - center) ** 2) if standardize else np.ones(p)
    Z, found = (X - center) / scale, []
    for i, alpha in enumerate(path.alphas[path.solved]):
        coef = path.coefs[:, [i]].toarray()[:, 0]
        u, w = X @ coef + path.intercepts[i], coef * scale
        bend = made.second_derivative(y, u)
        least = 4e-4 * made.smoothness if np.isfinite(made.smoothness) else 0.0
        v = (omega * np.maximum(bend, least)) @ Z**2 / (omega @ Z**2)
        score = -(omega * made.derivative(y, u)) @ Z
        lam = alpha * (np.ones(p) if factor is None else factor)
        t = v * np.abs(w)
        equation = np.abs(score - np.sign(w) * (slope(name, t, l1_ratio * lam, g) + (1.0 - l1_ratio) * lam * t))
        found.append(np.where(w != 0.0, equation, np.abs(score) - l1_ratio * lam).max() / alpha)
    return np.array(found)


@every_pair(
    loss=CONTINUOUS, name=["mcp", "scad"], l1_ratio=[1.0, 0.7], standardize=[True, False], intercept=[True, False]
)
def test_the_estimating_equation(loss, name, l1_ratio, standardize, intercept):
    X, y = sample(loss, 120, 30)
    weights, factor = sample_weights(True, 120), np.ones(30)
    factor[3], factor[7] = 0.0, 2.0
    path = penalty_path(
        X, y, name, loss=loss, l1_ratio=l1_ratio, alphas=np.geomspace(1.0, 0.08, 15) * 0.6, sample_weight=weights,
        penalty_factor=factor, standardize=standardize, fit_intercept=intercept, tol=1e-7,
    )  # fmt: skip
    assert path.rescaled and path.converged.all() and path.dual_gaps is None and path.n_nonzero.max() > 3
    g = {"mcp": 3.0, "scad": 3.7}[name]
    found = violations(path, X, y, loss, name, g, l1_ratio, weights, factor, standardize, intercept)
    assert found.max() < 2e-7


@pytest.mark.parametrize("loss", JUMPING)
@pytest.mark.parametrize("name", ["mcp", "scad"])
def test_losses_whose_curvature_jumps_have_solutions(loss, name):
    """The equation with the curvature at the solution holds up to the jumps of single observations."""
    X, y = sample(loss, 400, 20)
    path = penalty_path(X, y, name, loss=loss, alphas=20, tol=1e-6)
    assert path.converged[path.solved].all() and path.n_nonzero.max() > 3
    rough = violations(path, X, y, loss, name, {"mcp": 3.0, "scad": 3.7}[name])
    assert np.median(rough) < 0.1


@pytest.mark.parametrize("name", ["mcp", "scad"])
def test_nothing_changes_for_the_squared_loss(name):
    X, y = sample("squared", 60, 20)
    by_name, as_object = (penalty_path(X, y, which, alphas=20) for which in (name, make_penalty(name)))
    assert np.array_equal(by_name.coefs.toarray(), as_object.coefs.toarray())
    assert not by_name.rescaled and not as_object.rescaled


def test_an_object_has_the_same_concavity_for_every_loss():
    X, y = sample("logistic", 150, 20)
    fixed = penalty_path(X, y, MCP(3.0), loss="logistic", alphas=[0.05], tol=1e-8)
    rescaled = penalty_path(X, y, "mcp", loss="logistic", alphas=[0.05], tol=1e-8)
    assert not fixed.rescaled and rescaled.rescaled
    assert np.abs(fixed.coefs.toarray() - rescaled.coefs.toarray()).max() > 0.05
    model = PenalizedClassifier(SCAD(9.0), alpha=0.05).fit(X, y)
    assert not model.result_.rescaled and PenalizedClassifier("scad", alpha=0.05).fit(X, y).result_.rescaled


@pytest.mark.parametrize("name", ["mcp", "scad"])
@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_sparse_columns_have_the_same_solutions(loss, name):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 25)) * (rng.random((200, 25)) < 0.4) + (rng.random((200, 25)) < 0.1)
    u = X[:, 0] - X[:, 1] + 0.5 * X[:, 2]
    y = rng.poisson(np.exp(0.5 * u)) if loss == "poisson" else np.where(u + rng.logistic(size=200) > 0.0, 1, -1)
    alphas = np.geomspace(0.3, 0.02, 12)
    asked = {"loss": loss, "alphas": alphas, "l1_ratio": 0.8, "tol": 1e-8}
    dense, sparse = (penalty_path(design, y, name, **asked) for design in (X, sp.csc_array(X)))
    assert dense.converged.all() and sparse.converged.all()
    # Outside the locally convex region there may be several.
    same = np.cumprod(dense.locally_convex & sparse.locally_convex).astype(bool)
    assert same.sum() >= 6
    np.testing.assert_allclose(sparse.coefs.toarray()[:, same], dense.coefs.toarray()[:, same], atol=1e-6)


def test_solutions_may_separate_the_classes():
    """Where the loss has little curvature, the flat part of the penalty is farther away: coefficients stay finite."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 100))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0.0, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = penalty_path(X, y, "mcp", loss="logistic", tol=1e-6)
    margins = y[:, None] * path.decision_function(X)
    apart = (margins.min(axis=0) > 0.0) & path.solved
    assert apart.any() and path.converged[path.solved].all() and path.stopped in (Stop.COMPLETE, Stop.SATURATED)
    assert violations(path, X, y, "logistic", "mcp", 3.0)[apart[path.solved]].max() < 2e-6


def test_results_and_their_files_say_so(tmp_path):
    X, y = sample("logistic", 80, 10)
    path = penalty_path(X, y, "mcp", loss="logistic", alphas=5)
    assert "concavity rescaled by the curvature of the loss" in repr(path)
    path.save(tmp_path / "path.json")
    assert PathResult.load(tmp_path / "path.json").rescaled
    assert "rescaled" not in repr(penalty_path(X, y, loss="logistic", alphas=5))


def test_a_ridge_makes_correlated_features_enter_together():
    """Duplicates share a coefficient where the ridge outweighs the concavity; without it one of them is enough."""
    X, y = sample("logistic", 150, 6)
    twice = np.column_stack([X, X[:, 0]])
    shared = penalty_path(twice, y, "mcp", loss="logistic", l1_ratio=0.1, alphas=[0.8], tol=1e-9).coefs.toarray()[:, 0]
    assert shared[0] != 0.0 and shared[0] == pytest.approx(shared[6], rel=1e-5)
    alone = penalty_path(twice, y, "mcp", loss="logistic", alphas=[0.08], tol=1e-9).coefs.toarray()[:, 0]
    assert (alone[0] != 0.0) != (alone[6] != 0.0)


@pytest.mark.parametrize("name", ["mcp", "scad"])
def test_a_feature_that_almost_separates_the_classes(name):
    """Its coefficient is large, and the loss has little curvature at its observations, which Newton steps must use."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 20))
    X[:, 19] = np.where(rng.random(300) < 0.15, rng.exponential(5.0, 300), 0.0)
    u = X[:, 0] - X[:, 1] + 0.7 * X[:, 2]
    y = np.where((u + rng.logistic(size=300) > 0.0) & (X[:, 19] == 0.0), 1, -1)
    # One exception, so that the coefficient is finite.
    y[np.argmin(np.where(X[:, 19] > 0.0, X[:, 19], np.inf))] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = penalty_path(X, y, name, loss="logistic", tol=1e-7)
    assert path.converged.all() and np.abs(path.coefs[[19], :].toarray()).max() > 5.0
    assert violations(path, X, y, "logistic", name, {"mcp": 3.0, "scad": 3.7}[name]).max() < 2e-7


@pytest.mark.shared_data
@pytest.mark.parametrize("name", ["mcp", "scad"])
def test_alphas_converge_on_spam(shared_data, name):
    """Rare words almost separate the classes, and branches of solutions end: 60 of 100 alphas converged once."""
    data = load_folder(shared_data / "spam_esl")
    X, y = np.asarray(data.X, dtype=float)[::6], data.y[::6]
    varying = X.std(axis=0) > 0.0
    path = penalty_path(X[:, varying], y, name, loss="logistic", tol=1e-5)
    assert path.solved.all() and path.converged.sum() >= 99
