"""The advice follows the facts and the aim, and can be taken as it is."""

from inspect import signature

import numpy as np
import pytest
import scipy.sparse as sp

import sparsest
from sparsest.datasets import make_toeplitz
from sparsest.selection.advise import AIMS, Facts, _few_false_features, _prediction, _proof, facts_of


@pytest.mark.parametrize(("rho", "snr"), [(0.2, 6.0), (0.7, 1.0), (0.2, 0.02)])
def test_facts_are_near_those_of_the_design(rho, snr):
    """Neighbours of a Toeplitz design correlate by ρ; the held-out signal is at most the true one, but for chance."""
    data = make_toeplitz(n=400, p=50, k=5, rho=rho, snr=snr, rng=0)
    facts = facts_of(data.X, data.y)
    assert (facts.n, facts.p, facts.classification) == (400, 50, False)
    assert rho - 0.1 <= facts.correlation <= rho + 0.15
    assert 0.4 * snr - 0.05 <= facts.snr <= 1.5 * snr + 0.05
    sparse = facts_of(sp.csc_array(data.X), data.y)
    assert sparse[:5] == pytest.approx(facts[:5], rel=1e-6) and sparse[5:] == facts[5:] == ("squared", None)


def test_odd_data():
    """One column, constant columns and pure noise have facts too."""
    rng = np.random.default_rng(0)
    facts = facts_of(np.column_stack([np.ones(12), rng.standard_normal(12)]), rng.standard_normal(12))
    assert facts.correlation == 0.0 and 0.0 <= facts.snr < 1.0
    assert facts_of(rng.standard_normal((20, 3)), np.repeat(["a", "b"], 10)).classification


def test_rules_follow_the_regimes():
    """Each rule of the paper's guidelines, at facts of its regime."""
    noisy, clear = Facts(200, 1000, False, 0.3, 0.05), Facts(200, 1000, False, 0.8, 6.0)
    assert _prediction(noisy).method == "PenalizedRegressorCV" and _prediction(clear).method == "BestSubsetRegressorCV"
    assert _prediction(noisy._replace(classification=True)).method == "PenalizedClassifierCV"
    for facts in (noisy, clear, noisy._replace(classification=True)):
        for rule in (_prediction(facts), _few_false_features(facts), _proof(facts)):
            assert set(rule.settings) <= set(signature(getattr(sparsest, rule.method)).parameters)
    assert _few_false_features(noisy).method == "StabilitySelection"
    assert _few_false_features(clear).method == "certified_choice"
    assert "correlation misleads" in _few_false_features(clear).reason
    assert "correlation misleads" not in _few_false_features(clear._replace(correlation=0.1)).reason
    assert np.isinf(_proof(clear._replace(n=500, p=20)).settings["gamma"])
    assert _proof(clear).settings["gamma"] == "auto" and "screen" not in _proof(clear).settings
    assert _proof(clear._replace(p=100_000)).settings["screen"] >= _proof(clear._replace(p=100_000)).settings["k"]


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("aim", AIMS)
def test_advice_can_be_taken(aim, classes):
    data = make_toeplitz(n=80, p=12, k=2, rho=0.3, snr=8.0, rng=1)
    y = np.where(data.y > 0, "b", "a") if classes else data.y
    advice = sparsest.advise(data.X, y, aim=aim)
    assert advice.why.count(".  ") == 1 + classes and advice.why.endswith(".") and advice.sources
    assert str(advice).startswith(advice.method) and all(source in str(advice) for source in advice.sources)
    if aim == "prediction":
        assert advice.method == f"BestSubset{'Classifier' if classes else 'Regressor'}CV"
        quick = {"ks": [2, 4], "gammas": [0.1], "method": "relaxation"}
        model = getattr(sparsest, advice.method)(**advice.settings, **quick).fit(data.X, y)
        assert set(data.support) <= set(model.support_)
        return
    result = getattr(sparsest, advice.method)(data.X, y, **advice.settings)
    assert result.status is sparsest.Status.OPTIMAL


def test_refusals():
    with pytest.raises(ValueError, match="unknown aim 'fun'; choose one of prediction, few_false_features, proof"):
        sparsest.advise(np.eye(4), np.arange(4.0), aim="fun")


def test_counts_classes_and_exposures():
    """How a target is interpreted, and the settings that follow from it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 6))
    counts = rng.poisson(np.exp(0.5 + 0.7 * X[:, 0]))
    advice = sparsest.advise(X, counts)
    assert advice.facts.loss == "poisson" == advice.settings["loss"] and "treated as counts" in advice.why
    spread = rng.negative_binomial(0.3, 0.1, 200)
    assert facts_of(X, spread).loss == "negative_binomial"
    exposure = rng.uniform(0.5, 3.0, 200)
    assert facts_of(X, 40 + counts).loss == "squared" and facts_of(X, 40 + counts, exposure).loss == "poisson"
    assert facts_of(X, counts * 1.5, exposure).loss == "tweedie" and facts_of(X, counts + 0.5, exposure).loss == "gamma"
    assert facts_of(X, np.minimum(counts, 1), exposure).loss == "poisson"
    assert "totals proportional to the exposure" in sparsest.advise(X, counts + 0.5, exposure=exposure).why
    with pytest.raises(ValueError, match="exposure must be above zero"):
        sparsest.advise(X, counts, exposure=0.0 * exposure)


def test_the_rarer_class_limits_the_number_of_features():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 30))
    y = np.zeros(400)
    y[:7] = 1.0
    advice = sparsest.advise(X, y, aim="proof")
    assert advice.settings["k"] == 1 and advice.facts.n_events == 7
    assert "the rarer one in 7 of 400 rows: fewer than the 10 that a single feature needs" in advice.why
    balanced = sparsest.advise(X, np.arange(400) % 2, aim="proof")
    assert balanced.settings["k"] == 10 and "in 200 of 400 rows." in balanced.why


def test_the_exposure_counts_in_the_noise():
    """Counts that an exposure explains alone have no signal of the features."""
    rng = np.random.default_rng(0)
    X, exposure = rng.standard_normal((300, 5)), rng.uniform(0.1, 20.0, 300)
    with_it = facts_of(X, rng.poisson(exposure), exposure)
    assert with_it.snr < 0.05
    assert facts_of(X, rng.poisson(exposure * np.exp(X[:, 0])), exposure).snr > 1.0
