"""The kernels that bound and narrow regions, compiled and uncompiled, against the sparsity rule and enumeration."""

import numpy as np
import pytest

from sparsest.core.sparsity import Region, Sparsity
from sparsest.subset.tree.kernels import regions

M = 7
NONE = (np.empty(0), np.empty(0))
# No bounds, a box, signs, and a mixture of all kinds of bounds.
BOUNDS = {
    "none": NONE,
    "box": (np.full(M, -0.4), np.full(M, 0.4)),
    "signs": (np.zeros(M), np.full(M, np.inf)),
    "mixed": (
        np.array([-0.3, -np.inf, 0.0, -2.0, 0.0, -0.1, -np.inf]),
        np.array([0.2, 0.0, 0.5, np.inf, 0.0, 3.0, 0.4]),
    ),
}
boxes = pytest.mark.parametrize("bounds", list(BOUNDS.values()), ids=list(BOUNDS))


def gains_of(u, roots, bounds):
    """``max uw - ½δw²`` within the bounds."""
    w = np.clip(u / roots**2, *bounds) if bounds[0].size else u / roots**2
    return u * w - 0.5 * (roots * w) ** 2


def data(seed):
    """Products u and roots of ridges."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal(M), np.sqrt(rng.uniform(0.3, 2.0, M)), rng


def region_of(state):
    state = np.asarray(state)
    return Region(np.flatnonzero(state == 1), np.flatnonzero(state == -1), state.size)


@pytest.mark.parametrize(
    "sparsity", [Sparsity(1), Sparsity(3), Sparsity(M), Sparsity(None, 0.3), Sparsity(3, 0.2)], ids=str
)
@pytest.mark.parametrize("state", [[0] * M, [1, 0, -1, 0, 1, 0, 0], [1, 0, 0, 1, 0, 1, 0]], ids=str)
@boxes
def test_the_bound_of_a_region(run, sparsity, state, bounds):
    """The smallest gain inside and the largest outside the best choice decide which features can be fixed."""
    u, roots, _ = data(5)
    state = np.array(state, dtype=np.int8)
    alive, q = np.flatnonzero(state >= 0), np.empty(M)
    n_in, gains, region = int((state == 1).sum()), gains_of(u, roots, bounds), region_of(state)
    bound, last, following = run(regions.region_bound)(
        u, 1.7, roots, state, alive, n_in, sparsity.most(M), sparsity.price, *bounds, q, np.empty(M)
    )
    np.testing.assert_allclose(q[alive], gains[alive], rtol=1e-13)
    if n_in <= sparsity.most(M):
        assert bound == pytest.approx(-0.85 - sparsity.gain(gains, region), rel=1e-12)
    worth = np.sort(np.maximum(gains[region.free] - sparsity.price, 0.0))[::-1]
    left = sparsity.most(M) - n_in
    if left <= 0:
        assert last == following == np.inf
    else:
        assert last == pytest.approx(sparsity.price + (worth[left - 1] if left < worth.size else 0.0))
        assert following == pytest.approx(sparsity.price + (worth[left] if left < worth.size else 0.0))


def test_features_that_are_not_forced_out(run):
    state, alive = np.array([0, -1, 1, 0, -1, 1], dtype=np.int8), np.empty(6, dtype=np.int64)
    count, forced = run(regions.list_alive)(state, alive)
    assert (alive[:count].tolist(), forced) == ([0, 2, 3, 5], 2)


def test_the_nearest_indicator_and_the_distance_to_integral(run):
    indicator, state = np.array([0.5, 0.9, 0.2, 0.0, 1.0]), np.array([1, 0, 0, 0, 0], dtype=np.int8)
    assert run(regions.nearest)(indicator, state, 0.5) == 2
    assert run(regions.nearest)(indicator, state, 0.9) == 1
    assert run(regions.nearest)(indicator, np.array([1, -1, 1, 0, 0], dtype=np.int8), 0.5) == regions.NO_FEATURE
    assert run(regions.distance_to_integral)(indicator) == pytest.approx(0.5 + 0.1 + 0.2)


def test_unpacking(run):
    w, state = np.array([0.0, -2.0, 0.1, 0.0]), np.array([1, 0, 0, 0], dtype=np.int8)
    used, values, indicator = run(regions.unpack)(w, state, np.full(4, 2.0), 0.5, *NONE)
    assert used.tolist() == [1, 2]
    assert values.tolist() == [-2.0, 0.1]
    assert indicator.tolist() == pytest.approx([1.0, 1.0, 0.1, 0.0])
    # If a bound limits a coefficient, the indicator is its share of the bound.
    low, high = np.array([0.0, -8.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.25, 0.0])
    indicator = run(regions.unpack)(w, state, np.full(4, 2.0), 0.1, low, high)[2]
    assert indicator.tolist() == pytest.approx([1.0, 0.4, 0.4, 0.0])


@pytest.mark.parametrize(
    "sparsity",
    [Sparsity(2), Sparsity(3), Sparsity(M), Sparsity(None, 0.3), Sparsity(None, 0.0), Sparsity(3, 0.2)],
    ids=str,
)
@pytest.mark.parametrize("state", [[0] * M, [1, 0, -1, 0, 1, 0, 0], [-1, 0, 0, -1, 0, 1, 0]], ids=str)
@boxes
def test_region_bounds_and_fixings_are_those_of_the_problem(run, sparsity, state, bounds):
    for seed, slack in ((0, 0.05), (1, 0.5), (2, 2.0), (3, -0.1)):
        u, roots, _ = data(seed)
        before = np.array(state, dtype=np.int8)
        q = gains_of(u, roots, bounds)
        region = Region(np.flatnonzero(before == 1), np.flatnonzero(before == -1), M)
        free = region.free
        bound = -0.5 * 1.7 - sparsity.gain(q, region)
        cost_in, cost_out = sparsity.forcing_costs(q, region)
        expected = before.copy()
        expected[free[(cost_out > slack) & (slack > 0)]] = 1
        expected[free[(cost_in > slack) & (slack > 0)]] = -1
        found = before.copy()
        settings = sparsity.most(M), sparsity.price, *bounds, bound + slack
        value, fixed_in, fixed_out, needed, closed = run(regions.tighten)(u, 1.7, roots, found, *settings)
        costs = np.concatenate([cost_out[expected[free] == 1], cost_in[expected[free] == -1]])
        assert closed == pytest.approx(bound + costs.min(initial=np.inf), rel=1e-12)
        assert value == pytest.approx(bound, rel=1e-12)
        assert np.array_equal(found, expected)
        assert np.array_equal(fixed_in, np.flatnonzero((expected == 1) & (before == 0)))
        assert np.array_equal(fixed_out, np.flatnonzero((expected == -1) & (before == 0)))
        # Freeing all features that are not needed changes nothing; freeing a needed one does.
        larger = np.where(before == -1, 0, before).astype(np.int8)
        larger[needed] = -1
        again = run(regions.tighten)(u, 1.7, roots, larger.copy(), *settings)
        assert again[0] == pytest.approx(bound, rel=1e-12) and set(fixed_out) <= set(again[2])
        assert np.array_equal(again[1], fixed_in) and np.array_equal(again[3], needed)
        assert (before[needed] == -1).all()
        for j in needed if not fixed_in.size else ():
            larger[j] = 0
            assert run(regions.tighten)(u, 1.7, roots, larger.copy(), *settings)[0] < bound
            larger[j] = -1
