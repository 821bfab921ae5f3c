"""``best_subset`` against all supports, under transformations of the data, and on bad input."""

import signal
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from checks import against_enumeration, best_subset, check_certificate, solve
from covering import every_pair
from injecting import OnCall, press
from oracles import enumerate_best, objective, support_value
from samples import LOSS_NAMES, sample, sample_weights
from sparsest.core.losses import LOSSES
from sparsest.results.result import relative_gap
from sparsest.runtime.events import Bound, Done, Incumbent, Root, Status
from sparsest.runtime.faults import injected
from sparsest.subset.api import METHODS

P = 6

losses = pytest.mark.parametrize("loss", LOSS_NAMES)
intercepts = pytest.mark.parametrize("fit_intercept", [True, False])


@every_pair(loss=LOSS_NAMES, fit_intercept=[True, False], weighted=[False, True])
def test_enumeration(loss, fit_intercept, weighted):
    reached = against_enumeration(loss, [(fit_intercept, weighted)], seeds=(0, 1), method="local")
    assert reached[True] >= 0.9 * reached.total(), reached


@every_pair(loss=LOSS_NAMES, fit_intercept=[True, False], form=[{"k": 2}, {"l0_penalty": 0.3}])
def test_model_has_the_objective_it_claims(loss, fit_intercept, form):
    X, y = sample(loss, 25, P, 1)
    weights = sample_weights(True, 25)
    result = solve(X, y, **form, loss=loss, gamma=2.0, fit_intercept=fit_intercept, sample_weight=weights)
    price = form.get("l0_penalty", 0.0) * result.support.size
    claimed = objective(loss, X, y, result.coef, result.intercept, 2.0, weights) + price
    assert result.objective == pytest.approx(claimed, rel=1e-10)
    assert result.coef.shape == (P,) and (fit_intercept or result.intercept == 0.0)


def same(first, second, rel=1e-7):
    assert np.array_equal(first.support, second.support)
    assert first.objective == pytest.approx(second.objective, rel=rel)
    assert first.lower_bound == pytest.approx(second.lower_bound, rel=100 * rel)
    np.testing.assert_allclose(first.coef, second.coef, rtol=1e3 * rel, atol=1e3 * rel * np.abs(second.coef).max())
    assert first.intercept == pytest.approx(second.intercept, rel=1e3 * rel, abs=1e3 * rel)


@pytest.mark.parametrize("method", METHODS)
@losses
def test_the_model_is_that_of_its_certificate(loss, method):
    """The intercept is fitted anew for the certificate: whoever computes the objective finds the one reported."""
    X, y = sample(loss, 24, P)
    result = solve(1e3 + X, y, 2, loss=loss, gamma=0.5, method=method)
    incumbent = result.certificate.incumbent
    assert np.array_equal(result.coef[incumbent.support], incumbent.coef)
    assert np.count_nonzero(result.coef) == np.count_nonzero(incumbent.coef)
    constant = incumbent.intercept + incumbent.rest - incumbent.coef @ incumbent.center
    assert result.intercept == pytest.approx(constant, rel=1e-12)


@every_pair(loss=LOSS_NAMES, fit_intercept=[True, False], standardize=[False, True])
def test_storage_does_not_matter(loss, fit_intercept, standardize):
    X, y = sample(loss, 30, 8, 2)
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    settings = {"loss": loss, "gamma": 0.1, "fit_intercept": fit_intercept, "standardize": standardize}
    dense = solve(X, y, 3, **settings)
    for other in (np.asfortranarray(X), sp.csc_array(X), sp.csr_matrix(X), pd.DataFrame(X), pl.DataFrame(X)):
        same(solve(other, y, 3, **settings), dense)
    same(solve(X.astype(np.float32), y, 3, **settings), dense, rel=1e-5)


@every_pair(
    loss=LOSS_NAMES, fit_intercept=[True, False], weighted=[False, True], make=[np.ascontiguousarray, sp.csc_array]
)
def test_lazy_is_explicit_standardisation(loss, fit_intercept, weighted, make):
    X, y = sample(loss, 30, 8, 3)
    weights = sample_weights(weighted, 30)
    mean = np.average(X, axis=0, weights=weights) if fit_intercept else np.zeros(8)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weights))
    settings = {"loss": loss, "gamma": 0.2, "fit_intercept": fit_intercept, "sample_weight": weights}
    lazy = solve(make(X), y, 3, standardize=True, **settings)
    explicit = solve((X - mean) / scale, y, 3, **settings)
    assert np.array_equal(lazy.support, explicit.support)
    assert lazy.objective == pytest.approx(explicit.objective, rel=1e-8)
    np.testing.assert_allclose(
        X @ lazy.coef + lazy.intercept, (X - mean) / scale @ explicit.coef + explicit.intercept, rtol=1e-4, atol=1e-5
    )


@losses
def test_order_of_the_columns_does_not_matter(loss):
    X, y = sample(loss, 30, 8, 4)
    order = np.random.default_rng(0).permutation(8)
    first, second = solve(X, y, 3, loss=loss, gamma=0.1), solve(X[:, order], y, 3, loss=loss, gamma=0.1)
    assert set(order[second.support]) == set(first.support)
    assert second.objective == pytest.approx(first.objective, rel=1e-8)


@losses
@intercepts
def test_a_row_twice_is_a_weight_of_two(loss, fit_intercept):
    X, y = sample(loss, 20, 6, 5)
    settings = {"loss": loss, "gamma": 0.1, "fit_intercept": fit_intercept}
    twice = solve(np.vstack([X, X[:7]]), np.concatenate([y, y[:7]]), 2, **settings)
    weighted = solve(X, y, 2, sample_weight=np.where(np.arange(20) < 7, 2.0, 1.0), **settings)
    same(weighted, twice)


@losses
def test_a_weight_of_zero_is_no_row(loss):
    X, y = sample(loss, 20, 6, 6)
    keep = np.arange(20) % 5 != 0
    for make in (np.asarray, sp.csc_array, pd.DataFrame):
        same(
            solve(make(X), y, 2, loss=loss, gamma=0.1, sample_weight=keep.astype(float)),
            solve(X[keep], y[keep], 2, loss=loss, gamma=0.1),
        )


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (-3.5, 2.0), (False, True)], ids=str)
@pytest.mark.parametrize("loss", [name for name in LOSS_NAMES if LOSSES[name].classification])
def test_any_two_labels(loss, labels):
    X, y = sample(loss, 25, 5, 7)
    named = np.where(y > 0, labels[1], labels[0])
    same(solve(X, named, 2, loss=loss, gamma=0.2), solve(X, y, 2, loss=loss, gamma=0.2))


def test_default_gamma_is_ten_over_n_on_standardised_columns():
    X, y = sample("squared", 25, 5, 8)
    result = solve(X, y, 2, standardize=True)
    assert result.certificate.statement.gamma == pytest.approx(10.0 / 25.0, rel=1e-12)
    balanced = solve(X, np.arange(25) % 5 == 0, 2, loss="logistic", standardize=True)
    assert balanced.certificate.statement.gamma == pytest.approx(10.0 / (25.0 * 0.2 * 0.8), rel=1e-9)


@losses
def test_start(loss):
    X, y = sample(loss, 30, 8, 9)
    cold = solve(X, y, 3, loss=loss, gamma=0.1)
    for start in (cold, cold.support.tolist(), cold.support[::-1], [7], [], np.arange(8)):
        assert solve(X, y, 3, loss=loss, gamma=0.1, start=start).objective <= cold.objective * 1.2
    warm = solve(X, y, 3, loss=loss, gamma=0.1, start=cold)
    assert warm.objective <= cold.objective * (1.0 + 1e-12)
    assert 7 not in solve(X, y, 3, loss=loss, gamma=0.1, start=[7], exclude=[7]).support


@losses
def test_events(loss):
    X, y = sample(loss, 30, 8, 10)
    events = []
    result = solve(X, y, 3, loss=loss, gamma=0.1, callback=events.append)
    incumbents = [event for event in events if isinstance(event, Incumbent)]
    assert incumbents and isinstance(events[-1], Done)
    assert [e.objective for e in incumbents] == sorted((e.objective for e in incumbents), reverse=True)
    assert incumbents[-1].support == tuple(result.support.tolist())
    done = events[-1]
    assert (done.objective, done.lower_bound, done.status) == (result.objective, result.lower_bound, result.status)
    assert [e.seconds for e in events] == sorted(e.seconds for e in events)


def test_callback_stops_the_search():
    """From a bad start the search would make moves; stopped at once it returns the start, honestly labelled."""
    X, y = sample("squared", 30, 8, 10)
    stopped = best_subset(X, y, 3, gamma=0.1, method="local", start=[5, 6, 7], callback=lambda event: True)
    check_certificate(stopped, X, y)
    assert stopped.support.tolist() == [5, 6, 7]
    assert stopped.status is Status.INTERRUPTED
    assert solve(X, y, 3, gamma=0.1, start=[5, 6, 7], callback=lambda event: 1).objective < stopped.objective


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", [Incumbent, Root, Bound, Done])
@pytest.mark.parametrize("way", ["stop", "Ctrl-C"])
def test_every_callback_leads_to_a_result(method, kind, way):
    X, y = sample("squared", 30, 8, 10)

    def callback(event):
        if isinstance(event, kind) and way == "Ctrl-C":
            raise KeyboardInterrupt
        return isinstance(event, kind)

    whole = best_subset(X, y, 3, gamma=0.1, method=method)
    result = best_subset(X, y, 3, gamma=0.1, method=method, callback=callback)
    check_certificate(result, X, y)
    assert result.lower_bound <= whole.objective <= result.objective * (1.0 + 1e-9)
    if kind is Done:
        assert result.status is whole.status
        assert result.objective == pytest.approx(whole.objective, rel=1e-9)
    else:
        assert result.status in (whole.status, Status.INTERRUPTED)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("at", [1, 2, 3])
def test_ctrl_c_in_the_middle_gives_a_result(keyboard, method, at):
    """The signal comes while a support is being fitted."""
    X, y = sample("squared", 30, 8, 10)
    # The tree and the cuts need a first model to return.
    fault = OnCall(at + (method in ("tree", "cuts")), press)
    with injected("fit", fault):
        result = best_subset(X, y, 3, gamma=0.1, method=method)
    assert fault.calls >= 1
    check_certificate(result, X, y)
    assert result.status in (Status.INTERRUPTED, Status.OPTIMAL)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_is_raised(keyboard):
    X, y = sample("squared", 30, 8, 10)
    survived = []

    def impatient():
        for _ in range(2):
            signal.raise_signal(signal.SIGINT)
            survived.append(signal.getsignal(signal.SIGINT))

    with injected("fit", impatient), pytest.raises(KeyboardInterrupt):
        best_subset(X, y, 3, gamma=0.1, method="local")
    # The first Ctrl-C asks the search to stop and restores the program's handler; only the second one is raised.
    assert survived == [signal.default_int_handler]


def test_time_limit_stops_the_search():
    X, y = sample("squared", 30, 8, 10)
    stopped = best_subset(X, y, 3, gamma=0.1, method="local", start=[5, 6, 7], time_limit=1e-9)
    check_certificate(stopped, X, y)
    assert stopped.support.tolist() == [5, 6, 7] and stopped.status is Status.TIME_LIMIT


def test_gap_tolerance_decides_the_status():
    X, y = sample("squared", 40, 6, 11)
    result = solve(X, y, 2, gamma=0.01)
    assert 0.0 < result.gap < 1.0
    assert solve(X, y, 2, gamma=0.01, gap_tol=1.01 * result.gap).status is Status.OPTIMAL
    assert solve(X, y, 2, gamma=0.01, gap_tol=0.99 * result.gap).status is Status.HEURISTIC


def test_relative_gap():
    assert relative_gap(2.0, 1.0) == 0.5
    assert relative_gap(-2.0, -3.0) == 0.5
    assert relative_gap(1.0, 2.0) == 0.0
    assert relative_gap(0.0, 0.0) == 0.0
    assert relative_gap(1.0, -np.inf) == np.inf


def test_result_says_what_it_is():
    X, y = sample("squared", 40, 6, 11)
    result = solve(X, y, 2, gamma=0.01, gap_tol=0.0)
    data = replace(result, feature_names=tuple(f"x{j}" for j in range(6))).to_dict()
    assert list(data["features"]) == [f"x{j}" for j in data["support"]] and data["status"] == "HEURISTIC"
    assert data["gap"] == result.gap and list(result.to_dict()["features"]) == [str(j) for j in result.support]
    assert repr(result).startswith("Result(HEURISTIC, 2 features, objective=")


@losses
@intercepts
def test_no_features_allowed(loss, fit_intercept):
    X, y = sample(loss, 20, 3, 12)
    for settings in ({"k": 0}, {"k": 2, "exclude": [0, 1, 2]}, {"l0_penalty": 1e9}):
        result = solve(X, y, **settings, loss=loss, gamma=1.0, fit_intercept=fit_intercept)
        assert result.support.size == 0 and not result.coef.any()
        expected = support_value(loss, X[:, :0], y, 1.0, fit_intercept)
        assert result.objective == pytest.approx(expected, rel=1e-7)
        assert result.status is Status.OPTIMAL


@losses
@pytest.mark.parametrize("k", [3, 4, 1000])
def test_all_features_allowed(loss, k):
    X, y = sample(loss, 20, 3, 12)
    result = solve(X, y, k, loss=loss, gamma=1.0)
    assert result.objective == pytest.approx(support_value(loss, X, y, 1.0, True), rel=1e-7)
    assert result.support.tolist() == [0, 1, 2] and result.status is Status.OPTIMAL


@losses
def test_more_columns_than_rows_without_a_ridge(loss):
    X, y = sample(loss, 8, 12, 13)
    result = solve(X, y, 10, loss=loss, gamma=np.inf)
    assert result.objective <= 1e-8 * 8


@every_pair(loss=LOSS_NAMES, fit_intercept=[True, False], constant=[0.0, 0.1, -7.3e6])
def test_constant_columns(loss, fit_intercept, constant):
    X, y = sample(loss, 20, 3, 14)
    wide = np.column_stack([np.full(20, constant), X])
    settings = {"loss": loss, "gamma": 1.0, "fit_intercept": fit_intercept}
    for standardize in (False, True):
        result = solve(wide, y, 2, standardize=standardize, **settings)
        if fit_intercept or constant == 0.0:
            alone = solve(X, y, 2, standardize=standardize, **settings)
            assert result.objective == pytest.approx(alone.objective, rel=1e-7)
            assert result.coef[0] == pytest.approx(0.0, abs=1e-9)


@losses
@pytest.mark.parametrize("gamma", [1.0, np.inf])
def test_duplicated_columns(loss, gamma):
    X, y = sample(loss, 30, 3, 15, noise=1.5)
    twice = np.hstack([X, X])
    optimum, _ = enumerate_best(twice, y, 3, loss=loss, gamma=gamma)
    result = solve(twice, y, 3, loss=loss, gamma=gamma)
    assert optimum * (1.0 - 1e-7) <= result.objective <= optimum * (1.0 + 1e-3)
    assert result.lower_bound <= optimum * (1.0 + 1e-7)


@losses
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_scale_of_the_columns(loss, scale):
    X, y = sample(loss, 30, 5, 16, noise=1.5)
    plain = solve(X, y, 2, loss=loss, gamma=0.5)
    scaled = solve(scale * X, y, 2, loss=loss, gamma=0.5 / scale**2)
    assert np.array_equal(scaled.support, plain.support)
    assert scaled.objective == pytest.approx(plain.objective, rel=1e-7)
    np.testing.assert_allclose(scale * scaled.coef, plain.coef, rtol=1e-3, atol=1e-4)
    standard = [solve(t * X, y, 2, loss=loss, gamma=0.5, standardize=True).objective for t in (1.0, scale)]
    assert standard[1] == pytest.approx(standard[0], rel=1e-7)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_scale_of_the_response(scale):
    X, y = sample("squared", 30, 5, 16)
    plain, scaled = solve(X, y, 2, gamma=0.5), solve(X, scale * y, 2, gamma=0.5)
    assert np.array_equal(scaled.support, plain.support)
    assert scaled.objective == pytest.approx(scale**2 * plain.objective, rel=1e-9)
    assert scaled.gap == pytest.approx(plain.gap, rel=1e-6)


@pytest.mark.parametrize("loss", [name for name in LOSS_NAMES if not LOSSES[name].classification])
@intercepts
def test_one_row(loss, fit_intercept):
    result = solve([[2.0, 1.0]], [3.0], 1, loss=loss, gamma=0.5, fit_intercept=fit_intercept)
    expected = 0.0 if fit_intercept else support_value(loss, np.array([[2.0]]), np.array([3.0]), 0.5, False)
    assert result.objective == pytest.approx(expected, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("loss", [name for name in LOSS_NAMES if LOSSES[name].classification])
def test_two_rows_of_two_classes(loss):
    X, y = np.array([[2.0, 1.0], [-1.0, 1.0]]), np.array([1.0, -1.0])
    result = solve(X, y, 1, loss=loss, gamma=0.5)
    assert result.objective == pytest.approx(support_value(loss, X[:, :1], y, 0.5, True), rel=1e-7)


@pytest.mark.parametrize("loss", [name for name in LOSS_NAMES if not LOSSES[name].classification])
def test_constant_response(loss):
    X, _ = sample(loss, 20, 3, 17)
    result = solve(X, np.full(20, 4.0), 2, loss=loss, gamma=1.0)
    assert result.objective <= 1e-9
    np.testing.assert_allclose(result.predict(X), 4.0, atol=0.11)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_perfect_fit_without_a_ridge(scale):
    X, _ = sample("squared", 20, 5, 18)
    result = solve(X, scale * (2.0 * X[:, 1] - X[:, 3] + 1.0), 2, gamma=np.inf)
    assert result.support.tolist() == [1, 3]
    np.testing.assert_allclose(result.coef[[1, 3]], [2.0 * scale, -scale], rtol=1e-9)


X9, Y9 = sample("squared", 9, 3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "magic"}, f"unknown method 'magic'; choose one of {', '.join(METHODS)}"),
        ({"loss": "cubic"}, "unknown loss 'cubic'; choose one of squared, logistic"),
        ({"options": {"speed": 11}}, "method 'local' has no option 'speed'; its options are moves"),
        ({"time_limit": 0}, "time_limit must be a number > 0 or inf, got 0"),
        ({"time_limit": np.nan}, "time_limit must be a number > 0 or inf"),
        ({"gap_tol": -0.1}, "gap_tol must be a number >= 0 and < 1, got -0.1"),
        ({"gap_tol": 1.0}, "gap_tol must be a number >= 0 and < 1"),
        ({"start": "abc"}, "start must be a list of column numbers or names or an earlier Result, got"),
        ({"start": [0.5]}, "start must be a list of column numbers or names or an earlier Result, got"),
        ({"start": [[0]]}, "start must be a list of column numbers or names or an earlier Result, got"),
        ({"start": [3]}, "start must hold column numbers from 0 to 2"),
        ({"start": [-1]}, "start must hold column numbers from 0 to 2"),
        ({"k": None}, "give k"),
        ({"sample_weight": -np.ones(9)}, "not negative"),
        ({"include": [0], "exclude": [0]}, "both in include and in exclude"),
        ({"loss": "logistic"}, "exactly two classes, got 9"),
    ],
    ids=str,
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        best_subset(X9, Y9, **{"k": 1, "method": "local", **settings})


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.where(X9 > 0, np.nan, X9), Y9, "X contains NaN or infinity"),
        (np.where(X9 > 0, np.inf, X9), Y9, "X contains NaN or infinity"),
        (X9, np.where(Y9 > 0, np.nan, Y9), "y contains NaN or infinity"),
        (X9[0], Y9, "two dimensions"),
        (X9, Y9[:5], "X has 9 rows but y has 5 entries"),
        (X9[:0], Y9[:0], "at least one row"),
    ],
)
def test_bad_data(X, y, message):
    with pytest.raises(ValueError, match=message):
        best_subset(X, y, 1)
