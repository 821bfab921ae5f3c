"""Small seeded data for the tests."""

from __future__ import annotations

import numpy as np

from sparsest.core.losses import LOSSES, PiecewiseLinear
from sparsest.subset.tree.tuning import Tuning

LOSS_NAMES = tuple(LOSSES)
# Losses of differences y - u, and the kinds of losses that solvers treat differently.
DIFFERENCES = tuple(name for name in LOSSES if not (LOSSES[name].classification or LOSSES[name].log_link))
# Losses that penalty paths take.
SMOOTH_NAMES = tuple(name for name in LOSSES if not isinstance(LOSSES[name](), PiecewiseLinear))
# Let the tree search by regions even where leaps and bounds would do.
BY_REGIONS = Tuning(leaps_features=0, last_features=-1)
REGIONS = {"tuning": BY_REGIONS}
# Adapt bounds early and everywhere, so that diagonals shift.
ADAPTIVE = BY_REGIONS._replace(adapt_first=3, adapt_first_per_survivor=0.0, adapt_levels=1, adapt_trial=10**9)
# Parameters of losses that are not their defaults.
UNUSUAL = {"epsilon": 0.3, "delta": 0.7, "quantile": 0.3, "theta": 2.5}


def unusual(loss):
    """The parameters of a loss, by name, with values that are not their defaults."""
    return {name: UNUSUAL[name] for name in LOSSES[loss]._fields}


def sample(loss, n, p, seed=0, noise=0.7):
    """Return X with columns of different sizes and means, and a y that depends on some of them."""
    rng = np.random.default_rng([seed, n, p])
    X = rng.standard_normal((n, p)) + 0.5 * rng.standard_normal((n, 1))
    X = X * rng.uniform(0.5, 2.0, p) + rng.standard_normal(p)
    w = np.zeros(p)
    w[: max(1, p // 2)] = rng.choice([-1.0, 1.0], max(1, p // 2))
    signal = (X - X.mean(axis=0)) @ w
    y = signal + noise * rng.standard_normal(n) * max(signal.std(), 1.0)
    if LOSSES[loss].log_link:
        return X, responses_of(loss, 0.4 * signal / max(signal.std(), 1e-300) + 0.7, rng)
    if not LOSSES[loss].classification:
        return X, y + 0.5
    # The middle of the sorted responses splits them, so both classes always occur.
    return X, np.where(y > np.median(y) - 1e-12 if n < 3 else y > np.median(y), 1.0, -1.0)


def responses_of(loss, u, rng):
    """Counts, or for a loss of positive responses costs, whose logarithms of means are u; not all of them zero."""
    if LOSSES[loss].positive:
        return rng.gamma(2.0, 0.5, u.size) * np.exp(u)
    counts = rng.poisson(np.exp(u)).astype(float)
    counts[0] = max(counts[0], 1.0)
    return counts


def strong_response(loss, signal, noise, rng):
    """A response that follows a signal up to the noise."""
    if LOSSES[loss].classification:
        return np.sign(signal)
    if LOSSES[loss].log_link:
        y = np.exp(0.5 * signal + noise * rng.standard_normal(signal.size))
        return y if LOSSES[loss].positive else np.round(20.0 * y)
    return signal + noise * rng.standard_normal(signal.size)


def sample_weights(weighted, n, seed=0):
    """Return None, or weights between a half and two."""
    return np.random.default_rng([seed, n, 1]).uniform(0.5, 2.0, n) if weighted else None


def hard(n=100, p=60, seed=0, noise=4.0):
    """Correlated columns and much noise, so that many regions are needed."""
    rng = np.random.default_rng([seed, n, p])
    X = rng.standard_normal((n, p)) + rng.standard_normal((n, 1))
    return X, X[:, :5].sum(axis=1) + noise * rng.standard_normal(n)


HARD = {"k": 5, "gamma": 0.1}
