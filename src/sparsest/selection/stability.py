"""Stability selection: complementary halves of the data, and bounds on the number of features chosen by chance.

The frequency of a feature is the share of halves in which it is chosen.  Let q be the mean number of chosen features
out of p, and B the number of pairs.  Features with a frequency of at least τ > 1/2 are kept.  The expected number of
kept features that are chosen no more often than by chance (with a probability of at most q/p) is at most

- ``q² / ((2τ - 1) p)``: Meinshausen and Bühlmann (2010, theorem 1), where features that do not matter are exchangeable;
  Shah and Samworth (2013, theorem 1) need no such assumption for complementary pairs;
- ``C q² / p`` with ``C = 1 / (2(2τ - 1 - 1/(2B)))`` up to τ = 3/4 and ``4(1 - τ + 1/(2B)) / (1 + 1/B)`` above: Shah and
  Samworth (2013, theorem 2), where q/p ≤ 1/√3 and, for each of these features, the share of pairs in which both halves
  choose it has a unimodal distribution.  Its C is the smallest one with that property.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Indices

Halves = tuple[Indices, Indices]


def complementary_pairs(
    n: int, n_pairs: int, seed: np.random.RandomState, classes: NDArray | None = None
) -> list[Halves]:
    """Pairs of disjoint halves of n observations, of ``n // 2`` each; every class is halved where classes are given."""
    groups = [np.arange(n)] if classes is None else [np.flatnonzero(classes == c) for c in np.unique(classes)]
    pairs = []
    for _ in range(n_pairs):
        mixed = [seed.permutation(group) for group in groups]
        first = np.concatenate([group[: group.size // 2] for group in mixed])
        second = np.concatenate([group[group.size // 2 : 2 * (group.size // 2)] for group in mixed])
        pairs.append((np.sort(first), np.sort(second)))
    return pairs


def expected_false(q: float, p: int, threshold: float) -> float:
    """The bound of Meinshausen and Bühlmann."""
    return q * q / ((2.0 * threshold - 1.0) * p)


def expected_false_unimodal(q: float, p: int, threshold: float, n_pairs: int) -> float:
    """The bound of Shah and Samworth for unimodal frequencies; the other one if it does not apply."""
    theta, half = q / p, 0.5 / n_pairs
    least = min(0.5 + theta**2, 0.5 + half + 0.75 * theta**2)
    if theta > 1.0 / sqrt(3.0) or threshold <= max(least, 0.5 + half):
        return expected_false(q, p, threshold)
    if threshold <= 0.75:
        factor = 0.5 / (2.0 * threshold - 1.0 - half)
    else:
        factor = 4.0 * (1.0 - threshold + half) / (1.0 + 2.0 * half)
    return min(factor * q * q / p, expected_false(q, p, threshold))


def size_for(max_false: float, threshold: float, p: int) -> int:
    """The largest number of chosen features with which the bound of Meinshausen and Bühlmann is at most ``max_false``.

    At least one.
    """
    return max(1, int(sqrt(max_false * (2.0 * threshold - 1.0) * p)))


def threshold_for(max_false: float, q: float, p: int) -> float:
    """The smallest threshold with which the bound of Meinshausen and Bühlmann is at most ``max_false``; at most 1."""
    return min(0.5 * (1.0 + q * q / (max_false * p)), 1.0)
