"""The choice of a working set, compiled and uncompiled."""

import numpy as np
import pytest

from sparsest.subset.relaxation.kernels import entering


def test_the_threshold_of_sigma(run):
    assert run(entering.threshold_of)(0.4) == pytest.approx(3.125)
    assert run(entering.threshold_of)(0.0) == run(entering.threshold_of)(np.inf) == 0.0


@pytest.mark.parametrize(("left", "price", "expected"), [(1, 0.0, 4.0), (2, 0.0, 3.0), (3, 0.0, 0.0), (2, 3.5, 3.5)])
def test_the_threshold_of_gains(run, left, price, expected):
    """The smallest gain in the best choice of free features with coefficients, or the price if that is larger."""
    q, w = np.array([5.0, 9.0, 4.0, 3.0, 2.0]), np.array([0.0, 1.0, -1.0, 1.0, 0.0])
    state, alive = np.array([0, 1, 0, 0, 0], dtype=np.int8), np.arange(5)
    sigma = run(entering.sigma_of_gains)(q, w, state, alive, left, price, np.empty(5))
    assert 0.5 / sigma**2 == pytest.approx(expected)


@pytest.mark.parametrize("extra", [0, 2, 10])
def test_the_working_set_has_the_largest_gains(run, extra):
    q, stays = np.array([5.0, 0.1, 4.0, 3.0, 2.0, 9.0]), np.array([False, True, False, False, True, False])
    alive, chosen = np.arange(5), np.empty(6, dtype=np.int64)
    size = run(entering.pick_working_set)(q, stays, alive, 3.125, extra, np.empty(6), chosen)
    assert chosen[:size].tolist() == {0: [1, 4], 2: [0, 1, 2, 4], 10: [0, 1, 2, 4]}[extra]
