"""The Boolean relaxation: its value against a conic solver, its bound and fixings against all supports."""

import numpy as np
import pytest
import scipy.sparse as sp

from checks import against_enumeration, best_subset, check_certificate, solve
from oracles import best_of, relaxation_value, sample_values
from samples import LOSS_NAMES, sample, sample_weights, strong_response
from sparsest.data import make_data
from sparsest.designs import Dense
from sparsest.losses import LOSSES
from sparsest.result import Incumbent, Root, Status

N, P = 20, 7
FORMS = [{"k": 2}, {"l0_penalty": 0.4}, {"k": 2, "l0_penalty": 0.05}]
GAMMAS = [0.01, 0.3, 10.0]
losses = pytest.mark.parametrize("loss", LOSS_NAMES)
forms = pytest.mark.parametrize("form", FORMS, ids=str)
intercepts = pytest.mark.parametrize("fit_intercept", [True, False])
weightings = pytest.mark.parametrize("weighted", [False, True])
gammas = pytest.mark.parametrize("gamma", GAMMAS)


def relax(X, y, method="relaxation", **settings):
    """Solve and return the result with what it tells of its relaxation."""
    options = {name: settings.pop(name) for name in ("fixing", "polish", "relaxation_tol") if name in settings}
    result = solve(X, y, method=method, options=options, **settings)
    return result, result.trace["relaxation"]


@losses
@forms
@intercepts
@weightings
@pytest.mark.parametrize("forced", [((), ()), ((5,), (0, 3))], ids=str)
def test_value_is_that_of_a_conic_solver(loss, form, fit_intercept, weighted, forced):
    X, y = sample(loss, N, P, 1)
    weights = sample_weights(weighted, N)
    asked = {**form, "include": forced[0], "exclude": forced[1]}
    gamma = 2.0 if weighted == fit_intercept else 0.05
    expected = relaxation_value(loss, X, y, gamma, fit_intercept, weights, **asked)
    common = {"loss": loss, "gamma": gamma, "fit_intercept": fit_intercept, "sample_weight": weights}
    _, told = relax(X, y, **asked, **common, fixing=False, relaxation_tol=1e-8)
    assert told["primal"] == pytest.approx(expected, rel=1e-6)
    assert told["dual"] == pytest.approx(expected, rel=1e-6)
    assert told["gap"] <= 1e-8


@losses
@gammas
@pytest.mark.parametrize(
    "form",
    [{"k": 1}, {"k": 3}, {"k": P}, {"l0_penalty": 0.05}, {"l0_penalty": 0.0}, {"k": 2, "l0_penalty": 0.02}],
    ids=str,
)
@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
def test_gap_reaches_the_tolerance(loss, gamma, form, tolerance):
    X, y = sample(loss, N, P, 2)
    settings = {"loss": loss, "gamma": gamma, "fit_intercept": gamma != 0.3, "fixing": False}
    _, told = relax(X, y, **form, **settings, relaxation_tol=tolerance)
    assert told["gap"] <= tolerance
    assert told["gap"] == pytest.approx((told["primal"] - told["dual"]) / told["primal"], abs=1e-15)


@losses
@pytest.mark.parametrize(("fit_intercept", "weighted"), [(True, True), (False, False)])
def test_enumeration(loss, fit_intercept, weighted):
    reached = against_enumeration(loss, fit_intercept, weighted, seeds=(0,), method="relaxation")
    assert reached[True] >= 0.9 * reached.total(), reached


def optimal_supports(values, **asked):
    """All admissible supports within rounding of the best."""
    optimum, _ = best_of(values, **asked)
    free = {s: v + asked.get("l0_penalty", 0.0) * len(s) for s, v in values.items()}
    return [set(s) for s, v in free.items() if len(s) <= asked.get("k", P) and v <= optimum + 1e-9 * abs(optimum)]


@losses
@gammas
def test_fixing_keeps_every_optimal_support(loss, gamma):
    """Also those that a relaxation of few digits fixes; a weak ridge decides nothing at this size."""
    fixed = 0
    for seed, tolerance in ((0, 1e-1), (1, 1e-6), (2, 1e-9)):
        X, y = sample(loss, N, P, seed)
        values = sample_values(loss, N, P, seed, gamma, True, False)
        for form in (*FORMS, {"l0_penalty": 3.0}):
            _, told = relax(X, y, **form, loss=loss, gamma=gamma, relaxation_tol=tolerance)
            inside, outside = set(told["fixed_in"].tolist()), set(told["fixed_out"].tolist())
            fixed += len(inside) + len(outside)
            for support in optimal_supports(values, **form):
                assert inside <= support and not outside & support
    assert fixed > 0 or gamma == 10.0


@losses
def test_fixing_keeps_copies_of_a_column(loss):
    X, y = sample(loss, 40, 5, 4)
    twice = np.column_stack([X, X[:, 0]])
    for form in ({"k": 2}, {"l0_penalty": 0.3}):
        _, told = relax(twice, y, **form, loss=loss, gamma=0.02)
        for one, other in ((0, 5), (5, 0)):
            assert one not in told["fixed_out"] or other not in told["fixed_in"]


@losses
@gammas
@forms
def test_bound_status_and_verdict(loss, gamma, form):
    for seed in range(2):
        X, y = sample(loss, N, P, seed)
        optimum, _ = best_of(sample_values(loss, N, P, seed, gamma, True, False), **form)
        plain, _ = relax(X, y, **form, loss=loss, gamma=gamma, fixing=False)
        fixing, told = relax(X, y, **form, loss=loss, gamma=gamma)
        for result in (plain, fixing):
            assert result.lower_bound <= optimum * (1.0 + 1e-8) <= result.objective * (1.0 + 2e-8)
            assert (result.status is Status.OPTIMAL) == (result.certificate.verify(X, y).gap <= 1e-4)
            assert result.trace["relaxation"]["tight"] == (result.status is Status.OPTIMAL)
        if told["tight"]:
            assert fixing.objective == pytest.approx(optimum, rel=1e-4)
            assert best_of({tuple(fixing.support.tolist()): 1.0}, **form)[0] >= 1.0


@losses
def test_an_easy_problem_is_tight(loss):
    """Strong signals are told apart by the relaxation itself: the gains are separated and the bounds meet."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((200, 8))
    signal = 2.0 * X[:, 1] - 2.0 * X[:, 4]
    y = strong_response(loss, signal, 0.1, rng)
    gamma = 0.05 / make_data(X, y, loss=loss).curvature if LOSSES[loss].log_link else 0.05
    result, told = relax(X, y, k=2, loss=loss, gamma=gamma, fixing=False, relaxation_tol=1e-9)
    assert result.status is Status.OPTIMAL and result.support.tolist() == [1, 4]
    [point] = result.certificate.proof.points
    gains = 0.5 * gamma * (X.T @ point.values) ** 2
    separation = gains[[1, 4]].min() - np.delete(gains, [1, 4]).max()
    assert separation > 0.1 * gains.max()
    assert told["separation"] == pytest.approx(separation, rel=1e-4)


@losses
@forms
@intercepts
def test_indicators_are_admissible(loss, form, fit_intercept):
    X, y = sample(loss, N, P, 6)
    for include, exclude in (((), ()), ((2,), (0, 4))):
        asked = {**form, "include": include, "exclude": exclude}
        for fixing in (True, False):
            _, told = relax(X, y, **asked, loss=loss, gamma=0.3, fit_intercept=fit_intercept, fixing=fixing)
            s = told["s"]
            assert s.shape == (P,) and (s >= 0).all() and (s <= 1).all()
            assert s.sum() <= form.get("k", P) * (1.0 + 1e-9)
            assert (s[list(include)] == 1).all() and (s[list(exclude)] == 0).all()


@losses
@intercepts
def test_storage_does_not_matter(loss, fit_intercept):
    X, y = sample(loss, 30, 8, 7)
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    settings = {"k": 3, "loss": loss, "gamma": 0.2, "fit_intercept": fit_intercept, "relaxation_tol": 1e-7}
    dense, told = relax(X, y, **settings)
    for other, rel in ((sp.csc_array(X), 1e-6), (X.astype(np.float32), 1e-4)):
        result, said = relax(other, y, **settings)
        assert result.objective == pytest.approx(dense.objective, rel=rel)
        assert said["dual"] == pytest.approx(told["dual"], rel=rel)


@losses
@pytest.mark.parametrize(
    "change",
    [{"k": 4}, {"k": 0}, {"gamma": 3.0}, {"k": None, "l0_penalty": 0.2}, {"exclude": [0, 1]}, {"k": 1, "include": [6]}],
    ids=str,
)  # fmt: skip
def test_warm_start_gives_the_same_bound(loss, change):
    X, y = sample(loss, N, P, 8)
    base = {"k": 2, "loss": loss, "gamma": 0.3, "fixing": False, "relaxation_tol": 1e-7}
    before, _ = relax(X, y, **base)
    _, cold = relax(X, y, **{**base, **change})
    _, warm = relax(X, y, **{**base, **change}, start=before)
    assert warm["dual"] == pytest.approx(cold["dual"], rel=1e-6)
    assert warm["primal"] == pytest.approx(cold["primal"], rel=1e-6)


def test_warm_start_from_itself_is_quicker():
    X, y = sample("squared", 60, 30, 9)
    settings = {"k": 5, "gamma": 0.05, "fixing": False}
    before, cold = relax(X, y, **settings)
    _, warm = relax(X, y, **settings, start=before)
    assert warm["iterations"] < cold["iterations"]
    assert warm["passes"] <= cold["passes"]


def test_starts_that_do_not_fit_are_of_no_harm():
    X, y = sample("squared", N, P, 8)
    narrow, _ = relax(X[:, :4], y, k=2, gamma=0.3)
    local = solve(X, y, 2, gamma=0.3)
    _, cold = relax(X, y, k=2, gamma=0.3, fixing=False)
    for start in (narrow, local, [5, 6], [0, 1, 2, 3]):
        _, told = relax(X, y, k=2, gamma=0.3, fixing=False, start=start)
        assert told["dual"] == pytest.approx(cold["dual"], rel=1e-4)


def test_passes_are_counted():
    """One pass per round, none for an empty start; columns that are fixed out no longer count once they are gone."""
    X, y = sample("squared", 50, 12, 10)
    _, told = relax(X, y, k=3, gamma=0.3, fixing=False, relaxation_tol=1e-8)
    assert told["passes"] == told["rounds"]
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((100, 300))
    target = wide[:, :3].sum(axis=1) + 0.3 * rng.standard_normal(100)
    _, told = relax(wide, target, k=3, gamma=0.02, relaxation_tol=1e-10)
    assert told["fixed_out"].size > 240 and told["passes"] < told["rounds"] + 1


@losses
@pytest.mark.parametrize("make", [np.asarray, sp.csc_array])
def test_arrays_are_read_only(loss, make):
    X, y = sample(loss, N, P, 11)
    X = make(X)
    weights = sample_weights(True, N)
    arrays = [X if isinstance(X, np.ndarray) else X.data, y, weights]
    copies = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    for form in FORMS:
        relax(X, y, **form, loss=loss, gamma=0.3, sample_weight=weights)
    assert all(np.array_equal(array, copy) for array, copy in zip(arrays, copies, strict=True))


def test_a_start_is_not_changed():
    X, y = sample("logistic", N, P, 11)
    before, told = relax(X, y, k=2, loss="logistic", gamma=0.3)
    w = told["w"].copy()
    relax(X, y, k=4, loss="logistic", gamma=0.3, start=before)
    assert np.array_equal(before.trace["relaxation"]["w"], w)


@losses
def test_no_ridge_is_refused(loss):
    X, y = sample(loss, N, P, 0)
    with pytest.raises(ValueError, match="needs a ridge: give a finite gamma"):
        best_subset(X, y, 2, loss=loss, gamma=np.inf, method="relaxation")


@pytest.mark.parametrize(
    ("limits", "status"),
    [({"time_limit": 1e-9}, Status.TIME_LIMIT), ({"callback": lambda event: True}, Status.INTERRUPTED)],
    ids=["time", "callback"],
)
def test_limits_leave_an_honest_result(limits, status):
    X, y = sample("logistic", 60, 30, 12)
    settings = {"k": 5, "loss": "logistic", "gamma": 3.0, "method": "relaxation"}
    stopped = best_subset(X, y, **settings, **limits)
    check_certificate(stopped, X, y)
    whole = best_subset(X, y, **settings)
    assert stopped.status is status
    assert stopped.lower_bound <= whole.objective
    assert stopped.trace["relaxation"]["rounds"] < whole.trace["relaxation"]["rounds"]


def test_events():
    X, y = sample("squared", N, P, 13)
    events = []
    result, told = relax(X, y, k=2, gamma=0.3, callback=events.append)
    roots = [event for event in events if isinstance(event, Root)]
    assert len(roots) == 1 and roots[0].lower_bound == told["dual"]
    assert roots[0].n_free == P - told["fixed_in"].size - told["fixed_out"].size
    found = [event.objective for event in events if isinstance(event, Incumbent)]
    assert found == sorted(found, reverse=True) and found[-1] == pytest.approx(result.objective, rel=1e-9)


class Counting(Dense):
    """A design that counts how often all of its columns are read."""

    passes = 0

    def survey(self, *args):
        Counting.passes += 1
        return super().survey(*args)

    def tdot(self, r, subset=None):
        Counting.passes += subset is None
        return super().tdot(r, subset)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_passes_over_the_columns(loss):
    """One to survey them, one for the first dual point, one for every round, and none to polish a proved model."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 300))
    y = X[:, :3] @ [3.0, -3.0, 3.0] + 0.1 * rng.standard_normal(60)
    Counting.passes = 0
    result = best_subset(
        Counting(X), y if loss == "squared" else np.sign(y), 3, loss=loss, gamma=1e-3, method="relaxation",
        options={"fixing": False},
    )  # fmt: skip
    assert result.status is Status.OPTIMAL
    assert Counting.passes == result.trace["relaxation"]["rounds"] + 2
