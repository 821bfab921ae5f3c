"""The scan of triples, compiled and plain, against eigenvalues."""

from itertools import combinations

import numpy as np
import pytest

from sparsest.subset.tree.kernels.last_features import BLOCK, scan_triples

MARGIN = np.float32(1.0 - 1e-5)


def matrix(size, seed=0, rank=4):
    """Correlations of a low rank, a little too large, so that some triples fail."""
    rng = np.random.default_rng([seed, size])
    rows = rng.standard_normal((size, rank))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    R = (1.02 * rows @ rows.T).astype(np.float32)
    np.fill_diagonal(R, 0.0)
    return R


def peaks_of(R):
    starts = np.arange(0, R.shape[0], BLOCK)
    return np.maximum.reduceat(np.maximum.reduceat(np.abs(R), starts, axis=0), starts, axis=1).astype(np.float64)


def found_in(scan, R, room=100_000):
    peaks, triples, total = peaks_of(R), [], 0
    for J in range(peaks.shape[0]):
        found = np.full((room, 3), -1)
        count = scan(R, peaks, MARGIN, J, found)
        total += count
        triples += [tuple(row) for row in found[: min(count, room)].tolist()]
    return triples, total


@pytest.mark.parametrize("size", [3, 20, BLOCK + 5])
def test_all_triples_that_fail_are_found(run, size):
    R = matrix(size)
    triples, total = found_in(run(scan_triples), R)
    assert len(set(triples)) == len(triples) == total
    assert all(j > a > b for j, a, b in triples)
    exact = R.astype(np.float64)
    np.fill_diagonal(exact, 1.0)
    listed = set(triples)
    for triple in combinations(range(size), 3):
        lowest = np.linalg.eigvalsh(exact[np.ix_(triple, triple)])[0]
        assert triple[::-1] in listed or lowest > -1e-9
        assert triple[::-1] not in listed or lowest < 1e-3


def test_more_than_fit_are_counted(run):
    R = matrix(20)
    triples, total = found_in(run(scan_triples), R)
    few, same = found_in(run(scan_triples), R, room=2)
    assert same == total > 2 and few == triples[:2]


def test_blocks_without_large_entries_hold(run):
    R = np.full((2 * BLOCK, 2 * BLOCK), 0.1, dtype=np.float32)
    np.fill_diagonal(R, 0.0)
    assert found_in(run(scan_triples), R) == ([], 0)
