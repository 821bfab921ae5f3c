"""Solutions of the relaxation: indicators and their rounding, fixings, and warm starts."""

import numpy as np
import pytest

from checks import solve
from covering import every_pair
from samples import LOSS_NAMES, sample
from sparsest.core.problem import make_problem
from sparsest.core.sparsity import Region
from sparsest.subset.relaxation.solution import Fixings, Relaxed, summary, warm_start
from subset.relaxation.relaxing import relax

N, P = 20, 7
losses = pytest.mark.parametrize("loss", LOSS_NAMES)
FORMS = [{"k": 2}, {"l0_penalty": 0.4}, {"k": 2, "l0_penalty": 0.05}]


def relaxed_of(w, sigma=2.0, region=None, **values):
    """A solution on the features 6, 4, 2 and 0 of seven."""
    region = Region(np.array([2]), np.array([1]), 7) if region is None else region
    known = {"alpha": np.zeros(N), "q": np.arange(7.0), "primal": 4.0, "dual": 3.0, "rounds": 5, "iterations": 9}
    return Relaxed(region, np.array([6, 4, 2, 0]), np.array(w), 0.5, sigma, **{**known, **values})


def problem_of(**settings):
    return make_problem(*sample("squared", N, P), **{"k": 3, "gamma": 0.25, **settings})


def test_the_indicator_is_the_share_of_the_budget():
    """``s = σ √λ |w|``, not truncated at 1, and 1 for forced features."""
    relaxed = relaxed_of([-0.05, 0.3, 0.01, 0.0])
    np.testing.assert_allclose(relaxed.indicator(problem_of()), [0.0, 0.0, 1.0, 0.0, 1.2, 0.0, 0.2])
    # Without a ridge σ is infinite; the indicator is large but finite.
    infinite = relaxed_of([1.0, 0.0, 0.0, 0.0], sigma=np.inf).indicator(problem_of())
    assert np.isfinite(infinite).all() and infinite[6] > 1e100 and not infinite[[0, 4]].any()


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"k": 3}, [2, 4, 6]),
        ({"k": 2}, [2, 4]),
        ({"k": 1}, [2]),
        ({"k": 6}, [0, 2, 4, 6]),
        ({"k": None, "l0_penalty": 0.1}, [2, 4]),
        ({"k": 2, "l0_penalty": 0.1}, [2, 4]),
    ],
    ids=str,
)
def test_rounding_takes_the_forced_and_the_largest(form, expected):
    """With a price per feature, only features with an indicator above 1/2 are taken."""
    relaxed = relaxed_of([-0.05, 0.3, 0.01, 0.001])
    assert relaxed.rounded(problem_of(**form)).tolist() == expected


def test_the_gap_is_relative_and_one_without_a_primal_value():
    assert relaxed_of([0.0] * 4).gap == 0.25
    assert relaxed_of([0.0] * 4, primal=np.inf).gap == 1.0


def test_fixings_keep_their_points_and_the_smallest_bound_closed():
    fixings = Fixings()
    assert fixings.closed == np.inf
    for number, bound in enumerate((5.0, 3.0, 4.0)):
        fixings.fix(np.full(2, number), np.array([number]), np.array([9]), bound)
    assert fixings.closed == 3.0
    assert [fix.point for fix in fixings.fixes] == [0, 1, 2] and fixings.fixes[1].inside.tolist() == [1]
    assert [point.values[0] for point in fixings.points] == [0, 1, 2]


def test_the_summary():
    """The fixed features do not include those that the problem itself forces in or out."""
    problem = problem_of(include=[2], exclude=[1])
    region = Region(np.array([2, 4]), np.array([1, 0, 5]), 7)
    found = summary(problem, relaxed_of([-0.05, 0.3, 0.01, 0.0], region=region))
    assert found["fixed_in"].tolist() == [4] and found["fixed_out"].tolist() == [0, 5]
    assert found["s"].max() == 1.0 and found["gap"] == 0.25 and found["passes"] == 0.0
    # Two features are forced in, so one of 3 and 6 is chosen; their gains, 3 and 6, differ by 3.
    assert found["separation"] == 3.0


def test_warm_starts_of_earlier_results():
    X, y = sample("squared", N, P)
    before, found = relax(X, y, k=3, gamma=0.25)
    assert warm_start(None, problem_of()) is warm_start([1, 2], problem_of()) is None
    local = solve(X, y, 3, gamma=0.25)
    assert warm_start(local, problem_of()) is None
    same = warm_start(before, problem_of())
    assert (
        np.array_equal(same.features, found["features"]) and np.array_equal(same.w, found["w"]) and same.b == found["b"]
    )
    first = int(found["features"][0])
    without = warm_start(before, problem_of(exclude=[first]))
    assert np.array_equal(without.features, found["features"][1:]) and np.array_equal(without.w, found["w"][1:])
    narrow, _ = relax(X[:, :5], y, k=3, gamma=0.25)
    assert warm_start(narrow, problem_of()) is None


@every_pair(loss=LOSS_NAMES, form=FORMS, fit_intercept=[True, False])
def test_indicators_are_admissible(loss, form, fit_intercept):
    X, y = sample(loss, N, P, 6)
    for include, exclude in (((), ()), ((2,), (0, 4))):
        asked = {**form, "include": include, "exclude": exclude}
        for fixing in (True, False):
            _, found = relax(X, y, **asked, loss=loss, gamma=0.3, fit_intercept=fit_intercept, fixing=fixing)
            s = found["s"]
            assert s.shape == (P,) and (s >= 0).all() and (s <= 1).all()
            assert s.sum() <= form.get("k", P) * (1.0 + 1e-9)
            assert (s[list(include)] == 1).all() and (s[list(exclude)] == 0).all()


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


def test_unsuitable_starts_are_harmless():
    X, y = sample("squared", N, P, 8)
    narrow, _ = relax(X[:, :4], y, k=2, gamma=0.3)
    local = solve(X, y, 2, gamma=0.3)
    _, cold = relax(X, y, k=2, gamma=0.3, fixing=False)
    for start in (narrow, local, [5, 6], [0, 1, 2, 3]):
        _, found = relax(X, y, k=2, gamma=0.3, fixing=False, start=start)
        assert found["dual"] == pytest.approx(cold["dual"], rel=1e-4)


def test_a_start_is_not_changed():
    X, y = sample("logistic", N, P, 11)
    before, found = relax(X, y, k=2, loss="logistic", gamma=0.3)
    w = found["w"].copy()
    relax(X, y, k=4, loss="logistic", gamma=0.3, start=before)
    assert np.array_equal(before.trace["relaxation"]["w"], w)
