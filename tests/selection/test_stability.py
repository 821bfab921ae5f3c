"""Complementary halves, and the bounds of stability selection."""

import numpy as np
import pytest
from scipy.optimize import linprog

from sparsest.selection.stability import (
    complementary_pairs,
    expected_false,
    expected_false_unimodal,
    size_for,
    threshold_for,
)


@pytest.mark.parametrize("n", [10, 11])
def test_halves_are_disjoint_and_seeded(n):
    pairs = complementary_pairs(n, 20, np.random.RandomState(0))
    for first, second in pairs:
        assert first.size == second.size == n // 2
        assert not set(first) & set(second) and set(first) | set(second) <= set(range(n))
    again = complementary_pairs(n, 20, np.random.RandomState(0))
    assert np.array_equal(np.array(pairs), np.array(again))
    # No observation is left out for good, and no two pairs are alike.
    assert set(np.concatenate([np.concatenate(pair) for pair in pairs])) == set(range(n))
    assert len({pair[0].tobytes() for pair in pairs}) > 10


def test_halves_of_classes():
    classes = np.array([0] * 6 + [1] * 3)
    for first, second in complementary_pairs(9, 5, np.random.RandomState(1), classes):
        assert classes[first].sum() == classes[second].sum() == 1 and first.size == second.size == 4


def test_bounds():
    """Values by hand; the unimodal bound is never the worse one, and needs few features."""
    assert expected_false(4.0, 100, 0.75) == pytest.approx(16 / 50)
    assert expected_false_unimodal(4.0, 100, 0.7, 50) == pytest.approx(16 / 100 / (2 * (0.4 - 0.01)))
    assert expected_false_unimodal(4.0, 100, 0.9, 50) == pytest.approx(16 / 100 * 4 * 0.11 / 1.02)
    assert expected_false_unimodal(80.0, 100, 0.9, 50) == expected_false(80.0, 100, 0.9)
    for threshold in np.arange(0.52, 1.0, 0.02):
        assert expected_false_unimodal(3.0, 50, threshold, 50) <= expected_false(3.0, 50, threshold)
    assert expected_false(3.0, 50, threshold_for(0.3, 3.0, 50)) == pytest.approx(0.3)
    assert threshold_for(1e-9, 3.0, 50) == 1.0


def largest_tail(n_pairs, mean, first):
    """The largest ``P(X ≥ first/B)`` of a unimodal X on {0, 1/B, …, 1} with this mean, over all modes, by programming.

    X stands for the share of pairs both halves of which choose a feature.
    """
    size = n_pairs + 1
    gain = -(np.arange(size) >= first).astype(float)
    equal = np.vstack([np.ones(size), np.arange(size) / n_pairs])
    rising = np.eye(size)[:-1] - np.eye(size)[1:]
    tails = []
    for mode in range(size):
        shape = np.vstack([rising[:mode], -rising[mode:]])
        found = linprog(gain, A_ub=shape, b_ub=np.zeros(n_pairs), A_eq=equal, b_eq=[1.0, mean])
        tails += [-found.fun] if found.status == 0 else []
    return max(tails)


@pytest.mark.parametrize("n_pairs", [8, 12])
def test_the_unimodal_bound_is_the_worst_case(n_pairs):
    """A feature chosen with probability θ is kept with one of at most ``C(τ, B) θ²``, and no smaller C would do.

    If half and half choose it together in a share X of the pairs, of mean θ², it is kept only if ``X ≥ 2τ - 1``.
    """
    ratios = []
    for place in range(2, n_pairs + 1):
        threshold = 0.5 + place / (2 * n_pairs)
        # With p = 1 the bound of the number is C θ²; it holds up to a θ that depends on the threshold.
        for theta in np.linspace(0.05, 1.0 / np.sqrt(3.0), 6):
            bound, plain = expected_false_unimodal(theta, 1, threshold, n_pairs), expected_false(theta, 1, threshold)
            tail = largest_tail(n_pairs, theta**2, place)
            assert tail <= bound * (1.0 + 1e-9)
            ratios += [] if bound == plain else [tail / bound]
    assert len(ratios) > 20 and max(ratios) == pytest.approx(1.0)


@pytest.mark.parametrize("max_false", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("p", [10, 100, 3000])
def test_the_size_is_the_largest_within_the_bound(max_false, p):
    size = size_for(max_false, 0.75, p)
    assert size == 1 or expected_false(size, p, 0.75) <= max_false
    assert expected_false(size + 1, p, 0.75) > max_false
