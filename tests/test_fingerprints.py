"""The fingerprint of prepared data is that of the results."""

import numpy as np
import pytest
import scipy.sparse as sp

from samples import sample
from sparsest import best_subset
from sparsest.data import make_data
from sparsest.fingerprints import as_checker_reads, fingerprint_of

N, P = 30, 6


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_it_is_that_of_a_result(loss):
    X, y = sample(loss, N, P)
    weights = np.where(np.arange(N) % 5 == 0, 0.0, 1.5)
    given = {"loss": loss, "sample_weight": weights, "offset": np.linspace(0.0, 1.0, N)}
    result = best_subset(X, y, 2, method="local", **given)
    for form in (X, sp.csc_array(X), np.asfortranarray(X)):
        assert fingerprint_of(make_data(form, y, standardize=True, **given)) == result.statement.fingerprint
    X[1, 0] += 1e-9
    assert fingerprint_of(make_data(X, y, standardize=True, **given)) != result.statement.fingerprint


def test_the_checker_reads_the_same_numbers():
    X, y = sample("squared", N, P)
    read = as_checker_reads(make_data(sp.csr_array(X), y))
    np.testing.assert_array_equal(read.raw(np.arange(P)), X)
    np.testing.assert_array_equal(read.response, y)
