"""Automatic numbers of features and ridges."""

import numpy as np
import pytest

from sparsest.selection.grids import k_grid, larger_ks, smaller_gammas


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


LARGER = [(10, 2000, 50), (50, 2000, 250), (10, 12, 12), (10, 10, None), (1, 99, 5)]


@pytest.mark.parametrize(("last", "p", "most"), LARGER)
def test_larger_numbers(last, p, most):
    further = larger_ks(last, p)
    assert further == sorted(set(further)) and len(further) <= 9
    if most is None:
        assert not further
    else:
        assert last < further[0] and further[-1] == most


def test_smaller_ridges():
    np.testing.assert_allclose(smaller_gammas(1.0), 2.0 ** np.arange(-6, 0))
