"""Coefficients in a box: every method against enumeration, and the relaxation against conic programming."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from checks import against_enumeration, best_subset, best_subset_path, check_certificate
from oracles import EXPONENTIAL, best_of, relaxation_value, support_value, support_values
from samples import DIFFERENCES, LOSS_NAMES, hard, sample, sample_weights
from sparsest import BestSubsetClassifier, BestSubsetRegressor, BestSubsetRegressorCV
from sparsest.core.problem import make_problem
from sparsest.core.settings import METHODS
from sparsest.proofs.data import Data
from sparsest.proofs.incumbent import objective_bounds
from sparsest.results.result import Result
from sparsest.runtime.events import Status
from sparsest.subset import api
from sparsest.subset.fits.support import fit_support
from sparsest.subset.relaxation.relaxer import relax_problem
from sparsest.subset.tree.tuning import Tuning

# Nodes are only bounded and branched on: the choices of their last features are not tried.
REGIONS = {"tuning": Tuning(last_features=0)}

N, P = 14, 6


def box_of(loss):
    """A box that some coefficients of the samples reach, and others do not."""
    return 0.4 if loss in DIFFERENCES else 0.15


losses = pytest.mark.parametrize("loss", LOSS_NAMES)
gammas = pytest.mark.parametrize("gamma", [0.3, np.inf])


@losses
@gammas
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("shape", [(N, 0), (N, 4), (5, 8)], ids=str)
def test_the_value_of_a_support(loss, gamma, fit_intercept, shape):
    """Against conic programming, also with more features than observations."""
    n, m = shape
    X, y = sample(loss, n, max(m, 1), 3)
    weights = sample_weights(True, n)
    settings = {"loss": loss, "gamma": gamma, "fit_intercept": fit_intercept, "sample_weight": weights}
    seen = set()
    for box in (0.3 * box_of(loss), box_of(loss), 3.0):
        fit = fit_support(make_problem(X, y, max(m, 1), max_coef=box, **settings), np.arange(m))
        expected = support_value(loss, X[:, :m], y, gamma, fit_intercept, weights, max_coef=box)
        assert (np.abs(fit.w) <= box).all()
        assert -1e-15 <= fit.primal - fit.dual <= max(1e-8 * fit.primal, 1e-9 * weights.sum())
        assert fit.primal <= expected * (1.0 + 1e-6) + 1e-9
        assert fit.primal >= expected * (1.0 - (1e-6 if loss not in EXPONENTIAL else 1e-4)) - 1e-7
        seen |= set((np.abs(fit.w) >= box * (1.0 - 1e-6)).tolist())
    assert seen == ({False, True} if m else set())


@losses
@gammas
@pytest.mark.parametrize("form", [{"k": 2}, {"l0_penalty": 0.3}, {"k": 3, "l0_penalty": 0.1}], ids=str)
def test_the_relaxation(loss, gamma, form):
    """Its value, and a bound that is below it and near."""
    X, y = sample(loss, N, P)
    settings = {"loss": loss, "gamma": gamma, "max_coef": box_of(loss)}
    for forced in ({}, {"include": (2,), "exclude": (0,)}):
        problem = make_problem(X, y, **form, **forced, **settings)
        relaxed, _ = relax_problem(problem, 1e-6)
        expected = relaxation_value(loss, X, y, gamma, True, max_coef=box_of(loss), **form, **forced)
        assert relaxed.dual <= expected * (1.0 + 1e-6) and relaxed.primal >= expected * (1.0 - 1e-6)
        assert relaxed.dual >= expected * (1.0 - 3e-5)


@losses
@gammas
@pytest.mark.parametrize("method", METHODS)
def test_every_method_against_enumeration(loss, gamma, method):
    settings = {"options": {"max_iterations": 60}} if method == "subgradient" else {}
    settings |= {"n_jobs": 1} if method == "tree" else {}
    reached = against_enumeration(loss, gamma=gamma, max_coef=box_of(loss), method=method, **settings)
    if method in ("tree", "cuts"):
        assert not reached[False]
    else:
        assert reached[True] >= 0.6 * reached.total()


# Proofs


def tight(standardize=False, gamma=2.0, **settings):
    """A result whose model reaches its box."""
    X, y = sample("squared", N, P)
    box = 0.5
    result = best_subset(X, y, 3, gamma=gamma, max_coef=box, standardize=standardize, **settings)
    check_certificate(result, X, y)
    return X, y, box, result


@pytest.mark.parametrize("standardize", [False, True])
@gammas
def test_coefficients_of_a_result_are_in_the_box(standardize, gamma):
    """In units of columns of mean square 1 where these are standardised; without rounding."""
    X, _, box, result = tight(standardize, gamma)
    assert result.status is Status.OPTIMAL
    largest = Fraction(0)
    for j in result.support:
        column = [Fraction(x) for x in X[:, j]]
        mean = sum(column) / len(column)
        square = sum((x - mean) ** 2 for x in column) / len(column) if standardize else 1
        largest = max(largest, square * Fraction(result.coef[j]) ** 2)
    assert Fraction(box) ** 2 * (1 - Fraction(1, 10**9)) <= largest <= Fraction(box) ** 2


def test_standardised_boxes_do_not_depend_on_units():
    X, y, _, result = tight(standardize=True)
    scale = 10.0 ** np.arange(-3, 3)
    other = best_subset(X * scale, y, 3, gamma=2.0, max_coef=0.5, standardize=True)
    np.testing.assert_allclose(other.coef * scale, result.coef, rtol=1e-8)


@pytest.mark.parametrize("standardize", [False, True])
def test_a_proof_for_another_box_is_refused(standardize):
    X, y, box, result = tight(standardize)
    certificate = result.certificate
    assert "coefficients of at most 0.5" in certificate.statement.sentence()
    assert certificate.verify(X, y, max_coef=box) and certificate.verify(X, y, max_coef=box, exact=True)
    verdict = certificate.verify(X, y, max_coef=0.6)
    assert not verdict and verdict.reasons == ("the certificate is for max_coef = 0.5, not 0.6",)
    for other in (0.49, box * (1.0 - 1e-9), 0.51, 5.0, None):
        forged = replace(certificate, statement=replace(certificate.statement, max_coef=other))
        for exact in (False, True):
            verdict = forged.verify(X, y, exact=exact)
            assert not verdict
            if other is not None and other < box:
                assert "above max_coef = 0.49" in verdict.reasons[0]
            else:
                assert "the bound claimed" in verdict.reasons[0]


@pytest.mark.parametrize("standardize", [False, True])
def test_a_model_outside_of_the_box_is_refused(standardize):
    """However little, and though its objective is right and better."""
    X, y, _, result = tight(standardize)
    certificate = result.certificate
    at = int(np.argmax(np.abs(certificate.incumbent.coef * X[:, certificate.support].std(axis=0) ** standardize)))
    for factor in (1.0 + 1e-12, 1.01):
        coef = certificate.incumbent.coef.copy()
        coef[at] *= factor
        incumbent = certificate.incumbent._replace(coef=coef)
        data = Data.of(certificate.statement, X, y, None)
        _, objective = objective_bounds(data, certificate.statement, incumbent)
        forged = replace(certificate, incumbent=incumbent, objective=objective)
        verdict = forged.verify(X, y)
        assert not verdict and "the incumbent has a coefficient of size" in verdict.reasons[0]


# The rest of the package


def test_no_box_is_a_box_that_nothing_reaches():
    X, y = sample("squared", 30, 12)
    free, wide = (best_subset(X, y, 3, gamma=0.3, max_coef=box) for box in (None, 50.0))
    assert np.array_equal(free.support, wide.support) and free.objective == pytest.approx(wide.objective, rel=1e-9)
    assert free.statement.max_coef is None and wide.statement.max_coef == 50.0


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge", "squared_hinge"])
@gammas
def test_paths_screening_and_near_optimal_models(loss, gamma):
    X, y = sample(loss, 20, 8)
    box = box_of(loss)
    settings = {"loss": loss, "gamma": gamma, "max_coef": box}
    values = support_values(make_problem(X, y, 8, **settings))
    for k, result in zip((1, 3), best_subset_path(X, y, [1, 3], **settings), strict=True):
        check_certificate(result, X, y)
        assert result.objective == pytest.approx(best_of(values, k)[0], rel=1.1e-4)
    screened = best_subset(X, y, 2, screen=5, **settings)
    check_certificate(screened, X, y)
    assert screened.lower_bound <= best_of(values, 2)[0] * (1.0 + 1e-8)
    best = best_subset(X, y, 2, **settings)
    near = api.near_optimal(best, X, y, within=0.05)
    expected = [s for s, v in values.items() if len(s) <= 2 and v <= near.threshold * (1.0 - 1e-7)]
    assert near.complete and {tuple(s.tolist()) for s in near.supports} >= {s for s in expected if len(s) == 2}


def test_a_hard_search_by_regions_is_proved(tmp_path):
    """Regions that shift their ridges, and points that are rounded; through a file of the result."""
    X, y = hard(30, 80)
    free = best_subset(X, y, 4, gamma=0.1, node_limit=300, n_jobs=1, time_limit=np.inf)
    assert np.abs(free.coef).max() > 0.8
    for gamma in (0.1, np.inf):
        result = best_subset(
            X, y, 4, gamma=gamma, max_coef=0.8, node_limit=300, n_jobs=1, time_limit=np.inf, options=REGIONS
        )
        assert result.n_nodes > 20
        check_certificate(result, X, y)
        result.save(tmp_path / "model.json")
        assert Result.load(tmp_path / "model.json").statement.max_coef == 0.8


@pytest.mark.parametrize("box", [0.0, -1.0, np.inf, np.nan, "wide", True, 1e-200, 1e200])
def test_boxes_that_are_none(box):
    X, y = sample("squared", N, P)
    with pytest.raises(ValueError, match="max_coef must be"):
        api.best_subset(X, y, 2, max_coef=box)


def test_leave_one_out_refuses_a_box():
    X, y = sample("squared", N, P)
    with pytest.raises(ValueError, match="no closed form with max_coef"):
        api.best_subset(X, y, 2, gamma="loo", max_coef=0.3)


def test_estimators():
    X, y = sample("squared", 40, P)
    model = BestSubsetRegressor(2, max_coef=0.2).fit(X, y)
    assert (np.abs(model.coef_) * X.std(axis=0) <= 0.2).all() and model.result_.statement.max_coef == 0.2
    validated = BestSubsetRegressorCV(ks=(1, 2), gammas=(0.01, 0.3), max_coef=0.2, cv=3).fit(X, y)
    assert (np.abs(validated.coef_) * X.std(axis=0) <= 0.2).all() and validated.result_.statement.max_coef == 0.2
    _, labels = sample("logistic", 40, P)
    classifier = BestSubsetClassifier(2, max_coef=0.2).fit(X, labels)
    assert (np.abs(classifier.coef_) * X.std(axis=0) <= 0.2).all()
