"""The frontier: the order of open nodes, their lowest bound, their memory, and the branching feature."""

import numpy as np
import pytest

from sparsest.subset.tree.bounder import WarmStart
from sparsest.subset.tree.frontier import NODE_BYTES, Frontier, Node, branching_feature


def node_of(bound, depth):
    nothing = WarmStart(np.empty(0, dtype=np.intp), np.empty(0), 0.0)
    return Node(np.zeros(3, dtype=np.int8), bound, 0, nothing, depth)


def test_open_regions_come_lowest_first_or_deepest_first():
    regions = Frontier()
    assert not regions and regions.lowest() == np.inf
    given = [(3.0, 1), (1.0, 0), (2.0, 5), (2.0, 2), (4.0, 5)]
    for bound, depth in given:
        regions.push(node_of(bound, depth))
    assert regions and regions.bytes == sum(node_of(*one).size() for one in given)
    assert regions.lowest() == 1.0
    regions.depth_first(True)
    assert regions.lowest() == 1.0
    deepest = [regions.pop() for _ in range(2)]
    assert [(node.bound, node.depth) for node in deepest] == [(2.0, 5), (4.0, 5)]
    regions.push(node_of(0.5, 3))
    assert regions.lowest() == 0.5 and regions.pop().depth == 3
    regions.depth_first(False)
    assert [regions.pop().bound for _ in range(3)] == [1.0, 2.0, 3.0]
    assert not regions and regions.bytes == 0


@pytest.mark.parametrize("deep", [False, True])
def test_the_lowest_bound_is_that_of_all_open_nodes(deep):
    rng = np.random.default_rng(0)
    frontier, bounds = Frontier(), []
    frontier.depth_first(deep)
    for _ in range(200):
        if bounds and rng.random() < 0.4:
            following = frontier.next()
            assert frontier.pop() is following
            bounds.remove(following.bound)
        else:
            node = node_of(float(rng.integers(50)), int(rng.integers(9)))
            frontier.push(node)
            bounds.append(node.bound)
        assert frontier.lowest() == min(bounds, default=np.inf) and bool(frontier) is bool(bounds)


def test_equal_nodes_come_in_the_order_they_were_pushed():
    frontier, nodes = Frontier(), [node_of(1.0, 2) for _ in range(5)]
    for node in nodes:
        frontier.push(node)
    # This also holds after the order was changed and changed back.
    frontier.depth_first(True)
    frontier.depth_first(False)
    popped = [frontier.pop() for _ in nodes]
    assert all(one is other for one, other in zip(popped, nodes, strict=True))


def test_a_closed_node_keeps_what_its_proof_needs():
    node = Node(np.zeros(7, dtype=np.int8), 2.5, 3, WarmStart(np.arange(4), np.ones(4), 0.0), 2)
    assert node.size() == NODE_BYTES + 7 + 4 * 16
    node.release()
    assert node.size() == NODE_BYTES and (node.bound, node.point, node.depth) == (2.5, 3, 2)


def test_branching_feature_is_fractional_and_free():
    state = np.array([0, 0, 1, -1, 0], dtype=np.int8)
    assert branching_feature(np.array([0.0, 1.0, 0.5, 0.5, 0.6]), state) == 4
    assert branching_feature(np.array([0.0, 1.0, 0.5, 0.5, 1.0]), state) is None
    assert branching_feature(np.empty(0), np.empty(0, dtype=np.int8)) is None


def test_branching_takes_the_indicator_nearest_to_seven_tenths():
    """Distances are relative to the distance of 0.7 from 0 and from 1."""
    state = np.zeros(3, dtype=np.int8)
    assert branching_feature(np.array([0.5, 0.68, 0.9]), state) == 1
    # 0.35 is halfway from 0.7 to 0; 0.88 is three fifths of the way from 0.7 to 1.
    assert branching_feature(np.array([0.35, 0.88, 1.0]), state) == 0
    assert branching_feature(np.array([0.35, 0.82, 1.0]), state) == 1


def test_branching_prefers_features_whose_limits_have_large_multipliers():
    state, indicator = np.array([0, 0, 0, 1], dtype=np.int8), np.array([0.7, 0.5, 1.0, 0.7])
    assert branching_feature(indicator, state, np.ones(4)) == 0
    assert branching_feature(indicator, state, np.array([1.0, 3.0, 9.0, 9.0])) == 1
    assert branching_feature(indicator, state, np.zeros(4)) == 0
    assert branching_feature(np.array([0.0, 1.0, 1.0, 1.0]), state, np.ones(4)) is None
