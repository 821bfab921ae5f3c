"""Cached rows equal the computed ones, and are computed on first use only."""

import numpy as np
import pytest

from sparsest.subset.grid.cached_rows import CachedRows


@pytest.mark.parametrize("most_rows", [3, 7, 100])
def test_rows_are_those_that_were_computed(most_rows):
    rng = np.random.default_rng(0)
    table = rng.standard_normal((12, 5))
    kept = CachedRows(12, 5, lambda features: table[features], 8.0 * 5 * most_rows)
    for _ in range(30):
        chosen = rng.permutation(12)[: rng.integers(0, 8)]
        np.testing.assert_array_equal(kept[chosen], table[chosen])
        np.testing.assert_array_equal(kept.entries(chosen, np.array([4, 1])), table[chosen][:, [4, 1]])


def test_what_is_kept_is_not_computed_again():
    asked = []
    kept = CachedRows(
        7, 2, lambda features: (asked.append(features.tolist()), np.zeros((features.size, 2)))[1], 8.0 * 6
    )
    for features in ([0, 1], [1, 0], [2], [1, 3], [3, 1]):
        kept[np.array(features)]
    # The cache has room for three rows; the fourth clears it.
    assert asked == [[0, 1], [2], [1, 3]]
