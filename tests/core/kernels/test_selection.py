"""The largest entries of an array against sorting, compiled and plain."""

import numpy as np
import pytest

from sparsest.core.kernels import selection as kernels


@pytest.mark.parametrize("count", [-1, 0, 1, 2, 5, 11, 12, 20])
def test_largest_sum(run, count):
    rng = np.random.default_rng(0)
    for values in (
        rng.standard_normal(12),
        rng.integers(0, 3, 12).astype(float),
        np.ones(12),
        np.arange(12.0),
        -np.arange(12.0),
    ):
        expected = -np.sort(-values)[: max(count, 0)]
        work = values.copy()
        total, least = run(kernels.largest_sum)(work, count)
        assert total == pytest.approx(expected.sum(), abs=1e-12)
        assert least == (expected[-1] if expected.size else np.inf)
        assert np.array_equal(np.sort(work), np.sort(values))
        assert np.array_equal(np.sort(work[: max(count, 0)]), np.sort(expected))


@pytest.mark.parametrize("count", [1, 3, 6])
def test_largest_sum_ends_on_nan(run, count):
    values = np.array([1.0, np.nan, 3.0, np.nan, -2.0, np.inf, np.nan])
    run(kernels.largest_sum)(values, count)
    assert np.isnan(values).sum() == 3
