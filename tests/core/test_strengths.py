"""Records of λ, curvature and limits of coefficients."""

import numpy as np

from sparsest.core.strengths import clipped, held, lambdas, limits, make_strengths, pushed, put_within, with_lambdas

LAM = np.array([1.0, 2.0, 0.0])


def test_arrays_of_numbers_are_strengths_without_limits():
    w = np.array([3.0, -1.0, 0.0])
    assert lambdas(LAM) is LAM and limits(LAM) is None and clipped(w, LAM) is w
    assert not held(w, w, LAM).any() and with_lambdas(LAM, w) is w
    np.testing.assert_array_equal(pushed(w, LAM), np.abs(w))


def test_records():
    low, high = np.array([0.0, -1.0, -np.inf]), np.array([2.0, 0.0, np.inf])
    records = make_strengths(LAM, 0.5, low, high)
    np.testing.assert_array_equal(lambdas(records), LAM)
    np.testing.assert_array_equal(records.curvature, [0.5] * 3)
    np.testing.assert_array_equal(clipped(np.array([3.0, 3.0, 3.0]), records), [2.0, 0.0, 3.0])
    np.testing.assert_array_equal(pushed(np.array([-4.0, -4.0, -4.0]), records), [4.0, 0.0, 4.0])
    np.testing.assert_array_equal(pushed(np.array([4.0, 4.0, 4.0]), records), [0.0, 4.0, 4.0])
    at_limits = np.array([2.0, -1.0, 5.0])
    np.testing.assert_array_equal(held(at_limits, np.array([-1.0, 1.0, -1.0]), records), [True, True, False])
    np.testing.assert_array_equal(held(at_limits, np.array([1.0, -1.0, 1.0]), records), [False, False, False])
    changed = with_lambdas(records, 3.0 * LAM)
    np.testing.assert_array_equal(lambdas(changed), 3.0 * LAM)
    np.testing.assert_array_equal(lambdas(records), LAM)


def test_coefficients_at_a_limit_but_for_rounding_are_put_there():
    low, high = np.array([-0.3, -np.inf]), np.array([0.1, 0.0])
    found = put_within(np.array([0.1 * (1.0 - 1e-15), -1e300]), low, high)
    np.testing.assert_array_equal(found, [0.1, -1e300])
    np.testing.assert_array_equal(put_within(np.array([0.09, 1e-300]), low, high), [0.09, 0.0])
