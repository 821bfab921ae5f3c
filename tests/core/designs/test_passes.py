"""The blocks of a pass, and the counts of passes."""

import pickle

import numpy as np
import pytest

from sparsest.core.designs.passes import Reading, parts_of
from sparsest.core.designs.sources import ArraySource


@pytest.mark.parametrize("order", ["F", "C"])
@pytest.mark.parametrize("index", [None, [5, 0, 5, 19], [], [19]], ids=str)
def test_every_line_is_in_one_part(order, index):
    source = ArraySource(np.zeros((20, 20), order=order))
    wanted = None if index is None else np.array(index, dtype=np.intp)
    found = np.full(20 if wanted is None else wanted.size, -1)
    for part in parts_of(source, wanted, 20 * 8 * 3):
        lines = np.arange(part.begin, part.end)
        found[part.at] = lines if part.inside is None else lines[part.inside]
    assert np.array_equal(found, np.arange(20) if wanted is None else wanted)


def test_counts_can_be_sent():
    reading = Reading()
    reading.passes, reading.bytes, reading.stop = 2.5, 7, lambda: True
    copy = pickle.loads(pickle.dumps(reading))
    assert copy.summary() == reading.summary() and not copy.stop()
