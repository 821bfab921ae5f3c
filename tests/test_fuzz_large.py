"""A few dozen instances of the fuzz of large problems, and tests of the fuzz itself."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import fuzz
import fuzz_large
import sparsest
from fuzz_instances import LOSSES
from fuzz_large_instances import METHODS, TYPES, USES, LargeInstance, make_large_instance
from fuzz_large_rival import Measure, rivals
from fuzz_oracle import Oracle, Question, objective_of
from sparsest import best_subset
from sparsest.runtime.events import Status

# Small enough for a suite, and large enough not to be what a short check was made for.
ENTRIES, SECONDS = (3e5, 4e5), 0.3
OTHER_USES = [(use, seed) for use in USES if use != "single" for seed in (0, 1)]


def failures_of(instance):
    """All failures except those of time: a slow machine is not a failure of the library."""
    outcome = fuzz_large.judge_instance(instance)
    return [failure for failure in outcome.failures if failure[0] != "late"], fuzz.line(outcome)


@pytest.mark.fuzz
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loss", LOSSES)
def test_no_call_fails(loss, method):
    seed = 100 * LOSSES.index(loss) + METHODS.index(method)
    failures, line = failures_of(make_large_instance(seed, loss, method, "single", ENTRIES, SECONDS))
    assert not failures, line


@pytest.mark.fuzz
@pytest.mark.parametrize(("use", "seed"), OTHER_USES)
def test_no_other_use_fails(use, seed):
    loss = ("squared", "poisson")[seed]
    failures, line = failures_of(make_large_instance(seed, loss, None, use, ENTRIES, SECONDS))
    assert not failures, line


def plain(loss="squared", y_mean=0.0, n=600, p=600, **settings):
    """An instance without hazards, and with the settings of a user who gives none."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    y = y_mean + X[:, :2].sum(axis=1) + 2.0 * rng.standard_normal(n)
    problem = {"loss": loss, "k": 2, "fit_intercept": True, "standardize": True, "include": (), "exclude": ()}
    problem |= {"gamma": "auto", **settings}
    search = {"method": "tree", "gap_tol": 1e-4, "time_limit": 10.0}
    return LargeInstance(0, X, y, {}, problem, search, None, "single", {}, (0, 1), ())


@pytest.mark.fuzz
@pytest.mark.parametrize("y_mean", [10.0, 100.0])
@pytest.mark.parametrize("loss", ["huber", "squared_epsilon_insensitive"])
def test_a_response_with_a_mean_where_losses_are_linear_or_far_from_their_zone(loss, y_mean):
    failures, line = failures_of(plain(loss, y_mean))
    assert not failures, line


@pytest.mark.fuzz
@pytest.mark.parametrize("loss", ["huber", "squared_epsilon_insensitive", "poisson"])
def test_columns_of_mixed_scales_as_they_are(loss):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600, 600))
    signal = X[:, :2].sum(axis=1)
    y = signal + rng.standard_normal(600)
    if loss == "poisson":
        y = rng.poisson(np.exp(0.5 * signal)).astype(float)
    X = X * 10.0 ** rng.uniform(-8, 8, 600)
    search = {"method": "cuts", "gap_tol": 1e-4, "time_limit": 10.0, "node_limit": 1}
    failures, line = failures_of(replace(plain(loss, k=5, standardize=False, gamma=0.02), X=X, y=y, search=search))
    assert not failures, line


def kinds(instance, result):
    return {kind for kind, _ in fuzz_large.judged(instance, result, instance.y)}


def test_false_claims_are_found():
    instance = plain(n=100, p=40)
    # One dual point proves less than what is raised to.
    instance = replace(instance, search={**instance.search, "method": "local"})
    settings = {**instance.problem, **instance.search}
    result = best_subset(instance.X, instance.y, **settings)
    assert not kinds(instance, result)
    raised = result.objective * (1.0 - 1e-9)
    claim = replace(result.certificate, lower_bound=raised)
    assert "certificate refused" in kinds(instance, replace(result, certificate=claim, lower_bound=raised))
    assert "lower bound" in kinds(instance, replace(result, lower_bound=np.nextafter(result.lower_bound, 0.0)))
    assert result.status is not Status.OPTIMAL
    assert "status" in kinds(instance, replace(result, status=Status.OPTIMAL))
    assert "model" in kinds(instance, replace(result, coef=1.01 * result.coef))
    assert "objective" in kinds(instance, replace(result, objective=1.01 * result.objective))
    assert "support" in kinds(instance, replace(result, coef=result.coef + 1.0))
    assert "no certificate" in kinds(instance, replace(result, certificate=None))
    forced = replace(instance, problem={**instance.problem, "exclude": (int(result.support[0]),)})
    assert "forced features" in kinds(forced, result)
    boxed = replace(instance, problem={**instance.problem, "max_coef": 1e-3})
    assert {"box", "certificate refused"} <= kinds(boxed, result)
    side = "lower" if result.coef.min() < 0.0 else "upper"
    signed = replace(instance, problem={**instance.problem, side: 0.0})
    assert {"signs", "certificate refused"} <= kinds(signed, result)


def test_a_bound_above_a_planted_model_is_found():
    instance = plain(n=100, p=40, exclude=(0,))
    poor = best_subset(instance.X, instance.y, **{**instance.problem, **instance.search})
    free = replace(instance, problem={**instance.problem, "exclude": ()})
    assert "bound above a model" in kinds(free, poor)


def test_another_response_than_that_of_the_claim_is_found():
    instance = plain(n=100, p=40)
    result = best_subset(instance.X, instance.y, **{**instance.problem, **instance.search})
    other = replace(instance, y=instance.y[::-1].copy())
    assert {"certificate refused", "model"} <= kinds(other, result)


def test_warnings_and_exceptions_are_found(monkeypatch):
    def warn(*_, **__):
        warnings.warn("overflow", RuntimeWarning, stacklevel=1)
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(sparsest, "best_subset", warn, raising=False)
    outcome = fuzz_large.judge_instance(plain(n=20, p=10))
    assert {kind for kind, _ in outcome.failures} == {"warning", "exception"}


def test_a_call_that_ignores_its_limit_is_found(monkeypatch):
    def burn(*_, **__):
        end = time.process_time() + 1.2 * fuzz_large.ALLOWANCE
        while time.process_time() < end:
            sum(range(1000))
        return "done"

    instance = plain(n=20, p=10)
    calls = fuzz_large.Calls(replace(instance, search={**instance.search, "time_limit": 1e-3}))
    monkeypatch.setattr(sparsest, "best_subset", burn, raising=False)
    assert calls.best_subset(instance.y) == "done"
    assert dict(calls.failures).keys() == {"late"}


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_rivals_cost_what_the_oracle_says(loss, fit_intercept):
    drawn = make_large_instance(3, loss, "tree", "single", (200, 300))
    n, gamma = drawn.y.size, 3.0 / drawn.y.size
    problem = {"loss": loss, "include": (), "exclude": (), "fit_intercept": fit_intercept, "standardize": True, "k": 2}
    X = np.random.default_rng(3).standard_normal((n, 9))
    instance = replace(drawn, problem=problem, rows={}, X=X, planted=(2, 5))
    measure = Measure(instance, instance.y, gamma)
    y = measure.y.astype(float)
    settings = {"k": 2, "parameter": float(measure.parameter), "standardize": True, "fit_intercept": fit_intercept}
    question = Question(X, y, np.ones(n), loss, gamma, **settings)
    oracle = Oracle(question)
    for support in rivals(measure, np.array([0, 1])):
        below, above = oracle.bracket(support)
        fitted = measure.fitted(support)
        assert fitted >= below * (1.0 - 1e-12)
        # A general method for smooth functions stops early where there are kinks.
        assert fitted <= above * (1.0 + (0.2 if loss in ("hinge", "quantile", "epsilon_insensitive") else 1e-4))
        coef = np.zeros(X.shape[1])
        coef[list(support)] = 0.1
        value, rounding = measure.objective(support, coef[list(support)], 0.2 if fit_intercept else 0.0)
        expected, _ = objective_of(question, support, coef, 0.2 if fit_intercept else 0.0)
        assert value == pytest.approx(expected, rel=1e-12, abs=rounding)


def test_instances_are_the_same_for_the_same_seed_and_cover_what_they_should():
    once, again = (make_large_instance(5) for _ in range(2))
    assert once.problem == again.problem and once.search == again.search and np.array_equal(once.y, again.y)
    instances = [make_large_instance(seed, entries=(3e3, 1e4)) for seed in range(400)]
    assert {instance.problem["loss"] for instance in instances} == set(LOSSES)
    assert {instance.search["method"] for instance in instances} == set(METHODS)
    assert {instance.use for instance in instances} == set(USES)
    assert {instance.search.get("engine") for instance in instances} == {None, "scip"}
    traits = {trait for instance in instances for trait in instance.traits}
    wanted = {
        *TYPES, "C", "Fortran", "CSC", "zeros", "equal columns", "near columns", "means", "scales", "constant", "box",
        "signs", "forced", "offset", "exposure", "early limit", "node limit", "interrupted", "y offset", "y mean",
        "y scaled", "weights some zero", "weights extreme",
    }  # fmt: skip
    assert wanted <= traits
    assert {"k", "l0_penalty"} <= {name for instance in instances for name in instance.problem}
    assert {instance.problem["gamma"] for instance in instances} >= {"auto", float("inf")}


def test_the_size_of_instances():
    for seed in range(6):
        X = make_large_instance(seed).X
        assert 3e5 <= X.shape[0] * X.shape[1] <= 1.05e7
        assert sp.issparse(X) or X.dtype.name in TYPES
