"""The method "relaxation": valid bounds and statuses against enumeration, settings, limits and events."""

import numpy as np
import pytest

from checks import against_enumeration, best_subset, check_certificate
from covering import every_pair
from oracles import best_of, sample_values
from samples import LOSS_NAMES, sample, strong_response
from sparsest.core.data import make_data
from sparsest.core.losses import LOSSES
from sparsest.runtime.events import Incumbent, Root, Status
from subset.relaxation.relaxing import relax

N, P = 20, 7
losses = pytest.mark.parametrize("loss", LOSS_NAMES)
FORMS = [{"k": 2}, {"l0_penalty": 0.4}, {"k": 2, "l0_penalty": 0.05}]


@losses
def test_enumeration(loss):
    reached = against_enumeration(loss, [(True, True), (False, False)], method="relaxation")
    assert reached[True] >= 0.9 * reached.total(), reached


@every_pair(loss=LOSS_NAMES, gamma=[0.01, 0.3, 10.0], form=FORMS)
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
    """With strong signals the relaxation is tight: the gains are separated and the gap is closed."""
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


def test_polishing_can_be_switched_off():
    """Without polishing the model is on the rounded support; polishing never makes it worse."""
    better = 0
    for seed in range(8):
        X, y = sample("squared", 40, 20, seed, noise=3.0)
        settings = {"k": 6, "gamma": 3.0, "fixing": False}
        polished, _ = relax(X, y, **settings)
        rounded, told = relax(X, y, **settings, polish=False)
        # The six largest indicators.
        assert set(rounded.support) <= set(np.flatnonzero(told["s"])) or (told["s"] > 0).sum() < 6
        assert polished.objective <= rounded.objective * (1.0 + 1e-12)
        better += polished.objective < rounded.objective * (1.0 - 1e-6)
    assert better


@losses
def test_no_ridge_is_an_error(loss):
    X, y = sample(loss, N, P, 0)
    with pytest.raises(
        ValueError, match="needs a ridge, or limits on both sides of every coefficient: give a finite gamma"
    ):
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
