"""The tree of cuts: its linear programs, its proved bounds, and a search that ends even if a linear program fails."""

from itertools import combinations

import numpy as np
import pytest

from injecting import OnCall
from oracles import best_of, sample_values
from samples import sample
from sparsest.core.problem import make_problem
from sparsest.proofs.check import prove
from sparsest.proofs.steps import Branch, Combination, DualPoint, Leaf, Proof
from sparsest.runtime.faults import injected
from sparsest.subset.claims import statement_of
from sparsest.subset.cuts.master import Master, Row
from sparsest.subset.cuts.pool import CutPool
from sparsest.subset.cuts.tree import CutTree, LinearProgram
from sparsest.subset.fits.support import fit_support


@pytest.mark.parametrize("scale", [1.0, 1e5])
@pytest.mark.parametrize("price", [0.0, 0.3])
def test_linear_programs_are_solved(price, scale):
    """The optimum agrees with a grid of indicators, and the multipliers prove it."""
    rng = np.random.default_rng(0)
    constants, gains, k = rng.uniform(2.0, 3.0, 4), rng.uniform(0.0, 2.0, (4, 2)), 1
    program = LinearProgram(Master(np.full(2, price), [Row(np.ones(2), -np.inf, float(k))]), scale)
    for constant, q in zip(constants, gains, strict=True):
        program.add(constant, q)
    grid = np.array([(s, t) for s in np.linspace(0.0, 1.0, 201) for t in np.linspace(0.0, 1.0, 201) if s + t <= k])
    for state in ([0, 0], [1, 0], [-1, 0]):
        s, multipliers = program.solve(np.array(state, dtype=np.int8), 60.0)
        allowed = grid[[all(v == (c == 1) for v, c in zip(point, state, strict=True) if c) for point in grid]]
        least = ((constants - allowed @ gains.T).max(axis=1) + price * allowed.sum(axis=1)).min()
        value = (constants - gains @ s).max() + price * s.sum()
        assert value <= least + 1e-9 and value >= least - 0.05
        assert multipliers.sum() == pytest.approx(1.0) and (multipliers >= 0.0).all()


def test_a_linear_program_is_tried_again_from_scratch():
    program = LinearProgram(Master(np.zeros(3), [Row(np.ones(3), -np.inf, 1.0)]), 1.0)
    program.add(1.0, np.array([0.2, 0.5, 0.1]))
    fault = OnCall(1, lambda: True)
    with injected("simplex", fault):
        s, multipliers = program.solve(np.zeros(3, dtype=np.int8), 10.0)
    assert fault.calls == 2
    assert s == pytest.approx([0.0, 1.0, 0.0])
    assert multipliers == pytest.approx([1.0])
    with injected("simplex", lambda: True):
        assert program.solve(np.zeros(3, dtype=np.int8), 10.0) is None


@pytest.mark.parametrize("answers", [True, False], ids=["answers", "no answers"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_every_admissible_support_is_fitted_once_if_no_bound_suffices(k, answers):
    X, y = sample("squared", 20, 5, 2)
    problem = make_problem(X, y, k, gamma=0.5, include=[1])
    values, pool = {}, CutPool()

    def separate(chosen):
        fit = fit_support(problem, np.flatnonzero(chosen))
        values[tuple(np.flatnonzero(chosen).tolist())] = fit.primal
        return pool.cut(pool.add(problem, fit.alpha), problem)

    tree = CutTree(problem, np.arange(5), np.arange(5) == 1, 1.0, separate)
    tree.add(*pool.cut(pool.add(problem, np.zeros(problem.n)), problem))
    tree.begin()
    with injected("linear program", lambda seconds: not answers):
        while not tree.is_finished():
            tree.step(np.inf, 60.0)
    supports = {(1, *more) for size in range(k) for more in combinations([0, 2, 3, 4], size)}
    assert set(values) == {tuple(sorted(support)) for support in supports}
    assert tree.lower_bound() == pytest.approx(min(values.values()), rel=1e-9)


@pytest.mark.parametrize("form", [{"k": 2}, {"k": 3, "l0_penalty": 0.2}, {"l0_penalty": 1.0}], ids=str)
def test_every_bound_on_the_way_is_proved_and_below_the_optimum(form):
    """At any time the checker proves the bound from the steps, and the bound never decreases."""
    n, p = 14, 6
    X, y = sample("squared", n, p)
    problem, pool = make_problem(X, y, **form, gamma=0.3, include=[5]), CutPool()
    optimum, _ = best_of(sample_values("squared", n, p, 0, 0.3, True, False), **form, include=[5])

    def separate(chosen):
        fit = fit_support(problem, np.flatnonzero(chosen))
        return pool.cut(pool.add(problem, fit.alpha), problem)

    tree = CutTree(problem, np.arange(p), np.arange(p) == 5, 1.0, separate)
    tree.add(*pool.cut(pool.add(problem, fit_support(problem, problem.include).alpha), problem))
    tree.begin()
    kinds, before = set(), -np.inf
    while not tree.is_finished():
        bound, steps = tree.lower_bound(), tree.steps(0)
        assert before - 1e-9 <= bound <= optimum * (1.0 + 1e-9)
        proved = prove(
            problem.data.evidence.data, statement_of(problem), Proof(steps, [DualPoint(a) for a in pool.alphas])
        )
        assert not proved.complaints and proved.bound >= bound - 1e-9 * abs(bound)
        # The checker also uses that losses are nonnegative and that forced features have a price.
        assert proved.bound == pytest.approx(bound, rel=1e-9) or bound < problem.sparsity.price * p
        before, kinds = bound, kinds | {type(step) for step in steps}
        tree.step(optimum * (1.0 - 1e-6), 60.0)
    assert tree.lower_bound() == pytest.approx(optimum, rel=1e-5)
    assert kinds == {Branch, Combination, Leaf}


def test_features_excluded_by_the_budget_are_forced_out():
    """A region that has used up its budget has no free features left."""
    X, y = sample("squared", 14, 6)
    tree = CutTree(
        make_problem(X, y, 2, gamma=0.3, include=[1, 4]), np.arange(6), np.isin(np.arange(6), [1, 4]), 1.0, None
    )
    assert tree.root.state.tolist() == [-1, 1, -1, -1, 1, -1]
