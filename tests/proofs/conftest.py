"""Fixtures of the forging suites."""

import time
import tracemalloc

import numpy as np
import pytest

from proofs.forging import GAMMA, N, P
from proofs.helpers import certificate_of, indices, sample
from sparsest.proofs.steps import Branch, Combination, DualPoint, Fix, Leaf, PrimalPoint, Proof, Split, SplitPoint

# No forgery may take longer, or more memory, than this; honest ones of this size take a hundredth.
SECONDS, BYTES = 10.0, 300e6


@pytest.fixture
def bounded():
    """Every test of this file ends soon and needs little memory."""
    tracemalloc.start()
    began = time.perf_counter()
    yield
    seconds, (_, peak) = time.perf_counter() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < SECONDS and peak < BYTES


@pytest.fixture(scope="module")
def honest():
    """Data, and a certificate with points, a split, a branch, a fix and a combination."""
    X, y = sample(N, P, 2)
    Z, r = X[:, :2] - X[:, :2].mean(axis=0), y - y.mean()
    w = np.linalg.solve(Z.T @ Z + np.eye(2) / GAMMA, Z.T @ r)
    points = (PrimalPoint(indices(0, 1), w, 0.0), DualPoint(0.9 * (Z @ w - r)), SplitPoint(indices(0, 1), w, 0))
    steps = (Branch(0), Fix(0, indices(1), indices(4)), Leaf(2), Combination(indices(0, 1), np.array([1.0, 3.0])))
    splits = (Split(np.arange(P), np.full(P, 0.7 / GAMMA)), Split(indices(0), np.full(1, 0.71 / GAMMA), 0))
    certificate = certificate_of(X, y, Proof(steps, points, splits), support=(0, 1), k=2, gamma=GAMMA)
    assert certificate.verify(X, y) and certificate.lower_bound > 0.0
    return certificate, X, y
