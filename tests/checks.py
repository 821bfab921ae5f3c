"""Checks that every result of every problem must pass."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from covering import pairwise_cases
from oracles import best_of, sample_values
from samples import sample, sample_weights
from sparsest.proofs import Certificate
from sparsest.proofs.check import prove
from sparsest.proofs.data import Data
from sparsest.proofs.exact import prove_exactly
from sparsest.proofs.steps import RegressionTree
from sparsest.runtime.events import Status
from sparsest.subset import api

N, P, GAMMA = 14, 6, 0.3
# Entries of the data, and points, of proofs that are checked in rational arithmetic too.
SMALL_DATA, SMALL_PROOF = 250, 40
FORMS = [
    *({"k": k} for k in range(P + 1)),
    *({"l0_penalty": price} for price in (0.05, 0.3, 1.0)),
    {"k": 2, "l0_penalty": 0.1},
]
FORCED = [((), ()), ((2,), (0, 3))]


def best_subset(X, y, k=None, *, method="tree", standardize=False, **settings):
    """Call ``best_subset`` on columns that are not standardised, as the oracles expect, and check its warnings."""
    asked = {"method": method, "standardize": standardize, **settings}
    return _warns_where_short(lambda: [api.best_subset(X, y, k, **asked)], method)[0]


def best_subset_path(X, y, ks, *, method="tree", standardize=False, **settings):
    """The same for a path."""
    asked = {"method": method, "standardize": standardize, **settings}
    return _warns_where_short(lambda: api.best_subset_path(X, y, ks, **asked), method)


def _warns_where_short(call, method):
    """Return the results; there is one warning if and only if a search for a proof ended without one."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        results = call()
    told = [warning for warning in caught if warning.category is ConvergenceWarning]
    for other in caught:
        if other not in told:
            warnings.warn(other.message, stacklevel=3)
    short = {Status.TIME_LIMIT, Status.NODE_LIMIT, Status.HEURISTIC} & {result.status for result in results}
    assert len(told) == (method in ("tree", "cuts") and bool(short))
    return results


def solve(X, y, k=None, *, method="local", sample_weight=None, gap_tol=1e-4, time_limit=np.inf, **settings):
    """Call ``best_subset``, by default with a generous time limit, and check every claim of the result."""
    limits = {"gap_tol": gap_tol, "time_limit": time_limit}
    result = best_subset(X, y, k, method=method, sample_weight=sample_weight, **limits, **settings)
    check_certificate(result, X, y, sample_weight)
    assert result.lower_bound <= result.objective
    assert np.array_equal(result.support, np.unique(result.support))
    assert set(np.flatnonzero(result.coef)) <= set(result.support)
    if k is not None:
        assert result.support.size <= k
    assert (result.status is Status.OPTIMAL) == (result.gap <= gap_tol)
    return result


def check_certificate(result, X, y, sample_weight=None, **added):
    """The certificate holds, also after a trip through either form of file, and it is the result's own."""
    again = Certificate.from_json(result.certificate.to_json())
    packed = Certificate.from_bytes(result.certificate.to_bytes())
    for certificate in (result.certificate, again, packed):
        verdict = certificate.verify(X, y, sample_weight, **added)
        assert verdict, verdict.reasons
        assert np.isclose(verdict.objective, result.objective, rtol=1e-9, atol=0.0)
        assert verdict.lower_bound == result.lower_bound
    assert np.array_equal(result.certificate.support, result.support)
    check_exactly(result.certificate, X, y, sample_weight, **added)


def check_exactly(certificate, X, y, sample_weight=None, **added):
    """Rational arithmetic proves at least as much; only small proofs are checked in it."""
    statement, proof = certificate.statement, certificate.proof
    if statement.n * statement.p > SMALL_DATA or len(proof.points) > SMALL_PROOF or long_tree(proof):
        return
    data = Data.of(statement, X, y, sample_weight, **added)
    rigorous = prove(data, statement, proof, certificate.lower_bound)
    exact = prove_exactly(data, statement, proof)
    assert not exact.complaints and certificate.lower_bound <= rigorous.bound <= exact.bound


def long_tree(proof):
    """Whether a regression tree has leaves of which each has many supports."""
    return any(isinstance(step, RegressionTree) and step.entries.size > 15 for step in proof.steps)


def against_enumeration(loss, fits=((True, True),), seeds=(0,), gamma=GAMMA, max_coef=None, **settings):
    """Solve small problems of all forms and compare each with all supports; return how many reached the optimum.

    ``fits`` tells whether there is an intercept, and whether there are weights.  No objective is below the optimum, no
    bound above it, and OPTIMAL is within the tolerance of it.
    """
    reached = Counter()
    for seed, form, (include, exclude), (fit_intercept, weighted) in pairwise_cases(seeds, FORMS, FORCED, fits):
        if form.get("k", P) < len(include):
            continue
        X, y = sample(loss, N, P, seed)
        weights = sample_weights(weighted, N, seed)
        asked = {**form, "include": include, "exclude": exclude}
        optimum, _ = best_of(sample_values(loss, N, P, seed, gamma, fit_intercept, weighted, max_coef), **asked)
        common = {"loss": loss, "gamma": gamma, "fit_intercept": fit_intercept, "sample_weight": weights}
        result = solve(X, y, **asked, **common, max_coef=max_coef, **settings)
        assert max_coef is None or (np.abs(result.coef) <= max_coef).all()
        assert result.objective >= optimum * (1.0 - 1e-8)
        assert result.lower_bound <= optimum * (1.0 + 1e-8)
        assert result.status is not Status.OPTIMAL or result.objective <= optimum * (1.0 + 1.1e-4)
        reached[result.objective <= optimum * (1.0 + 1e-7)] += 1
    return reached
