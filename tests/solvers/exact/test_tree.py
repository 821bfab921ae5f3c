"""Branch and bound: against all supports, with proofs that hold and break, and whatever ends the search."""

import gc
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from checks import against_enumeration, best_subset, check_certificate, solve
from oracles import best_of, sample_values, support_values
from samples import HARD, LOSS_NAMES, hard, sample, sample_weights, strong_response
from sparsest.kernels.node import NOT_STORED
from sparsest.problem import make_problem
from sparsest.proofs.steps import Branch, Fix, Leaf, SplitPoint
from sparsest.result import Bound, Incumbent, Root, Status
from sparsest.solvers.exact import gram_bounder as gram
from sparsest.solvers.exact import leaps, search, tree
from sparsest.solvers.exact.bounder import Request, Warm
from sparsest.solvers.exact.frontier import Frontier, Node, branching_feature
from sparsest.solvers.exact.goal import BestSupport
from sparsest.solvers.shared.claims import allowance
from sparsest.solvers.shared.clock import Clock
from sparsest.solvers.shared.dual import null_value
from sparsest.solvers.shared.support import fit_support

losses = pytest.mark.parametrize("loss", LOSS_NAMES)
FORMS = [{"k": 3}, {"l0_penalty": 0.4}, {"k": 2, "l0_penalty": 0.05}]
forms = pytest.mark.parametrize("form", FORMS, ids=str)


def grow(X, y, **settings):
    """Solve by one thread and check all that the result says about itself."""
    return solve(X, y, method="tree", **{"n_jobs": 1, **settings})


@pytest.fixture
def regions(monkeypatch):
    """Search by regions even where leaps and bounds would do."""
    monkeypatch.setattr(leaps, "MOST_FEATURES", 0)


@pytest.fixture(scope="module")
def solved():
    """A problem that takes many regions, and its solution."""
    X, y = hard()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leaps, "MOST_FEATURES", 0)
        result = grow(X, y, **HARD)
    assert result.status is Status.OPTIMAL and result.n_nodes > 20
    return X, y, result


# Right answers


@losses
@pytest.mark.parametrize(("fit_intercept", "weighted"), [(True, True), (False, False)])
def test_enumeration(loss, fit_intercept, weighted):
    reached = against_enumeration(loss, fit_intercept, weighted, seeds=(0,), method="tree", n_jobs=1)
    assert reached[False] == 0, reached


@losses
@forms
@pytest.mark.parametrize("gamma", [0.01, 0.3, 10.0])
@pytest.mark.parametrize("forced", [((), ()), ((6,), (0, 4))], ids=str)
def test_optimum_is_proved(loss, form, gamma, forced):
    """With 22 rows leaps and bounds has its turn too."""
    n, p = 22, 7
    asked = {**form, "include": forced[0], "exclude": forced[1]}
    X, y = sample(loss, n, p, 2)
    optimum, _ = best_of(sample_values(loss, n, p, 2, gamma, True, False), **asked)
    result = grow(X, y, **asked, loss=loss, gamma=gamma)
    assert result.status is Status.OPTIMAL
    assert result.lower_bound <= optimum * (1.0 + 1e-8)
    assert optimum * (1.0 - 1e-8) <= result.objective <= optimum * (1.0 + 1e-4)


@forms
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("by_regions", [True, False])
def test_no_ridge(monkeypatch, form, fit_intercept, weighted, by_regions):
    if by_regions:
        monkeypatch.setattr(leaps, "MOST_FEATURES", 0)
    for seed in (3, 4):
        X, y = sample("squared", 30, 9, seed)
        weights = sample_weights(weighted, 30, seed)
        for include, exclude in (((), ()), ((8,), (0,))):
            asked = {**form, "include": include, "exclude": exclude}
            values = sample_values("squared", 30, 9, seed, np.inf, fit_intercept, weighted)
            optimum, _ = best_of(values, **asked)
            result = grow(X, y, **asked, gamma=np.inf, fit_intercept=fit_intercept, sample_weight=weights)
            assert result.status is Status.OPTIMAL and result.lower_bound <= optimum * (1.0 + 1e-8)
            assert result.objective == pytest.approx(optimum, rel=1e-4)


@losses
def test_no_ridge_and_more_columns_than_rows_has_no_proof(loss):
    X, y = sample(loss, 10, 14, 5)
    result = grow(X, y, k=3, loss=loss, gamma=np.inf)
    assert result.status is Status.HEURISTIC or result.gap <= 1e-4
    assert result.objective <= solve(X, y, 3, loss=loss, gamma=np.inf).objective * (1.0 + 1e-12)


@losses
@forms
def test_never_worse_than_local_search(loss, form):
    X, y = sample(loss, 40, 12, 0)
    common = {**form, "loss": loss, "gamma": 0.1}
    assert grow(X, y, **common, time_limit=5.0).objective <= solve(X, y, **common).objective * (1.0 + 1e-12)


@losses
@pytest.mark.parametrize("gamma", [0.3, np.inf])
def test_duplicated_and_collinear_columns(loss, gamma):
    X, y = sample(loss, 30, 4, 6, noise=1.5)
    dependent = np.column_stack([X, X[:, 0], X[:, 1] + X[:, 2], -2.0 * X[:, 3]])
    values = support_values(make_problem(dependent, y, 7, loss=loss, gamma=gamma))
    for form in ({"k": 2}, {"k": 4}, {"l0_penalty": 0.5}):
        optimum, _ = best_of(values, **form)
        result = grow(dependent, y, **form, loss=loss, gamma=gamma)
        assert result.lower_bound <= optimum * (1.0 + 1e-7)
        assert optimum * (1.0 - 1e-7) <= result.objective <= optimum * (1.0 + 1e-3)
        assert result.status is Status.OPTIMAL or gamma == np.inf


@losses
@pytest.mark.parametrize("noise", [1e-2, 1e-4])
def test_certificates_hold_where_nearly_all_is_explained(loss, noise):
    """The bound is then a small difference of large terms."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((60, 15)) + rng.standard_normal((60, 1))
    signal = X[:, :3].sum(axis=1)
    y = strong_response(loss, signal, noise, rng)
    own = {"epsilon": 0.1 * noise} if "epsilon" in loss else {}
    for gamma in (1.0 / noise, np.inf) if loss == "squared" else (1.0 / noise,):
        result = grow(X, y, k=3, loss=loss, gamma=gamma, **own, time_limit=5.0)
        assert result.support.tolist() == [0, 1, 2]


def test_certificates_hold_far_from_the_origin(regions):
    """A large mean of the response costs digits in the proof, not its validity."""
    X, y = hard(60, 20)
    near, far = (grow(X, y + mean, k=4, gamma=0.1) for mean in (0.0, 1e5))
    assert np.array_equal(near.support, far.support)
    assert far.objective == pytest.approx(near.objective, rel=1e-6)


# Threads, storage of the Gram matrix, starts


@pytest.mark.parametrize(
    ("loss", "form"),
    [("squared", {"k": 5}), ("squared", {"l0_penalty": 20.0}), ("logistic", {"k": 3}), ("hinge", {"k": 2})],
    ids=str,
)
def test_number_of_threads_does_not_matter(regions, loss, form):
    X, y = hard(80, 25) if loss == "squared" else sample(loss, 60, 14, 8)
    one, two = (grow(X, y, **form, loss=loss, gamma=0.1, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert one.n_nodes == two.n_nodes > 1
    assert np.array_equal(one.support, two.support) and one.lower_bound == two.lower_bound
    assert one.certificate.to_json() == two.certificate.to_json()


@pytest.mark.parametrize("form", [{"k": 5}, {"l0_penalty": 20.0}], ids=str)
def test_columns_of_the_gram_matrix_computed_when_needed(monkeypatch, regions, form):
    X, y = hard(80, 25)
    whole = grow(X, y, **form, gamma=0.05)
    monkeypatch.setattr(gram, "_FULL_GRAM", 5)
    monkeypatch.setattr(gram, "_COLUMNS_AT_ONCE", 1)
    one, two = (grow(X, y, **form, gamma=0.05, n_jobs=n_jobs) for n_jobs in (1, 2))
    for lazy in (one, two):
        assert lazy.status is whole.status is Status.OPTIMAL
        assert np.array_equal(lazy.support, whole.support) and not lazy.certificate.proof.splits
        assert lazy.lower_bound == pytest.approx(whole.lower_bound, rel=1e-4)
    assert one.n_nodes == two.n_nodes and str(one.certificate.proof.steps) == str(two.certificate.proof.steps)


def test_stored_columns_of_the_gram_matrix_count_as_memory(monkeypatch, regions):
    X, y = hard(80, 25)
    monkeypatch.setattr(gram, "_FULL_GRAM", 5)
    settings = {"k": 5, "gamma": 0.05, "max_memory": 1e7}
    assert grow(X, y, **settings).status is Status.OPTIMAL
    monkeypatch.setattr(gram.GramBounder, "stored", lambda self: 2e7)
    assert grow(X, y, **settings).status is Status.NODE_LIMIT
    monkeypatch.undo()
    monkeypatch.setattr(gram, "_FULL_GRAM", 5)
    nodes = gram.GramBounder(make_problem(X, y, 5, gamma=0.05), np.arange(25), rounding=0.0)
    nodes.start(np.arange(4), np.ones(4), 0.0)
    assert nodes.gram.count == np.count_nonzero(nodes.gram.stored[1] != NOT_STORED) > 0
    assert nodes.stored() == nodes.columns.nbytes + 8 * 25 * nodes.gram.count


def test_leaps_and_regions_agree(monkeypatch):
    for seed in range(4):
        X, y = hard(60, 20, seed)
        quick = grow(X, y, k=4, gamma=0.5)
        monkeypatch.setattr(leaps, "MOST_FEATURES", 0)
        assert grow(X, y, k=4, gamma=0.5).objective == pytest.approx(quick.objective, rel=1e-4)
        monkeypatch.undo()


def test_a_start_is_taken(regions, solved):
    X, y, best = solved
    problem = make_problem(X, y, **HARD)
    for start in (best, best.support.tolist(), [50, 51, 52, 53, 54], []):
        result = grow(X, y, **HARD, start=start, node_limit=1)
        begun = fit_support(problem, best.support if start is best else np.array(start, dtype=np.intp))
        assert best.lower_bound <= result.objective <= begun.primal * (1.0 + 1e-12)
    for start, message in (([99], "column numbers from 0 to 59"), ("abc", "an earlier Result")):
        with pytest.raises(ValueError, match=message):
            best_subset(X, y, **HARD, method="tree", start=start)


# The proof


def test_many_regions_are_proved(solved):
    X, y, result = solved
    certificate = result.certificate
    assert sum(isinstance(step, Branch) for step in certificate.proof.steps) > 5
    assert sum(isinstance(step, Leaf) for step in certificate.proof.steps) == 1 + sum(
        isinstance(step, Branch) for step in certificate.proof.steps
    )
    assert result.objective <= solve(X, y, **HARD).objective


def test_a_proof_has_no_points_that_it_does_not_need(solved):
    certificate = solved[2].certificate
    needed = {step.point for step in certificate.proof.steps if isinstance(step, (Leaf, Fix))}
    assert needed == set(range(len(certificate.proof.points)))
    assert {point.split for point in certificate.proof.points if isinstance(point, SplitPoint)} == {0}


def larger_split(certificate):
    """The same proof with more on the diagonal than the Gram matrix can spare."""
    splits = tuple(split._replace(delta=1.5 * split.delta) for split in certificate.proof.splits)
    return certificate.proof._replace(splits=splits)


def without_a_leaf(certificate):
    at = next(i for i, step in enumerate(certificate.proof.steps) if isinstance(step, Leaf))
    return certificate.proof._replace(steps=[*certificate.proof.steps[:at], *certificate.proof.steps[at + 1 :]])


def slightly_larger_split(certificate):
    """Hardly more than it can spare: less than a tolerance relative to the columns would notice."""
    splits = tuple(split._replace(delta=(1.0 + 1e-6) * split.delta) for split in certificate.proof.splits)
    return certificate.proof._replace(splits=splits)


def boast(certificate):
    """The same proof for a bound that is a little too high."""
    return replace(certificate, lower_bound=certificate.lower_bound * (1.0 + 1e-3))


CORRUPTIONS = {
    "a slightly larger split": (slightly_larger_split, "does not leave a positive semidefinite quadratic"),
    "a removed leaf": (without_a_leaf, "region|goes on|not free|bound claimed"),
    "a larger split": (larger_split, "larger than the quadratic's|does not leave a positive semidefinite quadratic"),
    "no splits": (lambda c: c.proof._replace(splits=()), "there is no split"),
}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_a_corrupted_proof_is_found(solved, name):
    X, y, result = solved
    corrupt, message = CORRUPTIONS[name]
    verdict = replace(result.certificate, proof=corrupt(result.certificate)).verify(X, y)
    assert not verdict
    assert any(re.search(message, reason) for reason in verdict.reasons), verdict.reasons
    assert any("the bound claimed is" in reason for reason in boast(result.certificate).verify(X, y).reasons)


def test_the_proof_is_for_these_data_only(solved):
    X, y, result = solved
    assert result.certificate.verify(X, y)
    assert not result.certificate.verify(X, y + np.linspace(0.0, 1e-3, y.size))
    assert not result.certificate.verify(X[:, ::-1], y)


def test_proof_can_be_switched_off(solved):
    X, y, known = solved
    result = best_subset(X, y, **HARD, method="tree", n_jobs=1, options={"proof": False})
    assert result.certificate is None and "switched off" in result.trace["proof"]
    assert result.status is Status.OPTIMAL and result.objective == pytest.approx(known.objective, rel=1e-4)
    assert known.trace["proof"] == "logged"


def test_without_a_proof_no_closed_region_stays(monkeypatch, regions):
    """Only the open regions and those in hand are alive at any time."""
    X, y = hard()
    original, most = search.Search._report, []

    def count(self, *args):
        gc.collect()
        alive = sum(isinstance(one, Node) for one in gc.get_objects())
        most.append(alive - len(self.frontier._heap))
        original(self, *args)

    before = sum(isinstance(one, Node) for one in gc.get_objects())
    monkeypatch.setattr(search.Search, "_report", count)
    result = best_subset(X, y, **HARD, method="tree", n_jobs=1, options={"proof": False})
    assert result.n_nodes > 20 and len(most) > 1
    # The root, and what the loop's variables still hold.
    assert max(most) - before <= 1 + search._BATCH_SIZE


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("at", ["_split", "_absorb", "_report"])
def test_keyboard_interrupt_without_a_proof(monkeypatch, regions, solved, at, count):
    """Regions in hand count with their bounds, which are not the root's any more."""
    X, y, known = solved
    original, calls = getattr(search.Search, at), []

    def interrupted(self, *args):
        calls.append(self.root.bound)
        if len(calls) == count:
            raise KeyboardInterrupt
        return original(self, *args)

    monkeypatch.setattr(search.Search, at, interrupted)
    result = best_subset(X, y, **HARD, method="tree", n_jobs=1, options={"proof": False})
    assert result.status is Status.INTERRUPTED
    spared = allowance(null_value(make_problem(X, y, **HARD)), calls[0])
    assert calls[0] - 1.01 * spared <= result.lower_bound <= known.objective


# Whatever ends the search


@pytest.mark.parametrize(
    ("limits", "status"),
    [
        ({"time_limit": 1e-9}, Status.TIME_LIMIT),
        ({"node_limit": 1}, Status.NODE_LIMIT),
        ({"max_memory": 1.0}, Status.NODE_LIMIT),
        ({"max_memory": 3e4}, Status.NODE_LIMIT),
        ({"callback": lambda event: True}, Status.INTERRUPTED),
        ({"callback": lambda event: isinstance(event, Root)}, Status.INTERRUPTED),
    ],
    ids=["no time", "one node", "no memory", "little memory", "at once", "after the root"],
)
def test_limits_leave_an_honest_result(regions, solved, limits, status):
    X, y, known = solved
    result = best_subset(X, y, **HARD, method="tree", n_jobs=1, **limits)
    check_certificate(result, X, y)
    assert result.status is status
    assert result.lower_bound <= known.objective <= result.objective * (1.0 + 1e-4)
    assert result.gap > 1e-4


@pytest.mark.parametrize("looks", [1, 4, 12])
def test_time_may_run_out_at_any_moment(monkeypatch, regions, solved, looks):
    X, y, known = solved
    left, expired = iter(range(looks)), Clock.expired
    monkeypatch.setattr(Clock, "expired", lambda self: next(left, None) is None or expired(self))
    result = best_subset(X, y, **HARD, method="tree", n_jobs=1)
    monkeypatch.undo()
    check_certificate(result, X, y)
    assert result.status is Status.TIME_LIMIT
    assert result.lower_bound <= known.objective <= result.objective * (1.0 + 1e-4)


class InterruptAt:
    """A callback that raises KeyboardInterrupt at the given event, once."""

    def __init__(self, kind, count=1):
        self.kind, self.left = kind, count

    def __call__(self, event):
        if isinstance(event, self.kind):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt


@pytest.mark.parametrize("kind", [Incumbent, Root])
def test_keyboard_interrupt_gives_a_result(regions, solved, kind):
    X, y, known = solved
    result = best_subset(X, y, **HARD, method="tree", n_jobs=1, callback=InterruptAt(kind))
    check_certificate(result, X, y)
    assert result.status is Status.INTERRUPTED
    assert result.lower_bound <= known.objective


@pytest.mark.parametrize("at", ["_report", "_try_rounding", "_split", "_absorb"])
@pytest.mark.parametrize("count", [1, 3, 12])
def test_keyboard_interrupt_between_regions(monkeypatch, regions, solved, at, count):
    """Regions in hand when the interrupt comes count with the bounds they have."""
    X, y, known = solved
    original, calls = getattr(search.Search, at), []

    def interrupted(self, *args):
        calls.append(at)
        if len(calls) == count:
            raise KeyboardInterrupt
        return original(self, *args)

    monkeypatch.setattr(search.Search, at, interrupted)
    result = best_subset(X, y, **HARD, method="tree", n_jobs=1)
    check_certificate(result, X, y)
    assert result.status is Status.INTERRUPTED or len(calls) < count
    assert result.lower_bound <= known.objective * (1.0 + 1e-9)


def test_keyboard_interrupt_while_the_result_is_put_together(monkeypatch, solved):
    X, y, known = solved
    original, calls = tree.make_result, []

    def interrupted(*args, **settings):
        calls.append(args)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return original(*args, **settings)

    monkeypatch.setattr(tree, "make_result", interrupted)
    result = grow(X, y, **HARD)
    assert len(calls) == 2
    assert result.status is Status.OPTIMAL and result.objective == pytest.approx(known.objective, rel=1e-4)


def test_keyboard_interrupt_while_nodes_are_set_up(monkeypatch, solved):
    X, y, _ = solved

    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "make_bounder", interrupted)
    result = best_subset(X, y, **HARD, method="tree", n_jobs=1)
    check_certificate(result, X, y)
    assert result.status is Status.INTERRUPTED


def test_events(regions, solved):
    X, y, known = solved
    events = []
    result = grow(X, y, **HARD, callback=events.append)
    assert result.objective == known.objective
    bounds = [event for event in events if isinstance(event, Bound)]
    for earlier, later in pairwise(bounds):
        assert earlier.lower_bound <= later.lower_bound * (1.0 + 1e-9) and earlier.n_nodes < later.n_nodes
    assert sum(isinstance(event, Root) for event in events) == 1


@losses
def test_arrays_are_read_only(loss):
    X, y = sample(loss, 22, 9, 9)
    weights = sample_weights(True, 22)
    copies = [array.copy() for array in (X, y, weights)]
    for array in (X, y, weights):
        array.flags.writeable = False
    grow(X, y, k=3, loss=loss, gamma=0.1, sample_weight=weights)
    assert all(np.array_equal(array, copy) for array, copy in zip((X, y, weights), copies, strict=True))


# The parts


def node_of(bound, depth):
    nothing = Warm(np.empty(0, dtype=np.intp), np.empty(0), 0.0)
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


def test_memory_decides_the_order(monkeypatch, regions, solved):
    X, y, known = solved
    orders = []
    original = Frontier.depth_first
    monkeypatch.setattr(Frontier, "depth_first", lambda self, deep: (orders.append(deep), original(self, deep))[1])
    # The columns and the Gram matrix take 77 kB, and without a proof only open nodes come to that.
    short = best_subset(X, y, **HARD, method="tree", n_jobs=1, max_memory=9.7e4, options={"proof": False})
    assert any(orders) and not all(orders)
    assert short.lower_bound <= known.objective
    orders.clear()
    grow(X, y, **HARD)
    assert not any(orders)


def test_branching_feature_is_fractional_and_free():
    state = np.array([0, 0, 1, -1, 0], dtype=np.int8)
    assert branching_feature(np.array([0.0, 1.0, 0.5, 0.5, 0.6]), state) == 4
    assert branching_feature(np.array([0.0, 1.0, 0.5, 0.5, 1.0]), state) is None
    assert branching_feature(np.empty(0), np.empty(0, dtype=np.int8)) is None


@losses
@forms
def test_nodes_bound_their_regions(loss, form):
    """A region's bound is at most the best support in it, and its relaxed value at most that as well."""
    n, p = 22, 7
    X, y = sample(loss, n, p, 10)
    problem = make_problem(X, y, **form, loss=loss, gamma=0.3)
    values = sample_values(loss, n, p, 10, 0.3, True, False)
    for strengthen in (False, True):
        nodes = search.make_bounder(problem, np.arange(p))
        if strengthen:
            nodes.strengthen()
        for state in ([0] * p, [1, 0, 0, -1, 0, 0, 0], [0, -1, -1, 0, 1, 0, 1]):
            state = np.array(state, dtype=np.int8)
            inside, outside = np.flatnonzero(state == 1), np.flatnonzero(state == -1)
            optimum, _ = best_of(values, **form, include=inside.tolist(), exclude=outside.tolist())
            warm = nodes.start(np.arange(p), np.zeros(p), 0.0)
            [outcome] = nodes.solve([Request(warm, state)], 2.0 * optimum)
            assert outcome.bound <= optimum * (1.0 + 1e-8)
            assert outcome.bound <= outcome.primal
            assert outcome.primal <= optimum + 0.11 * optimum or outcome.primal == np.inf
            assert (outcome.indicator[inside] == 1).all() and (outcome.indicator[outside] == 0).all()
            narrowed = state.copy()
            bound, fixed_in, fixed_out, _, closed = nodes.tighten(outcome.point, narrowed, -np.inf)
            assert closed == np.inf
            assert bound == pytest.approx(outcome.bound, rel=1e-9) and not fixed_in.size + fixed_out.size
            assert np.array_equal(narrowed, state)


def test_nodes_of_leaps_and_bounds_take_no_memory_of_regions():
    """What leaps and bounds tried before giving up does not count when regions go on."""
    X, y = hard(80, 25)
    problem = make_problem(X, y, 5, gamma=0.1)
    clock, settings = Clock(60.0, None), tree.Tree(n_jobs=1)
    goal = BestSupport(problem, clock, settings.gap_tol, settings.moves)
    run = search.Search(problem, goal, clock, settings.limits())
    run.bounder = search.make_bounder(problem, np.arange(25))
    run.n_nodes = 10**9
    assert run._memory() < 1e6
