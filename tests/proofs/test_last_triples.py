"""Triples on which a matrix is not positive semidefinite: all are found."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsest.proofs.data import Room
from sparsest.proofs.last_triples import failing_triples


def correlation(rng, size, rank):
    rows = rng.standard_normal((size, rank))
    return rows / np.linalg.norm(rows, axis=1)[:, None]


@pytest.mark.parametrize("size", [3, 10, 150])
def test_triples_by_their_eigenvalues(size):
    """All triples with a negative eigenvalue are found, and few others."""
    rng = np.random.default_rng(size)
    rows, last = 1.02 * correlation(rng, size, 3), rng.uniform(-0.3, 0.3, (size, 1))
    left, right = np.hstack([rows, last]), np.hstack([rows, -last])
    R = left @ right.T
    np.fill_diagonal(R, 1.0)
    room = Room()
    found = failing_triples(left, right, np.empty((0, 2), dtype=np.intp), 2, room)
    listed = {tuple(sorted(triple)) for triple in found.tolist()}
    assert len(listed) == found.shape[0]
    triples = np.array(list(combinations(range(size), 3)))
    if size == 150:
        triples = triples[rng.permutation(triples.shape[0])[:20000]]
    lowest = np.linalg.eigvalsh(R[triples[:, :, None], triples[:, None, :]])[:, 0]
    for triple, value in zip(triples.tolist(), lowest.tolist(), strict=True):
        assert tuple(triple) in listed or value > -1e-13
        assert tuple(triple) not in listed or value < 1e-10
    known = found[:1, :2]
    rest = failing_triples(left, right, known, 2, room)
    pair = set(known.ravel().tolist())
    assert {tuple(sorted(t)) for t in rest.tolist()} == {t for t in listed if not pair or not pair <= set(t)}


def test_weakly_correlated_blocks_are_left_out():
    """Triples of blocks without large entries are skipped, and are semidefinite."""
    left = np.eye(200)
    assert failing_triples(left, left, np.empty((0, 2), dtype=np.intp), 1, Room()).shape == (0, 3)


def test_nearly_dependent_pairs_are_decided_in_double_precision():
    """In single precision a pair with an entry of 1 - 1e-9 hides everything; the others leave no doubt."""
    rng = np.random.default_rng(0)
    rows = correlation(rng, 40, 60)
    rows[7] = rows[3] + 1e-4 * rows[7]
    rows[7] /= np.linalg.norm(rows[7])
    none = np.empty((0, 2), dtype=np.intp)
    assert failing_triples(0.99999999 * rows, 0.99999999 * rows, none, 1, Room()).shape == (0, 3)


def test_what_is_no_number_fails():
    left = np.eye(5)
    left[2, 2] = np.nan
    found = failing_triples(left, left, np.empty((0, 2), dtype=np.intp), 1, Room())
    assert {tuple(sorted(t)) for t in found.tolist()} == {t for t in combinations(range(5), 3) if 2 in t}


def test_large_matrices_are_refused():
    with pytest.raises(ValueError, match="too large"):
        failing_triples(np.eye(9), np.eye(9), np.empty((0, 2), dtype=np.intp), 1, Room(most=300))


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_equal_entries_in_single_precision_may_differ(order):
    """A semidefinite matrix with an off-diagonal entry of 1 has two equal rows; these two differ by 2e-8."""
    near, nearer = 0.99, 0.99 + 2e-8
    assert near != nearer and np.float32(near) == np.float32(nearer)
    R = np.array([[1.0, near, nearer], [near, 1.0, 1.0], [nearer, 1.0, 1.0]])[np.ix_(order, order)]
    found = failing_triples(R, np.eye(3), np.empty((0, 2), dtype=np.intp), 1, Room())
    assert found.tolist() == [[2, 1, 0]]


@given(
    seed=st.integers(0, 10**6), near=st.floats(-9.0, 0.0), nearer=st.floats(-12.0, -1.0), noise=st.floats(-17.0, -5.0)
)
def test_triples_that_hold_have_no_negative_determinant(seed, near, nearer, noise):
    """In exact arithmetic, for vectors in a plane that are nearly equal, with small changes of their products."""
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((1, 2)) + 10.0**near * rng.standard_normal((5, 2))
    vectors[rng.integers(5)] = vectors[rng.integers(5)] + 10.0**nearer * rng.standard_normal(2)
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    changes = 10.0**noise * rng.standard_normal((5, 5))
    R = np.clip(vectors @ vectors.T + changes + changes.T, -1.0, 1.0)
    found = failing_triples(R, np.eye(5), np.empty((0, 2), dtype=np.intp), 1, Room())
    failed = {tuple(sorted(triple)) for triple in found.tolist()}
    for i, j, k in combinations(range(5), 3):
        x, y, z = Fraction(R[i, j]), Fraction(R[i, k]), Fraction(R[j, k])
        assert (i, j, k) in failed or 1 - x * x - y * y - z * z + 2 * x * y * z >= 0
