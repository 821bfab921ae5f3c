"""Certificates hold when they should: for every storage of the data, and for what every method writes."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from checks import best_subset
from covering import every_pair
from proofs.helpers import LOSSES, certificate_of, indices, optimum_of, sample, sample_weights
from samples import ADAPTIVE
from sparsest.proofs import Certificate, relative_gap
from sparsest.proofs.losses import RULES
from sparsest.proofs.reading import ColumnBlocks
from sparsest.proofs.steps import Branch, DualPoint, Leaf, Proof, Regression, RegressionTree, SplitPoint

P = 6


@pytest.fixture(scope="module")
def valid():
    X, y = sample(25, P, 5)
    X = np.round(X * 8.0) * (np.arange(25)[:, None] % 4 > 0)
    proof = Proof((Branch(1), Leaf(0), Leaf(1)), (DualPoint(-0.1 * (y - y.mean())), DualPoint(np.zeros(25))))
    return certificate_of(X, y, proof, support=(0, 2), k=2, gamma=0.01), X, y


def storages(X):
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan)
    wide[::2, 1::3] = X
    read_only = X.copy()
    read_only.flags.writeable = False
    return {
        "C": np.ascontiguousarray(X),
        "Fortran": np.asfortranarray(X),
        "CSC": sp.csc_array(X),
        "CSR": sp.csr_array(X),
        "a matrix in CSR": sp.csr_matrix(X),
        "COO": sp.coo_array(X),
        "a view": wide[::2, 1::3],
        "reversed twice": X[:, ::-1].copy()[:, ::-1],
        "read only": read_only,
        "pandas": pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]),
        "polars": pl.DataFrame(X),
        "lists": X.tolist(),
    }


def assert_the_same_verdict(certificate, X, y, others, weights=None):
    first = certificate.verify(X, y, weights)
    assert first, first.reasons
    for name, other in others.items():
        verdict = certificate.verify(other, y, weights)
        assert verdict == first, name


def test_one_verdict_for_every_storage(valid):
    certificate, X, y = valid
    narrow = {kind: X.astype(kind) for kind in ("float32", "int8", "int16", "int64")}
    assert (narrow["int8"] == X).all()
    assert_the_same_verdict(certificate, X, y, {**storages(X), **narrow})
    for response in (y.tolist(), pd.Series(y), pl.Series(y), y[:, None]):
        assert certificate.verify(X, response) == certificate.verify(X, y)


@pytest.mark.parametrize("mean", [1e3, 1e12])
def test_large_means_verify_for_every_storage(mean):
    """The same certificate held for data in rows and failed for columns."""
    X, y = sample(25, P, 6)
    X = X + mean * np.arange(1.0, P + 1.0)
    result = best_subset(X, y, 2, gamma=0.1, method="local")
    assert_the_same_verdict(result.certificate, X, y, storages(X))


def test_other_labels_weights_and_entries_are_noticed():
    X, y = sample(20, 3, 1, "logistic")
    weights = sample_weights(20)
    proof = Proof((Leaf(0),), (DualPoint(np.zeros(20)),))
    certificate = certificate_of(X, y, proof, weights, k=1, loss="logistic")
    assert certificate.verify(X, y, weights)
    assert certificate.verify(X, np.where(y > 0, "yes", "no"), weights)
    swapped = np.where(y > 0, "a", "b")
    other = y.copy()
    other[3] *= -1.0
    heavier = weights.copy()
    heavier[7] *= 2.0
    for labels, asked in ((swapped, weights), (other, weights), (y, heavier), (y, None)):
        verdict = certificate.verify(X, labels, asked)
        assert not verdict and any("fingerprint" in reason for reason in verdict.reasons)


def test_weaker_claims_hold(valid):
    certificate, X, y = valid
    for bound in (certificate.lower_bound - 1.0, 0.0, -np.inf):
        verdict = replace(certificate, lower_bound=bound).verify(X, y)
        assert verdict and verdict.lower_bound == bound
        assert verdict.gap == relative_gap(verdict.objective, bound)


def test_data_that_do_not_fit(valid):
    certificate, X, y = valid
    for other_X, other_y, reason in (
        (X[:-1], y[:-1], "is for data of shape"),
        (np.hstack([X, X]), y, "is for data of shape"),
        (X, y[:-1], "y must have 25 entries"),
        (np.full_like(X, np.nan), y, "NaN or infinity"),
        ("text", y, "give a matrix, or the path of a file"),
        (None, y, "X must be a matrix"),
    ):
        verdict = certificate.verify(other_X, other_y)
        assert not verdict and reason in verdict.reasons[0]
        assert verdict.lower_bound == -np.inf and np.isnan(verdict.objective) and verdict.gap == np.inf


def test_the_verdict_names_the_problem_and_refuses_another(valid):
    certificate, X, y = valid
    verdict = certificate.verify(X, y, k=2, gamma=0.01, loss="squared", include=[])
    assert (
        verdict and "at most 2 features" in verdict.problem and verdict.fingerprint == certificate.statement.fingerprint
    )
    for wish in ({"k": 3}, {"gamma": 0.02}, {"loss": "hinge"}, {"include": [1]}, {"standardize": True}):
        refusal = certificate.verify(X, y, **wish)
        assert not refusal and "the certificate is for" in refusal.reasons[0]


@pytest.mark.parametrize(
    ("objective", "bound", "gap"),
    [
        (2.0, 1.0, 0.5),
        (2.0, 3.0, 0.0),
        (0.0, 0.0, 0.0),
        (np.nan, 1.0, np.inf),
        (1.0, np.nan, np.inf),
        (np.inf, 1.0, np.inf),
    ],
)
def test_relative_gaps(objective, bound, gap):
    assert relative_gap(objective, bound) == gap


# What the methods write


@every_pair(
    loss=LOSSES,
    method=["tree", "cuts", "relaxation", "subgradient", "local"],
    form=[{"k": 2}, {"l0_penalty": 0.2}],
)
def test_certificates_of_every_method_hold(loss, method, form):
    """The rigorous bound is not above the exact one, nor that above the optimum."""
    for seed, standardize, fit_intercept in ((1, True, True), (2, False, False)):
        X, y = sample(16, P, seed, loss)
        weights = sample_weights(16, seed)
        asked = {"include": [1], "exclude": [4], "standardize": standardize, "fit_intercept": fit_intercept}
        result = best_subset(X, y, **form, gamma=0.2, loss=loss, method=method, sample_weight=weights, **asked)
        certificate = Certificate.from_bytes(result.certificate.to_bytes())
        verdict, exact = certificate.verify(X, y, weights), certificate.verify(X, y, weights, exact=True)
        assert verdict and exact, (verdict.reasons, exact.reasons)
        assert verdict.lower_bound == certificate.lower_bound <= verdict.objective
        if RULES[loss] is RULES["squared"]:
            assert certificate.lower_bound <= optimum_of(certificate.statement, X, y, weights)


@pytest.mark.parametrize("gamma", [1e3, np.inf])
@pytest.mark.parametrize("k", [1, 3])
def test_certificates_without_a_ridge_hold(gamma, k):
    X, y = sample(40, P, 3)
    result = best_subset(X, y, k, gamma=gamma, method="tree")
    certificate = result.certificate
    verdict = certificate.verify(X, y)
    assert verdict and certificate.verify(X, y, exact=True), verdict.reasons
    assert certificate.lower_bound <= optimum_of(certificate.statement, X, y)


def test_a_tree_of_regressions_is_written_and_holds():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 9)) + rng.standard_normal((30, 1))
    y = X[:, :5].sum(axis=1) + 6.0 * rng.standard_normal(30)
    certificate = best_subset(X, y, 4, gamma=np.inf, method="tree").certificate
    kinds = {type(step) for step in certificate.proof.steps}
    assert kinds & {RegressionTree, Regression} or any(isinstance(p, SplitPoint) for p in certificate.proof.points)
    assert certificate.verify(X, y) and certificate.lower_bound <= optimum_of(certificate.statement, X, y)


def wide(n=40, p=120, seed=0):
    """More correlated columns than observations, and noise."""
    rng = np.random.default_rng([seed, n, p])
    X = rng.standard_normal((n, p)) + 0.7 * rng.standard_normal((n, 1))
    return X, X[:, :6].sum(axis=1) + 2.0 * rng.standard_normal(n)


@pytest.mark.parametrize("form", [{"k": 4}, {"l0_penalty": 1.2}], ids=str)
def test_raised_splits_of_small_searches_hold_exactly(form):
    raised = 0
    for seed in range(4):
        X, y = wide(9, 12, seed)
        certificate = best_subset(X, y, **form, gamma=0.4, n_jobs=1, options={"tuning": ADAPTIVE}).certificate
        assert certificate.verify(X, y) and certificate.verify(X, y, exact=True)
        raised += any(split.base is not None for split in certificate.proof.splits)
    assert raised >= 2


@pytest.fixture
def proved():
    X, y = wide()
    certificate = best_subset(X, y, 6, gamma=0.04, n_jobs=1, options={"tuning": ADAPTIVE}).certificate
    assert certificate.verify(X, y)
    assert sum(split.base is not None for split in certificate.proof.splits) > 5
    return X, y, certificate


def changed(**new):
    """Change every raised split."""
    return lambda splits: tuple(
        split if split.base is None else split._replace(**{key: value(split) for key, value in new.items()})
        for split in splits
    )


CORRUPTIONS = {
    "raised too much": (changed(delta=lambda s: 1.2 * s.delta), "does not leave a positive semidefinite"),
    "a base that took the ridge back": (
        lambda splits: tuple(s._replace(delta=np.full_like(s.delta, 25.0)) if s.base is None else s for s in splits),
        "a split leaves too little of the ridge",
    ),
    "a base that is not there": (changed(base=lambda s: 10**6), "refers to split"),
    "a base that is raised": (changed(base=lambda s: 1), "has a base itself"),
    "no base": (changed(base=lambda s: None), ""),
    "features twice": (changed(features=lambda s: np.full_like(s.features, 3)), "do not fit the data"),
    "no number": (changed(delta=lambda s: np.full_like(s.delta, np.nan)), "not positive"),
}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_a_corrupted_split_is_found(proved, name):
    X, y, certificate = proved
    corrupt, message = CORRUPTIONS[name]
    proof = certificate.proof._replace(splits=corrupt(certificate.proof.splits))
    verdict = replace(certificate, proof=proof).verify(X, y)
    assert not verdict and any(message in reason for reason in verdict.reasons), verdict.reasons


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_perfect_fit_holds_for_every_storage(scale):
    X, _ = sample(25, P, 2)
    y = scale * (2.0 * X[:, 1] - X[:, 3])
    for gamma in (1e8, np.inf):
        certificate = best_subset(X, y, 2, gamma=gamma, method="local").certificate
        assert_the_same_verdict(certificate, X, y, storages(X))
        assert certificate.support.tolist() == indices(1, 3).tolist()


def test_a_check_reads_the_data_once(monkeypatch):
    """Fingerprint, moments and products come from one pass; the columns of models and splits are read again.

    So are those that a tree is left with after the first steps.
    """
    X, y = sample(30, 40, 3)
    results = {method: best_subset(X, y, 3, gamma=0.02, method=method) for method in ("tree", "relaxation")}
    read = []

    def columns(features):
        read.append(features.size)
        return X[:, features]

    for method, result in results.items():
        read.clear()
        assert result.certificate.verify(ColumnBlocks(X.shape, columns), y)
        proof = result.certificate.proof
        bases = [split.features.size for split in proof.splits if split.base is None]
        models = sum(point.features.size for point in proof.points if not isinstance(point, DualPoint))
        once = 40 + result.support.size
        if method == "relaxation":
            assert sum(read) == once
        else:
            assert once <= sum(read) <= once + 40 + sum(bases) + models
