"""Models that doubling γ does not change: the same support, coefficients within a hundredth of their length."""

import numpy as np

from sparsest.subset.doubling import unchanged


def test_supports_and_coefficients_count():
    support, coef = np.array([1, 4]), np.array([3.0, 4.0])
    assert unchanged(support, coef, support, np.array([3.0, 4.049]))
    assert not unchanged(support, coef, support, np.array([3.0, 4.06]))
    assert not unchanged(support, coef, np.array([1, 5]), coef)
    assert not unchanged(support, coef, np.array([1]), coef[:1])
    empty = np.empty(0, dtype=np.intp)
    assert unchanged(empty, np.empty(0), empty, np.empty(0))
