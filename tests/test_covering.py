"""Coverings: every pair is there, in hardly more rows than the two largest parameters need."""

from itertools import combinations, product

import pytest

from covering import covering, every_pair


@pytest.mark.parametrize("sizes", [(3,), (4, 3), (12, 3, 3, 2), (12, 16, 4), (2, 2, 2, 2, 2), (5, 1, 4)], ids=str)
def test_every_pair_occurs(sizes):
    rows = covering(sizes)
    assert len(set(rows)) == len(rows) and all(len(row) == len(sizes) for row in rows)
    for i, j in combinations(range(len(sizes)), 2):
        assert {(row[i], row[j]) for row in rows} == set(product(range(sizes[i]), range(sizes[j])))
    largest = sorted((1, *sizes))[-2:]
    assert len(rows) <= 1.35 * largest[0] * largest[1] + 2


def test_cases_have_the_values_and_readable_names():
    mark = every_pair(loss=("squared", "hinge"), gamma=(0.1, 1.0)).mark
    assert mark.args == (
        ("loss", "gamma"),
        [("squared", 0.1), ("squared", 1.0), ("hinge", 0.1), ("hinge", 1.0)],
    )
    assert mark.kwargs["ids"][0] == "squared-0.1"
