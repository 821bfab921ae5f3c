"""Packed columns, dense and sparse, against the matrix itself."""

import numpy as np
import pytest
import scipy.sparse as sp

from sparsest.designs import as_design, standardized
from sparsest.solvers.paths.packs import DensePack, SparsePack

N, P = 25, 60
PACKS = {"dense": DensePack, "sparse": SparsePack}

packs = pytest.mark.parametrize("kind", PACKS)
centrings = pytest.mark.parametrize("centred", [True, False])


class Case:
    """A pack, and the same columns as an array."""

    def __init__(self, kind, centred, seed=0):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((N, P)) * (rng.random((N, P)) < 0.5) * rng.uniform(0.1, 10.0, P)
        design = as_design(sp.csc_array(X) if kind == "sparse" else X)
        self.view = standardized(design, np.ones(N), center=centred, scale=True)
        self.columns = self.view.columns(np.arange(P))
        self.centred, self.h = centred, np.ones(N)
        self.pack = PACKS[kind](self.view, centred)
        self.members = np.empty(0, dtype=np.intp)

    def append(self, index):
        self.pack.append(index)
        self.members = np.concatenate([self.members, index])

    def keep(self, positions):
        self.pack.keep(positions)
        self.members = self.members[positions]

    def weigh(self, h):
        self.h = h
        self.pack.weigh(h)

    def packed(self):
        return self.columns[:, self.members]

    def gram(self):
        X = self.packed()
        X = X - self.h @ X / self.h.sum() if self.centred else X
        return X.T @ (self.h[:, None] * X)

    def check(self, rng):
        m = self.members.size
        w, r = rng.standard_normal(m), rng.standard_normal(N)
        first = m // 2
        np.testing.assert_allclose(self.pack.dot(w), self.packed() @ w, atol=1e-10)
        np.testing.assert_allclose(self.pack.tdot(r), self.packed().T @ r, atol=1e-10)
        np.testing.assert_allclose(self.pack.tdot(r, first), self.packed()[:, first:].T @ r, atol=1e-10)
        chosen = rng.permutation(m)[: m // 2 + 1]
        np.testing.assert_allclose(self.pack.gram(chosen), self.gram()[np.ix_(chosen, chosen)], atol=1e-9)
        # A step of few features takes another way than one of many.
        for share in (0.05, 1.0):
            d = np.where(rng.random(m) < share, w, 0.0)
            np.testing.assert_allclose(self.pack.image(self.pack.model(r), d), self.gram() @ d, atol=1e-9)


@packs
@centrings
def test_products_are_those_of_the_columns_after_every_change(kind, centred):
    rng = np.random.default_rng(1)
    case = Case(kind, centred)
    order = rng.permutation(P)
    # More than the first buffer holds, in several goes.
    for start, end in ((0, 1), (1, 20), (20, 33), (33, 50)):
        case.append(order[start:end])
        case.check(rng)
    case.weigh(rng.uniform(0.1, 2.0, N))
    case.check(rng)
    case.keep(np.sort(rng.permutation(50)[:18]))
    case.check(rng)
    case.append(order[50:])
    case.check(rng)
    case.weigh(rng.uniform(0.1, 2.0, N))
    case.check(rng)


@packs
@centrings
def test_all_columns_can_leave(kind, centred):
    case = Case(kind, centred)
    case.append(np.arange(5))
    case.keep(np.empty(0, dtype=np.intp))
    assert case.pack.dot(np.empty(0)).tolist() == [0.0] * N
    case.append(np.array([7, 3]))
    case.check(np.random.default_rng(2))


@centrings
def test_stored_columns_carry_the_gradient_along(centred):
    rng = np.random.default_rng(3)
    case = Case("sparse", centred)
    case.append(rng.permutation(P)[:20])
    case.weigh(rng.uniform(0.1, 2.0, N))
    theta = rng.standard_normal(N)
    if centred:
        theta -= theta.mean()
    model, d, gradient = case.pack.model(theta), rng.standard_normal(20) * (rng.random(20) < 0.5), np.empty(20)
    case.pack.step(model, d)
    model.refresh(gradient)
    np.testing.assert_allclose(gradient, case.packed().T @ theta + case.gram() @ d, atol=1e-9)
    np.testing.assert_allclose([model.diagonal(j) for j in range(20)], np.diagonal(case.gram()), atol=1e-9)
