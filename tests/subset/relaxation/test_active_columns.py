"""Active columns: products do not depend on copying, and passes are counted."""

import numpy as np
import pytest
import scipy.sparse as sp

from samples import sample
from sparsest.core.problem import make_problem
from sparsest.runtime.memory import limiting_memory
from sparsest.subset.relaxation.active_columns import ActiveColumns
from subset.relaxation.relaxing import relax


@pytest.mark.parametrize("storage", [np.asarray, sp.csc_array, lambda X: X.astype(np.float32)])
def test_products_with_active_columns(storage):
    """Dropped columns have no products; nothing is copied until few columns are left."""
    X, y = sample("squared", 20, 40)
    problem = make_problem(storage(X), y, 3, standardize=True)
    columns, alpha = ActiveColumns(problem), np.random.default_rng(0).standard_normal(20)
    every = problem.design.tdot(alpha)
    np.testing.assert_allclose(columns.products(alpha), every, atol=1e-12)
    passes = 1.0
    for n_left, copied in ((30, False), (9, False), (8, True), (4, True)):
        keep = np.arange(n_left) * (40 // n_left)
        columns.drop(np.setdiff1d(np.arange(40), keep))
        products = columns.products(alpha)
        np.testing.assert_allclose(products[keep], every[keep], atol=1e-12)
        np.testing.assert_allclose(columns.columns(keep[::-1]), problem.design.columns(keep[::-1]), atol=1e-14)
        assert (columns.design is not problem.design) == copied
        assert not copied or (np.delete(products, columns.index) == 0.0).all()
        passes += columns.index.size / 40
        assert columns.passes == pytest.approx(passes)
    # Columns are copied again only if at most half of the last copy is active.
    assert columns.index.size == 4


def test_copies_respect_the_memory_of_a_search():
    X, y = sample("squared", 20, 40)
    problem = make_problem(X, y, 3, standardize=True)
    for n_bytes, copied in ((2 * 8 * 20 * 8 - 1, False), (2 * 8 * 20 * 8, True)):
        columns = ActiveColumns(problem)
        with limiting_memory(n_bytes):
            columns.drop(np.arange(8, 40))
        assert (columns.design is not problem.design) == copied


def test_passes_are_counted():
    """One pass per round, none for an empty start; dropped columns no longer count."""
    X, y = sample("squared", 50, 12, 10)
    _, told = relax(X, y, k=3, gamma=0.3, fixing=False, relaxation_tol=1e-8)
    assert told["passes"] == told["rounds"]
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((100, 300))
    target = wide[:, :3].sum(axis=1) + 0.3 * rng.standard_normal(100)
    _, told = relax(wide, target, k=3, gamma=0.02, relaxation_tol=1e-10)
    assert told["fixed_out"].size > 240 and told["passes"] < told["rounds"] + 1
