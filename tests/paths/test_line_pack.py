"""Packs without a Gram matrix against packs with one."""

import numpy as np
import pytest

from core.designs.storages import standardized
from sparsest.core.designs import as_design
from sparsest.core.designs.packs import DensePack
from sparsest.paths.line_pack import LinePack

N, P = 20, 150


@pytest.mark.parametrize("centred", [True, False])
def test_line_packs_are_dense_packs(centred):
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.full(N, 5.0))
    view = standardized(as_design(rng.standard_normal((N, P)) + 1.0), weights, center=centred, scale=True)
    pack, other = LinePack(view, centred), DensePack(view, centred)
    h, everything = rng.uniform(0.1, 1.0, N), np.arange(P)
    for step in (lambda one: one.append(everything[:70]), lambda one: one.weigh(h),
                 lambda one: one.append(everything[70:]), lambda one: one.keep(np.arange(0, P, 2))):  # fmt: skip
        step(pack)
        step(other)
    w, r = rng.standard_normal(P // 2), rng.standard_normal(N)
    np.testing.assert_allclose(pack.dot(w), other.dot(w), atol=1e-12)
    np.testing.assert_allclose(pack.tdot(r, 5), other.tdot(r, 5), atol=1e-12)
    np.testing.assert_allclose(pack.squares(r**2), other.squares(r**2), atol=1e-12)
    some = np.array([3, 1, 40])
    chosen = np.array([True, False, True])
    np.testing.assert_allclose(pack.third_moments(some, chosen, r), other.third_moments(some, chosen, r), atol=1e-12)
    np.testing.assert_allclose(pack.gram(some), other.gram(some), atol=1e-12)
    np.testing.assert_allclose(pack.gram(some, r**2), other.gram(some, r**2), atol=1e-12)
    theta = r - r.mean() if centred else r
    model = pack.model(theta)
    np.testing.assert_allclose(model.image(w), other.model().image(w), atol=1e-11)
    model.follow(w)
    moved = model.blocks.lines @ model.blocks.theta
    np.testing.assert_allclose(moved, pack.tdot(theta) + other.model().image(w), atol=1e-11)
    with pytest.raises(ValueError, match="needs θ"):
        pack.model(None)
