"""The kernels of packed genotypes: compiled and in plain Python they give what the codes of PLINK mean."""

import numpy as np
import pytest

from sparsest.core.kernels import genotypes as kernels

MISSING = -1
MEANING = np.array([2, MISSING, 1, 0], dtype=np.int8)
FILL = np.array([0.25, 1.5, 0.0, 1.0, 0.75, 2.0, 1.25], dtype=np.float32)


def both(kernel):
    """The compiled kernel, and its body as Python runs it."""
    return [pytest.param(kernel, id="compiled"), pytest.param(getattr(kernel, "py_func", kernel), id="plain")]


def packed_variants(n, missing):
    """Seven variants of n samples, packed, with arbitrary bits after the last sample; and their numbers of copies."""
    rng = np.random.default_rng(n)
    codes = rng.choice(np.arange(4) if missing else np.array([0, 2, 3]), (7, -(-n // 4), 4)).astype(np.uint8)
    packed = (codes << np.array([0, 2, 4, 6], dtype=np.uint8)).sum(axis=2, dtype=np.uint8)
    return packed, MEANING[codes.reshape(7, -1)[:, :n]]


@pytest.mark.parametrize("n", [1, 12, 13, 14, 15, 1030])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kernel", both(kernels.unpack_genotypes))
def test_unpack(kernel, missing, n):
    packed, copies = packed_variants(n, missing)
    out = np.empty(copies.shape, dtype=np.float32 if missing else np.int8)
    kernel(packed, n, FILL if missing else FILL[:0], out)
    assert np.array_equal(out, np.where(copies == MISSING, FILL[:, None], copies))


# More bytes than one stretch holds, and a number of variants that is not a multiple of four.
@pytest.mark.parametrize("n", [1, 13, 14, 15, 1200])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kernel", both(kernels.packed_products))
def test_products(kernel, missing, n):
    packed, copies = packed_variants(n, missing)
    r = np.zeros((2, 4 * packed.shape[1]))
    r[:, :n] = np.random.default_rng(1).standard_normal((2, n))
    by_place = np.ascontiguousarray(r.reshape(2, -1, 4).transpose(0, 2, 1))
    out = np.full((2, 7), np.nan)
    kernel(packed, (copies == MISSING).sum(axis=1), FILL, by_place, out)
    expected = r[:, :n] @ np.where(copies == MISSING, FILL[:, None], copies).T
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-13 * n)
