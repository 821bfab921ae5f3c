"""Branch and bound against enumeration: valid and corrupted proofs, and every way in which a search can end."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from checks import against_enumeration, best_subset, check_certificate, solve
from covering import every_pair
from injecting import OnCall, interrupt
from oracles import best_of, sample_values, support_values
from samples import HARD, LOSS_NAMES, REGIONS, hard, sample, sample_weights, strong_response
from sparsest.core.problem import make_problem
from sparsest.proofs.steps import Branch, Fix, Leaf, RegressionTree, SplitPoint
from sparsest.runtime.events import Bound, Incumbent, Root, Status
from sparsest.runtime.faults import injected
from sparsest.subset.fits.support import fit_support
from subset.tree.growing import grow

losses = pytest.mark.parametrize("loss", LOSS_NAMES)
FORMS = [{"k": 3}, {"l0_penalty": 0.4}, {"k": 2, "l0_penalty": 0.05}]
forms = pytest.mark.parametrize("form", FORMS, ids=str)


@pytest.fixture(scope="module")
def solved():
    """A problem that takes many nodes, and its solution."""
    X, y = hard()
    result = grow(X, y, **HARD, options=REGIONS)
    assert result.status is Status.OPTIMAL and result.n_nodes > 20
    return X, y, result


# Right answers


@losses
def test_enumeration(loss):
    reached = against_enumeration(loss, [(True, True), (False, False)], method="tree", n_jobs=1)
    assert reached[False] == 0, reached


@every_pair(loss=LOSS_NAMES, form=FORMS, gamma=[0.01, 0.3, 10.0], forced=[((), ()), ((6,), (0, 4))])
def test_optimum_is_proved(loss, form, gamma, forced):
    """With 22 rows leaps and bounds is used as well."""
    n, p = 22, 7
    asked = {**form, "include": forced[0], "exclude": forced[1]}
    X, y = sample(loss, n, p, 2)
    optimum, _ = best_of(sample_values(loss, n, p, 2, gamma, True, False), **asked)
    result = grow(X, y, **asked, loss=loss, gamma=gamma)
    assert result.status is Status.OPTIMAL
    assert result.lower_bound <= optimum * (1.0 + 1e-8)
    assert optimum * (1.0 - 1e-8) <= result.objective <= optimum * (1.0 + 1e-4)


@forms
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("by_regions", [True, False])
def test_no_ridge(form, fit_intercept, weighted, by_regions):
    settings = {"gamma": np.inf, "fit_intercept": fit_intercept, "options": REGIONS if by_regions else {}}
    for seed in (3, 4):
        X, y = sample("squared", 30, 9, seed)
        weights = sample_weights(weighted, 30, seed)
        for include, exclude in (((), ()), ((8,), (0,))):
            asked = {**form, "include": include, "exclude": exclude}
            values = sample_values("squared", 30, 9, seed, np.inf, fit_intercept, weighted)
            optimum, _ = best_of(values, **asked)
            result = grow(X, y, **asked, **settings, sample_weight=weights)
            assert result.status is Status.OPTIMAL and result.lower_bound <= optimum * (1.0 + 1e-8)
            assert result.objective == pytest.approx(optimum, rel=1e-4)


@losses
def test_no_ridge_and_more_columns_than_rows_has_no_proof(loss):
    X, y = sample(loss, 10, 14, 5)
    result = grow(X, y, k=3, loss=loss, gamma=np.inf)
    assert result.status is Status.HEURISTIC or result.gap <= 1e-4
    assert result.objective <= solve(X, y, 3, loss=loss, gamma=np.inf).objective * (1.0 + 1e-12)


@losses
@forms
def test_never_worse_than_local_search(loss, form):
    X, y = sample(loss, 40, 12, 0)
    common = {**form, "loss": loss, "gamma": 0.1}
    assert grow(X, y, **common, time_limit=5.0).objective <= solve(X, y, **common).objective * (1.0 + 1e-12)


@losses
@pytest.mark.parametrize("gamma", [0.3, np.inf])
def test_duplicated_and_collinear_columns(loss, gamma):
    X, y = sample(loss, 30, 4, 6, noise=1.5)
    dependent = np.column_stack([X, X[:, 0], X[:, 1] + X[:, 2], -2.0 * X[:, 3]])
    values = support_values(make_problem(dependent, y, 7, loss=loss, gamma=gamma))
    for form in ({"k": 2}, {"k": 4}, {"l0_penalty": 0.5}):
        optimum, _ = best_of(values, **form)
        result = grow(dependent, y, **form, loss=loss, gamma=gamma)
        assert result.lower_bound <= optimum * (1.0 + 1e-7)
        assert optimum * (1.0 - 1e-7) <= result.objective <= optimum * (1.0 + 1e-3)
        assert result.status is Status.OPTIMAL or gamma == np.inf


@losses
@pytest.mark.parametrize("noise", [1e-2, 1e-4])
def test_certificates_hold_where_nearly_all_is_explained(loss, noise):
    """The bound is a small difference of large terms."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((60, 15)) + rng.standard_normal((60, 1))
    signal = X[:, :3].sum(axis=1)
    y = strong_response(loss, signal, noise, rng)
    own = {"epsilon": 0.1 * noise} if "epsilon" in loss else {}
    for gamma in (1.0 / noise, np.inf) if loss == "squared" else (1.0 / noise,):
        result = grow(X, y, k=3, loss=loss, gamma=gamma, **own, time_limit=5.0)
        assert result.support.tolist() == [0, 1, 2]


def test_certificates_hold_far_from_the_origin():
    """A large mean of the response costs digits in the proof, not its validity."""
    X, y = hard(60, 20)
    near, far = (grow(X, y + mean, k=4, gamma=0.1, options=REGIONS) for mean in (0.0, 1e5))
    assert np.array_equal(near.support, far.support)
    assert far.objective == pytest.approx(near.objective, rel=1e-6)


# Threads, storage of the Gram matrix, starts


@pytest.mark.parametrize(
    ("loss", "form"),
    [("squared", {"k": 5}), ("squared", {"l0_penalty": 20.0}), ("logistic", {"k": 3}), ("hinge", {"k": 2})],
    ids=str,
)
def test_number_of_threads_does_not_matter(loss, form):
    X, y = hard(80, 25) if loss == "squared" else sample(loss, 60, 14, 8)
    settings = {**form, "loss": loss, "gamma": 0.1, "options": REGIONS}
    one, two = (grow(X, y, **settings, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.n_nodes == two.n_nodes > 1
    assert np.array_equal(one.support, two.support) and one.lower_bound == two.lower_bound
    assert one.certificate.to_json() == two.certificate.to_json()


def test_leaps_and_regions_agree():
    for seed in range(4):
        X, y = hard(60, 20, seed)
        leaps, regions = (grow(X, y, k=4, gamma=0.5, options=options) for options in ({}, REGIONS))
        assert isinstance(leaps.certificate.proof.steps[-1], RegressionTree)
        assert not any(isinstance(step, RegressionTree) for step in regions.certificate.proof.steps)
        assert regions.objective == pytest.approx(leaps.objective, rel=1e-4)


def test_a_start_is_taken(solved):
    X, y, best = solved
    problem = make_problem(X, y, **HARD)
    for start in (best, best.support.tolist(), [50, 51, 52, 53, 54], []):
        result = grow(X, y, **HARD, start=start, node_limit=1, options=REGIONS)
        started = fit_support(problem, best.support if start is best else np.array(start, dtype=np.intp))
        assert best.lower_bound <= result.objective <= started.primal * (1.0 + 1e-12)
    for start, message in (([99], "column numbers from 0 to 59"), ("abc", "an earlier Result")):
        with pytest.raises(ValueError, match=message):
            best_subset(X, y, **HARD, method="tree", start=start)


# The proof


def test_many_regions_are_proved(solved):
    X, y, result = solved
    certificate = result.certificate
    assert sum(isinstance(step, Branch) for step in certificate.proof.steps) > 5
    assert sum(isinstance(step, Leaf) for step in certificate.proof.steps) == 1 + sum(
        isinstance(step, Branch) for step in certificate.proof.steps
    )
    assert result.objective <= solve(X, y, **HARD).objective


def test_a_proof_has_no_points_that_it_does_not_need(solved):
    certificate = solved[2].certificate
    needed = {step.point for step in certificate.proof.steps if isinstance(step, (Leaf, Fix))}
    assert needed == set(range(len(certificate.proof.points)))
    assert {point.split for point in certificate.proof.points if isinstance(point, SplitPoint)} == {0}


def larger_split(certificate):
    """The same proof with a diagonal that makes the remainder indefinite."""
    splits = tuple(split._replace(delta=1.5 * split.delta) for split in certificate.proof.splits)
    return certificate.proof._replace(splits=splits)


def without_a_leaf(certificate):
    at = next(i for i, step in enumerate(certificate.proof.steps) if isinstance(step, Leaf))
    return certificate.proof._replace(steps=[*certificate.proof.steps[:at], *certificate.proof.steps[at + 1 :]])


def slightly_larger_split(certificate):
    """A diagonal slightly above the limit, by less than a tolerance relative to the columns would detect."""
    splits = tuple(split._replace(delta=(1.0 + 1e-6) * split.delta) for split in certificate.proof.splits)
    return certificate.proof._replace(splits=splits)


def boast(certificate):
    """The same proof with a bound that is slightly too high."""
    return replace(certificate, lower_bound=certificate.lower_bound * (1.0 + 1e-3))


CORRUPTIONS = {
    "a slightly larger split": (slightly_larger_split, "does not leave a positive semidefinite matrix"),
    "a removed leaf": (without_a_leaf, "region|goes on|not free|bound claimed"),
    "a larger split": (larger_split, "larger than that of the matrix|does not leave a positive semidefinite matrix"),
    "no splits": (lambda c: c.proof._replace(splits=()), "refers to split"),
}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_a_corrupted_proof_is_found(solved, name):
    X, y, result = solved
    corrupt, message = CORRUPTIONS[name]
    verdict = replace(result.certificate, proof=corrupt(result.certificate)).verify(X, y)
    assert not verdict
    assert any(re.search(message, reason) for reason in verdict.reasons), verdict.reasons
    assert any("the bound claimed is" in reason for reason in boast(result.certificate).verify(X, y).reasons)


def test_the_proof_is_for_these_data_only(solved):
    X, y, result = solved
    assert result.certificate.verify(X, y)
    assert not result.certificate.verify(X, y + np.linspace(0.0, 1e-3, y.size))
    assert not result.certificate.verify(X[:, ::-1], y)


def test_proof_can_be_switched_off(solved):
    X, y, known = solved
    result = best_subset(X, y, **HARD, method="tree", n_jobs=1, options={"proof": False})
    assert result.certificate is None and "switched off" in result.trace["proof"]
    assert result.status is Status.HEURISTIC and result.lower_bound == 0.0
    assert result.objective == pytest.approx(known.objective, rel=1e-4)
    assert known.trace["proof"] == "logged"


# Whatever ends the search


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        ({"time_limit": 1e-9}, Status.TIME_LIMIT),
        ({"node_limit": 1}, Status.NODE_LIMIT),
        ({"max_memory": 1.0}, Status.NODE_LIMIT),
        ({"max_memory": 3e4}, Status.NODE_LIMIT),
        ({"callback": lambda event: True}, Status.INTERRUPTED),
        ({"callback": lambda event: isinstance(event, Root)}, Status.INTERRUPTED),
    ],
    ids=["no time", "one node", "no memory", "little memory", "at once", "after the root"],
)
def test_limits_leave_an_honest_result(solved, limits, status):
    X, y, known = solved
    result = best_subset(X, y, **HARD, method="tree", n_jobs=1, options=REGIONS, **limits)
    check_certificate(result, X, y)
    assert result.status is status
    assert result.lower_bound <= known.objective <= result.objective * (1.0 + 1e-4)
    assert result.gap > 1e-4


@pytest.mark.parametrize("looks", [1, 4, 12])
def test_time_may_run_out_at_any_moment(solved, looks):
    X, y, known = solved
    left = iter(range(looks))
    with injected("clock", lambda: next(left, None) is None):
        result = best_subset(X, y, **HARD, method="tree", n_jobs=1, options=REGIONS)
    check_certificate(result, X, y)
    assert result.status is Status.TIME_LIMIT
    assert result.lower_bound <= known.objective <= result.objective * (1.0 + 1e-4)


class InterruptAt:
    """A callback that raises KeyboardInterrupt at the given event, once."""

    def __init__(self, kind, count=1):
        self.kind, self.left = kind, count

    def __call__(self, event):
        if isinstance(event, self.kind):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt


@pytest.mark.parametrize("kind", [Incumbent, Root])
def test_keyboard_interrupt_gives_a_result(solved, kind):
    X, y, known = solved
    result = best_subset(X, y, **HARD, method="tree", n_jobs=1, options=REGIONS, callback=InterruptAt(kind))
    check_certificate(result, X, y)
    assert result.status is Status.INTERRUPTED
    assert result.lower_bound <= known.objective


def test_keyboard_interrupt_while_the_result_is_assembled(solved):
    X, y, known = solved
    fault = OnCall(1, interrupt)
    with injected("result", fault):
        result = grow(X, y, **HARD)
    assert fault.calls == 2
    assert result.status is Status.OPTIMAL and result.objective == pytest.approx(known.objective, rel=1e-4)


def test_events(solved):
    X, y, known = solved
    events = []
    result = grow(X, y, **HARD, options=REGIONS, callback=events.append)
    assert result.objective == known.objective
    bounds = [event for event in events if isinstance(event, Bound)]
    for earlier, later in pairwise(bounds):
        assert earlier.lower_bound <= later.lower_bound * (1.0 + 1e-9) and earlier.n_nodes < later.n_nodes
    assert sum(isinstance(event, Root) for event in events) == 1


@losses
def test_arrays_are_read_only(loss):
    X, y = sample(loss, 22, 9, 9)
    weights = sample_weights(True, 22)
    copies = [array.copy() for array in (X, y, weights)]
    for array in (X, y, weights):
        array.flags.writeable = False
    grow(X, y, k=3, loss=loss, gamma=0.1, sample_weight=weights)
    assert all(np.array_equal(array, copy) for array, copy in zip((X, y, weights), copies, strict=True))
