"""Walks through regions: the regions that follow each step, and those that it has to close."""

import numpy as np
import pytest

from proofs.helpers import indices, sample, statement_of
from sparsest.proofs.columns import PackedColumns
from sparsest.proofs.data import Data
from sparsest.proofs.structure import Rules
from sparsest.proofs.walks import PlainWalk, StructuredWalk, walk_of

P = 6
RULES = Rules(units=(0, 0, 1, 2, 2, 3), requires=((3, (0,), True),), limits=(((1, 2), 0, 1),))


def walk(**settings):
    X, y = sample(8, P)
    statement = statement_of(X, y, **settings)
    data = Data.of(statement, X, y, None)
    return walk_of(statement, PackedColumns(data, np.arange(P))), data


def test_plain_regions():
    found, data = walk(k=3, include=(1,), exclude=(4,))
    assert isinstance(found, PlainWalk) and found.state().tolist() == [0, 1, 0, 0, -1, 0]
    found.pack(PackedColumns(data, found.alive()))
    assert found.alive().tolist() == [0, 1, 2, 3, 5]
    found.branch(2)
    fixed = found.fix(indices(5), indices(0))
    assert (fixed.inside.tolist(), fixed.outside.tolist(), fixed.whole) == ([4], [0], False)
    assert found.state().tolist() == [-1, 1, 1, 0, 1] and found.open() == 1
    assert found.close() and found.state().tolist() == [0, 1, -1, 0, 0]
    assert not found.close()
    for feature in (1, 4, 2):
        with pytest.raises(ValueError, match="not free"):
            found.branch(feature)
    with pytest.raises(ValueError, match="a feature that does not exist"):
        found.branch(P)


def test_structured_regions():
    found, _ = walk(k=3, structure=RULES)
    assert isinstance(found, StructuredWalk)
    found.branch(5)
    assert found.state().tolist() == [1, 0, 0, 1] and found.column_states().tolist() == [1, 1, 0, 0, 0, 1]
    # Unit 2 follows from nothing; its column stands for it.
    found.branch(4)
    assert found.state().tolist() == [1, -1, 1, 1] and found.alive().tolist() == [0, 1, 3, 4, 5]
    assert found.close() and found.state().tolist() == [1, 0, -1, 1]
    assert found.close() and found.state().tolist() == [0, 0, 0, -1] and not found.empty
    assert not found.close()


def test_what_the_rules_decided_needs_no_step():
    found, _ = walk(k=3, structure=RULES, include=(5,))
    nothing = found.fix(indices(0, 1), indices())
    assert not nothing.inside.size + nothing.outside.size and not nothing.whole and not found.empty
    found.branch(0)
    assert not found.empty and found.close() and found.empty
    assert not found.close()


def test_the_other_side_of_what_the_rules_decided_is_the_whole_region():
    found, _ = walk(k=3, structure=RULES, include=(5,))
    fixed = found.fix(indices(2), indices(1))
    assert fixed.whole and fixed.inside.tolist() == [1] and found.empty
    # Steps of an empty region do not matter, but its regions are counted.
    found.branch(3)
    assert found.empty and found.open() == 1 and found.close() and found.empty
    assert not found.close()


def test_empty_regions_end_where_their_branch_ends():
    found, _ = walk(k=3, structure=RULES, exclude=(0,))
    assert found.state().tolist() == [-1, 0, 0, -1]
    found.branch(5)
    assert found.empty
    found.branch(2)
    assert found.close() and found.empty
    assert found.close() and not found.empty and found.state().tolist() == [-1, 0, 0, -1]


def test_a_unit_on_both_sides_of_a_fix():
    """Both sides of the unit are closed, so that nothing is left."""
    found, _ = walk(k=3, structure=RULES)
    fixed = found.fix(indices(0), indices(1))
    assert fixed.inside.tolist() == fixed.outside.tolist() == [0] and not fixed.whole and found.empty


def test_contradictions_in_the_statement_leave_no_support():
    assert walk(k=3, structure=RULES, include=(0,), exclude=(1,))[0].empty
    assert walk(k=3, structure=RULES, include=(2, 3))[0].empty
