"""Cones of the perspective terms: the scaling maps dual vectors to primal ones, and steps end at the boundary."""

import numpy as np
import pytest

from sparsest.subset.fits.cones import Scaling, depth, largest_step, product, quotient, rotated

RNG = np.random.default_rng(0)


def inside(count, margin):
    """Vectors of the cones, some of them near the boundary."""
    s, w = RNG.uniform(0.01, 2.0, count), RNG.standard_normal(count)
    return np.array([(w**2 + margin) / (2.0 * s), s, w])


def test_turning_keeps_products_and_shows_the_second_order_cone():
    x, y = inside(20, 0.3), inside(20, 0.1)
    np.testing.assert_allclose((rotated(x) * rotated(y)).sum(axis=0), (x * y).sum(axis=0))
    np.testing.assert_allclose(rotated(x)[0] ** 2 - (rotated(x)[1:] ** 2).sum(axis=0), depth(x))
    np.testing.assert_allclose(rotated(rotated(x)), x)


def test_a_quotient_undoes_a_product():
    x, y = rotated(inside(20, 0.3)), RNG.standard_normal((3, 20))
    np.testing.assert_allclose(quotient(x, product(x, y)), y)


@pytest.mark.parametrize("margin", [1.0, 1e-6])
def test_steps_end_at_the_boundary(margin):
    x, d = inside(50, margin), RNG.standard_normal((3, 50))
    steps = [largest_step(x[:, [j]], d[:, [j]]) for j in range(50)]
    for j, step in enumerate(steps):
        far = min(step, 1e3)
        for part in (0.3, 0.999):
            assert depth(x[:, j] + part * far * d[:, j]) > 0.0 and (x[:2, j] + part * far * d[:2, j] > 0.0).all()
        if step < 1e3:
            assert depth(x[:, j] + step * d[:, j]) == pytest.approx(0.0, abs=1e-9 * (1.0 + step**2))
    assert largest_step(x, d) == min(steps)
    assert largest_step(x, x) == np.inf


@pytest.mark.parametrize("margin", [1.0, 1e-6])
def test_the_scaling_maps_dual_to_primal_and_its_directions_are_newton_s(margin):
    x, y = inside(30, margin), inside(30, 0.5)
    scaling = Scaling(x, y)
    for j in range(30):
        # The columns of W are the images of unit vectors.
        W = scaling.size[j] * np.column_stack(
            [rotated(Scaling(x[:, [j]], y[:, [j]])._times(rotated(e[:, None]), 1.0))[:, 0] for e in np.eye(3)]
        )
        np.testing.assert_allclose(W, W.T, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(W @ W @ y[:, j], x[:, j], rtol=1e-6, atol=1e-9)
        a, b, c = (part[j] for part in scaling.block())
        block = np.array([[a + c * b * b, c * b], [c * b, c]])
        np.testing.assert_allclose(block @ (W @ W)[1:, 1:], np.eye(2), atol=1e-4)
        missing, d_r = RNG.standard_normal(2)
        expected = (W @ W)[0, 1:] @ [a * missing + b * d_r, d_r]
        first = scaling.first(np.full(30, missing), np.full(30, d_r))[j]
        assert first == pytest.approx(expected, rel=1e-4, abs=1e-6)
    # For a step with dy = 0 the products with y equal the target to first order.
    goal = scaling.goal(0.25, None)
    np.testing.assert_allclose((y * (x + goal)).sum(axis=0), 0.25, rtol=1e-6)
