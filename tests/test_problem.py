"""Sparsity, dual points, intercepts, input checks, and weak duality against all supports."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize_scalar

from oracles import best_of, loss_value, sample_values
from samples import DIFFERENCES, LOSS_NAMES, sample, sample_weights
from sparsest.data import encode_labels
from sparsest.designs import Dense, as_design
from sparsest.intercepts import best_intercept
from sparsest.losses import LOSSES, PiecewiseLinear, make_loss
from sparsest.problem import make_problem
from sparsest.solvers.shared.dual import bound_from_gains
from sparsest.sparsity import Sparsity


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_feasible_points(loss, fit_intercept, weighted):
    X, y = sample(loss, 15, 3)
    weights = sample_weights(weighted, 15)
    problem = make_problem(X, y, 2, gamma=1.0, loss=loss, fit_intercept=fit_intercept, sample_weight=weights)
    rng = np.random.default_rng(0)
    for alpha in (*rng.standard_normal((5, 15)), 1e6 * y, np.ones(15), -np.ones(15), np.zeros(15)):
        point = problem.feasible(alpha)
        ratio = point / problem.weights
        np.testing.assert_allclose(problem.loss.project(problem.y, ratio), ratio, rtol=1e-14)
        np.testing.assert_allclose(problem.feasible(point), point, rtol=1e-13, atol=1e-14)
        if fit_intercept:
            assert abs(point.sum()) <= 1e-14 * (1.0 + np.abs(point).sum())
        else:
            nearest = problem.weights * problem.loss.project(problem.y, alpha / problem.weights)
            np.testing.assert_allclose(point, nearest, rtol=1e-14)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("seed", range(4))
def test_best_intercept(loss, seed):
    _, y = sample(loss, 21, 1, seed)
    rng = np.random.default_rng(seed)
    margin, weights = 3.0 * rng.standard_normal(21), rng.uniform(0.1, 2.0, 21)
    chosen = make_loss(loss)

    def total(b):
        return weights @ loss_value(loss, y, margin + b)

    best = minimize_scalar(total, bounds=(-40.0, 40.0), method="bounded", options={"xatol": 1e-12}).fun
    for start in (0.0, 17.0, -1e4):
        assert total(best_intercept(chosen, y, weights, margin, start)) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("shift", [-1e8, 1e8])
def test_best_intercept_far_away(shift):
    y = np.array([0.0, 1.0, 5.0]) + shift
    assert best_intercept(make_loss("squared"), y, np.ones(3), np.zeros(3)) == pytest.approx(shift + 2.0, rel=1e-15)


def test_intercept_for_without_an_intercept():
    problem = make_problem(*sample("squared", 9, 2), 1, fit_intercept=False)
    assert problem.data.intercept_for(np.zeros(9)) == 0.0


N, P, GAMMA = 14, 6, 0.3
FORCED = [((), ()), ((2,), ()), ((), (0, 3)), ((1, 4), (5,))]
FORMS = [
    *({"k": k} for k in (0, 1, 2, 3, 6)),
    *({"l0_penalty": price} for price in (0.0, 0.1, 2.0)),
    {"k": 2, "l0_penalty": 0.1},
]


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_weak_duality(loss, fit_intercept, weighted):
    """No feasible dual point proves more than the best of all supports reaches; the support's own proves it best."""
    X, y = sample(loss, N, P)
    weights = sample_weights(weighted, N)
    values = sample_values(loss, N, P, 0, GAMMA, fit_intercept, weighted)
    rng = np.random.default_rng(1)
    for form in FORMS:
        for include, exclude in FORCED:
            if form.get("k", P) < len(include):
                continue
            optimum, _ = best_of(values, **form, include=include, exclude=exclude)
            settings = {"gamma": GAMMA, "loss": loss, "fit_intercept": fit_intercept, "sample_weight": weights}
            problem = make_problem(X, y, **form, **settings, include=include, exclude=exclude)
            for start in (*rng.standard_normal((4, N)), -0.5 * y, -0.1 * y, np.zeros(N)):
                alpha = problem.feasible(start)
                q = problem.gains(alpha)
                bound = bound_from_gains(problem, alpha, q, problem.root)
                assert bound <= optimum + 1e-7 * abs(optimum)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_original_coefficients_give_the_same_predictions(standardize, fit_intercept):
    X, y = sample("squared", 12, 4)
    problem = make_problem(X, y, 2, fit_intercept=fit_intercept, standardize=standardize)
    w, b = np.array([1.0, 0.0, -2.0, 3.0]), 0.7 if fit_intercept else 0.0
    coef, intercept = problem.data.original(w, b)
    np.testing.assert_allclose(X @ coef + intercept, problem.design.dot(w) + b, rtol=1e-12, atol=1e-12)


def test_problem_variants_share_the_data():
    problem = make_problem(*sample("squared", 12, 4), 2, gamma=1.0)
    other = problem.with_gamma(2.0).with_sparsity(Sparsity(None, 0.1))
    assert other.design is problem.design and other.gamma == 2.0 and other.ridge == 0.5
    assert problem.gamma == 1.0 and problem.sparsity == Sparsity(2)


def test_zero_weights_drop_their_rows():
    X, y = sample("logistic", 12, 3)
    weights = np.ones(12)
    weights[[0, 5]] = 0.0
    problem = make_problem(X, y, 2, loss="logistic", sample_weight=weights)
    assert problem.n == 10 and np.array_equal(problem.y, np.delete(y, [0, 5]))


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sp.csr_array, pd.DataFrame, as_design])
def test_zero_weights_drop_the_rows_of_any_matrix(make):
    X, y = sample("squared", 12, 4, seed=0)
    weights = np.where(np.arange(12) % 5 == 0, 0.0, 1.0)
    problem = make_problem(make(X), y, 2, sample_weight=weights, fit_intercept=False)
    assert problem.n == 9
    np.testing.assert_array_equal(problem.design.columns(np.arange(4)), X[weights > 0])


def test_a_problem_passes_over_the_data_once(monkeypatch):
    surveys, count = [], Dense.survey
    monkeypatch.setattr(Dense, "survey", lambda self, *args: surveys.append(self.shape) or count(self, *args))
    X, y = sample("squared", 12, 4, seed=0)
    make_problem(X, y, 2, standardize=True)
    assert surveys.count((12, 4)) == 1


def test_scalar_weight():
    assert np.array_equal(make_problem(*sample("squared", 5, 2), 1, sample_weight=2.0).weights, np.full(5, 2.0))


@pytest.mark.parametrize("y", [["no", "yes", "no"], [False, True, False], [3, 7, 3], pd.Series(["a", "b", "a"])])
def test_labels_are_encoded_in_sorted_order(y):
    codes, classes = encode_labels(y)
    assert codes.tolist() == [-1.0, 1.0, -1.0] and classes.size == 2
    assert np.array_equal(classes[(codes > 0).astype(int)], np.asarray(y))


def test_k_above_p_means_all():
    assert make_problem(*sample("squared", 9, 3), 50, exclude=[0]).sparsity == Sparsity(2)


X9, Y9 = sample("squared", 9, 3)
BAD = [
    ({}, "give k .*, l0_penalty .*, or both"),
    ({"k": 2.0}, "k must be a whole number >= 0, got 2.0"),
    ({"k": True}, "k must be a whole number"),
    ({"k": "two"}, "k must be a whole number"),
    ({"k": -1}, "k must be a whole number >= 0, got -1"),
    ({"k": 1, "include": [0, 2]}, "k = 1 is less than the 2 features that include forces in"),
    ({"l0_penalty": -0.5}, "l0_penalty must be a finite number >= 0"),
    ({"l0_penalty": np.nan}, "l0_penalty must be a finite number >= 0"),
    ({"l0_penalty": np.inf}, "l0_penalty must be a finite number >= 0"),
    ({"l0_penalty": "cheap"}, "l0_penalty must be a finite number >= 0, got 'cheap'"),
    ({"k": 1, "gamma": 0.0}, "gamma must be a number > 0 or inf"),
    ({"k": 1, "gamma": -1.0}, "gamma must be a number > 0 or inf"),
    ({"k": 1, "gamma": np.nan}, "gamma must be a number > 0 or inf"),
    ({"k": 1, "gamma": "big"}, "gamma must be a number > 0 or inf, got 'big'"),
    ({"k": 1, "gamma": None}, "gamma must be a number > 0 or inf, got None"),
    ({"k": 1, "include": [3]}, "include must hold column numbers from 0 to 2"),
    ({"k": 1, "exclude": [-1]}, "exclude must hold column numbers from 0 to 2"),
    ({"k": 1, "include": ["x"]}, "include must be a list of column numbers or names, got"),
    ({"k": 1, "include": [0.5]}, "include must be a list of column numbers or names, got"),
    ({"k": 1, "include": [1], "exclude": [1, 2]}, r"columns \[1\] are both in include and in exclude"),
    ({"k": 1, "sample_weight": np.ones(8)}, "sample_weight must have 9 entries"),
    ({"k": 1, "sample_weight": -np.ones(9)}, "sample_weight must be finite and not negative"),
    ({"k": 1, "sample_weight": np.full(9, np.nan)}, "sample_weight must be finite and not negative"),
    ({"k": 1, "sample_weight": np.zeros(9)}, "sample_weight is zero everywhere"),
    ({"k": 1, "sample_weight": ["a"] * 9}, "sample_weight must hold real numbers"),
    ({"k": 1, "loss": "cubic"}, "unknown loss 'cubic'"),
    ({"k": 1, "loss": "epsilon_insensitive", "epsilon": -1.0}, "epsilon must be a finite number >= 0"),
]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("factor", [1e160, 1e-170])
@pytest.mark.parametrize("make", [np.asarray, sp.csc_array])
def test_squares_out_of_range(make, factor, standardize, fit_intercept):
    """A ValueError says what to rescale; a column or a response of zeros is fine."""
    settings = {"fit_intercept": fit_intercept, "standardize": standardize}
    word = "large" if factor > 1 else "small"
    X = X9.copy()
    X[:, 1] *= factor
    with pytest.raises(ValueError, match=f"column 1 of X .*, too {word} .*rescale column 1 of X"):
        make_problem(make(X), Y9, 1, **settings)
    with pytest.raises(ValueError, match=f"squares of y .*, too {word} .*rescale y"):
        make_problem(make(X9), factor * Y9, 1, **settings)
    X[:, 1] = 0.0
    assert make_problem(make(X), 0.0 * Y9, 1, **settings).column_norms[1] == 0.0


def test_labels_are_never_out_of_range():
    assert make_problem(X9, 1e200 * np.sign(Y9), 1, loss="logistic").data.y_offset == 0.0


@pytest.mark.parametrize("factor", [1e-100, 1e100])
def test_units_of_standardised_columns_may_be_extreme(factor):
    usual, extreme = (make_problem(X, Y9, 1, standardize=True) for X in (X9, factor * X9))
    every = np.arange(3)
    np.testing.assert_allclose(extreme.design.columns(every), usual.design.columns(every), rtol=1e-12)
    with pytest.raises(ValueError, match=r"column 0 of X .*: rescale"):
        make_problem(factor * X9, Y9, 1)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_offset_of_the_response(loss, fit_intercept):
    """An intercept takes a large mean of y beforehand, and gives it back."""
    X, y = sample(loss, 12, 3)
    regression = loss in DIFFERENCES
    far = 1e12 + np.round(1024.0 * y) / 1024.0 if regression else y
    problem = make_problem(X, far, 2, loss=loss, fit_intercept=fit_intercept)
    taken = regression and fit_intercept
    assert abs(problem.data.y_offset - (1e12 if taken else 0.0)) < 10.0
    assert np.array_equal(problem.y, far - problem.data.y_offset)
    assert problem.data.original(np.zeros(3), 0.5)[1] == 0.5 + problem.data.y_offset
    assert make_problem(X, y, 2, loss=loss, fit_intercept=fit_intercept).data.y_offset == 0.0


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
def test_best_intercept_in_any_unit(loss, unit):
    X, y = sample(loss, 25, 1)
    scaled = {
        name: value * unit for name, value in LOSSES[loss]._field_defaults.items() if name in ("epsilon", "delta")
    }
    made = make_loss(loss, **scaled)
    if loss not in DIFFERENCES:
        unit = 1.0
    margin, target = unit * X[:, 0], unit * y
    b = best_intercept(made, target, np.ones(25), margin)
    value = float(made.value(target, margin + b).sum())
    for step in (-1e-3, 1e-3):
        assert value <= (1.0 + 1e-14) * float(made.value(target, margin + b + step * unit).sum())
    if not isinstance(made, PiecewiseLinear):
        slopes = made.derivative(target, margin + b)
        assert abs(slopes.sum()) <= 1e-12 * np.abs(slopes).sum()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_best_intercept_ends_where_nothing_is_a_number(bad):
    margin = np.where(np.arange(9) == 3, bad, 0.0)
    with np.errstate(invalid="ignore"):
        assert np.isnan(best_intercept(make_loss("squared"), Y9, np.ones(9), margin))


@pytest.mark.parametrize(("settings", "message"), BAD, ids=str)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        make_problem(X9, Y9, **settings)


@pytest.mark.parametrize(
    ("y", "loss", "message"),
    [
        (Y9[:8], "squared", "X has 9 rows but y has 8 entries"),
        (np.column_stack([Y9, Y9]), "squared", r"y must be one-dimensional, got shape \(9, 2\)"),
        (np.where(Y9 > 0, np.nan, Y9), "squared", "y contains NaN or infinity"),
        (np.where(Y9 > 0, np.inf, Y9), "squared", "y contains NaN or infinity"),
        (["a"] * 9, "squared", "y must hold real numbers"),
        (Y9 + 1j, "squared", "y must hold real numbers"),
        (np.ones(9), "logistic", r"exactly two classes, got 1 class\(es\)"),
        (np.arange(9), "hinge", r"exactly two classes, got 9 class\(es\)"),
        (np.where(Y9 > 0, np.nan, 1.0), "hinge", "y contains NaN or infinity"),
        (["a", None] + ["b"] * 7, "hinge", "labels of y cannot be sorted"),
    ],
)
def test_bad_response(y, loss, message):
    with pytest.raises(ValueError, match=message):
        make_problem(X9, y, 1, loss=loss)


def test_one_class_left_after_zero_weights():
    y = np.array([1.0, -1, 1, 1, 1, 1, 1, 1, 1])
    with pytest.raises(ValueError, match="with a positive weight belong to one class"):
        make_problem(X9, y, 1, loss="logistic", sample_weight=(y > 0).astype(float))


def test_a_column_of_responses_is_taken_as_a_vector():
    assert make_problem(X9, Y9[:, None], 1).y.shape == (9,)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
def test_the_model_without_features_is_known_from_the_first_pass(loss, fit_intercept, standardize):
    X, y = sample(loss, 20, 6, 0)
    X[:, 2] += 1e5
    weights = sample_weights(True, 20)
    problem = make_problem(
        X, y, 2, gamma=1.0, loss=loss, fit_intercept=fit_intercept, standardize=standardize, sample_weight=weights
    )
    null = problem.data.null
    assert null.b == problem.data.intercept_for(np.zeros(problem.n))
    np.testing.assert_allclose(problem.feasible(null.alpha), null.alpha, rtol=1e-12)
    size = np.abs(problem.design.columns(np.arange(6))).T @ np.abs(null.alpha)
    np.testing.assert_allclose(null.products, problem.design.tdot(null.alpha), rtol=0, atol=1e-10 * size.max())
