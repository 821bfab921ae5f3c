"""Small proofs: only needed fixings, and coefficients with few digits."""

import numpy as np
import pytest

from checks import best_subset, check_certificate
from samples import BY_REGIONS
from sparsest.datasets import make_toeplitz
from sparsest.proofs.steps import Branch, Fix, Leaf, PrimalPoint, SplitPoint
from sparsest.subset.tree import proof_log
from sparsest.subset.tree.bounder import Tightened
from sparsest.subset.tree.frontier import Node

NONE = np.empty(0, dtype=np.intp)


def columns(*numbers):
    return np.array(numbers, dtype=np.intp)


def region(point, needed, fixes=()):
    return Node(np.empty(0, dtype=np.int8), 0.0, point, fixes=list(fixes), needed=needed)


def fixing(point, inside, outside, needed):
    return point, Tightened(0.0, columns(*inside), columns(*outside), needed, np.inf)


def steps_of(root):
    """The steps with lists instead of arrays; survivors are numbered from 100."""
    return [
        step._replace(inside=step.inside.tolist(), outside=step.outside.tolist()) if isinstance(step, Fix) else step
        for step in proof_log._steps_below(root, np.arange(100, 110))
    ]


def test_fixings_that_nothing_needs_are_left_out():
    inside = region(1, columns(3), [fixing(2, [], [3, 4], NONE)])
    outside = region(4, NONE, [fixing(5, [], [5, 6], NONE)])
    root = region(0, NONE, [fixing(6, [], [8, 9], NONE)])
    root.feature, root.children = 2, (inside, outside)
    # The root's fixings are complete.
    assert steps_of(root) == [Fix(6, [], [108, 109]), Branch(102), Fix(2, [], [103]), Leaf(1), Leaf(4)]


def test_a_fixing_that_is_left_out_has_no_needs():
    """A fixing that stays needs all features that its point needs, also if it only fixes features in."""
    for last, first in ((columns(), []), (columns(5), [103])):
        below = region(0, last, [fixing(1, [], [5], columns(3))])
        above = region(0, NONE, [fixing(2, [], [3, 4], NONE)])
        above.feature, above.children = 7, (below, region(0, NONE))
        root = region(0, NONE)
        root.feature, root.children = 6, (above, region(0, NONE))
        listed = [step.outside for step in steps_of(root) if isinstance(step, Fix)]
        assert listed == ([first, [105]] if first else [])
    leaf = region(0, NONE, [fixing(2, [], [3, 4], NONE), fixing(1, [8], [5], columns(4))])
    root = region(0, NONE)
    root.feature, root.children = 6, (leaf, region(0, NONE))
    assert [step for step in steps_of(root) if isinstance(step, Fix)] == [Fix(2, [], [104]), Fix(1, [108], [])]


def test_points_with_unknown_needs_keep_all_fixings_above():
    leaf = region(0, None, [fixing(2, [], [3, 4], NONE)])
    root = region(0, NONE)
    root.feature, root.children = 6, (leaf, region(0, NONE))
    assert steps_of(root)[1] == Fix(2, [], [103, 104])


@pytest.mark.parametrize("sparsity", [{"k": 6, "gamma": 0.02}, {"l0_penalty": 6.0, "gamma": 0.005}], ids=str)
@pytest.mark.parametrize("full", [True, False], ids=["Gram matrix", "columns of it"])
def test_small_proofs_hold(sparsity, full):
    """The proof of a search with many fixings keeps few of them, and the checker proves the claimed bound."""
    tuning = BY_REGIONS._replace(full_gram=1500 if full else 10)
    data = make_toeplitz(120, 200, 6, rho=0.6, snr=1.0, rng=3)
    result = best_subset(data.X, data.y, method="tree", n_jobs=1, **sparsity, options={"tuning": tuning})
    assert result.n_nodes > 20
    check_certificate(result, data.X, data.y)
    proof = result.certificate.proof
    assert sum(step.outside.size for step in proof.steps if isinstance(step, Fix)) < 20 * len(proof.steps)
    assert any(isinstance(point, (PrimalPoint, SplitPoint)) for point in proof.points)
