"""Results: OPTIMAL exactly where the certified gap is, other proofs where the first is not enough, and starts."""

import numpy as np
import pytest

from checks import best_subset, check_certificate
from samples import LOSS_NAMES, sample
from sparsest.core.problem import make_problem
from sparsest.runtime.clock import Clock
from sparsest.runtime.events import Done, Status
from sparsest.subset.claims import single_leaf
from sparsest.subset.dual import best_bound
from sparsest.subset.enumeration import enumerate_supports
from sparsest.subset.fits.support import fit_support
from sparsest.subset.results import make_result, start_support

N, P = 14, 6


def put_together(loss="squared", support=(0, 1, 2), boast=0.0, gap_tol=1e-4, proof=True, events=None, **further):
    """A result of the model on a support, proved by its own dual point."""
    X, y = sample(loss, N, P)
    problem = make_problem(X, y, 3, loss=loss, gamma=0.3, standardize=True)
    fit = fit_support(problem, np.array(support))
    bound = best_bound(problem, fit.alpha, problem.root)
    clock = Clock(60.0, None if events is None else events.append)
    claimed = single_leaf(bound.alpha) if proof else None
    settings = {"clock": clock, "gap_tol": gap_tol, "otherwise": Status.NODE_LIMIT, **further}
    return make_result(problem, fit, claimed, bound.value + boast, **settings), problem, X, y


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_the_parts_fit_together(loss):
    """The model is for the data as given, and its bound is what the certificate proves."""
    events = []
    result, problem, X, y = put_together(loss, events=events)
    check_certificate(result, X, y)
    margin, fit = X @ result.coef + result.intercept, fit_support(problem, np.array([0, 1, 2]))
    np.testing.assert_allclose(
        margin, problem.design.dot(fit.w, fit.support) + fit.b + problem.data.y_offset, atol=1e-9
    )
    assert result.support.tolist() == [0, 1, 2] and not result.coef[3:].any()
    assert isinstance(events[-1], Done) and events[-1].objective == result.objective
    assert events[-1].status is result.status and events[-1].lower_bound == result.lower_bound


def test_only_the_certified_gap_makes_a_model_optimal():
    result, *_ = put_together()
    assert result.status is Status.NODE_LIMIT and result.gap > 1e-4
    enough, *_ = put_together(gap_tol=result.gap * (1.0 + 1e-9))
    assert enough.status is Status.OPTIMAL
    too_little, *_ = put_together(gap_tol=result.gap * (1.0 - 1e-9))
    assert too_little.status is Status.NODE_LIMIT


def test_a_bound_that_its_proof_does_not_reach_is_not_claimed():
    honest, _, X, y = put_together()
    boasting, *_ = put_together(boast=0.5 * honest.objective)
    assert boasting.lower_bound <= honest.lower_bound * (1.0 + 1e-9)
    check_certificate(boasting, X, y)


def test_without_a_proof_nothing_is_claimed():
    result, *_ = put_together(proof=False, gap_tol=10.0)
    assert result.certificate is None and result.statement.k == 3
    assert result.lower_bound == 0.0 and result.status is Status.NODE_LIMIT


def test_another_proof_is_asked_for_where_the_first_is_not_enough():
    asked = []

    def fallback(bound):
        asked.append(bound)
        return enumerate_supports(put_together()[1], lambda: False)

    short, _, X, y = put_together(support=(3, 4, 5))
    result, *_ = put_together(support=(3, 4, 5), fallback=fallback)
    assert len(asked) == 1 and asked[0] == pytest.approx(short.lower_bound, rel=1e-9)
    assert result.status is Status.OPTIMAL and result.objective < short.objective
    check_certificate(result, X, y)
    put_together(gap_tol=0.999, fallback=fallback)
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (None, None),
        ([], [5]),
        ([0, 2], [0, 2, 5]),
        ([2, 0, 5, 2], [0, 2, 5]),
        ([0, 1, 2, 3], [0, 2, 5]),
        ([1], [5]),
    ],
    ids=str,
)
def test_starts_are_made_admissible(start, expected):
    """With the features that are forced in, without those forced out, and with no more than are allowed."""
    problem = make_problem(*sample("squared", N, P), 3, gamma=0.3, include=[5], exclude=[1])
    found = start_support(start, problem)
    assert found is expected is None or found.tolist() == expected


def test_earlier_results_are_starts():
    X, y = sample("squared", N, P)
    earlier = best_subset(X, y, 2, gamma=0.3, method="local")
    problem = make_problem(X, y, 3, gamma=0.3)
    assert np.array_equal(start_support(earlier, problem), earlier.support)
    for bad in ("abc", [6], [0.5], 3):
        with pytest.raises(
            ValueError, match=r"start must (be a list of column numbers .*an earlier Result|hold column)"
        ):
            start_support(bad, problem)
