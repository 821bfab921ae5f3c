"""Errors of sums of squares and products are within their bounds, against rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from exact import rationals
from proofs.helpers import indices, sample, sample_weights, statement_of
from sparsest.proofs.data import Data
from sparsest.proofs.regression_sums import RegressionSums
from sparsest.proofs.steps import LEAF, RegressionTree

N, P = 11, 4
SETTINGS = [
    {"gamma": gamma, "fit_intercept": fit_intercept, "standardize": standardize}
    for gamma, fit_intercept, standardize in ((np.inf, True, False), (0.5, True, True), (2.0, False, False))
]


def about(features=(), values=()):
    return RegressionTree(indices(*features), np.array([*values], dtype=float), np.array([LEAF], dtype=np.int32))


def sums_of(settings, step, features=range(P), seed=0, spoil=None):
    X, y = sample(N, P, seed)
    if spoil is not None:
        spoil(X)
    weights = sample_weights(N, seed)
    statement = statement_of(X, y, weights, k=2, **settings)
    data = Data.of(statement, X, y, weights)
    return RegressionSums(data, statement.gamma, indices(*features), step), X, y, weights


class Exact:
    """``M``, ``X'Ωz`` and ``½z'Ωz`` of unit columns in rational arithmetic, but for the lengths of the columns."""

    def __init__(self, X, y, weights, gamma, fit_intercept, standardize):
        omega, total = rationals(weights), sum(rationals(weights))

        def centred(column):
            column = rationals(column)
            mean = sum(o * x for o, x in zip(omega, column, strict=True)) / total if fit_intercept else 0
            return [x - mean for x in column]

        columns, z = [centred(column) for column in X.T], centred(y)

        def inner(a, b):
            return sum(o * s * t for o, s, t in zip(omega, a, b, strict=True))

        self.norms = [float(inner(x, x)) ** 0.5 for x in columns]
        squares = [inner(x, x) for x in columns]
        ridge = [0 if np.isinf(gamma) else (s / total if standardize else 1) / Fraction(gamma) for s in squares]
        self.G = [
            [inner(a, b) + (ridge[i] if i == j else 0) for j, b in enumerate(columns)] for i, a in enumerate(columns)
        ]
        self.b, self.c = [inner(x, z) for x in columns], inner(z, z) / 2
        self.scale = [float(s / total) ** 0.5 if standardize else 1.0 for s in squares]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("center", [{}, {1: 0.7, 3: -0.4}], ids=str)
def test_sums_are_within_their_errors(settings, center):
    sums, X, y, weights = sums_of(settings, about(center.keys(), center.values()))
    exact = Exact(X, y, weights, **settings)
    norms = np.array(exact.norms)
    M = np.array(exact.G, dtype=float) / np.outer(norms, norms)
    assert (np.abs(sums.H - M) <= sums.H_error).all() and sums.H_error < 1e-12
    eigenvalue = np.linalg.eigvalsh(M)[0]
    assert 0.5 * eigenvalue < sums.least <= eigenvalue
    # About w⁰ the residual's sums; about zero those of the response.
    w0 = [Fraction(center.get(j, 0.0)) / Fraction(exact.scale[j]) for j in range(P)]
    b = [bj - sum(g * w for g, w in zip(row, w0, strict=True)) for bj, row in zip(exact.b, exact.G, strict=True)]
    c = exact.c - sum(w * (bj + bk) for w, bj, bk in zip(w0, exact.b, b, strict=True)) / 2
    found = sums.about_w0
    assert abs(found.c - float(c)) <= found.c_error < 1e-9 * float(c)
    assert (np.abs(found.h - np.array(b, dtype=float) / norms) <= found.h_error).all() and found.h_error < 1e-9
    about_zero = sums.about_zero()
    assert about_zero[0] == pytest.approx(float(exact.c), rel=1e-12)
    np.testing.assert_allclose(about_zero[1], np.array(exact.b, dtype=float) / norms, atol=1e-11)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_features_that_are_out_have_explained_nothing(settings):
    """The sums of a region leave out the part explained by features that are forced out."""
    whole, *_ = sums_of(settings, about((0, 2, 3), (0.7, -0.4, 1.1)))
    alive = np.array([True, True, False, True])
    found = whole.sums_of(alive)
    part, *_ = sums_of(settings, about((0, 3), (0.7, 1.1)))
    assert found.c == pytest.approx(part.about_w0.c, rel=1e-12)
    np.testing.assert_allclose(found.h[alive], part.about_w0.h[alive], atol=1e-11)
    assert found.c_error >= whole.about_w0.c_error and found.h_error >= whole.about_w0.h_error
    assert whole.sums_of(np.ones(P, dtype=bool)) is whole.about_w0


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_no_bound_is_above_the_least_squares(settings):
    """For any coefficients; at the minimiser it is the minimum."""
    sums, X, y, weights = sums_of(settings, about((0,), (0.3,)))
    exact = Exact(X, y, weights, **settings)
    G, b = np.array(exact.G, dtype=float), np.array(exact.b, dtype=float)
    least = float(exact.c) - 0.5 * b @ np.linalg.solve(G, b)
    inverse, w, value = sums.model()
    np.testing.assert_allclose(inverse @ sums.H, np.eye(P), atol=1e-9)
    np.testing.assert_allclose(w / np.array(exact.norms), np.linalg.solve(G, b), rtol=1e-9)
    assert value == pytest.approx(least, rel=1e-9)
    about_w0 = sums.about_w0
    best = inverse @ about_w0.h
    W = best[:, None] + np.random.default_rng(0).standard_normal((P, 30)) * 10.0 ** -np.arange(30.0) * 10.0
    found = sums.below(about_w0, about_w0.h, W, about_w0.h[:, None] - sums.H @ W)
    assert (found <= least * (1.0 + 1e-12)).all() and found[-1] == pytest.approx(least, rel=1e-9)
    assert 0.0 < sums.relative_error() < 1e-10


@pytest.mark.parametrize(
    ("step", "spoil", "message"),
    [
        (about((9,), (1.0,)), None, "do not fit the region"),
        (about((0, 0), (1.0, 1.0)), None, "do not fit the region"),
        (about((0,), (np.nan,)), None, "are not finite"),
        (about((0, 1), (1.0,)), None, "are not finite"),
        (about(), lambda X: X.__setitem__((slice(None), 2), 3.0), "a column is constant"),
        (about(), lambda X: X.__setitem__((slice(None), 2), X[:, 1]), "linearly dependent"),
    ],
    ids=["beyond", "twice", "NaN", "one value less", "constant", "dependent"],
)
def test_what_is_no_base_of_sums(step, spoil, message):
    with pytest.raises(ValueError, match=message):
        sums_of(SETTINGS[0], step, spoil=spoil)


def test_coefficients_that_explain_nothing_are_left_out():
    sums, *_ = sums_of(SETTINGS[0], about((0, 1), (1e6, -1e6)))
    assert sums.center.size == sums.w0.size == 0
