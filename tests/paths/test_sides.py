"""Sides to which gradients push features."""

import numpy as np

from sparsest.paths.sides import FeatureSides, GroupSides

GRAD = np.array([-2.0, 3.0, -1.0])
FACTOR, NORMS, INDEX = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.5, 2.0]), np.arange(3)


def test_without_limits_the_size_of_a_gradient_counts():
    sides = FeatureSides(FACTOR, NORMS, None, None)
    np.testing.assert_array_equal(sides.push(INDEX, GRAD), np.abs(GRAD))
    pushes = sides.pushes(INDEX, GRAD, 0.1)
    np.testing.assert_allclose(pushes.size, np.abs(GRAD) + 0.1 * NORMS)
    assert (pushes.limit == np.inf).all() and sides.movable.all()


def test_with_limits_the_side_counts():
    sides = FeatureSides(FACTOR, NORMS, np.array([0.0, 0.0, 0.0]), np.array([np.inf, 2.0, 0.0]))
    np.testing.assert_array_equal(sides.push(INDEX, GRAD), [2.0, 0.0, 0.0])
    np.testing.assert_array_equal(sides.movable, [True, True, False])
    pushes = sides.pushes(INDEX[:2], GRAD[:2], 0.1)
    np.testing.assert_allclose(pushes.size, [2.1, -2.95, -1.9, 3.05])
    np.testing.assert_array_equal(pushes.limit, [np.inf, 2.0, 0.0, 0.0])
    np.testing.assert_array_equal(pushes.factor, [1.0, 2.0, 1.0, 2.0])


def test_groups_are_pushed_by_the_norms_of_their_gradients():
    sides = GroupSides(np.array([2.0, 1.0, 2.0]), NORMS, np.array([0, 1, 0]))
    np.testing.assert_allclose(sides.push(INDEX, GRAD), [np.sqrt(5.0), 3.0, np.sqrt(5.0)])
    np.testing.assert_allclose(sides.norms, [np.sqrt(5.0), 0.5, np.sqrt(5.0)])
    pushes = sides.pushes(INDEX, GRAD, 0.1)
    np.testing.assert_allclose(pushes.size, [1.1 * np.sqrt(5.0), 3.05])
    np.testing.assert_array_equal(pushes.factor, [2.0, 1.0])
    pushes = sides.pushes(np.array([1]), GRAD[1:2], 0.0)
    np.testing.assert_array_equal(pushes.size, [3.0])
    assert sides.movable.all()


def test_groups_with_limits_are_pushed_where_they_may_go():
    lower, upper = np.zeros(3), np.array([np.inf, 2.0, 0.5])
    sides = GroupSides(np.array([2.0, 1.0, 2.0]), NORMS, np.array([0, 1, 0]), lower, upper)
    np.testing.assert_allclose(sides.push(INDEX, GRAD), [np.sqrt(5.0), 0.0, np.sqrt(5.0)])
    pushes = sides.pushes(INDEX, GRAD, 0.1)
    np.testing.assert_array_equal(pushes.size, [2.0, 1.0, 3.0])
    np.testing.assert_array_equal(pushes.room, [np.inf, 0.5, 0.0])
    np.testing.assert_array_equal(pushes.starts, [0, 2, 3])
    np.testing.assert_array_equal(pushes.factor, [2.0, 1.0])
    np.testing.assert_allclose(pushes.shift, [0.1 * np.sqrt(5.0), 0.05])
    assert not GroupSides(FACTOR, NORMS, np.zeros(3, dtype=int), lower, np.zeros(3)).movable.any()
