"""Automatic numbers of features and ridges."""

import numpy as np
import pytest

from sparsest.selection.grids import k_grid, larger_ks, ridge_grid


@pytest.mark.parametrize(
    ("p", "least", "wanted"),
    [
        (2000, 0, range(11)),
        (6, 0, range(7)),
        (1, 0, (0, 1)),
        (40, 3, range(3, 14)),
        (9, 9, (9,)),
    ],
)
def test_all_numbers_from_none_to_ten(p, least, wanted):
    assert k_grid(p, least) == list(wanted)


LARGER = [(10, 2000, 22), (22, 2000, 50), (112, 2000, 252), (10, 12, 12), (10, 10, None), (1, 99, 2), (0, 99, 2)]


@pytest.mark.parametrize(("last", "p", "most"), LARGER)
def test_larger_numbers(last, p, most):
    further = larger_ks(last, p)
    assert further == sorted(set(further)) and len(further) <= (5 if last < 25 else 3)
    if most is None:
        assert not further
    else:
        assert last < further[0] and further[-1] == most


def test_ridges_around_the_default():
    np.testing.assert_allclose(ridge_grid(3.2), [0.2, 0.8, 3.2])
