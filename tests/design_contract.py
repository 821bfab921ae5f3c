"""The contract of a design as tests: a class that tests of every kind of design derive from."""

import numpy as np
import pytest

from sparsest.core.designs import Design, Standardized

# Columns in no order and one of them twice, none, one, all but one, and all.
SUBSETS = {
    "none": lambda p: [],
    "one": lambda p: [p // 2],
    "few": lambda p: [p - 1, 0, p - 1],
    "many": lambda p: np.arange(p - 1, 0, -1),
    "all": lambda p: np.arange(p),
}
# No vector, one, few, and more than kernels take one by one.
BLOCKS = [0, 1, 3, 20]


def close(actual, expected, case=""):
    """Equal up to rounding, where means of a thousand are subtracted from columns of deviation one."""
    assert actual.dtype == np.float64 and actual.shape == expected.shape and actual.flags.writeable, case
    atol = 1e-10 * np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=atol, err_msg=str(case))


def subsets(X):
    """Names of subsets of the columns, the subsets, and their columns."""
    for name, of in SUBSETS.items():
        subset = of(X.shape[1])
        yield name, subset, X[:, np.asarray(subset, dtype=np.intp)]


class DesignContract:
    """Derive from it and give a fixture ``pair``: a design, and the float64 matrix that it stands for.

    The matrix has at least 3 rows and 3 columns.
    """

    @pytest.fixture
    def rng(self):
        return np.random.default_rng(2)

    @pytest.fixture(autouse=True)
    def unchanged(self, pair):
        """Nothing that a test does with a design changes it."""
        design, _ = pair
        every = np.arange(design.shape[1])
        before = design.columns(every)
        yield
        assert np.array_equal(design.columns(every), before)

    def test_is_a_design(self, pair):
        design, X = pair
        assert isinstance(design, Design)
        assert design.shape == X.shape

    def test_dot(self, pair, rng):
        design, X = pair
        w = frozen(rng.standard_normal(X.shape[1]))
        few = frozen(np.where(np.arange(w.size) == 1, 2.0, 0.0))
        for vector in (w, few, frozen(0.0 * w)):
            close(design.dot(vector), X @ vector)

    def test_dot_of_a_subset(self, pair, rng):
        design, X = pair
        for name, subset, chosen in subsets(X):
            w = frozen(rng.standard_normal(len(subset)))
            close(design.dot(w, subset), chosen @ w, name)

    def test_dot_of_a_block(self, pair, rng):
        design, X = pair
        for m in BLOCKS:
            W = frozen(rng.standard_normal((X.shape[1], m)))
            close(design.dot(W), X @ W, m)
            close(design.dot(frozen(W[[1, 0]]), [0, 2]), X[:, [0, 2]] @ W[[1, 0]], m)

    def test_tdot(self, pair, rng):
        design, X = pair
        r = frozen(rng.standard_normal(X.shape[0]))
        close(design.tdot(r), X.T @ r)

    def test_tdot_of_a_subset(self, pair, rng):
        design, X = pair
        r = frozen(rng.standard_normal(X.shape[0]))
        for name, subset, chosen in subsets(X):
            close(design.tdot(r, subset), chosen.T @ r, name)

    def test_tdot_of_a_block(self, pair, rng):
        design, X = pair
        for m in BLOCKS:
            R = frozen(rng.standard_normal((X.shape[0], m)))
            close(design.tdot(R), X.T @ R, m)
            close(design.tdot(R, [0, 2]), X[:, [0, 2]].T @ R, m)

    def test_tdot_some(self, pair, rng):
        """At least the wanted products, of columns that may be computed; likely columns change nothing."""
        design, X = pair
        p = X.shape[1]
        others = np.arange(p) != 0
        for wanted in ([], [1], [p - 1, 1], np.flatnonzero(others)):
            wanted, r = np.array(wanted, dtype=np.intp), frozen(rng.standard_normal(X.shape[0]))
            index, products = design.tdot_some(r, wanted, others, lambda: np.array([2, 1]))
            assert np.isin(wanted, index).all() and others[index].all() and np.unique(index).size == index.size
            close(products, X[:, index].T @ r)
            assert design.at_hand(wanted).shape == wanted.shape and design.at_hand(wanted).dtype == bool
            close(design.columns([2, 0, 1]), X[:, [2, 0, 1]])

    def test_vectors_of_any_strides(self, pair, rng):
        design, X = pair
        R, W = rng.standard_normal((2 * X.shape[0], 3)), rng.standard_normal((3, X.shape[1]))
        close(design.tdot(R[::2, 1]), X.T @ R[::2, 1])
        close(design.tdot(np.asfortranarray(R[::2])), X.T @ R[::2])
        close(design.dot(W.T), X @ W.T)
        close(design.dot(W.T[:, 1]), X @ W[1])

    def test_columns(self, pair):
        design, X = pair
        for name, subset, chosen in subsets(X):
            block = design.columns(subset)
            assert block.flags.f_contiguous, name
            close(block, chosen, name)

    def test_results_belong_to_the_caller(self, pair):
        design, X = pair
        n, p = X.shape
        survey = design.survey(np.ones(n), np.ones(n))
        for result in (
            design.columns([0, 1]), design.dot(np.ones(p)), design.tdot(np.ones(n)), design.gram([0]), *survey.moments,
            survey.products,
        ):  # fmt: skip
            result[...] = -99.0

    def test_gram(self, pair, rng):
        design, X = pair
        weights, right = frozen(rng.uniform(0.5, 2.0, X.shape[0])), X[:, [1, 0, 2]]
        for name, subset, left in subsets(X):
            close(design.gram(subset), left.T @ left, name)
            close(design.gram(subset, weights=weights), left.T @ (weights[:, None] * left), name)
            close(design.gram(subset, [1, 0, 2]), left.T @ right, name)
            close(design.gram(subset, [1, 0, 2], weights), left.T @ (weights[:, None] * right), name)

    def test_rows(self, pair, rng):
        design, X = pair
        keep = np.array([2, 0])
        part = design.rows(keep)
        assert type(part) is type(design)
        assert part.shape == (2, X.shape[1])
        close(part.columns(np.arange(X.shape[1])), X[keep])
        close(part.tdot(np.array([1.0, -2.0])), X[2] - 2.0 * X[0])
        w = rng.standard_normal(X.shape[1])
        close(part.dot(w), X[keep] @ w)
        close(part.rows(np.array([1])).dot(w), X[[0]] @ w)

    def test_take(self, pair, rng):
        design, X = pair
        p = X.shape[1]
        for subset in (np.arange(p)[::-1], np.array([p - 1, 0]), np.array([0]), np.arange(0)):
            part = design.take(subset)
            assert type(part) is type(design) and part.shape == (X.shape[0], subset.size)
            close(part.columns(np.arange(subset.size)), X[:, subset])
            r, w = rng.standard_normal(X.shape[0]), rng.standard_normal(subset.size)
            close(part.tdot(r), X[:, subset].T @ r)
            close(part.dot(w), X[:, subset] @ w)
            assert part.nbytes_of(np.arange(subset.size)) <= design.nbytes_of(subset)
        close(design.take(np.array([p - 1, 0])).take(np.array([1])).columns([0]), X[:, [0]])

    @pytest.mark.parametrize("weighted", [False, True])
    def test_survey(self, pair, rng, weighted):
        design, X = pair
        n = X.shape[0]
        weights = frozen(rng.uniform(0.5, 2.0, n) if weighted else np.ones(n))
        Y = frozen(rng.standard_normal((n, 2)))
        moments, products = design.survey(weights, Y)
        close(moments.mean + moments.rest, np.average(X, axis=0, weights=weights))
        close(moments.variance, np.average((X - moments.mean) ** 2, axis=0, weights=weights))
        close(products, X.T @ Y)
        close(design.survey(weights, Y[:, 0]).products, X.T @ Y[:, 0])
        without = design.survey(weights)
        assert without.products.shape == (X.shape[1], 0)
        for given, alone, of_moments in zip(moments, without.moments, design.moments(weights), strict=True):
            assert np.array_equal(given, alone) and np.array_equal(given, of_moments)

    def test_constant_columns(self, pair):
        """A variance is zero where a column's entries are equal, and only there."""
        design, X = pair
        constant = (X[0] == X).all(axis=0)
        assert np.array_equal(design.moments(np.ones(X.shape[0])).variance == 0.0, constant)

    def test_nbytes_of(self, pair):
        """Bytes add up over columns, and are no more than those of a float64 copy, with an index for each entry."""
        design, X = pair
        for name, subset, _ in subsets(X):
            total = design.nbytes_of(subset)
            assert total == sum(design.nbytes_of([j]) for j in subset), name
            assert 0 <= total <= len(subset) * (16 * X.shape[0] + 8), name

    @pytest.mark.parametrize("centred", [False, True])
    def test_pack(self, pair, rng, centred):
        """A pack has the products of its columns after any sequence of appending, dropping and weighting."""
        design, X = pair
        n, p = X.shape
        try:
            pack = design.pack(centred)
        except ValueError:
            assert isinstance(design, Standardized) and design.shift.any() and not centred
            return
        h = frozen(rng.uniform(0.5, 2.0, n))
        pack.append(np.arange(p - 1))
        pack.keep(np.array([1, 0]))
        pack.weigh(h)
        pack.append(np.array([p - 1]))
        index = np.array([1, 0, p - 1])
        E = X[:, index]
        w, r = frozen(rng.standard_normal(3)), frozen(rng.standard_normal(n))
        close(pack.dot(w), E @ w)
        close(pack.tdot(r), E.T @ r)
        close(pack.tdot(r, 2), E[:, 2:].T @ r)
        centre = np.average(E, axis=0, weights=h) if centred else np.zeros(3)
        gram = (E - centre).T @ (h[:, None] * (E - centre))
        scale = np.abs(E.T @ (h[:, None] * E)).max()
        np.testing.assert_allclose(pack.gram(np.array([2, 0])), gram[np.ix_([2, 0], [2, 0])], atol=1e-10 * scale)
        model = pack.model(r)
        np.testing.assert_allclose(model.image(w), gram @ w, atol=1e-10 * scale)
        if pack.has_gram:
            np.testing.assert_allclose(model.gram[:3, :3], gram, atol=1e-10 * scale)


def frozen(array):
    """A read-only array."""
    array.flags.writeable = False
    return array
