"""Packs: what is special to each form; their products are part of every design's contract."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from core.designs.storages import standardized
from sparsest.core.designs import Dense, Sparse
from sparsest.core.designs.packs import DensePack, SparsePack
from sparsest.core.kernels.descent import descend, refresh
from sparsest.core.penalties import make_penalty

N, P = 30, 12


def matrix(seed=0):
    rng = np.random.default_rng(seed)
    X = np.round(8.0 * rng.standard_normal((N, P)))
    X[rng.random((N, P)) < 0.5] = 0.0
    return X


def view(design, **kind):
    return standardized(design, np.ones(N), center=True, scale=True, **kind)


@pytest.mark.parametrize(
    ("design", "kind"),
    [
        (Dense(matrix()), DensePack),
        (Dense(matrix().astype(np.int8)), DensePack),
        (Sparse(sp.csc_array(matrix())), SparsePack),
        (view(Dense(matrix())), DensePack),
        (view(Sparse(sp.csc_array(matrix()))), SparsePack),
        (view(Sparse(sp.csc_array(matrix() + 1e6))), SparsePack),
    ],
)
def test_the_storage_decides(design, kind):
    pack = design.pack(True)
    assert type(pack) is kind and pack.has_gram is (kind is DensePack)


@pytest.mark.parametrize("centred", [False, True])
def test_without_room_for_copies_nothing_changes(centred):
    """Columns that are read from the design, and a Gram matrix that is computed in blocks, give the same numbers."""
    design, h = view(Dense(matrix().astype(np.int8))), np.random.default_rng(1).uniform(0.5, 2.0, N)
    rich, poor = DensePack(design, centred), DensePack(design, centred, 4 * 8 * N, 3 * 8 * N)
    everything, r = np.arange(P), np.linspace(-1.0, 1.0, N)
    for pack in (rich, poor):
        pack.append(np.arange(4))
        pack.weigh(h)
        pack.append(np.arange(4, P))
    assert rich._copies is not None and poor._copies is None
    np.testing.assert_allclose(poor.gram(everything), rich.gram(everything), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(poor.dot(everything - 3.0), rich.dot(everything - 3.0), atol=1e-12)
    np.testing.assert_allclose(poor.tdot(r, 2), rich.tdot(r, 2), atol=1e-12)
    for pack in (rich, poor):
        pack.keep(everything[::2])
    np.testing.assert_allclose(poor.gram(everything[:6]), rich.gram(everything[:6]), atol=1e-12)


def test_small_numbers_never_become_a_whole_copy_in_float64():
    X = np.asfortranarray(np.random.default_rng(0).integers(-3, 4, (20_000, 60)), dtype=np.int8)
    design = Dense(X, block_bytes=1 << 18)
    # Kernels are compiled before memory is traced, which slows the compiler down.
    design.pack(True).append(np.arange(2))
    pack = DensePack(design, True, copy_bytes=X.nbytes, block_bytes=1 << 18)
    tracemalloc.start()
    pack.append(np.arange(60))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * X.nbytes
    np.testing.assert_allclose(pack.gram(np.arange(60)), X.astype(float).T @ (X - X.mean(axis=0)), atol=1e-6)


@pytest.mark.parametrize("centred", [False, True])
def test_both_forms_descend_alike(centred):
    """Coordinate descent goes the same way on the Gram matrix and on stored columns."""
    X, h, rng = matrix(), np.full(N, 1.0 / N), np.random.default_rng(3)
    theta = rng.standard_normal(N)
    theta -= theta.mean()
    ends = []
    for design in (Dense(X), Sparse(sp.csc_array(X))):
        pack = design.pack(centred)
        pack.weigh(h)
        pack.append(np.arange(P))
        model, w, grad = pack.model(theta), np.zeros(P), pack.tdot(theta)
        descend(model, w, grad, np.full(P, 0.5), make_penalty("l1"), 1e-10, 1000)
        model.follow(np.ones(P))
        carried = grad + model.image(np.ones(P))
        if not pack.has_gram:
            refresh(model, grad)
            np.testing.assert_allclose(grad, carried, atol=1e-9)
        ends.append((w, carried))
    np.testing.assert_allclose(ends[0][0], ends[1][0], atol=1e-9)
    np.testing.assert_allclose(ends[0][1], ends[1][1], atol=1e-8)
