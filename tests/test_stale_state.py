"""Values computed for one data set are not used for another: caches, shared designs, pools of cuts, warm starts.

The tests change the data between calls, and compare the answer with that of a call without an earlier one, or of a
computation without the library.
"""

from __future__ import annotations

import gc
import signal
import weakref
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

import sparsest
from checks import check_certificate
from core.designs.storages import Foreign, standardized
from samples import sample
from sparsest.core.designs import Dense, as_design
from sparsest.core.settings import METHODS
from sparsest.runtime.clock import counting_processor_time
from sparsest.runtime.events import Status
from sparsest.subset.cuts.pool import CutPool

N, P, K, GAMMA = 40, 6, 2, 0.1
AS_GIVEN = {"fit_intercept": False, "standardize": False}
LARGE_N, LARGE_P = 500, 700


def data(seed=0, n=N, p=P):
    """X, and two responses of which the second is much smaller and depends on other columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = 5.0 * X[:, 0] - 4.0 * X[:, 1] + rng.standard_normal(n)
    return X, y, 0.05 * (X[:, 2] - X[:, 3] + 0.2 * rng.standard_normal(n))


def optimum(X, y, k=K):
    """The least objective of all supports of columns as they are, without an intercept, by their normal equations."""
    values = []
    for support in map(list, combinations(range(X.shape[1]), k)):
        A = X[:, support]
        w = np.linalg.solve(A.T @ A + np.eye(k) / GAMMA, A.T @ y)
        values.append(0.5 * float(np.sum((y - A @ w) ** 2) + w @ w / GAMMA))
    return min(values)


def assert_right(result, X, y, best, **rows):
    """The result is about these data, and its claims are true of them."""
    check_certificate(result, X, y, rows.pop("sample_weight", None), **rows)
    assert result.lower_bound <= best * (1.0 + 1e-7)
    assert result.objective >= best * (1.0 - 1e-7)


# One design for several data sets -------------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", [Dense, lambda X: as_design(sp.csc_array(X))], ids=["dense", "sparse"])
@pytest.mark.parametrize("method", METHODS)
def test_a_design_with_two_responses(method, storage):
    X, y, other = data()
    design = storage(X)
    for response in (y, other):
        result = sparsest.best_subset(design, response, K, gamma=GAMMA, method=method, **AS_GIVEN)
        assert_right(result, X, response, optimum(X, response))


@pytest.mark.parametrize("method", METHODS)
def test_a_large_design_with_two_responses(method):
    X, y, other = data(n=LARGE_N, p=LARGE_P)
    design = Dense(X)
    for response in (y, other):
        result = sparsest.best_subset(design, response, K, gamma=GAMMA, method=method, **AS_GIVEN)
        verdict = result.certificate.verify(X, response)
        assert verdict, verdict.reasons
        assert result.lower_bound <= 0.5 * response @ response


CHANGES = {
    "weights": {"sample_weight": np.linspace(0.1, 3.0, N)},
    "offset": {"offset": np.linspace(-3.0, 3.0, N)},
    "intercept": {"fit_intercept": True},
    "standardize": {"standardize": True},
    "loss": {"loss": "huber"},
    "parameter": {"loss": "huber", "delta": 0.1},
    "gamma": {"gamma": 10.0},
    "k": {"k": 4},
    "box": {"max_coef": 0.5},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_design_with_another_problem(change):
    X, y, _ = data()
    design, usual = Dense(X), {"k": K, "gamma": GAMMA, **AS_GIVEN}
    for settings in ({"loss": "huber"} if change == "parameter" else {}, CHANGES[change]):
        asked = {**usual, **settings}
        result = sparsest.best_subset(design, y, **asked)
        fresh = sparsest.best_subset(X.copy(), y, **asked)
        rows = {name: asked[name] for name in ("sample_weight", "offset") if name in asked}
        check_certificate(result, X, y, **rows)
        assert result.statement == fresh.statement
        assert (result.objective, result.lower_bound) == pytest.approx((fresh.objective, fresh.lower_bound), rel=1e-9)


def test_a_design_with_another_exposure():
    X, _, _ = data()
    y = np.random.default_rng(1).poisson(np.exp(0.3 * X[:, 0] + 0.5)).astype(float)
    design = Dense(X)
    for exposure in (np.ones(N), np.linspace(0.2, 5.0, N)):
        result = sparsest.best_subset(design, y, K, gamma=GAMMA, loss="poisson", exposure=exposure, **AS_GIVEN)
        check_certificate(result, X, y, exposure=exposure)


def test_a_path_on_a_design_that_was_used_before():
    X, y, other = data()
    design = Dense(X)
    sparsest.best_subset(design, y, K, gamma=GAMMA, **AS_GIVEN)
    for method in METHODS:
        for result in sparsest.best_subset_path(design, other, [1, 3], gamma=GAMMA, method=method, **AS_GIVEN):
            assert_right(result, X, other, optimum(X, other, k=result.statement.k))


def test_a_penalty_path_on_a_design_that_was_used_before():
    X, y, other = data()
    design = Dense(X)
    sparsest.penalty_path(design, y, **AS_GIVEN)
    again, fresh = (sparsest.penalty_path(given, other, **AS_GIVEN) for given in (design, X))
    assert np.array_equal(again.coefs.toarray(), fresh.coefs.toarray())


def test_a_choice_on_a_design_that_was_used_before():
    X, y, other = data()
    design = Dense(X)
    sparsest.certified_choice(design, y, "bic", gamma=GAMMA, **AS_GIVEN)
    choice = sparsest.certified_choice(design, other, "bic", gamma=GAMMA, **AS_GIVEN)
    fresh = sparsest.certified_choice(X, other, "bic", gamma=GAMMA, **AS_GIVEN)
    verdict = choice.verify(X, other)
    assert verdict, verdict.reasons
    assert (choice.k, choice.not_excluded) == (fresh.k, fresh.not_excluded)
    assert choice.value == pytest.approx(fresh.value, rel=1e-9)


USES_OF_A_RESULT = {
    "near_optimal": lambda result, X, y: sparsest.near_optimal(result, X, y),
    "information_criterion": lambda result, X, y: sparsest.information_criterion(result, X, y),
}


@pytest.mark.parametrize("use", USES_OF_A_RESULT)
def test_a_result_with_another_response_is_refused(use):
    X, y, other = data()
    design = Dense(X)
    result = sparsest.best_subset(design, y, K, gamma=GAMMA, **AS_GIVEN)
    USES_OF_A_RESULT[use](result, design, y)
    for given in (design, X):
        with pytest.raises(ValueError, match="not those of the result"):
            USES_OF_A_RESULT[use](result, given, other)


@pytest.mark.parametrize("use", USES_OF_A_RESULT)
def test_a_result_with_other_weights_is_refused(use):
    X, y, _ = data()
    design = Dense(X)
    result = sparsest.best_subset(design, y, K, gamma=GAMMA, **AS_GIVEN)
    with pytest.raises(ValueError, match="not those of the result"):
        function = getattr(sparsest, use)
        function(result, design, y, sample_weight=np.linspace(0.5, 2.0, N))


# A view as X ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [AS_GIVEN, {"fit_intercept": True, "standardize": False}, {}], ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_a_standardised_view_is_the_matrix_that_it_shows(method, settings):
    X, y, _ = data()
    X = X * np.linspace(0.1, 10.0, P) + 3.0
    view = standardized(Dense(X), np.ones(N), center=True, scale=True)
    shown = view.columns(np.arange(P))
    asked = {"gamma": GAMMA, "method": method, **settings}
    result, fresh = (sparsest.best_subset(given, y, K, **asked) for given in (view, shown))
    assert result.objective == pytest.approx(fresh.objective, rel=1e-8)
    assert result.lower_bound <= fresh.objective
    assert result.predict(shown) == pytest.approx(fresh.predict(shown), rel=1e-6, abs=1e-6)
    # What is shown is rounded: the numbers of the view itself have to be given to the check.
    assert result.certificate.verify(shown, y)


@pytest.mark.parametrize("settings", [AS_GIVEN, {}], ids=str)
def test_a_design_without_a_matrix_and_two_responses(settings):
    X, y, other = data()
    design = Foreign(X)
    for response in (y, other):
        result = sparsest.best_subset(design, response, K, gamma=GAMMA, **settings)
        assert result.certificate.verify(X, response)


def test_designs_are_let_go():
    X, y, _ = data()
    for make in (Dense, Foreign, lambda X: as_design(sp.csc_array(X))):
        design = make(X)
        result = sparsest.best_subset(design, y, K, gamma=GAMMA, **AS_GIVEN)
        there = weakref.ref(design)
        del design
        gc.collect()
        assert there() is None
        assert result.certificate.verify(X, y)


# Arrays that are changed in place -------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [AS_GIVEN, {}], ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_arrays_changed_in_place_between_calls(method, settings):
    X, y, other = data()
    weights, asked = np.ones(N), {"gamma": GAMMA, "method": method, **settings}
    first = sparsest.best_subset(X, y, K, sample_weight=weights, **asked)
    before = X.copy(), y.copy(), weights.copy()
    X[:] = X[:, ::-1].copy()
    y[:], weights[:] = other, np.linspace(0.5, 2.0, N)
    again = sparsest.best_subset(X, y, K, sample_weight=weights, **asked)
    fresh = sparsest.best_subset(X.copy(), y.copy(), K, sample_weight=weights.copy(), **asked)
    assert again.statement == fresh.statement
    assert (again.objective, again.lower_bound) == (fresh.objective, fresh.lower_bound)
    assert again.certificate.verify(X, y, weights)
    assert first.certificate.verify(*before)
    assert not first.certificate.verify(X, y, weights)


@pytest.mark.parametrize("settings", [AS_GIVEN, {}], ids=str)
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_a_design_whose_array_was_changed(storage, settings):
    X, y, _ = data()
    stored = sp.csc_array(X) if storage == "sparse" else X
    design, entries = as_design(stored), stored.data if storage == "sparse" else X
    sparsest.best_subset(design, y, K, gamma=GAMMA, **settings)
    entries[:] = np.random.default_rng(9).permutation(np.ravel(entries)).reshape(entries.shape)
    result = sparsest.best_subset(design, y, K, gamma=GAMMA, **settings)
    fresh = sparsest.best_subset(stored.copy(), y, K, gamma=GAMMA, **settings)
    assert result.certificate.verify(stored, y)
    assert result.objective == pytest.approx(fresh.objective, rel=1e-9)


@pytest.mark.parametrize("changed", ["X", "y"])
@pytest.mark.parametrize("use", USES_OF_A_RESULT)
def test_a_result_is_refused_with_data_changed_in_place(use, changed):
    X, y, _ = data()
    result = sparsest.best_subset(X, y, K, gamma=GAMMA, **AS_GIVEN)
    (X if changed == "X" else y)[3] += 1.0
    with pytest.raises(ValueError, match="not those of the result"):
        USES_OF_A_RESULT[use](result, X, y)


def test_a_result_does_not_change_with_the_data():
    X, y, _ = data()
    result = sparsest.best_subset(X, y, K, gamma=GAMMA)
    kept = result.coef.copy(), result.objective, result.certificate.to_bytes()
    X *= 2.0
    y += 1.0
    assert np.array_equal(result.coef, kept[0])
    assert (result.objective, result.certificate.to_bytes()) == kept[1:]


# Pools of cuts --------------------------------------------------------------------------------------------------------


def pool_of(X, y, **settings):
    """A pool that an earlier run has filled."""
    pool = CutPool()
    asked = {"gamma": GAMMA, "method": "cuts", "options": {"pool": pool}, **AS_GIVEN, **settings}
    sparsest.best_subset(X, y, K, **asked)
    assert len(pool)
    return pool


POOLED = {
    "response": lambda X, y, other: ((X, other), {}),
    "fewer columns": lambda X, y, other: ((X[:, :4], y), {}),
    "more columns": lambda X, y, other: ((np.column_stack([X, X[:, 0] ** 2]), y), {}),
    "other columns": lambda X, y, other: ((X[:, ::-1].copy(), y), {}),
    "fewer rows": lambda X, y, other: ((X[:30], y[:30]), {}),
    "weights": lambda X, y, other: ((X, y), {"sample_weight": np.linspace(0.5, 2.0, N)}),
    "loss": lambda X, y, other: ((X, y), {"loss": "huber"}),
    "offset": lambda X, y, other: ((X, y), {"offset": np.linspace(0.0, 1.0, N)}),
    "intercept": lambda X, y, other: ((X, y), {"fit_intercept": True}),
    "standardize": lambda X, y, other: ((X, y), {"standardize": True}),
}


@pytest.mark.parametrize("change", POOLED)
@pytest.mark.parametrize("engine", ["highs", "scip"])
def test_a_pool_of_other_data_is_refused(change, engine):
    X, y, other = data()
    given, settings = POOLED[change](X, y, other)
    asked = {"gamma": GAMMA, "method": "cuts", "engine": engine, "options": {"pool": pool_of(X, y)}, **AS_GIVEN}
    with pytest.raises(ValueError, match="pool"):
        sparsest.best_subset(*given, K, **{**asked, **settings})


def test_a_pool_of_other_data_is_refused_when_the_array_was_changed_in_place():
    X, y, _ = data()
    pool = pool_of(X, y)
    X[:, 2] += 1.0
    with pytest.raises(ValueError, match="pool"):
        sparsest.best_subset(X, y, K, gamma=GAMMA, method="cuts", options={"pool": pool}, **AS_GIVEN)


@pytest.mark.parametrize("change", [{"k": 3}, {"gamma": 3.0}, {"max_coef": 0.5}, {"include": (4,)}, {"exclude": (0,)}])
def test_a_pool_serves_other_problems_on_the_same_data(change):
    X, y, _ = data()
    asked = {"k": K, "gamma": GAMMA, "method": "cuts", **AS_GIVEN, **change}
    pool = pool_of(X, y)
    result = sparsest.best_subset(X, y, options={"pool": pool}, **asked)
    fresh = sparsest.best_subset(X, y, **asked)
    check_certificate(result, X, y)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(fresh.objective, rel=1e-4)


def test_a_pool_is_not_shared_by_the_folds_of_an_estimator():
    X, y, _ = data(n=60)
    model = sparsest.BestSubsetRegressorCV(
        ks=[1, 2], gammas=[GAMMA], method="cuts", options={"pool": CutPool()}, cv=3, standardize=False
    )
    # It belongs to the data that it is first used with: a fold, or all of them.
    with pytest.raises(ValueError, match="pool"):
        model.fit(X, y).fit(X[:50], y[:50])


# Warm starts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", METHODS)
@pytest.mark.parametrize("method", METHODS)
def test_a_start_from_another_response_claims_nothing_of_it(method, first):
    X, y, other = data()
    earlier = sparsest.best_subset(X, y, K, gamma=GAMMA, method=first, **AS_GIVEN)
    result = sparsest.best_subset(X, other, K, gamma=GAMMA, method=method, start=earlier, **AS_GIVEN)
    assert_right(result, X, other, optimum(X, other))


@pytest.mark.parametrize("method", METHODS)
def test_a_start_from_data_with_other_rows_and_another_loss(method):
    X, y, _ = data()
    labels = np.where(y > 0.0, 1.0, -1.0)
    earlier = sparsest.best_subset(X[:25], labels[:25], K, loss="logistic", gamma=GAMMA, method="relaxation")
    result = sparsest.best_subset(X, y, K, gamma=GAMMA, method=method, start=earlier, **AS_GIVEN)
    assert_right(result, X, y, optimum(X, y))


@pytest.mark.parametrize("method", METHODS)
def test_a_start_with_columns_that_there_are_not_is_refused(method):
    X, y, _ = data()
    earlier = sparsest.best_subset(X, X[:, 5] + 0.01 * y, 1, gamma=GAMMA)
    assert earlier.support.tolist() == [5]
    with pytest.raises(ValueError, match="start"):
        sparsest.best_subset(X[:, :4], y, K, gamma=GAMMA, method=method, start=earlier)


# Estimators, clocks and losses ----------------------------------------------------------------------------------------


def test_a_second_fit_leaves_nothing_of_the_first():
    X, y, other = data()
    model = sparsest.BestSubsetRegressor(k="bic").fit(X, y)
    assert model.choice_ is not None
    model.set_params(k=1).fit(X[:, :4], other)
    fresh = sparsest.BestSubsetRegressor(k=1).fit(X[:, :4], other)
    assert model.choice_ is None
    assert vars(model).keys() == vars(fresh).keys()
    assert model.result_.statement == fresh.result_.statement
    assert model.result_.certificate.verify(X[:, :4], other)


def test_a_search_that_was_interrupted_does_not_stop_the_next(keyboard):
    X, y, _ = data(n=60, p=30)
    events = []

    def interrupt(event):
        # A second Ctrl-C would be raised.
        if not events:
            signal.raise_signal(signal.SIGINT)
        events.append(event)

    sparsest.best_subset(X, y, K, gamma=GAMMA, method="relaxation", callback=interrupt)
    assert events
    result = sparsest.best_subset(X, y, K, gamma=GAMMA)
    assert result.status is Status.OPTIMAL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_in_a_search_leaves_the_next_alone(keyboard):
    X, y, _ = data()

    def fail(event):
        raise RuntimeError("a fault of the callback")

    with pytest.raises(RuntimeError, match="fault"):
        sparsest.best_subset(X, y, K, gamma=GAMMA, callback=fail)
    with pytest.raises(RuntimeError, match="fault"), counting_processor_time():
        sparsest.best_subset(X, y, K, gamma=GAMMA, callback=fail)
    assert sparsest.best_subset(X, y, K, gamma=GAMMA).status is Status.OPTIMAL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_data_of_other_losses_on_the_same_matrix(loss):
    X, first = sample(loss, N, P, 0)
    _, second = sample(loss, N, P, 1)
    design = Dense(X)
    for y in (first, second):
        result = sparsest.best_subset(design, y, K, gamma=GAMMA, loss=loss, **AS_GIVEN)
        check_certificate(result, X, y)
