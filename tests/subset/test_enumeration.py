"""Enumeration of small problems: the best of all supports, with a proof that the checker accepts."""

from itertools import count

import numpy as np
import pytest

from oracles import best_of, sample_values, squared_values
from samples import LOSS_NAMES, sample
from sparsest.core.problem import make_problem
from sparsest.proofs.check import prove
from sparsest.proofs.steps import Branch, Leaf, Regression
from sparsest.subset.claims import statement_of
from sparsest.subset.enumeration import enumerate_supports, is_tiny

N, P = 14, 6
FORMS = [{"k": 2}, {"k": 3, "include": [4], "exclude": [1]}, {"k": 6}, {"l0_penalty": 0.4}, {"k": 2, "l0_penalty": 0.1}]


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_the_best_of_all_supports_is_found_and_proved(loss, form):
    X, y = sample(loss, N, P)
    problem = make_problem(X, y, **form, loss=loss, gamma=0.3)
    optimum, _ = best_of(sample_values(loss, N, P, 0, 0.3, True, False), **form)
    found = enumerate_supports(problem, lambda: False)
    assert found.fit.primal == pytest.approx(optimum, rel=1e-7)
    assert found.bound <= optimum * (1.0 + 1e-9) and found.bound == pytest.approx(optimum, rel=1e-6)
    proved = prove(problem.data.evidence.data, statement_of(problem), found.proof)
    assert not proved.complaints and proved.bound == pytest.approx(found.bound, rel=1e-9)


def test_without_a_ridge_least_squares_prove_it():
    X, y = sample("squared", N, P)
    problem = make_problem(X, y, 2)
    optimum, _ = best_of(squared_values(X, y, np.inf), 2)
    found = enumerate_supports(problem, lambda: False)
    assert found.bound == pytest.approx(optimum, rel=1e-9) and found.fit.primal == pytest.approx(optimum, rel=1e-9)
    assert {type(step) for step in found.proof.steps} == {Branch, Regression} and not found.proof.points


def test_without_a_price_only_the_largest_supports_are_tried():
    """15 pairs of 6 features; one support if all are allowed; every subset if features have a price."""
    X, y = sample("logistic", N, P)
    for form, leaves in (({"k": 2}, 15), ({"k": 6}, 1), ({"k": 0}, 1), ({"l0_penalty": 0.1}, 64)):
        found = enumerate_supports(make_problem(X, y, **form, loss="logistic", gamma=0.3), lambda: False)
        assert sum(isinstance(step, Leaf) for step in found.proof.steps) == leaves
        assert sum(isinstance(step, Branch) for step in found.proof.steps) == leaves - 1


def test_time_may_run_out():
    X, y = sample("squared", N, P)
    looks = count()
    assert enumerate_supports(make_problem(X, y, 2, gamma=0.3), lambda: next(looks) == 7) is None
    assert next(looks) == 8


@pytest.mark.parametrize(
    ("p", "form", "tiny"),
    [
        (12, {"k": 12}, True),
        (12, {"k": 6}, True),
        (13, {"k": 1}, False),
        (13, {"k": 1, "exclude": [0]}, True),
        (13, {"k": 2, "include": [0]}, True),
        (12, {"l0_penalty": 0.1}, False),
        (10, {"l0_penalty": 0.1}, True),
        (12, {"k": 5, "l0_penalty": 0.1}, True),
        (12, {"k": 6, "l0_penalty": 0.1}, False),
    ],
    ids=str,
)
def test_limits_of_enumeration(p, form, tiny):
    """At most 2000 supports of at most 12 free features."""
    X, y = sample("squared", 20, p)
    assert is_tiny(make_problem(X, y, **form, gamma=0.3)) is tiny
