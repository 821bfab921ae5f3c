"""Leaps and bounds: its limits, its proofs, and nearly perfect fits."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from checks import best_subset, check_certificate, solve
from oracles import best_of, sample_values, squared_values
from samples import sample, sample_weights
from sparsest.core.problem import make_problem
from sparsest.proofs import Certificate
from sparsest.proofs.check import prove
from sparsest.proofs.regression_tree import RegressionBounds
from sparsest.proofs.steps import Proof, RegressionTree
from sparsest.runtime.events import Bound, Status
from sparsest.subset.claims import statement_of
from sparsest.subset.fits.support import fit_support
from sparsest.subset.tree.tuning import Tuning

NONE = np.empty(0, dtype=np.intp), np.empty(0)
# Without the complete Gram matrix and without a ridge only leaps and bounds applies; OFTEN checks limits often.
ONLY_LEAPS = Tuning(full_gram=0)
OFTEN = {"tuning": ONLY_LEAPS._replace(leaps_slice=100)}


def grow(X, y, **settings):
    """Solve with one thread, and check the result."""
    return solve(X, y, method="tree", **{"n_jobs": 1, "gamma": np.inf, **settings})


def noisy(n=60, p=40, seed=0):
    """Correlated columns and much noise, so that many nodes are needed."""
    rng = np.random.default_rng([seed, n, p])
    X = rng.standard_normal((n, p)) + rng.standard_normal((n, 1))
    return X, X[:, :5].sum(axis=1) + 8.0 * rng.standard_normal(n)


@pytest.fixture(scope="module")
def solved():
    X, y = noisy()
    result = grow(X, y, k=8)
    assert result.status is Status.OPTIMAL and result.n_nodes > 1000
    assert [type(step) for step in result.certificate.proof.steps] == [RegressionTree]
    return X, y, result


# Limits


@pytest.mark.parametrize("proof", [True, False])
@pytest.mark.parametrize("limit", [1, 50, 900])
def test_node_limit(solved, proof, limit):
    X, y, known = solved
    result = best_subset(X, y, k=8, gamma=np.inf, method="tree", node_limit=limit, options={"proof": proof, **OFTEN})
    assert result.status is Status.NODE_LIMIT and result.n_nodes == limit
    assert (result.lower_bound > 0.0) is proof
    assert result.lower_bound <= known.objective <= result.objective * (1.0 + 1e-4)
    if proof:
        check_certificate(result, X, y)


@pytest.mark.parametrize("proof", [True, False])
def test_memory_limit(solved, proof):
    """The search needs at least the memory of its stack, and without a proof no more."""
    X, y, known = solved
    stack = 2 * 8 * 42 * 40 * 40
    result = best_subset(
        X, y, k=8, gamma=np.inf, method="tree", max_memory=stack + 4000.0, options={"proof": proof, **OFTEN}
    )
    assert result.status is (Status.NODE_LIMIT if proof else Status.HEURISTIC)
    assert result.lower_bound <= known.objective
    if proof:
        check_certificate(result, X, y)
        assert result.certificate.proof.steps[-1].entries.nbytes < 4000


def test_bounds_increase_with_the_limits(solved):
    X, y, known = solved
    only = {"tuning": ONLY_LEAPS}
    bounds = [grow(X, y, k=8, node_limit=limit, options=only).lower_bound for limit in (1, 100, known.n_nodes)]
    assert bounds == sorted(bounds) and bounds[-1] == pytest.approx(known.lower_bound, rel=1e-7)


@pytest.mark.parametrize("limits", [{"node_limit": 30}, {"max_memory": 1e4}], ids=str)
def test_regions_continue_within_the_remaining_limits(solved, limits):
    X, y, known = solved
    result = grow(X, y, k=8, **limits)
    assert result.status is Status.NODE_LIMIT and result.n_nodes <= 30 + 16
    assert result.lower_bound <= known.objective


def test_a_callback_can_stop_it(solved):
    X, y, known = solved
    often = {"tuning": Tuning(leaps_slice=100, report_seconds=0.0)}
    result = grow(X, y, k=8, options=often, callback=lambda event: isinstance(event, Bound))
    assert result.status is Status.INTERRUPTED and result.n_nodes < known.n_nodes
    assert 0.0 < result.lower_bound <= known.objective


# Proofs


def test_the_text_is_short(solved):
    X, y, result = solved
    text = result.certificate.to_json()
    assert len(text) < 6 * result.n_nodes + 2000
    again = Certificate.from_json(text)
    assert again.to_json() == text and again.verify(X, y)


def test_features_that_were_fixed_out_stay_out():
    """With a ridge some features are fixed before leaps and bounds starts."""
    for seed in range(6):
        X, y = noisy(60, 30, seed)
        result = grow(X, y, k=4, gamma=0.02)
        assert result.status is Status.OPTIMAL


CORRUPTIONS = {
    "a missing leaf": (lambda e: e[:-1], "leaves 1 region"),
    "an extra leaf": (lambda e: np.append(e, -1), "has entries after its end"),
    "no entries": (lambda e: e[:0], "leaves 1 region"),
    "a branch closed": (lambda e: np.insert(e[1:], 0, -1), "has entries after its end"),
    "one leaf for all": (lambda e: e[:1] * 0 - 1, "the bound claimed is"),
    "a feature that is not there": (lambda e: np.where(e == e[0], 40, e), "a feature that is not free"),
    "a negative feature": (lambda e: np.where(e == e[0], -2, e), "a feature that is not free"),
    "a feature twice": (lambda e: np.insert(e, 1, [e[0]]), "a feature that is not free"),
}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_a_corrupted_tree_is_found(solved, name):
    X, y, result = solved
    change, message = CORRUPTIONS[name]
    step = result.certificate.proof.steps[-1]
    corrupt = step._replace(entries=change(step.entries).astype(np.int32))
    verdict = replace(result.certificate, proof=Proof((corrupt,))).verify(X, y)
    assert not verdict and any(message in reason for reason in verdict.reasons), verdict.reasons


@pytest.mark.parametrize(
    ("features", "values"), [([99], [1.0]), ([0, 0], [1.0, 1.0]), ([0], [1.0, 2.0]), ([0], [np.nan])], ids=str
)
def test_coefficients_to_expand_about_must_fit(solved, features, values):
    X, y, result = solved
    step = result.certificate.proof.steps[-1]._replace(features=np.array(features), values=np.array(values))
    verdict = replace(result.certificate, proof=Proof((step,))).verify(X, y)
    assert not verdict and "the coefficients to expand about" in verdict.reasons[0]


def test_the_bound_does_not_depend_on_the_expansion_point(solved):
    """Extreme coefficients only cost digits."""
    X, y, result = solved
    step = result.certificate.proof.steps[-1]
    for other in (NONE, (np.arange(20), np.full(20, 1e6))):
        verdict = replace(result.certificate, proof=Proof((RegressionTree(*other, step.entries),))).verify(X, y)
        assert verdict, verdict.reasons


def check(problem, step):
    return prove(problem.data.evidence.data, statement_of(problem), Proof((step,)))


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
def test_an_overflow_proves_nothing():
    X, y = sample("squared", 20, 5, 0)
    entries = np.array([-1], dtype=np.int32)
    usual = check(make_problem(X, y, 2), RegressionTree(*NONE, entries)).bound
    values = squared_values(X, y, np.inf)
    # A leaf is bounded by the model with all features plus the cost of dropping most of them.
    assert values[0, 1, 2, 3, 4] * (1.0 - 1e-9) <= usual <= best_of(values, k=2)[0]
    # Coefficients that overflow are ignored: the bound is the same as without an expansion point.
    assert check(make_problem(X, y, 2), RegressionTree(np.arange(5), np.full(5, 1e200), entries)).bound == usual
    with pytest.raises(ValueError, match="rescale y"):
        make_problem(X, 1e200 * y, 2, gamma=1.0)


def test_only_for_the_squared_loss_and_independent_features():
    X, y = sample("squared", 20, 5, 0)
    step = RegressionTree(*NONE, np.array([-1], dtype=np.int32))
    for problem, message in (
        (make_problem(X, y, l0_penalty=0.1), "needs the squared loss and a number of features"),
        (make_problem(X, np.sign(y - y.mean()), 2, loss="logistic"), "needs the squared loss"),
        (make_problem(np.column_stack([X, X[:, 0]]), y, 2), "linearly dependent"),
        (make_problem(np.column_stack([X, np.zeros(20)]), y, 2), "constant"),
    ):
        bound, complaints = check(problem, step)
        assert bound == -np.inf and message in complaints[0]


@pytest.mark.parametrize("ridge", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_no_bound_of_a_region_exceeds_its_best_support(ridge, weighted):
    n, p = 30, 8
    gamma = 0.3 if ridge else np.inf
    rng = np.random.default_rng(1)
    for seed in (0, 1):
        X, y = sample("squared", n, p, seed)
        values = sample_values("squared", n, p, seed, gamma, True, weighted)
        weights = sample_weights(weighted, n, seed)
        for k in (1, 2, 3, 5):
            problem = make_problem(X, y, k, gamma=gamma, sample_weight=weights)
            fit = fit_support(problem, np.arange(k))
            about = RegressionTree(fit.support, fit.w, np.empty(0, dtype=np.int32))
            sums = RegressionBounds(problem.data.evidence.data, statement_of(problem), np.arange(p), about)
            for _ in range(20):
                state = rng.choice([-1, 0, 0, 1], p)
                inside, outside = np.flatnonzero(state == 1), np.flatnonzero(state == -1)
                if inside.size > k:
                    continue
                optimum, _ = best_of(values, k=k, include=inside.tolist(), exclude=outside.tolist())
                for enough in (np.inf, 0.9 * optimum, 1.1 * optimum):
                    bound = sums.bound(inside.tolist(), state >= 0, enough)
                    assert bound <= optimum * (1.0 + 1e-12)
                    if k - inside.size <= 2 and enough < optimum:
                        assert bound >= enough


# Nearly perfect fits


@pytest.mark.parametrize("noise", [1e-3, 1e-4, 3e-5, 1e-5])
@pytest.mark.parametrize("p", [12, 40])
def test_a_nearly_perfect_fit_is_proved(noise, p):
    """The residual is 1e-6 to 1e-10 of the total sum of squares, below the rounding errors of bounds about zero."""
    for seed in range(3):
        rng = np.random.default_rng([seed, p])
        X = rng.standard_normal((100, p)) + rng.standard_normal((100, 1))
        signal = X[:, :4].sum(axis=1)
        y = 5.0 + signal + noise * signal.std() * rng.standard_normal(100)
        result = grow(X, y, k=4)
        assert result.status is Status.OPTIMAL and result.support.tolist() == [0, 1, 2, 3]
        assert grow(X, y, k=6).status is Status.OPTIMAL


@pytest.mark.parametrize("noise", [1e-7, 1e-10, 0.0])
def test_rounding_errors_of_the_residual_prove_nothing(noise):
    """The bound claimed for a fit that is perfect up to rounding holds for every storage of the data."""
    rng = np.random.default_rng(5)
    X = rng.standard_normal((50, 8)) + 3.0
    y = X[:, 2] - 2.0 * X[:, 5] + noise * rng.standard_normal(50)
    certificate = best_subset(X, y, 2, gamma=np.inf, method="tree").certificate
    for other in (X, np.asfortranarray(X), sp.csc_array(X)):
        verdict = certificate.verify(other, y)
        assert verdict, verdict.reasons


def test_substitutes_of_a_nearly_perfect_fit_are_not_overlooked():
    """Near copies of a feature fit almost as well."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 10))
    y = X[:, :3].sum(axis=1)
    X[:, 5:8] = X[:, :3] + 1e-4 * rng.standard_normal((80, 3))
    y = y + 3e-5 * rng.standard_normal(80)
    problem = make_problem(X, y, 3)
    values = [fit_support(problem, np.array(s)).primal for s in ([0, 1, 2], [1, 2, 5], [0, 2, 6], [5, 6, 7])]
    result = grow(X, y, k=3)
    assert result.lower_bound <= min(values) and result.objective <= min(values) * (1.0 + 1e-9)
