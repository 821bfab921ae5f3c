"""Few cases of many parameters: every value of each meets every value of every other, once at least."""

from __future__ import annotations

from itertools import combinations

import pytest


def every_pair(**axes):
    """Parametrise a test by cases in which any two values of different parameters occur together.

    The outcome of a test rarely depends on three of its parameters at once.  If it does, give these as one
    parameter whose values are their product.
    """
    cases = pairwise_cases(*axes.values())
    return pytest.mark.parametrize(tuple(axes), cases, ids=["-".join(map(str, case)) for case in cases])


def pairwise_cases(*axes):
    """Tuples of one value from each axis, so that any two values of different axes occur together."""
    values = [list(axis) for axis in axes]
    return [
        tuple(axis[i] for axis, i in zip(values, row, strict=True)) for row in covering([len(axis) for axis in values])
    ]


def covering(sizes):
    """Rows of numbers below the sizes, so that any two numbers of different columns stand together in a row.

    Greedily: a row begins with a missing pair, and each further number adds as many missing pairs as possible.
    """
    columns = range(len(sizes))
    if len(sizes) == 1:
        return [(value,) for value in range(sizes[0])]
    missing = {
        ((i, u), (j, v)): None for i, j in combinations(columns, 2) for u in range(sizes[i]) for v in range(sizes[j])
    }
    rows, used = [], {(i, u): 0 for i in columns for u in range(sizes[i])}
    while missing:
        row = list(next(iter(missing)))
        for j in sorted(set(columns) - {i for i, _ in row}, key=lambda j: -sizes[j]):
            gain = {v: sum(tuple(sorted((cell, (j, v)))) in missing for cell in row) for v in range(sizes[j])}
            # Among equal choices take the number that was used least, so that all numbers occur about equally often.
            row.append((j, max(gain, key=lambda v: (gain[v], -used[j, v], -v))))
        row.sort()
        for pair in combinations(row, 2):
            missing.pop(pair, None)
        for cell in row:
            used[cell] += 1
        rows.append(tuple(value for _, value in row))
    return rows
