"""A kernel that calls all of a loss's functions, as compiled code sees them.

Run as a script it prints the kernel's values for some losses and how often the cache on disk was hit and missed.
"""

from __future__ import annotations

import json
import sys

import numpy as np

from laws import suited
from samples import unusual
from sparsest.core.losses import make_loss
from sparsest.runtime import jit


@jit.kernel
def evaluate(loss, y, u, alpha, out):
    """Write value, derivative, second derivative and conjugate of every point to the rows of ``out``."""
    for i in range(y.size):
        out[0, i] = jit.value(loss, y[i], u[i])
        out[1, i] = jit.derivative(loss, y[i], u[i])
        out[2, i] = jit.second_derivative(loss, y[i], u[i])
        out[3, i] = jit.conjugate(loss, y[i], alpha[i])


def points(loss):
    """Responses, margins (with kinks and extremes) and dual points."""
    rng = np.random.default_rng(0)
    u = np.concatenate([3.0 * rng.standard_normal(200), [0.0, 1.0, -1.0, 900.0, -900.0]])
    y = rng.standard_normal(u.size)
    y = suited(loss, y)
    return y, u, loss.project(y, rng.standard_normal(u.size))


def table(loss):
    """The kernel's values at the points."""
    y, u, alpha = points(loss)
    out = np.empty((4, u.size))
    evaluate(loss, y, u, alpha, out)
    return out


if __name__ == "__main__":
    values = {name: table(make_loss(name, **unusual(name))).tolist() for name in sys.argv[1:]}
    stats = getattr(evaluate, "stats", None)
    hits, misses = (sum(stats.cache_hits.values()), sum(stats.cache_misses.values())) if stats else (0, 0)
    print(json.dumps({"values": values, "hits": hits, "misses": misses}))
