"""Products of columns that are computed on demand: the contract, heredity, and the same answers as with stored ones."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import sparsest
from checks import best_subset
from core.designs.storages import NAMES, N, P, matrix
from design_contract import DesignContract
from samples import sample
from sparsest import interactions, penalty_path
from sparsest.runtime.sizes import resized


def stored(X, pairs=None):
    pairs = list(combinations(range(X.shape[1]), 2)) if pairs is None else pairs
    return np.column_stack([X, *(X[:, a] * X[:, b] for a, b in pairs)])


class TestInteractions(DesignContract):
    @pytest.fixture(params=["columns", "matrix products", "small blocks"])
    def pair(self, request):
        few, X = 1e9 if request.param == "columns" else 0.0, matrix() / 16.0
        blocks = {"product_bytes": 8 * N * 3} if request.param == "small blocks" else {}
        with resized(few_products=few, **blocks):
            yield interactions(X), stored(X)


class TestSomePairs(DesignContract):
    """Squares and repeated pairs too."""

    @pytest.fixture
    def pair(self):
        X, pairs = matrix() / 16.0, [(2, 2), (0, 3), (3, 0), (0, 3)]
        return interactions(X, pairs=pairs), stored(X, pairs)


def test_300_columns_have_44850_products():
    X = np.random.default_rng(0).standard_normal((20, 300))
    design = interactions(X)
    assert design.shape == (20, 45_150) and design.resident_bytes == X.nbytes
    r = np.random.default_rng(1).standard_normal(20)
    np.testing.assert_allclose(design.tdot(r), stored(X).T @ r, atol=1e-12)


def test_names_and_heredity():
    frame = pd.DataFrame(matrix(), columns=NAMES)
    design = interactions(frame)
    first = design.shape[1] - P * (P - 1) // 2
    assert first == P and design.names[:P] == tuple(NAMES) and design.names[P] == f"{NAMES[0]}:{NAMES[1]}"
    assert design.requires[0] == (P, [0, 1]) and design.requires[-1] == (design.shape[1] - 1, [P - 2, P - 1])
    assert len(design.requires) == P * (P - 1) // 2
    part = design.take([P, 1, 0, 3])
    assert part.requires == [(0, [1, 2])] and part.names[0] == design.names[P]
    assert design.take([P, 1]).requires == []
    squares = interactions(frame, pairs=[(NAMES[1], NAMES[1])])
    assert squares.names[P:] == (f"{NAMES[1]}:{NAMES[1]}",) and squares.requires == [(P, [1])]
    assert interactions(matrix()).names[P + 1] == "0:2"
    assert interactions(matrix(), feature_names=NAMES).names == design.names


@pytest.mark.parametrize("method", ["tree", "relaxation"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_answer_is_that_of_stored_products(method, loss):
    X, y = sample(loss, 80, 6)
    design = interactions(X)
    result, known = (best_subset(x, y, k=3, loss=loss, method=method) for x in (design, stored(X)))
    assert result.support.tolist() == known.support.tolist()
    assert result.objective == pytest.approx(known.objective, rel=1e-9)
    assert result.statement.fingerprint == known.statement.fingerprint
    assert result.certificate.verify(design, y) and result.certificate.verify(stored(X), y)
    assert result.names == [design.names[j] for j in result.support]


def test_paths():
    X, y = sample("squared", 80, 6)
    found, known = (penalty_path(x, y, alphas=8, tol=1e-10).coefs.toarray() for x in (interactions(X), stored(X)))
    np.testing.assert_allclose(found, known, atol=1e-7)


def test_bad_arguments():
    X = matrix()
    for degree in (1, 3, 2.5, "2", True, None, np.array([2, 2])):
        with pytest.raises(ValueError, match="degree must be 2"):
            interactions(X, degree)
    with pytest.raises(ValueError, match="pairs must hold two columns each, got 3"):
        interactions(X, pairs=[(0, 1, 2)])
    with pytest.raises(ValueError, match="pairs must hold column numbers from 0 to"):
        interactions(X, pairs=[(0, P)])
    with pytest.raises(ValueError, match="pairs names the column 'z', which X does not have"):
        interactions(X, pairs=[("z", "0")])
    X[2, 3] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity"):
        sparsest.best_subset(interactions(X), np.arange(float(N)), k=2)


def test_heredity():
    """A product is chosen with its factors only; the optimum is that of all admissible supports."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 5))
    y = X[:, 3] + 2.0 * X[:, 3] * X[:, 1] + 0.5 * rng.standard_normal(80)
    design, structure = interactions(X), sparsest.Structure(requires=interactions(X).requires)
    result = best_subset(design, y, k=3, gamma=0.1, structure=structure)
    assert result.names == ["1", "3", "1:3"] and result.status.name == "OPTIMAL"
    assert result.certificate.verify(design, y)
    parents = dict(design.requires)
    values = [
        best_subset(stored(X)[:, list(support)], y, k=3, gamma=0.1, include=range(3), method="local").objective
        for support in combinations(range(design.shape[1]), 3)
        if all(set(parents.get(j, [])) <= set(support) for j in support)
    ]
    assert result.objective == pytest.approx(min(values), rel=1e-7)


def test_columns_that_do_not_fit_into_memory_are_refused(monkeypatch):
    monkeypatch.setattr("sparsest.core.designs.interactions.available_memory", lambda: 100.0)
    with pytest.raises(ValueError, match=r"7\.28e-07 GB in double precision, but only 1e-07 GB .*give fewer columns"):
        interactions(matrix())
    monkeypatch.setattr("sparsest.core.designs.interactions.available_memory", lambda: 0.0)
    assert interactions(matrix()).shape[0] == N
