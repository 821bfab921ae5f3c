"""Adapted bounds: when they are prepared, for which nodes, and that adapting ends if it does not help."""

from types import SimpleNamespace

import numpy as np
import pytest

from sparsest.subset.tree.adaptation import Adaptation
from sparsest.subset.tree.frontier import Node


class Bounder:
    """Records the arguments of ``adapt``."""

    def __init__(self, m):
        self.survivors, self.asked = np.arange(m), []

    def adapt(self, regions, max_bytes):
        self.asked.append((list(regions), max_bytes))


def node_of(bound, depth, adapted_at=0):
    return Node(np.zeros(3, dtype=np.int8), bound, 0, depth=depth, adapted_at=adapted_at)


def started(m=100):
    adaptation, bounder = Adaptation(), Bounder(m)
    adaptation.begin(bounder, node_of(10.0, 0))
    return adaptation, bounder


@pytest.mark.parametrize(("m", "first"), [(10, 512), (1000, 800)])
def test_intervals_between_adaptations_grow(m, first):
    adaptation, bounder = started(m)
    assert not adaptation.is_due(first - 1) and adaptation.is_due(first)
    adaptation.prepare(bounder, 1e6)
    assert not adaptation.is_due(8 * first - 1) and adaptation.is_due(8 * first)


def test_nothing_is_due_before_the_search_begins():
    assert not Adaptation().is_due(10**12)


def test_bounds_are_adapted_to_the_last_regions_that_were_split():
    adaptation, bounder = started()
    regions = [(SimpleNamespace(number=i), np.zeros(3)) for i in range(100)]
    adaptation.recent_splits.extend(regions)
    adaptation.prepare(bounder, 1e6)
    [(given, max_bytes)] = bounder.asked
    assert given == regions[-64:] and max_bytes == 1e6


def test_nodes_that_are_adapted():
    """Nodes several levels below the last adaptation that one more level of branching is not expected to close."""
    adaptation, bounder = started()
    assert not adaptation.should_adapt(node_of(11.0, 8), 20.0)
    adaptation.prepare(bounder, 1e6)
    node = node_of(11.0, 8, adapted_at=4)
    assert not adaptation.should_adapt(node, 20.0) and node.adapted_at == 4
    node = node_of(11.0, 8, adapted_at=3)
    # Branching has lifted the bound by an eighth per level.
    assert not adaptation.should_adapt(node, 11.1) and node.adapted_at == 3
    assert adaptation.should_adapt(node, 11.2) and node.adapted_at == 8
    assert not adaptation.should_adapt(node, 20.0)


def test_adapting_ends_if_it_does_not_help():
    """After the trial, as soon as most adaptations have lifted the bound by less than one level of branching."""
    adaptation, bounder = started()
    adaptation.prepare(bounder, 1e6)
    for lift in [0.2] * 16 + [0.1] * 16:
        adaptation.record_lift(node_of(11.0, 8), lift)
    assert adaptation.should_adapt(node_of(11.0, 8), 20.0)
    adaptation.record_lift(node_of(11.0, 8), 0.1)
    assert not adaptation.should_adapt(node_of(11.0, 8), 20.0)
    adaptation.prepare(bounder, 1e6)
    assert adaptation.should_adapt(node_of(11.0, 8), 20.0)
