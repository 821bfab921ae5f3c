"""The kernels of dense designs: compiled, in plain Python and by NumPy they give the same."""

import numpy as np
import pytest

from sparsest.core.kernels import dense as kernels

RNG = np.random.default_rng(0)
# More rows than a panel and a stretch hold, and more columns than a tile, a multiple of nothing.
LINES = np.round(8.0 * RNG.standard_normal((67, 1027)))
INDEX = RNG.permutation(67)[:30]


def plain(kernel):
    """The kernel's body as Python runs it."""
    return getattr(kernel, "py_func", kernel)


def both(kernel):
    return [pytest.param(kernel, id="compiled"), pytest.param(plain(kernel), id="plain")]


@pytest.mark.parametrize("dtype", [np.float32, np.int8])
@pytest.mark.parametrize("kernel", both(kernels.line_products))
def test_line_products(kernel, dtype):
    vectors, out = RNG.standard_normal((2, 1027)), np.full((2, 30), np.nan)
    kernel(LINES.astype(dtype), INDEX, 2, 29, vectors, out)
    np.testing.assert_allclose(out[:, 2:29], vectors @ LINES[INDEX[2:29]].T, atol=1e-10)
    assert np.isnan(out[:, :2]).all() and np.isnan(out[:, 29:]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.int8])
@pytest.mark.parametrize("kernel", both(kernels.line_sums))
def test_line_sums(kernel, dtype):
    factors, out = RNG.standard_normal((2, 30)), np.full((2, 1027), np.nan)
    kernel(LINES.astype(dtype), INDEX, 16, 1026, factors, out)
    np.testing.assert_allclose(out[:, 16:1026], factors @ LINES[INDEX, 16:1026], atol=1e-10)
    assert np.isnan(out[:, :16]).all() and np.isnan(out[:, 1026:]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.int8])
@pytest.mark.parametrize("kernel", both(kernels.survey_lines) + both(kernels.survey_across))
def test_surveys(kernel, dtype):
    across = plain(kernel) is plain(kernels.survey_across)
    share, targets = RNG.dirichlet(np.ones(1027)), RNG.standard_normal((2, 1027))
    about, sums = np.full(67, np.nan), np.zeros((4, 67))
    lines = LINES.astype(dtype)
    kernel(np.ascontiguousarray(lines.T) if across else lines, 1, 66, share, targets, about, sums)
    deviations = LINES - about[:, None]
    expected = np.vstack([deviations @ share, deviations**2 @ share, targets @ deviations.T])
    np.testing.assert_allclose(sums[:, 1:66], expected[:, 1:66], atol=1e-10)
    assert not sums[:, [0, 66]].any() and np.isnan(about[[0, 66]]).all()
    assert (np.abs(about[1:66] - LINES[1:66].mean(axis=1)) < LINES[1:66].std(axis=1)).all()


def test_surveys_of_lines_and_across_lines_round_alike():
    share, targets = RNG.dirichlet(np.ones(1027)), RNG.standard_normal((1, 1027))
    lines = RNG.standard_normal((67, 1027)).astype(np.float32)
    found = []
    for kernel, stored in ((kernels.survey_lines, lines), (kernels.survey_across, np.ascontiguousarray(lines.T))):
        about, sums = np.empty(67), np.zeros((3, 67))
        kernel(stored, 0, 67, share, targets, about, sums)
        found.append(np.vstack([about, sums]))
    assert np.array_equal(*found)
