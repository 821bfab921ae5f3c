"""The Boolean relaxation: its value against a conic solver, its bound and fixings against all supports."""

import numpy as np
import pytest
import scipy.sparse as sp

from checks import best_subset
from covering import every_pair
from oracles import best_of, relaxation_value, sample_values
from samples import LOSS_NAMES, sample, sample_weights
from sparsest.core.designs import Dense
from sparsest.runtime.events import Status
from subset.relaxation.relaxing import relax

N, P = 20, 7
FORMS = [{"k": 2}, {"l0_penalty": 0.4}, {"k": 2, "l0_penalty": 0.05}]
GAMMAS = [0.01, 0.3, 10.0]
losses = pytest.mark.parametrize("loss", LOSS_NAMES)
intercepts = pytest.mark.parametrize("fit_intercept", [True, False])
gammas = pytest.mark.parametrize("gamma", GAMMAS)


@every_pair(
    loss=LOSS_NAMES,
    form=FORMS,
    fit_intercept=[True, False],
    weighted=[False, True],
    forced=[((), ()), ((5,), (0, 3))],
)
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


@every_pair(
    loss=LOSS_NAMES,
    gamma=GAMMAS,
    form=[{"k": 1}, {"k": 3}, {"k": P}, {"l0_penalty": 0.05}, {"l0_penalty": 0.0}, {"k": 2, "l0_penalty": 0.02}],
    tolerance=[1e-4, 1e-8],
)
def test_gap_reaches_the_tolerance(loss, gamma, form, tolerance):
    X, y = sample(loss, N, P, 2)
    settings = {"loss": loss, "gamma": gamma, "fit_intercept": gamma != 0.3, "fixing": False}
    _, told = relax(X, y, **form, **settings, relaxation_tol=tolerance)
    assert told["gap"] <= tolerance
    assert told["gap"] == pytest.approx((told["primal"] - told["dual"]) / told["primal"], abs=1e-15)


def optimal_supports(values, **asked):
    """All admissible supports whose objectives equal the best one up to rounding."""
    optimum, _ = best_of(values, **asked)
    free = {s: v + asked.get("l0_penalty", 0.0) * len(s) for s, v in values.items()}
    return [set(s) for s, v in free.items() if len(s) <= asked.get("k", P) and v <= optimum + 1e-9 * abs(optimum)]


@losses
@gammas
def test_fixing_keeps_every_optimal_support(loss, gamma):
    """This also holds for an imprecise relaxation; at this size a weak ridge fixes nothing."""
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
    """One for the survey, which includes the first dual point, one per round, and one to check the proof."""
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
