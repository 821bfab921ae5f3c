"""Stored parts of the Gram matrix: columns and a block, and products that read the data."""

import numpy as np

from sparsest.subset.tree.gram_store import GramBlock, GramColumns
from sparsest.subset.tree.kernels.node import NOT_STORED

COLUMNS = np.asfortranarray(np.random.default_rng(0).standard_normal((20, 600)))


def test_columns_of_the_gram_matrix():
    """Requested columns are computed once, and the store grows."""
    found = GramColumns(COLUMNS, full_gram=5)
    assert not found.complete and found.count == found.nbytes() == 0
    for asked in (np.array([3, 1]), np.array([1, 2]), np.arange(600)):
        found.add(asked)
        rows, slot, place = found.stored
        assert (slot[asked] != NOT_STORED).all() and np.array_equal(place, np.arange(600))
        np.testing.assert_allclose(rows[slot[asked]], COLUMNS[:, asked].T @ COLUMNS, atol=1e-12)
    assert found.count == 600 and np.array_equal(np.sort(slot), np.arange(600))
    assert found.nbytes() == 8 * 600**2


def test_all_columns_at_once():
    found, complete = GramColumns(COLUMNS, full_gram=5), GramColumns(COLUMNS, full_gram=600)
    found.add_all()
    assert found.count == complete.count == 600 and complete.complete
    for one in (found, complete):
        np.testing.assert_allclose(one.stored.rows, COLUMNS.T @ COLUMNS, atol=1e-12)


def test_a_block_of_the_gram_matrix():
    """Entries of stored features, also after the block has been moved to a larger array."""
    found = GramBlock(COLUMNS)
    for asked in (np.array([3, 1]), np.array([1, 2]), np.arange(0, 600, 3), np.arange(550)):
        found.add(asked)
        rows, slot, place = found.stored
        assert (slot[asked] != NOT_STORED).all() and place is slot
        assert np.array_equal(slot[found.features], np.arange(found.count))
        np.testing.assert_allclose(
            rows[: found.count, : found.count], COLUMNS[:, found.features].T @ COLUMNS[:, found.features], atol=1e-12
        )
    assert found.count == 566 and found.nbytes() >= 8 * 566**2


def test_products_from_the_data():
    rng = np.random.default_rng(1)
    target, W = rng.standard_normal(20), rng.standard_normal((3, 600)) * (rng.random((3, 600)) < 0.7)
    W[1] = 0.0
    found = GramBlock(COLUMNS)
    np.testing.assert_allclose(found.products(target, W), (target - W @ COLUMNS.T) @ COLUMNS, atol=1e-10)
    assert found.n_products == 3
