"""Automatic numbers of features."""

import pytest

from sparsest.selection.grids import k_grid


@pytest.mark.parametrize(
    ("n", "p", "least", "first", "last"),
    [
        (500, 2000, 0, 1, 50),
        (90, 2000, 0, 1, 30),
        (1000, 6, 0, 1, 6),
        (2, 5, 0, 1, 1),
        (100, 40, 3, 3, 33),
        (9, 9, 9, 9, 9),
    ],
)
def test_rising_from_one_to_the_largest(n, p, least, first, last):
    grid = k_grid(n, p, least)
    assert grid == sorted(set(grid)) and (grid[0], grid[-1]) == (first, last)
    assert len(grid) <= 20 and set(range(first, min(11, last + 1))) <= set(grid)
