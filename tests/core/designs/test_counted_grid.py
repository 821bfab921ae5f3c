"""Counts of what is read of a grid."""

import pickle

import numpy as np
import pytest

from sparsest.core.designs import PassStopped, as_design, stopping
from sparsest.core.designs.counted_grid import CountedGrid
from sparsest.core.designs.passes import Reading
from sparsest.proofs.grid import ArrayGrid, Call


def entries(block, shared, own):
    return block.size


@pytest.fixture
def grid():
    X = np.random.default_rng(0).standard_normal((10, 8))
    blocks = [[X[:4, :5], X[:4, 5:]], [X[4:, :5], X[4:, 5:]]]
    return X, CountedGrid(ArrayGrid(blocks), Reading())


def test_counts(grid):
    X, counted = grid
    assert counted.shape == (10, 8) and counted.size == (2, 2) and not counted.parallel
    assert counted.run(entries, [Call(0, 0), Call(1, 1)]) == [20, 18]
    assert counted.reading.passes == pytest.approx(38 / 80) and counted.reading.bytes == 38 * 8
    counted.run_some(entries, [Call(1, 0), Call(1, 1)], None, 3)
    assert counted.reading.bytes == (38 + 18) * 8
    assert np.array_equal(counted.gather(np.array([7, 2])), X[:, [7, 2]])
    assert np.array_equal(counted.gather_row(4), X[4])
    assert counted.reading.bytes == (38 + 18 + 20 + 8) * 8
    assert counted.reading.passes == pytest.approx(84 / 80)
    assert counted.reading.seconds_computing > 0.0 and counted.reading.seconds_reading == 0.0


def test_a_pass_is_the_last_one(grid):
    _, counted = grid
    counted.reading.stop = lambda: True
    with pytest.raises(PassStopped):
        counted.run(entries, [Call(0, 0)])
    # Reads are counted even so.
    assert counted.reading.bytes == 20 * 8


def test_designs_of_chunks_count():
    X = np.random.default_rng(0).standard_normal((40, 6))
    given = as_design([X[:15], X[15:]])
    given.tdot(np.ones(40))
    design = as_design(given)
    assert given.reading.passes == 1.0 and design.reading.passes == 0.0
    for passes, what in enumerate(
        (lambda: design.tdot(np.ones(40)), lambda: design.dot(np.ones(6)), lambda: design.survey(np.ones(40))), 1
    ):
        what()
        assert design.reading.passes == pytest.approx(passes)
    design.gram(np.array([0, 1]), np.array([1, 2]))
    assert design.reading.passes == pytest.approx(3.5)
    assert pickle.loads(pickle.dumps(design)).reading.summary() == design.reading.summary()
    with pytest.raises(PassStopped), stopping(design, lambda: True):
        design.rows(np.arange(20)).tdot(np.ones(20))
