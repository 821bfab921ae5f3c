"""The sub-gradient method: valid bounds at every step for every step rule, and its parts."""

from dataclasses import fields

import numpy as np
import pytest
from scipy.optimize import minimize

from checks import against_enumeration, check_certificate, solve
from covering import every_pair
from oracles import best_of, enumerate_best, sample_values
from samples import LOSS_NAMES, sample, sample_weights
from sparsest.core.losses import LOSSES
from sparsest.core.problem import make_problem
from sparsest.runtime.events import Bound, Status
from sparsest.subset.subgradient import STEP_RULES, Subgradient, project, starting_point

N, P, GAMMA = 20, 7, 0.3
FORMS = [{"k": 2}, {"l0_penalty": 0.4}, {"k": 2, "l0_penalty": 0.05}]
losses = pytest.mark.parametrize("loss", LOSS_NAMES)
forms = pytest.mark.parametrize("form", FORMS, ids=str)
intercepts = pytest.mark.parametrize("fit_intercept", [True, False])


OPTIONS = {field.name for field in fields(Subgradient)} - {"time_limit", "gap_tol"}


def descend(X, y, **settings):
    """Solve, and return the result and the bounds of all steps."""
    options = {name: settings.pop(name) for name in OPTIONS & settings.keys()}
    result = solve(X, y, method="subgradient", options=options, **settings)
    trace = result.trace["subgradient"]
    return result, np.array(trace["lower"]), np.array(trace["upper"])


@every_pair(loss=LOSS_NAMES, form=FORMS, rule=STEP_RULES)
def test_bounds_hold_at_every_step(loss, form, rule):
    for seed, fit_intercept, weighted in ((0, True, True), (1, False, False)):
        X, y = sample(loss, N, P, seed)
        weights = sample_weights(weighted, N, seed)
        optimum, _ = best_of(sample_values(loss, N, P, seed, GAMMA, fit_intercept, weighted), **form)
        common = {"loss": loss, "gamma": GAMMA, "fit_intercept": fit_intercept, "sample_weight": weights}
        result, lower, upper = descend(X, y, **form, **common, step=rule, max_iterations=30, gap_tol=1e-6)
        assert (lower <= optimum * (1.0 + 1e-8)).all() and (upper >= optimum * (1.0 - 1e-8)).all()
        assert (np.diff(lower) >= 0).all() and (np.diff(upper) <= 0).all()
        assert lower.size == upper.size == result.trace["subgradient"]["iterations"]
        assert upper[-1] == pytest.approx(result.objective, rel=1e-9)
        assert lower[-1] == pytest.approx(result.lower_bound, rel=1e-9)
        assert result.trace["subgradient"]["tight"] == (result.status is Status.OPTIMAL)


@losses
def test_enumeration(loss):
    reached = against_enumeration(loss, method="subgradient", options={"max_iterations": 60})
    assert reached[True] >= 0.8 * reached.total(), reached


@losses
@forms
def test_many_steps_improve_the_bound(loss, form):
    X, y = sample(loss, N, P, 2)
    _, lower, _ = descend(X, y, **form, loss=loss, gamma=GAMMA, gap_tol=0.0, max_iterations=60)
    assert lower[-1] > lower[0]


@losses
@pytest.mark.parametrize("price", [0.1, 2.0])
def test_price_of_the_features_is_in_both_bounds(loss, price):
    """All features are forced in, so their price shifts both bounds by the same amount at every step."""
    X, y = sample(loss, N, P, 3)
    settings = {"include": range(P), "loss": loss, "gamma": GAMMA, "max_iterations": 15, "gap_tol": 0.0}
    _, free_lower, free_upper = descend(X, y, l0_penalty=0.0, **settings)
    _, lower, upper = descend(X, y, l0_penalty=price, **settings)
    np.testing.assert_allclose(upper, free_upper + P * price, rtol=1e-9)
    np.testing.assert_allclose(lower, free_lower + P * price, rtol=1e-3)


# The pieces of a step


@every_pair(loss=LOSS_NAMES, fit_intercept=[True, False], weighted=[False, True])
def test_projection_is_the_nearest_feasible_point(loss, fit_intercept, weighted):
    n = 6
    X, y = sample(loss, n, 3, 4)
    weights = sample_weights(weighted, n)
    problem = make_problem(X, y, 1, loss=loss, gamma=1.0, fit_intercept=fit_intercept, sample_weight=weights)
    omega = problem.weights
    lowest, highest = (omega * problem.loss.project(problem.y, np.full(n, side)) for side in (-1e9, 1e9))
    rng = np.random.default_rng(5)
    for size in (0.1, 1.0, 5.0):
        alpha = size * rng.standard_normal(n)
        found = project(problem, alpha)
        assert (found >= lowest).all() and (found <= highest).all()
        assert not fit_intercept or abs(found.sum()) <= 1e-12 * size
        np.testing.assert_allclose(project(problem, found), found, atol=1e-13 * size)
        expected = minimize(
            lambda x, a=alpha: 0.5 * float((x - a) @ (x - a)),
            np.zeros(n),
            jac=lambda x, a=alpha: x - a,
            bounds=list(zip(lowest, highest, strict=True)),
            constraints=[{"type": "eq", "fun": np.sum, "jac": np.ones_like}] if fit_intercept else [],
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        ).x
        np.testing.assert_allclose(found, expected, atol=2e-6 * size)


@losses
@intercepts
def test_starting_point(loss, fit_intercept):
    X, y = sample(loss, N, P, 6)
    weights = sample_weights(True, N)
    given = -0.5 * y if LOSSES[loss].classification else -y
    plain = make_problem(X, y, 1, loss=loss, gamma=1.0, fit_intercept=False)
    if LOSSES[loss].log_link:
        # The derivative at u = 0; with an intercept, that of the model without features, which needs no shift.
        np.testing.assert_allclose(starting_point(plain), plain.loss.derivative(y, 0.0), rtol=1e-14)
        problem = make_problem(X, y, 1, loss=loss, gamma=1.0, sample_weight=weights)
        null = problem.data.intercept_for(np.zeros(N))
        np.testing.assert_allclose(starting_point(problem), weights * problem.loss.derivative(y, null), atol=1e-9)
        return
    np.testing.assert_allclose(starting_point(plain), plain.loss.project(y, given), rtol=1e-14)
    problem = make_problem(X, y, 1, loss=loss, gamma=1.0, fit_intercept=fit_intercept, sample_weight=weights)
    alpha = starting_point(problem)
    assert np.isfinite(problem.conjugate_sum(alpha)) and (not fit_intercept or abs(alpha.sum()) < 1e-12 * N)
    # At the nearest point all entries inside the domain have the same shift; those on the boundary are consistent.
    lowest, highest = (weights * problem.loss.project(y, np.full(N, side)) for side in (-1e9, 1e9))
    inside, shift = (alpha > lowest + 1e-9) & (alpha < highest - 1e-9), weights * given - alpha
    common = shift[inside].mean() if fit_intercept else 0.0
    np.testing.assert_allclose(shift[inside], common, atol=1e-9)
    assert (shift[alpha <= lowest + 1e-9] <= common + 1e-9).all()
    assert (shift[alpha >= highest - 1e-9] >= common - 1e-9).all()


@losses
@forms
def test_ties_never_let_more_features_in(loss, form):
    """With three copies of every column, groups of gains are equal at every step."""
    X, y = sample(loss, 25, 2, 7)
    copies = np.tile(X, 3)
    optimum, _ = enumerate_best(copies, y, **form, loss=loss, gamma=GAMMA)
    result, lower, upper = descend(copies, y, **form, loss=loss, gamma=GAMMA, max_iterations=60)
    assert result.support.size <= form.get("k", 6)
    assert (lower <= optimum * (1.0 + 1e-8)).all() and (upper >= optimum * (1.0 - 1e-8)).all()


# When it stops


def hard(**settings):
    """A problem whose relaxation is not tight, so that only the settings stop the method."""
    X, y = sample("squared", N, P, 8)
    return descend(X, y, k=3, gamma=10.0, **settings)


@pytest.mark.parametrize("most", [1, 5, 30])
def test_stops_at_the_largest_number_of_steps(most):
    result, lower, _ = hard(max_iterations=most)
    # The last entry is that of the averaged dual point.
    assert lower.size == most + 1 and result.status is Status.HEURISTIC


def test_stops_when_patience_ends():
    _, lower, upper = hard(patience=4)
    assert lower.size < 201
    last = np.flatnonzero(np.diff(upper[:-1]))[-1] + 1 if (np.diff(upper[:-1]) < 0).any() else 0
    assert lower.size == last + 4 + 2


def test_stops_at_the_gap():
    rng = np.random.default_rng(9)
    X = rng.standard_normal((100, 5))
    y = X[:, 0] - X[:, 1] + 0.3 * rng.standard_normal(100)
    loose, few, _ = descend(X, y, k=2, gamma=0.05, gap_tol=0.3)
    tight, many, _ = descend(X, y, k=2, gamma=0.05, gap_tol=0.12)
    assert loose.status is tight.status is Status.OPTIMAL
    assert few.size < many.size < 201


def test_restarts_go_back_to_the_best_point():
    """Steps that are too long diverge from the optimum; restarts lead to a better bound."""
    settings = {"step": "diminishing", "step_size": 0.1, "max_iterations": 200}
    _, plain, _ = hard(**settings)
    _, restarted, _ = hard(**settings, restart_after=3)
    assert restarted[-1] > 10.0 * plain[-1]


@pytest.mark.parametrize("rule", ["constant", "diminishing", "square_root"])
def test_steps_that_diverge_do_no_harm(rule):
    result, lower, _ = hard(step=rule, step_size=1e9, max_iterations=100)
    assert np.isfinite(lower).all() and np.isfinite(result.objective)


@pytest.mark.parametrize(
    ("limits", "status"),
    [({"time_limit": 1e-9}, Status.TIME_LIMIT), ({"callback": lambda event: True}, Status.INTERRUPTED)],
    ids=["time", "callback"],
)
def test_limits_leave_an_honest_result(limits, status):
    result, lower, _ = hard(**limits)
    assert result.status is status and lower.size <= 2


def test_events_follow_the_bounds():
    events = []
    _, lower, upper = hard(max_iterations=20, callback=events.append)
    bounds = [event for event in events if isinstance(event, Bound)]
    assert [event.lower_bound for event in bounds] == lower.tolist()
    assert [event.objective for event in bounds] == upper.tolist()


def test_a_start_is_taken():
    X, y = sample("squared", N, P, 8)
    good = solve(X, y, 3, gamma=10.0)
    _, _, upper = descend(X, y, k=3, gamma=10.0, start=good, max_iterations=5)
    assert upper[0] <= good.objective * (1.0 + 1e-12)


@losses
def test_arrays_are_read_only(loss):
    X, y = sample(loss, N, P, 10)
    weights = sample_weights(True, N)
    copies = [array.copy() for array in (X, y, weights)]
    for array in (X, y, weights):
        array.flags.writeable = False
    for form in FORMS:
        descend(X, y, **form, loss=loss, gamma=GAMMA, sample_weight=weights, max_iterations=10)
    assert all(np.array_equal(array, copy) for array, copy in zip((X, y, weights), copies, strict=True))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step": "magic"}, f"unknown step 'magic'; choose one of {', '.join(STEP_RULES)}"),
        ({"max_iterations": 0}, "max_iterations must be a whole number >= 1, got 0"),
        (
            {"gamma": np.inf},
            "needs a ridge, or limits on both sides of every coefficient: give a finite gamma or max_coef",
        ),
    ],
    ids=str,
)
def test_bad_settings(settings, message):
    X, y = sample("squared", N, P)
    with pytest.raises(ValueError, match=message):
        descend(X, y, k=2, **{"gamma": 1.0, **settings})


def test_certificate_is_one_dual_point():
    result, _, _ = hard()
    X, y = sample("squared", N, P, 8)
    check_certificate(result, X, y)
    assert len(result.certificate.proof.points) == len(result.certificate.proof.steps) == 1


@losses
def test_starts_from_an_earlier_dual_point(loss):
    """From its own best point the bound cannot get worse; from that of another k and γ it is valid and soon as good."""
    X, y = sample(loss, 40, 8, 2)
    first = make_problem(X, y, 3, loss=loss, gamma=0.3)
    result = Subgradient().solve(first)
    again = Subgradient(max_iterations=1).solve(first, result)
    assert again.lower_bound >= result.lower_bound - 1e-6 * abs(result.objective)
    other = make_problem(X, y, 4, loss=loss, gamma=0.5)
    warm, cold = (Subgradient(max_iterations=5).solve(other, start) for start in (result, None))
    assert warm.lower_bound >= cold.lower_bound
    assert warm.lower_bound <= enumerate_best(X, y, 4, loss=loss, gamma=0.5)[0] * (1.0 + 1e-8)
