"""The kernels that relax regions, compiled and uncompiled, against NumPy and enumeration."""

from itertools import combinations

import numpy as np
import pytest

from sparsest.subset.tree.kernels import node as kernels

M, RIDGE = 8, 1.5


class Case:
    """A quadratic ``½w'Gw - c'w`` with a ridge, and its columns as rows."""

    def __init__(self, seed=0, m=M):
        rng = np.random.default_rng([seed, m])
        X = rng.standard_normal((20, m)) + 0.5 * rng.standard_normal((20, 1))
        y = X[:, :3].sum(axis=1) + rng.standard_normal(20)
        self.rng, self.columns = rng, np.ascontiguousarray(X.T)
        self.G, self.c = X.T @ X, X.T @ y
        self.roots = np.full(m, np.sqrt(RIDGE))

    def value(self, chosen):
        """The minimum on a support."""
        chosen = list(chosen)
        H = self.G[np.ix_(chosen, chosen)] + RIDGE * np.eye(len(chosen))
        return -0.5 * self.c[chosen] @ np.linalg.solve(H, self.c[chosen]) if chosen else 0.0

    def stored(self, features):
        """The rows of G for some features, and their positions."""
        slot = np.full(self.c.size, -1)
        slot[features] = np.arange(len(features))
        return np.ascontiguousarray(self.G[features]).reshape(-1, self.c.size), slot

    def quadratic(self, features, uses, block=False):
        """The quadratic with the columns of some features, or with their block only."""
        store, slot = self.stored(features)
        if block:
            return kernels.Quadratic(self.columns, store[:, features].copy(), slot, uses, self.c, slot, True)
        return kernels.Quadratic(self.columns, store, slot, uses, self.c, np.arange(self.c.size), False)


@pytest.mark.parametrize("m", [1, 8, 530])
def test_products(run, m):
    rng = np.random.default_rng(m)
    G = rng.standard_normal((m, m))
    G = G + G.T
    W = rng.standard_normal((3, m)) * (rng.random((3, m)) < 0.3)
    shifts, b, U = rng.random((3, m)), rng.standard_normal(m), np.full((3, m), np.nan)
    run(kernels.products)(G, np.arange(m), shifts, b, W, np.array([0, 2]), U)
    for i in (0, 2):
        np.testing.assert_allclose(U[i], b - G @ W[i] - shifts[i] * W[i], atol=1e-10)
    assert np.isnan(U[1]).all()


def test_missing_columns(run):
    slot, uses = np.array([0, -1, -1, -1, -1]), np.array([9, 0, 5, 30, 2])
    W = np.array([[1.0, 0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0, 0.0]])
    quadratic = kernels.Quadratic(np.empty((5, 2)), np.empty((1, 5)), slot, uses, np.empty(5), np.arange(5), False)
    missing = run(kernels.missing_columns)
    assert missing(quadratic, W, np.array([0]), 1).tolist() == [3]
    assert missing(quadratic, W, np.array([0, 1]), 1).tolist() == [1, 3]
    assert missing(quadratic, W, np.array([0, 1]), 3).tolist() == [1, 3, 2]
    assert missing(quadratic._replace(uses=np.zeros(5, dtype=np.int64)), W, np.array([0]), 3).size == 0


@pytest.mark.parametrize(("stored", "block"), [([], False), ([3], False), ([6, 3, 1], True), ([*range(M)], False)])
def test_a_part_of_the_quadratic(run, stored, block):
    case = Case(1)
    chosen, shift, uses = np.array([1, 3, 6]), case.rng.random(M), np.zeros(M, dtype=np.int64)
    H = np.empty((3, 3))
    run(kernels.part_of_quadratic)(case.quadratic(stored, uses, block), shift, chosen, H)
    np.testing.assert_allclose(H, case.G[np.ix_(chosen, chosen)] + np.diag(shift[chosen]), atol=1e-11)
    assert uses.tolist() == [int(j in chosen and j not in stored) for j in range(M)]
    assert run(kernels.inner)(case.columns, 1, 6) == pytest.approx(case.G[1, 6])


STATES = [[0] * M, [1, 0, 0, -1, 0, 0, 0, 0], [1, 1, -1, 0, 0, 0, 0, -1]]


def solve(run, case, budget, price, cutoff=np.inf, step=0.0, stop=0, block=False):
    """Relax the regions of all states from zero coefficients, storing what is requested."""
    states = np.array(STATES, dtype=np.int8)
    R = len(states)
    regions = kernels.Regions(
        states,
        shifts=np.zeros((R, M)),
        roots=np.tile(case.roots, (R, 1)),
        W=np.zeros((R, M)),
        U=np.zeros((R, M)),
        known=np.zeros(R, dtype=bool),
        bounds=np.zeros(R),
        primal=np.full(R, np.inf),
        sigma=np.zeros(R),
        precision=np.full(R, 0.1),
        rounds=np.zeros(R, dtype=np.int64),
        iterations=np.zeros(R, dtype=np.int64),
        status=np.full(R, kernels.RUNNING),
    )
    criteria = kernels.Criteria(budget, price, cutoff, 1.0, np.full(M, step), np.array([stop]))
    uses, features = np.zeros(M, dtype=np.int64), []
    while True:
        missing = run(kernels.solve_nodes)(case.quadratic(features, uses, block), regions, criteria, 2)
        waiting = (regions.status == kernels.RUNNING) & ~regions.known
        if missing.size == 0 and not waiting.any():
            return regions
        if missing.size == 0:
            assert block
            regions.U[waiting], regions.known[waiting] = case.c - regions.W[waiting] @ case.G, True
        features += missing.tolist()


def least_values(case, budget, price):
    """The minimum over the supports of every state."""
    least = []
    for state in np.array(STATES):
        forced, free = np.flatnonzero(state == 1), np.flatnonzero(state == 0)
        most = min(free.size, budget - forced.size)
        chosen = [(*forced, *more) for size in range(most + 1) for more in combinations(free, size)]
        least.append(min(case.value(support) + price * len(support) for support in chosen))
    return np.array(least)


FORMS = pytest.mark.parametrize(("budget", "price"), [(3, 0.0), (2, 0.0), (M, 0.7), (3, 0.4)])


@FORMS
@pytest.mark.parametrize(("step", "block"), [(0.0, False), (2.0**-12, False), (0.0, True), (2.0**-12, True)])
def test_relaxed_regions_bound_all_their_supports(run, budget, price, step, block):
    case = Case(2)
    least = least_values(case, budget, price)
    cutoff = least.max() + 1.0
    regions = solve(run, case, budget, price, cutoff=cutoff, step=step, block=block)
    W, U, bounds, primal = regions.W, regions.U, regions.bounds, regions.primal
    assert (regions.status == kernels.SOLVED).all()
    assert (bounds <= least + 1e-9).all()
    np.testing.assert_allclose(U, case.c - W @ case.G, atol=1e-9)
    assert (W[np.array(STATES) == -1] == 0.0).all()
    if step:
        # After r rounds coefficients are multiples of the step divided by a power of 16.
        np.testing.assert_array_equal(W, W.astype(np.float32))
        multiples = W / step * 16.0 ** np.minimum(regions.rounds - 1, 8)[:, None]
        np.testing.assert_array_equal(multiples, np.rint(multiples))
    # Relaxations end when the bound could increase by at most a tenth of its distance to the cutoff.
    assert W.any(axis=1).all()
    assert (primal - bounds <= 0.1 * (cutoff - bounds)).all()
    assert (primal >= bounds - 1e-3).all()


@FORMS
def test_compiled_equals_uncompiled(budget, price):
    case = Case(3)
    cutoff = least_values(case, budget, price).max() + 0.1
    compiled, plain = (
        solve(how, case, budget, price, cutoff) for how in (lambda kernel: kernel, lambda kernel: kernel.py_func)
    )
    for left, right in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-6, atol=1e-6)


def test_regions_close_at_the_cutoff_and_stop_on_request(run):
    case = Case(4)
    cutoff = 1.2 * least_values(case, 3, 0.0).min()
    regions = solve(run, case, 3, 0.0, cutoff=cutoff)
    assert ((regions.bounds >= cutoff) == (regions.status == kernels.CLOSED)).all()
    assert (regions.status == kernels.CLOSED).any()
    stopped = solve(run, case, 3, 0.0, stop=1)
    assert not stopped.W.any() and (stopped.status == kernels.SOLVED).all()
    assert (stopped.bounds <= least_values(case, 3, 0.0) + 1e-9).all()
