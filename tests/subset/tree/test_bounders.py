"""Bounds of regions for every loss: at most the best support of the region, and fixings never exclude a better one."""

import numpy as np
import pytest

from covering import every_pair
from oracles import best_of, sample_values
from samples import LOSS_NAMES, sample
from sparsest.core.problem import make_problem
from sparsest.proofs.check import prove
from sparsest.proofs.steps import Branch, Leaf, Proof
from sparsest.subset.claims import statement_of
from sparsest.subset.fits.support import fit_support
from sparsest.subset.relaxation.solution import Start
from sparsest.subset.tree.bounder import BounderOptions, Request
from sparsest.subset.tree.bounders import make_bounder
from sparsest.subset.tree.gram_bounder import GramBounder
from sparsest.subset.tree.loss_bounder import LossBounder

losses = pytest.mark.parametrize("loss", LOSS_NAMES)
FORMS = [{"k": 3}, {"l0_penalty": 0.4}, {"k": 2, "l0_penalty": 0.05}]
forms = pytest.mark.parametrize("form", FORMS, ids=str)


@losses
def test_the_loss_decides(loss):
    X, y = sample(loss, 22, 7)
    bounder = make_bounder(make_problem(X, y, 3, loss=loss, gamma=0.3), np.array([1, 2, 6]))
    assert isinstance(bounder, GramBounder if loss == "squared" else LossBounder)
    assert bounder.survivors.tolist() == [1, 2, 6] and bounder.nbytes() >= 22 * 3 * 8


@losses
@forms
def test_nodes_bound_their_regions(loss, form):
    """Both the bound and the relaxed objective of a region are at most the objective of its best support."""
    n, p = 22, 7
    X, y = sample(loss, n, p, 10)
    problem = make_problem(X, y, **form, loss=loss, gamma=0.3)
    values = sample_values(loss, n, p, 10, 0.3, True, False)
    for strengthen in (False, True):
        nodes = make_bounder(problem, np.arange(p))
        if strengthen:
            nodes.strengthen()
        for state in ([0] * p, [1, 0, 0, -1, 0, 0, 0], [0, -1, -1, 0, 1, 0, 1]):
            state = np.array(state, dtype=np.int8)
            inside, outside = np.flatnonzero(state == 1), np.flatnonzero(state == -1)
            optimum, _ = best_of(values, **form, include=inside.tolist(), exclude=outside.tolist())
            warm = nodes.start(Start(np.arange(p), np.zeros(p), 0.0))
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


@every_pair(loss=LOSS_NAMES, form=FORMS, rounding=[0.0, 1e-3])
def test_fixings_exclude_only_supports_above_the_cutoff(loss, form, rounding):
    """Supports below the cutoff stay, and excluded supports have an objective of at least ``closed``."""
    n, p = 22, 7
    X, y = sample(loss, n, p, 10)
    problem = make_problem(X, y, **form, loss=loss, gamma=0.3, exclude=[3])
    survivors = np.array([0, 1, 2, 4, 5, 6])
    values = sample_values(loss, n, p, 10, 0.3, True, False)
    optimum, best = best_of(values, **form, exclude=[3])
    bounder = make_bounder(problem, survivors, BounderOptions(rounding * optimum))
    state = np.zeros(6, dtype=np.int8)
    [outcome] = bounder.solve([Request(bounder.start(Start(np.arange(p), np.zeros(p), 0.0)), state)], 1.2 * optimum)
    fixed = 0
    for cutoff in (outcome.bound + 1e-3, 0.5 * (outcome.bound + optimum), optimum, 1.1 * optimum):
        narrowed = state.copy()
        tightened = bounder.tighten(outcome.point, narrowed, cutoff)
        assert tightened.bound <= optimum * (1.0 + 1e-8)
        assert np.array_equal(np.flatnonzero(narrowed == 1), tightened.inside)
        assert np.array_equal(np.flatnonzero(narrowed == -1), tightened.outside)
        fixed += tightened.inside.size + tightened.outside.size
        for support, value in values.items():
            if 3 in support or len(support) > form.get("k", p):
                continue
            chosen = np.isin(survivors, support)
            left = chosen[narrowed == 1].all() and not chosen[narrowed == -1].any()
            priced = value + form.get("l0_penalty", 0.0) * len(support)
            assert left or priced >= max(cutoff, tightened.closed) * (1.0 - 1e-8)
        if cutoff > optimum:
            assert (narrowed[np.isin(survivors, best)] >= 0).all() and (narrowed[~np.isin(survivors, best)] <= 0).all()
    assert fixed


@losses
@pytest.mark.parametrize("rounding", [0.0, 1e-5])
def test_the_checker_proves_the_bounds_of_both_sides(loss, rounding):
    """A stored point proves at least the bound claimed for a region, up to rounding."""
    n, p = 22, 7
    X, y = sample(loss, n, p, 11)
    problem = make_problem(X, y, 3, loss=loss, gamma=0.3, sample_weight=np.linspace(0.5, 2.0, n))
    bounder = make_bounder(problem, np.arange(p), BounderOptions(rounding * 10.0))
    bounder.strengthen()
    claimed, points, splits, cutoff = [], [], [], fit_support(problem, np.array([0, 1, 2])).primal
    for side in (1, -1):
        state = np.array([side] + [0] * (p - 1), dtype=np.int8)
        [outcome] = bounder.solve([Request(bounder.start(Start(np.arange(p), np.zeros(p), 0.0)), state)], cutoff)
        claimed.append(bounder.tighten(outcome.point, state, -np.inf).bound)
        points.append(bounder.proof_point(outcome.point, splits))
    data, statement = problem.data.evidence.data, statement_of(problem)
    found = prove(data, statement, Proof((Branch(0), Leaf(0), Leaf(1)), points, splits))
    assert not found.complaints and min(claimed) > 0.0
    assert found.bound >= min(claimed) * (1.0 - 1e-11) and found.bound == pytest.approx(min(claimed), rel=1e-6)


@losses
def test_without_time_bounds_still_hold(loss):
    n, p = 22, 7
    X, y = sample(loss, n, p, 10)
    problem = make_problem(X, y, 3, loss=loss, gamma=0.3)
    optimum, _ = best_of(sample_values(loss, n, p, 10, 0.3, True, False), 3)
    late = []
    bounder = make_bounder(problem, np.arange(p), BounderOptions(expired=lambda: bool(late)))
    warm, state = bounder.start(Start(np.arange(p), np.zeros(p), 0.0)), np.zeros(p, dtype=np.int8)
    [whole] = bounder.solve([Request(warm, state)], 2.0 * optimum)
    late.append(True)
    bounder.stop(True)
    [early] = bounder.solve([Request(warm, state)], 2.0 * optimum)
    assert early.bound < whole.bound <= optimum * (1.0 + 1e-8) and early.iterations <= whole.iterations
    # Time reserved for a proof may be released later.
    late.clear()
    bounder.stop(False)
    assert bounder.solve([Request(warm, state)], 2.0 * optimum)[0].bound == whole.bound
