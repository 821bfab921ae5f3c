"""Penalty paths against scikit-learn, closed forms, optimality conditions and metamorphic laws."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet as SkElasticNet
from sklearn.linear_model import Lasso, LogisticRegression

from injecting import OnCall, press
from sparsest.core.losses import SquaredEpsilonInsensitive, make_loss
from sparsest.core.penalties import make_penalty
from sparsest.paths.api import penalty_path
from sparsest.paths.path_result import Stop
from sparsest.runtime.faults import injected

PENALTIES = [("l1", {}), ("elastic_net", {"l1_ratio": 0.6}), ("mcp", {}), ("scad", {})]
LOSSES = ["squared", "logistic", "squared_hinge", SquaredEpsilonInsensitive(0.2)]


def make_data(n=60, p=90, seed=0, classes=False):
    """Labels overlap: MCP and SCAD do not bound the coefficients of separable classes."""
    if classes:
        n, p = 3 * n, p // 2
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * rng.uniform(0.5, 3.0, p) + rng.uniform(-2, 2, p)
    u = (X[:, :5] - X[:, :5].mean(0)) @ np.array([1.0, -1.0, 0.7, 0.5, -0.4]) + rng.standard_normal(n)
    return X, (u + 4.0 * rng.standard_normal(n) > 0).astype(int) if classes else u + 3.0


def target(loss, y):
    return np.where(y > 0, 1.0, -1.0) if make_loss(loss).classification else y


def stationarity(result, X, y, penalty, loss, weights=None, standardize=True, intercept=True, factor=None):
    """The largest violation of the optimality conditions relative to alpha, recomputed from the data alone."""
    n, p = X.shape
    omega = np.ones(n) / n if weights is None else weights / weights.sum()
    factor = np.ones(p) if factor is None else factor
    mean = omega @ X if intercept else np.zeros(p)
    scale = np.sqrt(omega @ (X - mean) ** 2) if standardize else np.ones(p)
    worst = 0.0
    for i, alpha in enumerate(result.alphas):
        coef = result.coefs[:, [i]].toarray()[:, 0]
        theta = omega * make_loss(loss).derivative(y, X @ coef + result.intercepts[i])
        grad = ((X - mean) / scale).T @ theta
        w, lam = coef * scale, alpha * factor
        gap = np.where(w == 0, np.abs(grad) - penalty.threshold(lam), np.abs(grad + penalty.derivative(w, lam)))
        worst = max(worst, gap.max() / alpha, abs(theta.sum()) / alpha if intercept else 0.0)
    return worst


@pytest.mark.parametrize("name, options", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_optimality_conditions(name, options, loss):
    X, y = make_data(classes=make_loss(loss).classification)
    weights = np.random.default_rng(1).uniform(0.2, 2.0, y.size)
    penalty = make_penalty(name, **options)
    result = penalty_path(X, y, penalty, loss=loss, alphas=15, sample_weight=weights, tol=1e-9)
    assert result.converged.all() and (result.dual_gaps is None) == (name in ("mcp", "scad")) and not result.rescaled
    assert result.n_nonzero[0] == 0 and result.n_nonzero[-1] > 5
    tol = 1e-4 if penalty.convex else 1e-8
    assert stationarity(result, X, target(loss, y), penalty, loss, weights) < tol


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("l1_ratio", [1.0, 0.5])
@pytest.mark.parametrize("shape", [(60, 90), (120, 20)])
def test_scikit_learn_squared(intercept, l1_ratio, shape):
    X, y = make_data(*shape)
    weights = np.random.default_rng(1).uniform(0.2, 2.0, y.size)
    name = "l1" if l1_ratio == 1.0 else "elastic_net"
    ours = penalty_path(
        X, y, name, alphas=[1.0, 0.3, 0.1, 0.05], l1_ratio=l1_ratio, standardize=False, fit_intercept=intercept,
        sample_weight=weights, tol=1e-13,
    )  # fmt: skip
    for i, alpha in enumerate(ours.alphas):
        model = Lasso(alpha) if l1_ratio == 1.0 else SkElasticNet(alpha, l1_ratio=l1_ratio)
        model.set_params(fit_intercept=intercept, tol=1e-13, max_iter=1_000_000).fit(X, y, weights)
        np.testing.assert_allclose(ours.coefs[:, [i]].toarray()[:, 0], model.coef_, atol=2e-6)
        np.testing.assert_allclose(ours.intercepts[i], model.intercept_, atol=1e-5)


@pytest.mark.parametrize("shape", [(25, 180), (50, 20)])
def test_scikit_learn_logistic(shape):
    X, y = make_data(*shape, classes=True)
    ours = penalty_path(X, y, loss="logistic", alphas=[0.2, 0.05], standardize=False, tol=1e-11)
    for i, alpha in enumerate(ours.alphas):
        # liblinear penalises the intercept; its scaling makes that negligible but slow, saga does not need it.
        model = LogisticRegression(C=1 / (alpha * y.size), l1_ratio=1.0, solver="saga", tol=1e-12, max_iter=200_000)
        coef, b = model.fit(X, y).coef_[0], model.intercept_[0]

        def objective(w, b, alpha=alpha):
            return np.logaddexp(0, -(2 * y - 1) * (X @ w + b)).mean() + alpha * np.abs(w).sum()

        mine = ours.coefs[:, [i]].toarray()[:, 0]
        assert objective(mine, ours.intercepts[i]) <= objective(coef, b) + 1e-12
        np.testing.assert_allclose(mine, coef, atol=1e-4)


def orthogonal(n=64, p=12, seed=3):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(np.c_[np.ones(n), rng.standard_normal((n, p))])[0][:, 1:]
    return Q * np.sqrt(n), rng.standard_normal(n) * 2.0


@pytest.mark.parametrize("name, options", PENALTIES)
def test_orthogonal_design_is_thresholding(name, options):
    X, y = orthogonal()
    result = penalty_path(X, y, name, alphas=12, tol=1e-10, **options)
    z = X.T @ y / y.size
    penalty = make_penalty(name, **options)
    for i, alpha in enumerate(result.alphas):
        expected = penalty.prox(z, alpha, 1.0)
        np.testing.assert_allclose(result.coefs[:, [i]].toarray()[:, 0], expected, atol=1e-8)
    if not penalty.convex:
        assert result.locally_convex.all()


@pytest.mark.parametrize("name", ["mcp", "scad"])
def test_no_concavity_is_the_lasso(name):
    X, y = make_data()
    alphas = [0.8, 0.4, 0.2]
    concave = penalty_path(X, y, name, concavity=1e9, alphas=alphas, tol=1e-10)
    lasso = penalty_path(X, y, alphas=alphas, tol=1e-12)
    np.testing.assert_allclose(concave.coefs.toarray(), lasso.coefs.toarray(), atol=1e-6)


def test_local_convexity_follows_the_smallest_eigenvalue():
    X, y = make_data(60, 90)
    result = penalty_path(X, y, "mcp", alphas=20)
    Z = (X - X.mean(0)) / X.std(0)
    for i in range(result.alphas.size):
        active = result.coefs[:, [i]].nonzero()[0]
        if active.size:
            least = np.linalg.eigvalsh(Z[:, active].T @ Z[:, active] / len(y))[0]
            assert result.locally_convex[i] == (least > 1 / 3)
    assert result.locally_convex[0] and not result.locally_convex[-1]


@pytest.fixture(params=[(name, loss) for name, _ in PENALTIES for loss in ("squared", "logistic")], ids=str)
def law(request):
    """A path as a dense matrix of coefficients with the intercepts on top, for one penalty and loss."""
    name, loss = request.param
    options = dict(PENALTIES)[name]

    def fit(X, y, **more):
        alphas = more.pop("alphas", np.array([0.3, 0.2, 0.12]) if loss == "squared" else np.array([0.12, 0.09, 0.06]))
        result = penalty_path(X, y, name, loss=loss, alphas=alphas, **({"tol": 1e-11} | options | more))
        assert result.converged.all()
        return np.vstack([result.intercepts, result.coefs.toarray()])

    return fit, make_data(classes=loss == "logistic")


def test_dense_equals_sparse(law):
    fit, (X, y) = law
    X = np.where(np.abs(X) > 1.5, X, 0.0)
    np.testing.assert_allclose(fit(X, y), fit(sp.csc_array(X), y), atol=1e-7)
    np.testing.assert_allclose(fit(X, y, standardize=False), fit(sp.csr_matrix(X), y, standardize=False), atol=1e-7)


def test_float32_is_near_float64(law):
    fit, (X, y) = law
    X32 = X.astype(np.float32)
    np.testing.assert_allclose(fit(X32, y), fit(X32.astype(float), y), atol=1e-9)
    np.testing.assert_allclose(fit(X32, y), fit(X, y), atol=1e-3)


def test_column_permutation(law):
    fit, (X, y) = law
    order = np.random.default_rng(5).permutation(X.shape[1])
    np.testing.assert_allclose(fit(X[:, order], y)[1:], fit(X, y)[1:][order], atol=1e-7)


def test_duplicated_row_equals_weight_two(law):
    fit, (X, y) = law
    weights = np.ones(y.size)
    weights[:7] = 2.0
    weights[9] = 0.0
    keep = np.r_[np.arange(7), np.arange(9), np.arange(10, y.size)]
    np.testing.assert_allclose(fit(X[keep], y[keep]), fit(X, y, sample_weight=weights), atol=1e-7)


def test_lazy_equals_explicit_standardisation(law):
    fit, (X, y) = law
    mean, scale = X.mean(0), X.std(0)
    lazy, explicit = fit(X, y), fit((X - mean) / scale, y, standardize=False)
    np.testing.assert_allclose(lazy[1:] * scale[:, None], explicit[1:], atol=1e-7)
    np.testing.assert_allclose(lazy[0] + mean @ lazy[1:], explicit[0], atol=1e-7)


def test_uncompressed_memory_orders_agree(law):
    fit, (X, y) = law
    read_only = np.asfortranarray(X)
    read_only.flags.writeable = False
    np.testing.assert_allclose(fit(X, y), fit(read_only, y), atol=1e-8)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_unpenalised_features(loss):
    X, y = make_data(classes=loss == "logistic")
    factor = np.ones(X.shape[1])
    factor[[7, 30]], factor[3] = 0.0, 2.0
    result = penalty_path(X, y, loss=loss, penalty_factor=factor, alphas=10, tol=1e-9)
    assert result.converged.all()
    assert result.n_nonzero[0] == 2 and set(result.coefs[:, [0]].nonzero()[0]) == {7, 30}
    assert result.n_nonzero[1] > 2
    assert stationarity(result, X, target(loss, y), make_penalty("l1"), loss, factor=factor) < 1e-4


def test_all_features_unpenalised_is_least_squares():
    X, y = make_data(60, 5)
    result = penalty_path(X, y, penalty_factor=np.zeros(5), alphas=[1.0], tol=1e-9)
    expected = np.linalg.lstsq(np.c_[np.ones(60), X], y, rcond=None)[0]
    np.testing.assert_allclose(result.coefs.toarray()[:, 0], expected[1:], atol=1e-8)


@pytest.mark.parametrize("name", ["l1", "mcp"])
def test_max_features(name):
    X, y = make_data()
    result = penalty_path(X, y, name, max_features=6)
    assert result.stopped is Stop.MAX_FEATURES and result.n_nonzero.max() <= 6
    assert result.alphas.size == 100 and not result.solved.all()
    none = penalty_path(X, y, name, max_features=0)
    assert none.solved.tolist() == [True] + 99 * [False] and not none.n_nonzero.any()


def test_alphas_given_are_sorted_and_far_jumps_are_walked():
    X, y = make_data()
    result = penalty_path(X, y, alphas=[0.05, 0.4], tol=1e-9)
    np.testing.assert_array_equal(result.alphas, [0.4, 0.05])
    alone = penalty_path(X, y, alphas=[0.05], tol=1e-9)
    np.testing.assert_allclose(alone.coefs.toarray()[:, 0], result.coefs.toarray()[:, 1], atol=1e-5)


@pytest.mark.parametrize("name, options", PENALTIES)
def test_constant_and_duplicated_columns(name, options):
    X, y = make_data()
    X[:, 4] = 3.1
    X[:, 1] = X[:, 0]
    X[:, 2] = -X[:, 0]
    factor = np.ones(X.shape[1])
    factor[4] = 0.0
    result = penalty_path(X, y, name, alphas=20, penalty_factor=factor, **options)
    assert np.isfinite(result.coefs.data).all() and not result.coefs.toarray()[4].any()
    assert result.converged[result.solved].all()


def test_constant_response_and_single_row():
    X, _ = make_data(20, 5)
    result = penalty_path(X, np.full(20, 2.5), alphas=4)
    assert not result.n_nonzero.any()
    np.testing.assert_allclose(result.intercepts, 2.5)
    single = penalty_path(X[:1], [1.5], alphas=3)
    assert not single.n_nonzero.any() and single.intercepts[0] == 1.5


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_extreme_scales(scale):
    X, y = make_data()
    plain, scaled = penalty_path(X, y, alphas=10), penalty_path(X * scale, y * scale, alphas=10)
    assert scaled.converged.all()
    np.testing.assert_allclose(scaled.coefs.toarray(), plain.coefs.toarray(), atol=1e-4)


def test_separable_classes_end_an_automatic_path():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 200))
    labels = np.arange(30) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = penalty_path(X, labels, make_penalty("mcp"), loss="logistic", alphas=30, tol=1e-5)
    assert np.isfinite(result.coefs.data).all()
    # The alpha at which the classes are separated has no minimum, so no model either.
    assert result.stopped is Stop.SATURATED and 0 < result.solved.sum() < 30
    assert result.converged[result.solved].all()
    margins = (2 * labels - 1)[:, None] * result.decision_function(X)
    assert margins.min(axis=0).max() <= 0.0


def test_separable_classes_are_no_obstacle_where_a_margin_is_enough():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 200))
    result = penalty_path(X, np.arange(30) % 2, "mcp", loss="squared_hinge", alphas=30)
    assert result.converged[result.solved].all()


@pytest.mark.parametrize(
    "change, message",
    [
        ({"alphas": 0}, "alphas"),
        ({"alphas": [0.1, -1.0]}, "alphas"),
        ({"alphas": [np.nan]}, "alphas"),
        ({"tol": 0.0}, "tol"),
        ({"max_features": 1.5}, "max_features"),
        ({"loss": "hinge"}, "kinks"),
        ({"penalty": "l0"}, "unknown penalty"),
        ({"penalty_factor": [1.0]}, "penalty_factor"),
        ({"penalty_factor": -np.ones(90)}, "penalty_factor"),
        ({"sample_weight": -np.ones(60)}, "sample_weight"),
        ({"X": np.full((60, 90), np.nan)}, "NaN"),
        ({"y": np.ones(3)}, "rows"),
    ],
)
def test_bad_input(change, message):
    X, y = make_data()
    y = (y > 3).astype(int) if change.get("loss") == "hinge" else y
    arguments = {"X": X, "y": y} | change
    with pytest.raises(ValueError, match=message):
        penalty_path(arguments.pop("X"), arguments.pop("y"), arguments.pop("penalty", "l1"), **arguments)


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sp.csc_array])
@pytest.mark.parametrize("name, options", PENALTIES)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_large_means_change_nothing(name, options, loss, make):
    """Neither those of columns nor those of y; entries are rounded so that they can be added exactly."""
    X, y = make_data(40, 18, classes=loss == "logistic")
    X, shift = np.round(X * 64.0) / 64.0, np.resize(2.0 ** np.arange(20, 41, 4), X.shape[1])
    offset = 0.0
    if loss == "squared":
        y, offset = np.round(y * 64.0) / 64.0, 2.0**40
    settings = {"loss": loss, "alphas": 5, "tol": 1e-9, **options}
    plain = penalty_path(X, y, name, **settings)
    moved = penalty_path(make(X + shift), y + offset, name, **settings)
    assert plain.converged.all() and moved.converged.all()
    assert moved.n_iter.sum() <= 20 * plain.n_iter.sum() + 100
    np.testing.assert_allclose(moved.alphas, plain.alphas, rtol=1e-12)
    np.testing.assert_allclose(moved.coefs.toarray(), plain.coefs.toarray(), atol=1e-5)


@pytest.mark.parametrize("make", [np.asarray, sp.csc_array])
@pytest.mark.parametrize("name, options", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_work_is_bounded(name, options, loss, make):
    """Sweeps stop at their limit, and unconverged solutions are marked."""
    X, y = make_data(classes=make_loss(loss).classification)
    grid = penalty_path(X, y, name, loss=loss, alphas=6, **options).alphas[1:]
    with pytest.warns(ConvergenceWarning, match="raise max_iter=1 or tol"):
        result = penalty_path(make(X), y, name, loss=loss, alphas=grid, max_iter=1, tol=1e-9, **options)
    assert result.n_iter.max() == 1 and not result.converged[-1]


def test_alphas_far_apart_take_bounded_work():
    X, y = make_data()
    with pytest.warns(ConvergenceWarning, match="1 of 1 alphas did not converge"):
        result = penalty_path(X, y, alphas=[1e-280], max_iter=50, tol=1e-9)
    assert result.n_iter[0] == 50 and not result.converged[0]


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "many", None])
def test_bad_max_iter(bad):
    with pytest.raises(ValueError, match="max_iter must be a whole number >= 1"):
        penalty_path(*make_data(), max_iter=bad)


def test_a_path_can_be_stopped(keyboard):
    X, y = make_data()
    # So far apart that each alpha is solved by itself.
    largest = penalty_path(X, y, alphas=1).alphas[0]
    alphas = largest * 0.5 ** np.arange(20)
    whole = penalty_path(X, y, alphas=alphas)
    short = penalty_path(X, y, alphas=alphas, time_limit=1e-9)
    assert short.stopped is Stop.TIME_LIMIT and short.solved.tolist() == [True] + 19 * [False]
    assert np.array_equal(short.alphas, whole.alphas)
    with injected("walk", OnCall(3, press)):
        stopped = penalty_path(X, y, alphas=alphas)
    assert stopped.stopped is Stop.INTERRUPTED and stopped.solved.sum() == 3
    assert np.array_equal(stopped.coefs.toarray(), whole.coefs.toarray()[:, np.minimum(np.arange(20), 2)])
    assert np.isinf(stopped.dual_gaps[3:]).all() and not stopped.converged[3:].any()


@pytest.mark.parametrize("penalty", ["l1", "mcp", "scad"])
@pytest.mark.parametrize("alphas", [6, 100])
def test_a_wanted_number_of_features(penalty, alphas):
    """The path ends with a model of n_features features for every grid, and it is the solution for its alpha."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 40)) + rng.standard_normal((80, 1))
    y = X[:, :6] @ [3.0, -2.0, 1.5, 1.0, -0.8, 0.6] + rng.standard_normal(80)
    reached = []
    for k in range(9):
        path = penalty_path(X, y, penalty, alphas=alphas, n_features=k)
        assert (path.n_nonzero <= k).all() and path.stopped is Stop.N_FEATURES
        assert (np.diff(path.alphas) < 0).all() and path.converged[path.solved].all()
        reached.append(path.n_nonzero[path.solved][-1] if path.solved.any() else 0)
        if penalty == "l1" and path.solved.any():
            last = path.solved.sum() - 1
            alone = penalty_path(X, y, alphas=[path.alphas[last]], tol=1e-9)
            np.testing.assert_allclose(path.coefs[:, [last]].toarray(), alone.coefs.toarray(), atol=1e-3)
    # Concave penalties may jump over a number.
    assert np.count_nonzero(np.array(reached) == np.arange(9)) >= (9 if penalty == "l1" else 7)


def test_a_number_of_features_that_the_path_does_not_reach():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 5)), rng.standard_normal(30)
    assert penalty_path(X, y, n_features=5).stopped is Stop.COMPLETE
    with pytest.raises(ValueError, match="n_features must be"):
        penalty_path(X, y, n_features=-1)


@pytest.mark.parametrize("penalty", ["mcp", "scad"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
def test_a_single_alpha_is_reached_along_the_path(penalty, loss):
    """Concave penalties have many minima; the one of a path does not depend on rounding, nor on what else is asked."""
    rng = np.random.RandomState(42)
    X, y, counts = rng.rand(15, 30), rng.randint(0, 3, 15), rng.randint(0, 5, 15)
    y = np.where(y == y[0], 1.0, -1.0)
    weighted = penalty_path(X, y, penalty, loss=loss, alphas=[0.01], sample_weight=counts, tol=1e-8)
    repeated = penalty_path(X.repeat(counts, axis=0), y.repeat(counts), penalty, loss=loss, alphas=[0.01], tol=1e-8)
    assert weighted.solved.tolist() == repeated.solved.tolist()
    np.testing.assert_allclose(weighted.coefs.toarray(), repeated.coefs.toarray(), rtol=1e-5, atol=1e-7)
    assert weighted.alphas.tolist() == [0.01] and weighted.n_nonzero.size == 1
