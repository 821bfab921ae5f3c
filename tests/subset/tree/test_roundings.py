"""The choice of nodes to round: the first ones, nearly integral ones, and others at growing intervals."""

import numpy as np

from sparsest.subset.tree.roundings import Roundings

FRACTIONAL, NEARLY_INTEGRAL = np.full(4, 0.5), np.array([1.0, 0.9, 0.05, 0.0])


def test_the_first_nodes_and_nearly_integral_ones_are_rounded():
    roundings = Roundings()
    assert all(roundings.due(n_nodes, FRACTIONAL) == (True, False) for n_nodes in range(33))
    assert roundings.due(33, FRACTIONAL) == (False, False)
    assert roundings.due(33, NEARLY_INTEGRAL) == (True, False)


def test_polishing_becomes_rare():
    """Six supports are polished while the number of nodes grows eightfold."""
    roundings = Roundings()
    polished = [n_nodes for n_nodes in range(4097) if roundings.due(n_nodes, FRACTIONAL)[1]]
    assert polished[0] == 64
    for least in (64, 512):
        assert 5 <= sum(least <= n_nodes < 8 * least for n_nodes in polished) <= 7
