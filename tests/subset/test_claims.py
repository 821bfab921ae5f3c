"""Claimed bounds are those that the checker proves, and rejected proofs are not used."""

import numpy as np
import pytest

from samples import sample
from sparsest.core.problem import make_problem
from sparsest.proofs.check import prove
from sparsest.proofs.steps import Leaf
from sparsest.subset import claims
from sparsest.subset.fits.support import fit_support


@pytest.fixture
def solved():
    """A problem with a price and a forced feature, the fit of a support, and a valid proof."""
    X, y = sample("squared", 20, 6, 5)
    problem = make_problem(X, y, 3, l0_penalty=0.2, gamma=0.1, include=[1])
    fit = fit_support(problem, np.array([0, 1]))
    return problem, fit, claims.single_leaf(fit.alpha)


def test_a_bound_is_not_above_the_objective(solved):
    problem, fit, proof = solved
    claim = claims.claim(problem, fit)
    for bound in (0.5 * claim.objective, 2.0 * claim.objective):
        assert claim.certificate(claims.CheckedProof(proof, bound)).lower_bound == min(bound, claim.objective)


def test_the_trivial_bound_is_the_price_of_forced_features(solved):
    problem, fit, _ = solved
    bound = claims.trivial_bound(problem)
    assert bound == pytest.approx(0.2, rel=1e-12)
    checked = claims.CheckedProof(claims.single_leaf(np.zeros(problem.n)), bound)
    assert claims.claim(problem, fit).certificate(checked).verify(*sample("squared", 20, 6, 5))


def test_a_claim_is_slightly_below_the_bound_of_the_checker(solved):
    """A later check proves at least the claimed bound for every order of summation."""
    problem, _, proof = solved
    checked = claims.check_proof(problem, proof, 1e9, 1e-4)
    proved = prove(problem.data.evidence.data, claims.statement_of(problem), proof)
    assert checked.proof is proof and checked.bound < proved.bound
    assert checked.bound == pytest.approx(proved.bound, rel=1e-12)


def test_a_rejected_proof_is_replaced_by_the_trivial_one(solved):
    problem, _, proof = solved
    refused = claims.check_proof(problem, proof._replace(steps=(Leaf(7),)), 1e9, 1e-4)
    assert refused.proof.steps == (Leaf(0),) and not refused.proof.points[0].values.any()
    assert refused.bound == pytest.approx(0.2, rel=1e-12)
