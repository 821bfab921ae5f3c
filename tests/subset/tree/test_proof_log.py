"""The log of a search: its contents, its memory, and the assembled proof."""

import gc

import numpy as np
import pytest

from samples import sample
from sparsest.core.problem import make_problem
from sparsest.proofs.steps import LEAF, Branch, DualPoint, Fix, Leaf, RegressionTree, Split, SplitPoint
from sparsest.subset.tree.bounder import Tightened
from sparsest.subset.tree.frontier import Node
from sparsest.subset.tree.proof_log import ProofLog, ProofTime

SURVIVORS = np.array([2, 5, 7, 11])


@pytest.fixture
def problem():
    return make_problem(*sample("squared", 12, 13), 2)


def fixing(point, inside, outside):
    """The fixings of a point that needs all features forced out."""
    return point, Tightened(0.0, inside, outside, None, np.inf)


def region(point, fixes=()):
    node = Node(np.zeros(4, dtype=np.int8), 0.0, point)
    node.fixes += fixes
    return node


def indices(*numbers):
    return np.array(numbers, dtype=np.intp)


def dual(value):
    return DualPoint(np.full(12, float(value)))


def leaps(*entries):
    return RegressionTree(indices(5), np.ones(1), np.array(entries, dtype=np.int32))


def same(step, other):
    return type(step) is type(other) and all(np.array_equal(a, b) for a, b in zip(step, other, strict=True))


def test_a_tree_is_written_in_preorder_with_the_points_it_needs(problem):
    log = ProofLog(problem, kept=True)
    assert [log.add_points(dual(i)) for i in range(6)] == list(range(6))
    log.add_fixes([fixing(5, indices(0), indices(3))], SURVIVORS)
    root, inside, outside, first, second = region(0), region(1), region(4), region(3), region(4)
    root.fixes.append(fixing(2, indices(), indices(1)))
    log.add_branch(root, 2, (inside, outside))
    log.add_branch(inside, 1, (first, second))
    proof = log.assemble(root, SURVIVORS, by_leaps=False)
    expected = [
        Fix(0, indices(2), indices(11)),
        Fix(1, indices(), indices(5)),
        Branch(7),
        Branch(5),
        Leaf(2),
        Leaf(3),
        Leaf(3),
    ]
    assert len(proof.steps) == len(expected) and all(map(same, proof.steps, expected))
    # Points 0 and 1, of the regions that were split, are not needed.
    assert [point.values[0] for point in proof.points] == [5.0, 2.0, 3.0, 4.0]


def test_splits_are_renumbered_with_their_bases(problem):
    log = ProofLog(problem, kept=True)
    log.splits += [
        Split(indices(2), np.array([9.0])),
        Split(indices(2, 5), np.array([1.0, 2.0])),
        Split(indices(7), np.array([3.0])),
        Split(indices(5), np.array([4.0]), base=1),
        Split(indices(7), np.array([5.0]), base=1),
    ]
    for split in (0, 3, 4, 1, 2):
        log.add_points(SplitPoint(indices(5), np.array([float(split)]), split))
    root = region(0)
    children = region(2), region(1)
    log.add_branch(root, 1, children)
    log.add_branch(children[1], 0, (region(3), region(1)))
    proof = log.assemble(root, SURVIVORS, by_leaps=False)
    for point in proof.points:
        split, old = proof.splits[point.split], log.splits[int(point.values[0])]
        assert np.array_equal(split.delta, old.delta)
        assert np.array_equal(split.features, old.features)
        if old.base is None:
            assert split.base is None
        else:
            assert np.array_equal(proof.splits[split.base].delta, log.splits[old.base].delta)
            # A base comes before the splits that refer to it.
            assert split.base < point.split
    assert len(proof.points) == len(proof.splits) == 3
    # The log itself is unchanged.
    assert [split.base for split in log.splits] == [None, None, None, 1, 1]


def test_the_proof_by_leaps_follows_the_fixings(problem):
    log = ProofLog(problem, kept=True)
    for i in range(3):
        log.add_points(dual(i))
    log.add_fixes([fixing(2, indices(), indices(0))], SURVIVORS)
    tree = leaps(7, LEAF, LEAF)
    log.add_leaps(region(0, [fixing(1, indices(2), indices())]), SURVIVORS, tree)
    proof = log.assemble(region(0), SURVIVORS, by_leaps=True)
    assert same(proof.steps[0], Fix(0, indices(), indices(2)))
    assert same(proof.steps[1], Fix(1, indices(7), indices()))
    assert proof.steps[2] is tree
    assert [point.values[0] for point in proof.points] == [2.0, 1.0]


def test_memory_is_counted_once(problem):
    log = ProofLog(problem, kept=True)
    log.add_points(dual(1), dual(2))
    assert log.nbytes() == log.nbytes() == 2 * dual(1).nbytes() == 2 * 12 * 8
    log.add_points(dual(3))
    assert log.nbytes() == 3 * 12 * 8
    log.add_branch(region(0), 1, (region(0), region(0)))
    assert log.nbytes() > 3 * 12 * 8
    before, tree = log.nbytes(), leaps(7, LEAF, LEAF)
    log.add_leaps(region(0), SURVIVORS, tree)
    assert log.nbytes() == before + tree.entries.nbytes


def test_nothing_is_kept_without_a_proof(problem):
    log = ProofLog(problem, kept=False)
    log.add_points(dual(1))
    node = region(0)
    log.add_branch(node, 1, (region(0), region(0)))
    log.add_leaps(node, SURVIVORS, leaps(LEAF))
    assert node.children is None
    assert log.nbytes() == 0.0
    assert not log.points and not log.leaps


def test_without_a_root_the_proof_is_one_point(problem):
    proof = ProofLog(problem, kept=True).assemble(None, SURVIVORS, by_leaps=False)
    assert list(proof.steps) == [Leaf(0)]
    assert not proof.points[0].values.any()


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_collection_is_left_as_it_was(problem, enabled):
    usual = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        ProofLog(problem, kept=True).assemble(None, SURVIVORS, by_leaps=False)
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if usual else gc.disable)()


def test_below_the_root_only_needed_features_are_fixed_out(problem):
    """Leaves on both sides and needed fixings need some features to be out; features fixed in are always kept."""
    log = ProofLog(problem, kept=True)
    for i in range(8):
        log.add_points(dual(i))
    root, other = region(0), region(7)
    # The first fixing is needed by the second, the second and third by leaves; that of a leaf is not needed.
    middle = region(1)
    middle.fixes += [
        (2, Tightened(0.0, indices(), indices(1), indices(), np.inf)),
        (3, Tightened(0.0, indices(), indices(2), indices(1), np.inf)),
        (4, Tightened(0.0, indices(), indices(3), indices(), np.inf)),
    ]
    left, right = region(5), region(6)
    left.needed, right.needed = indices(2), indices(3)
    left.fixes.append((4, Tightened(0.0, indices(), indices(1), indices(), np.inf)))
    log.add_branch(root, 0, (middle, other))
    log.add_branch(middle, 0, (left, right))
    proof = log.assemble(root, SURVIVORS, by_leaps=False)
    expected = [
        Branch(2),
        Fix(0, indices(), indices(5)),
        Fix(1, indices(), indices(7)),
        Fix(2, indices(), indices(11)),
        Branch(2),
        Leaf(3),
        Leaf(4),
        Leaf(5),
    ]
    assert len(proof.steps) == len(expected) and all(map(same, proof.steps, expected))
    assert [point.values[0] for point in proof.points] == [2.0, 3.0, 4.0, 5.0, 6.0, 7.0]


class Watch:
    """A clock that is set manually."""

    def __init__(self):
        self.now, self.reserved, self.limit = 0.0, 0.0, 100.0

    def seconds(self):
        return self.now


def test_time_to_assemble_and_check_the_proof_is_reserved():
    """By what the trials took."""
    watch, trials = Watch(), []
    time = ProofTime(watch)

    def assemble():
        trials.append(None)
        watch.now += 2.0

    time.reserve(900, assemble)
    assert not trials and watch.reserved == 0.0
    watch.now = 20.0
    time.reserve(1000, assemble)
    assert len(trials) == 1 and watch.reserved == pytest.approx(1.1 * 2.0)
    time.reserve(2000, assemble)
    assert len(trials) == 1 and watch.reserved == pytest.approx(1.1 * 4.0)
    watch.now = 51.0
    time.reserve(4000, assemble)
    assert len(trials) == 2 and watch.reserved == pytest.approx(1.1 * 2.0)
    watch.now = 90.0
    time.reserve(8000, assemble)
    assert len(trials) == 2 and watch.reserved == pytest.approx(1.1 * 3.0)


def test_a_check_that_takes_long_for_the_data_does_not_end_a_search_of_few_nodes():
    """The first trial is made at 10 nodes and takes 5 s, nearly all of it for the data."""
    watch, trials, nodes = Watch(), [], 10
    time = ProofTime(watch)

    def assemble():
        trials.append(nodes)
        watch.now += 5.0 + 1e-4 * nodes

    watch.now = 20.0
    while watch.now < watch.limit - watch.reserved:
        time.reserve(nodes, assemble)
        nodes, watch.now = nodes + 10, watch.now + 0.1
    assert watch.now > 85.0 and len(trials) <= 6
    assert watch.reserved >= 5.0 + 1e-4 * nodes


@pytest.mark.parametrize("check", [1.3, 3.0])
def test_the_proof_of_many_trials_is_checked_in_time(check):
    """Trials begin after a while, and are checked more slowly than they are made."""
    watch, nodes, tried = Watch(), 0, 0.0
    time = ProofTime(watch)

    def prove():
        watch.now += 5e-5 * nodes + check * tried

    while watch.now < watch.limit - watch.reserved:
        time.reserve(nodes, prove, tried)
        nodes, watch.now = nodes + 40, watch.now + 0.04
        if watch.now > 10.0:
            tried, watch.now = tried + 0.04, watch.now + 0.04
    prove()
    assert 0.8 * watch.limit < watch.now <= 1.01 * watch.limit
