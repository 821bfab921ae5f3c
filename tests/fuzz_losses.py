"""The losses of the fuzz's oracle, written once more and independently of the library, for floats and decimals."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

CLASSIFICATION = ("logistic", "hinge", "squared_hinge")
REGRESSION = ("squared", "epsilon_insensitive", "squared_epsilon_insensitive")

# The function of which every loss is a sum.
PSI = {
    "squared": "square",
    "squared_hinge": "half_square",
    "squared_epsilon_insensitive": "half_square",
    "logistic": "softplus",
    "hinge": "plus",
    "epsilon_insensitive": "plus",
}


class Pieces:
    """A loss as ``Σ ψ(a - s u)`` over one or two pieces; ``ψ`` and its derivatives for floats and for decimals.

    ψ is ``½z²``, ``½z₊²``, ``log(1 + e^z)`` or ``z₊``.
    """

    def __init__(self, loss, y, epsilon):
        self.kind = PSI[loss]
        one = y * 0 + 1
        if loss == "squared":
            pieces = [(y, one)]
        elif loss in CLASSIFICATION:
            pieces = [(one if loss != "logistic" else y * 0, y)]
        else:
            pieces = [(y - epsilon, one), (-y - epsilon, -one)]
        self.a = np.stack([a for a, _ in pieces], axis=-1)
        self.s = np.stack([s for _, s in pieces], axis=-1)

    def arguments(self, u):
        """``z = a - s u`` for predictions u of shape (..., n)."""
        return self.a - self.s * u[..., None]

    def value(self, z):
        """``ψ(z)``."""
        if self.kind == "square":
            return z * z / 2
        if self.kind == "softplus":
            return _softplus(z)
        positive = np.where(z > 0, z, z * 0)
        return positive if self.kind == "plus" else positive * positive / 2

    def slopes(self, z):
        """``ψ'(z)`` and ``ψ''(z)``."""
        if self.kind == "square":
            return z, z * 0 + 1
        if self.kind == "softplus":
            chance = _logistic(z)
            return chance, chance * (1 - chance)
        active = np.where(z > 0, z * 0 + 1, z * 0)
        return (active, z * 0) if self.kind == "plus" else (active * z, active)

    def conjugate(self, beta):
        """``ψ*(β)`` for decimals in its domain."""
        if self.kind == "plus":
            return beta * 0
        if self.kind == "softplus":
            return _entropy(beta)
        return beta * beta / 2


@np.vectorize(otypes=[object])
def _decimal_softplus(z):
    return z + (1 + (-z).exp()).ln() if z > 0 else (1 + z.exp()).ln()


@np.vectorize(otypes=[object])
def _decimal_logistic(z):
    return 1 / (1 + (-z).exp()) if z > 0 else z.exp() / (1 + z.exp())


@np.vectorize(otypes=[object])
def _entropy(beta):
    return sum((part * part.ln() for part in (beta, 1 - beta) if part > 0), Decimal(0))


def _softplus(z):
    return _decimal_softplus(z) if z.dtype == object else np.logaddexp(0.0, z)


def _logistic(z):
    if z.dtype == object:
        return _decimal_logistic(z)
    small = np.exp(-np.abs(z))
    return np.where(z > 0, 1.0, small) / (1.0 + small)
