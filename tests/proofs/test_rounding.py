"""Error bounds hold against exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proofs.helpers import rational
from sparsest.proofs import exact_algebra
from sparsest.proofs.rounding import (
    UNIT,
    growth,
    is_semidefinite,
    norms_above,
    precise_product,
    sum_above,
    two_product,
    two_sum,
)

seeds = st.integers(0, 10**6)


def exact_sum(values):
    return sum((Fraction(float(v)) for v in values), Fraction(0))


def wild(rng, *shape, decades=8):
    """Numbers of both signs and very different sizes."""
    return rng.standard_normal(shape) * 10.0 ** rng.uniform(-decades, decades, shape)


@pytest.mark.parametrize("m", [1, 2, 7, 10**3, 10**9])
def test_growth_is_above_the_exact_quotient(m):
    u = Fraction(1, 2**53)
    assert m * u / (1 - m * u) <= Fraction(growth(m)) <= m * u / (1 - m * u) * (1 + 16 * u)


@given(seeds, st.integers(1, 40), st.sampled_from([0, 1, 8, 150]))
def test_norms_are_upper_bounds_and_near(seed, n, decades):
    matrix = wild(np.random.default_rng(seed), n, 3, decades=decades)
    for column, norm in zip(matrix.T, norms_above(matrix), strict=True):
        exact = sum(Fraction(v) ** 2 for v in column.tolist())
        assert exact <= Fraction(norm) ** 2 <= exact * (1 + Fraction(1, 10**12))


def test_norms_of_zero_and_of_what_is_not_finite():
    assert norms_above(np.zeros((3, 2))).tolist() == [0.0, 0.0]
    assert norms_above(np.array([1.0, np.inf])) == np.inf
    assert np.isnan(norms_above(np.array([1.0, np.nan])))


@given(seeds, st.integers(0, 60))
def test_sums_are_upper_bounds(seed, n):
    values = np.abs(wild(np.random.default_rng(seed), n))
    exact = exact_sum(values)
    assert exact <= Fraction(sum_above(values)) <= exact * (1 + Fraction(1, 10**12))


@given(seeds)
def test_sums_and_products_without_error(seed):
    rng = np.random.default_rng(seed)
    a, b = wild(rng, 20, decades=40), wild(rng, 20, decades=40)
    for x, z, total, rest in zip(a, b, *two_sum(a, b), strict=True):
        assert Fraction(x) + Fraction(z) == Fraction(total) + Fraction(rest)
    for x, z, product, rest in zip(a, b, *two_product(a, b), strict=True):
        assert Fraction(x) * Fraction(z) == Fraction(product) + Fraction(rest)


@given(seeds, st.integers(1, 6))
def test_precise_products_have_twice_the_digits(seed, m):
    """The error is within what regression bounds assume of it, also where the terms cancel."""
    rng = np.random.default_rng(seed)
    high, matrix = wild(rng, 4, m, decades=3), wild(rng, m, 2, decades=3)
    low = high * rng.uniform(-UNIT, UNIT, high.shape)
    matrix[-1] = -((high[0, :-1] @ matrix[:-1]) / high[0, -1]) if m > 1 else matrix[-1]
    total, rest = precise_product(high, low, matrix)
    for i in range(4):
        for j in range(2):
            terms = [(Fraction(high[i, a]) + Fraction(low[i, a])) * Fraction(matrix[a, j]) for a in range(m)]
            error = abs(sum(terms) - Fraction(total[i, j]) - Fraction(rest[i, j]))
            assert error <= 4 * Fraction((m + 6) * UNIT) ** 2 * sum(map(abs, terms))


# Semidefiniteness


def is_exactly_semidefinite(matrix):
    return exact_algebra.is_semidefinite([[rational(v) for v in row] for row in matrix])


@given(seeds, st.integers(1, 7), st.integers(-18, 0), st.sampled_from([1e-120, 1e-8, 1.0, 1e150]))
def test_no_matrix_with_a_negative_eigenvalue_is_accepted(seed, m, decade, scale):
    """Nearly singular matrices: what is accepted is semidefinite in exact arithmetic."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, m))
    A[:, -1] = A[:, :-1].sum(axis=1) + 10.0**decade * rng.standard_normal(m)
    matrix = A.T @ A
    matrix = scale * (np.tril(matrix) + np.tril(matrix, -1).T)
    if is_semidefinite(matrix, 0.0):
        assert is_exactly_semidefinite(matrix)
    smallest = np.linalg.eigvalsh(matrix)[0]
    assert not is_semidefinite(matrix, 1.01 * abs(smallest) + 1e-14 * np.trace(matrix))


@given(seeds, st.integers(1, 12), st.sampled_from([1e-200, 1.0, 1e200]))
def test_well_conditioned_matrices_are_accepted(seed, m, scale):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((3 * m + 5, m))
    matrix = scale * (A.T @ A)
    smallest = np.linalg.eigvalsh(matrix)[0]
    assert is_semidefinite(matrix, 0.5 * smallest) and not is_semidefinite(matrix, 1.01 * smallest)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_not_semidefinite(bad):
    """A factorisation without checks lets a matrix of NaN pass."""
    assert not is_semidefinite(np.full((3, 3), bad), 0.0)
    for place in ((0, 0), (2, 0), (0, 2)):
        matrix = np.eye(3)
        matrix[place] = bad
        assert not is_semidefinite(matrix, 0.0)
    assert not is_semidefinite(np.eye(3), bad if bad != -np.inf else np.nan)


def test_edges_of_semidefiniteness():
    assert is_semidefinite(np.empty((0, 0)), 0.0)
    assert not is_semidefinite(np.zeros((2, 2)), 0.0)
    assert not is_semidefinite(np.diag([1.0, -1e-300]), 0.0)
    with np.errstate(over="ignore"):
        assert not is_semidefinite(np.full((2, 2), 1e308) + np.diag([0.0, -1e300]), 0.0)
    assert not is_semidefinite(np.full((2, 2), 5e-324), 0.0)
    assert not is_semidefinite(np.array([[1.0, 2.0], [2.0, 1.0]]), 0.0)
