"""When bounds are adapted, to which regions, and that it ends where it does not pay."""

from types import SimpleNamespace

import numpy as np
import pytest

from sparsest.subset.tree.adapting import Adapting
from sparsest.subset.tree.frontier import Node


class Bounder:
    """Notes what it is asked to adapt to."""

    def __init__(self, m):
        self.survivors, self.asked = np.arange(m), []

    def adapt(self, regions, room):
        self.asked.append((list(regions), room))


def node_of(bound, depth, divided=0):
    return Node(np.zeros(3, dtype=np.int8), bound, 0, depth=depth, divided=divided)


def begun(m=100):
    adapting, bounder = Adapting(), Bounder(m)
    adapting.begin(bounder, node_of(10.0, 0))
    return adapting, bounder


@pytest.mark.parametrize(("m", "first"), [(10, 512), (1000, 800)])
def test_first_after_some_nodes_and_later_ever_more_rarely(m, first):
    adapting, bounder = begun(m)
    assert not adapting.is_due(first - 1) and adapting.is_due(first)
    adapting.prepare(bounder, 1e6)
    assert not adapting.is_due(8 * first - 1) and adapting.is_due(8 * first)


def test_nothing_is_due_before_the_search_begins():
    assert not Adapting().is_due(10**12)


def test_bounds_are_adapted_to_the_last_regions_that_were_split():
    adapting, bounder = begun()
    regions = [(SimpleNamespace(number=i), np.zeros(3)) for i in range(100)]
    adapting.lately_split.extend(regions)
    adapting.prepare(bounder, 1e6)
    [(given, room)] = bounder.asked
    assert given == regions[-64:] and room == 1e6


def test_regions_that_suit():
    """Some levels below the last time, and farther from the cutoff than a level's branching lifts the bound."""
    adapting, bounder = begun()
    assert not adapting.suits(node_of(11.0, 8), 20.0)
    adapting.prepare(bounder, 1e6)
    node = node_of(11.0, 8, divided=4)
    assert not adapting.suits(node, 20.0) and node.divided == 4
    node = node_of(11.0, 8, divided=3)
    # Branching has lifted the bound by an eighth for each level.
    assert not adapting.suits(node, 11.1) and node.divided == 3
    assert adapting.suits(node, 11.2) and node.divided == 8
    assert not adapting.suits(node, 20.0)


def test_it_ends_where_it_does_not_pay():
    """After some tries, as soon as most of them have lifted bounds by less than a level of branching."""
    adapting, bounder = begun()
    adapting.prepare(bounder, 1e6)
    for lift in [0.2] * 16 + [0.1] * 16:
        adapting.weigh(node_of(11.0, 8), lift)
    assert adapting.suits(node_of(11.0, 8), 20.0)
    adapting.weigh(node_of(11.0, 8), 0.1)
    assert not adapting.suits(node_of(11.0, 8), 20.0)
    adapting.prepare(bounder, 1e6)
    assert adapting.suits(node_of(11.0, 8), 20.0)
