"""Trying the last features of problems with a structure of single features, against enumeration."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs.helpers import sample, statement_of
from proofs.structures import optimum, supports
from proofs.test_structured_regions import LIMITS, random_problem
from sparsest.proofs.check import prove
from sparsest.proofs.data import Data
from sparsest.proofs.exact import prove_exactly
from sparsest.proofs.steps import Branch, LastFeatures, Proof
from sparsest.proofs.structure import Rules

STRUCTURES = [("limits",), ("nested",), ("requires",), ("budgets",), ("nested", "requires", "budgets")]


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("kinds", STRUCTURES, ids="-".join)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), gamma=st.sampled_from([0.5, 1e4, np.inf]))
def test_no_bound_is_above_the_optimum(kinds, limits, seed, gamma):
    rng = np.random.default_rng(seed)
    statement, X, y = random_problem(rng, kinds, limits)
    statement = replace(statement, gamma=gamma, k=3 if statement.k is None else min(statement.k, 3))
    if len(statement.include) > statement.k or not supports(statement):
        return
    best = optimum(statement, X, y)
    data = Data.of(statement, X, y, None)
    steps = [LastFeatures(0.0)] if rng.random() < 0.5 else [Branch(6), LastFeatures(0.0), LastFeatures(0.0)]
    if 6 in statement.include or 6 in statement.exclude:
        steps = steps[-1:]
    for factor in (0.5, 1.0 - 1e-6, 1.0, 1.0 + 1e-6, 1.5):
        proof = Proof(
            [step._replace(bound=factor * float(best)) if isinstance(step, LastFeatures) else step for step in steps]
        )
        found = prove(data, statement, proof)
        assert not found.complaints
        assert found.bound <= best
    exact = prove_exactly(data, statement, proof)
    assert not exact.complaints and found.bound <= exact.bound <= best


def test_the_bound_is_the_optimum_but_for_rounding():
    """Exclusive features: the best pairs and triples are not admissible."""
    X, y = sample(14, 7, 3)
    restricted = 0
    for limits in (((tuple(range(6)), 0, 1),), (((0, 1, 2), 0, 1), ((3, 4, 5), 1, 1))):
        for k in (1, 2, 3):
            for gamma in (0.5, np.inf):
                statement = statement_of(X, y, k=k, gamma=gamma, structure=Rules(limits=limits))
                target = 0.9999 * float(optimum(statement, X, y))
                free = float(optimum(replace(statement, structure=Rules()), X, y))
                proof = Proof((LastFeatures(target),))
                assert prove(Data.of(statement, X, y, None), statement, proof).bound == target
                restricted += free < target
    assert restricted >= 5, restricted


@pytest.mark.parametrize(
    "rules", [Rules(units=(0, 0, 1, 2, 3, 4, 5)), Rules(prices=(0.1,) * 7)], ids=["units", "prices"]
)
def test_groups_and_prices_of_single_features_are_refused(rules):
    X, y = sample(14, 7, 3)
    statement = statement_of(X, y, k=2, structure=rules)
    for found in (
        prove(Data.of(statement, X, y, None), statement, Proof((LastFeatures(0.1),))),
        prove_exactly(Data.of(statement, X, y, None), statement, Proof((LastFeatures(0.1),))),
    ):
        assert found.bound == -np.inf and "ignores groups and prices" in found.complaints[0]
