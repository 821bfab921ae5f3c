"""What the tests of estimators share."""

import numpy as np

from sparsest import BestSubsetClassifier, BestSubsetRegressor
from sparsest.core.losses import LOSSES


def estimator_of(loss, **settings):
    kind = BestSubsetClassifier if LOSSES[loss].classification else BestSubsetRegressor
    return kind(loss=loss, **{"k": 2, "method": "local", **settings})


def same_coefficients(model, other):
    """Two fits of the same data agree to the precision of a fit: a gap of 1e-8 leaves 1e-4 in the coefficients."""
    np.testing.assert_allclose(np.ravel(model.coef_), np.ravel(other.coef_), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(np.ravel(model.intercept_), np.ravel(other.intercept_), rtol=1e-4, atol=1e-6)
    assert np.array_equal(model.support_, other.support_)
