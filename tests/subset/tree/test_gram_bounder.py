"""Bounds in Gram space: the quadratic, stored or computed columns, strengthened bounds, and rounded points."""

import numpy as np
import pytest

from checks import best_subset
from oracles import best_of, squared_values
from samples import BY_REGIONS, REGIONS, hard
from sparsest.core.problem import make_problem
from sparsest.datasets import make_toeplitz
from sparsest.proofs.steps import PrimalPoint, SplitPoint
from sparsest.runtime.events import Status
from sparsest.subset.relaxation.relaxer import relax_problem
from sparsest.subset.relaxation.solution import Start
from sparsest.subset.tree import gram_bounder as gram
from sparsest.subset.tree.bounder import BounderOptions, Request
from sparsest.subset.tree.gram_store import GramBlock, GramColumns
from sparsest.subset.tree.kernels.node import NOT_STORED
from subset.tree.growing import grow

NONE = np.empty(0, dtype=np.intp)


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 30)], ids=["equal", "weighted"])
def test_a_point_has_the_objective_of_its_coefficients(weights):
    """``constant + ½w'Hw - c'w`` plus the ridge is the objective; bounds are computed from ``u = c - Hw``."""
    X, y = hard(30, 8)
    problem = make_problem(X, y, 3, gamma=0.3, sample_weight=weights)
    bounder = gram.GramBounder(problem, np.array([0, 2, 3, 5]))
    state = np.array([1, 0, 1, 0], dtype=np.int8)
    [outcome] = bounder.solve([Request(bounder.start(Start(NONE, np.empty(0), 0.0)), state)], 1e6)
    used, w, u, quadratic, diagonal, roots = outcome.point
    margin = problem.design.dot(w, bounder.survivors[used])
    residual = problem.y - margin - problem.data.intercept_for(margin)
    objective = 0.5 * problem.weights @ residual**2
    assert bounder.constant + 0.5 * quadratic - bounder.c[used] @ w == pytest.approx(objective, rel=1e-9)
    np.testing.assert_allclose(u, problem.design.tdot(problem.weights * residual, bounder.survivors), rtol=1e-7)
    np.testing.assert_allclose(roots, np.sqrt(problem.ridge))
    assert diagonal is bounder.diagonal


@pytest.mark.parametrize(
    "form", [{"k": 4}, {"l0_penalty": 0.5}, {"k": 4, "l0_penalty": 0.1}, {"k": 4, "max_coef": 0.3}], ids=str
)
@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 40)], ids=["equal", "weighted"])
def test_the_compiled_rounds_relax_to_the_value_of_the_engine(form, weights):
    """The kernel and :mod:`sparsest.subset.relaxation.engine` implement the same rounds."""
    X, y = hard(40, 60)
    inside, outside = [5], [0, 7, 31]
    problem = make_problem(X, y, gamma=0.2, include=inside, exclude=outside, sample_weight=weights, **form)
    relaxed, _ = relax_problem(problem, 1e-9)
    bounder = gram.GramBounder(problem, np.arange(60))
    request = Request(bounder.start(Start(NONE, np.empty(0), 0.0)), problem.root.state)
    # A region is relaxed to a small share of its distance from the cutoff.
    [outcome] = bounder.solve([request], relaxed.primal * (1.0 + 1e-6))
    assert outcome.bound == pytest.approx(relaxed.dual, rel=1e-6)
    assert outcome.primal == pytest.approx(relaxed.primal, rel=1e-6)
    np.testing.assert_allclose(outcome.indicator, np.minimum(relaxed.indicator(problem), 1.0), atol=1e-3)


@pytest.mark.parametrize("gamma", [0.3, 10.0, np.inf])
def test_strengthened_bounds_are_higher_and_hold(gamma):
    X, y = hard(60, 8)
    problem = make_problem(X, y, 3, gamma=gamma)
    optimum, _ = best_of(squared_values(X, y, gamma), 3)
    plain, strong = (gram.GramBounder(problem, np.arange(8)) for _ in range(2))
    strong.strengthen()
    assert strong.strong and not plain.strong
    delta = strong.diagonal.full()
    assert (delta >= problem.ridge).all()
    rest = strong.columns.T @ strong.columns + np.diag(problem.ridge - delta)
    assert np.linalg.eigvalsh(rest)[0] >= -1e-10 * np.trace(rest)

    def bound(bounder):
        warm = bounder.start(Start(NONE, np.empty(0), 0.0))
        [outcome] = bounder.solve([Request(warm, np.zeros(8, dtype=np.int8))], 1.01 * optimum)
        return outcome.bound

    # Without a ridge the bound before strengthening is zero.
    weak = bound(plain) if np.isfinite(gamma) else 0.0
    assert 1.001 * weak < bound(strong) and 0.8 * optimum < bound(strong) <= optimum * (1.0 + 1e-9)
    assert weak <= optimum * (1.0 + 1e-9)


def test_nothing_is_strengthened_without_a_spare_diagonal():
    X, y = hard(6, 8)
    bounder = gram.GramBounder(make_problem(X, y, 3, gamma=0.3), np.arange(8))
    bounder.strengthen()
    assert not bounder.strong and (bounder.diagonal.full() == 1.0 / 0.3).all()


def test_starts_keep_survivors():
    X, y = hard(30, 8)
    bounder = gram.GramBounder(make_problem(X, y, 3, gamma=0.3), np.array([1, 4, 6]))
    warm = bounder.start(Start(np.array([0, 4, 6, 1]), np.array([1.0, 2.0, 0.0, 3.0]), 0.5))
    assert warm.positions.tolist() == [1, 0] and warm.w.tolist() == [2.0, 3.0] and warm.diagonal is bounder.diagonal


def test_points_are_kept_with_or_without_their_products():
    X, y = hard(30, 8)
    bounder = gram.GramBounder(make_problem(X, y, 3, gamma=0.3), np.arange(8))
    state = np.zeros(8, dtype=np.int8)
    [outcome] = bounder.solve([Request(bounder.start(Start(NONE, np.empty(0), 0.0)), state)], 1e6)
    light, heavy = bounder.compress(outcome.point), bounder.compress(outcome.point, keep_products=True)
    assert light.u is None and heavy.nbytes() == light.nbytes() + 8 * 8
    for warm in (light, heavy):
        [again] = bounder.solve([Request(warm, state)], 1e6)
        assert again.bound == pytest.approx(outcome.bound, rel=1e-9)


def test_the_form_of_proof_points():
    """Splits are numbered once; without the complete Gram matrix the plain ridge needs no split."""
    X, y = hard(30, 8)
    problem, splits = make_problem(X, y, 3, gamma=0.3), []
    bounder = gram.GramBounder(problem, np.array([0, 2, 5]))
    state = np.zeros(3, dtype=np.int8)
    [outcome] = bounder.solve([Request(bounder.start(Start(NONE, np.empty(0), 0.0)), state)], 1e6)
    first, second = (bounder.proof_point(outcome.point, splits) for _ in range(2))
    assert isinstance(first, SplitPoint) and first.split == second.split == 0 and len(splits) == 1
    assert splits[0].features.tolist() == [0, 2, 5] and splits[0].base is None
    bounder.gram.complete = False
    plain = bounder.proof_point(outcome.point, splits)
    assert isinstance(plain, PrimalPoint) and len(splits) == 1
    assert np.array_equal(plain.features, bounder.survivors[outcome.point.used])


@pytest.mark.parametrize("form", [{"k": 5}, {"l0_penalty": 20.0}, {"k": 5, "max_coef": 0.2}], ids=str)
@pytest.mark.parametrize("operations", [np.inf, 0.0], ids=["columns", "block"])
def test_parts_of_the_gram_matrix_computed_when_needed(form, operations):
    X, y = hard(80, 25)
    whole = grow(X, y, **form, gamma=0.05, options=REGIONS)
    lazily = {"tuning": BY_REGIONS._replace(full_gram=5, gram_columns=1, column_operations=operations)}
    one, two = (grow(X, y, **form, gamma=0.05, n_jobs=n_jobs, options=lazily) for n_jobs in (1, 2))
    for lazy in (one, two):
        assert lazy.status is whole.status is Status.OPTIMAL
        assert np.array_equal(lazy.support, whole.support) and not lazy.certificate.proof.splits
        assert lazy.lower_bound == pytest.approx(whole.lower_bound, rel=1e-4)
    assert one.n_nodes == two.n_nodes and str(one.certificate.proof.steps) == str(two.certificate.proof.steps)


def test_a_block_is_replaced_by_columns_once_they_pay():
    """The bounds stay the same up to rounding errors, and little memory prevents the replacement."""
    X, y = hard(80, 25)
    problem = make_problem(X, y, 5, gamma=0.05)
    tuning, bounds = BY_REGIONS._replace(full_gram=5, column_operations=0.0, passes_per_column=0), []
    for max_bytes, kind in ((np.inf, GramColumns), (1e3, GramBlock)):
        bounder = gram.GramBounder(problem, np.arange(25), BounderOptions(tuning=tuning, max_bytes=max_bytes))
        warm = bounder.start(Start(np.arange(4), np.ones(4), 0.0))
        assert isinstance(bounder.gram, GramBlock)
        [outcome] = bounder.solve([Request(warm, np.zeros(25, dtype=np.int8))], 1e6)
        assert isinstance(bounder.gram, kind)
        bounds.append(outcome.bound)
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-6)


def test_stored_columns_of_the_gram_matrix_count_as_memory():
    X, y = hard(80, 25)
    few = BY_REGIONS._replace(full_gram=5)
    nodes = gram.GramBounder(make_problem(X, y, 5, gamma=0.05), np.arange(25), BounderOptions(tuning=few))
    nodes.start(Start(np.arange(4), np.ones(4), 0.0))
    assert nodes.gram.count == np.count_nonzero(nodes.gram.stored.slot != NOT_STORED) > 0
    assert nodes.nbytes() == nodes.columns.nbytes + 8 * 25 * nodes.gram.count
    settings = {"k": 5, "gamma": 0.05, "options": {"tuning": few, "proof": False}}
    enough, little = (
        best_subset(X, y, method="tree", n_jobs=1, max_memory=share * nodes.nbytes(), **settings)
        for share in (100.0, 1.0)
    )
    assert little.status is Status.NODE_LIMIT and little.n_nodes == 0 < enough.n_nodes


def test_bounds_are_those_of_the_rounded_points():
    data = make_toeplitz(80, 150, 5, rho=0.5, snr=1.0, rng=1)
    X = data.X * 2.0 ** np.random.default_rng(0).integers(-3, 4, size=150)
    problem = make_problem(X, data.y, 5, gamma=0.01)
    state = np.zeros(150, dtype=np.int8)
    exact = gram.GramBounder(problem, np.arange(150))
    cutoff = best_subset(X, data.y, 5, gamma=0.01).objective
    [plain] = exact.solve([Request(exact.start(Start(NONE, np.empty(0), 0.0)), state)], cutoff)
    for part in (1e-3, 1e-5):
        nodes = gram.GramBounder(problem, np.arange(150), BounderOptions(part * cutoff))
        [outcome] = nodes.solve([Request(nodes.start(Start(NONE, np.empty(0), 0.0)), state)], cutoff)
        point = outcome.point
        stored = nodes.proof_point(point, [])
        np.testing.assert_array_equal(stored.values.astype(np.float64), point.w)
        multiples = point.w / nodes.grid[point.used] * 16.0**8
        np.testing.assert_array_equal(multiples, np.rint(multiples))
        u = nodes.c - nodes.columns.T @ (nodes.columns[:, point.used] @ point.w)
        np.testing.assert_allclose(point.u, u, atol=1e-9 * np.abs(u).max())
        assert outcome.bound >= plain.bound - 0.1 * (cutoff - plain.bound) - 10.0 * part * cutoff
    assert not exact.grid.any()
