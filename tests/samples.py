"""Small seeded data for the tests."""

from __future__ import annotations

import numpy as np

from sparsest.losses import LOSSES

LOSS_NAMES = tuple(LOSSES)


def sample(loss, n, p, seed=0, noise=0.7):
    """Return X with columns of different sizes and means, and a y that depends on some of them."""
    rng = np.random.default_rng([seed, n, p])
    X = rng.standard_normal((n, p)) + 0.5 * rng.standard_normal((n, 1))
    X = X * rng.uniform(0.5, 2.0, p) + rng.standard_normal(p)
    w = np.zeros(p)
    w[: max(1, p // 2)] = rng.choice([-1.0, 1.0], max(1, p // 2))
    signal = (X - X.mean(axis=0)) @ w
    y = signal + noise * rng.standard_normal(n) * max(signal.std(), 1.0)
    if not LOSSES[loss].classification:
        return X, y + 0.5
    # The middle of the sorted responses splits them, so both classes always occur.
    return X, np.where(y > np.median(y) - 1e-12 if n < 3 else y > np.median(y), 1.0, -1.0)


def sample_weights(weighted, n, seed=0):
    """Return None, or weights between a half and two."""
    return np.random.default_rng([seed, n, 1]).uniform(0.5, 2.0, n) if weighted else None


def hard(n=100, p=60, seed=0, noise=4.0):
    """Correlated columns and much noise, so that many regions are needed."""
    rng = np.random.default_rng([seed, n, p])
    X = rng.standard_normal((n, p)) + rng.standard_normal((n, 1))
    return X, X[:, :5].sum(axis=1) + noise * rng.standard_normal(n)


HARD = {"k": 5, "gamma": 0.1}
