"""The losses of the fuzz's oracle, written once more and independently of the library, for floats and decimals."""

from __future__ import annotations

from decimal import Decimal, Overflow, localcontext

import numpy as np

CLASSIFICATION = ("logistic", "hinge", "squared_hinge")
# Losses of responses that are not negative, whose means are e^u; the last needs positive ones.
LOGARITHMIC = ("poisson", "negative_binomial", "tweedie", "gamma")
DIFFERENCES = ("squared", "epsilon_insensitive", "squared_epsilon_insensitive", "huber", "quantile")
REGRESSION = DIFFERENCES + LOGARITHMIC

# The function of which every loss is a sum.
PSI = {
    "squared": "square",
    "squared_hinge": "half_square",
    "squared_epsilon_insensitive": "half_square",
    "logistic": "softplus",
    "hinge": "plus",
    "epsilon_insensitive": "plus",
    "quantile": "plus",
}


class Pieces:
    """A loss as ``Σ ψ(a - s u)`` over one or two pieces; ``ψ`` and its derivatives for floats and for decimals.

    ψ is ``½z²``, ``½z₊²``, ``log(1 + e^z)``, ``z₊``, Huber's or, with z = u, one of the losses with a logarithmic link.
    ``parameter`` is ε, δ, τ or θ, for the losses that have one.
    """

    def __init__(self, loss, y, parameter):
        self.kind = PSI.get(loss, loss)
        # What ψ knows beside its argument, with an axis for the pieces.
        self.y, self.parameter = y[..., None], parameter
        one = y * 0 + 1
        if loss in ("squared", "huber"):
            pieces = [(y, one)]
        elif loss in LOGARITHMIC:
            pieces = [(y * 0, -one)]
        elif loss in CLASSIFICATION:
            pieces = [(one if loss != "logistic" else y * 0, y)]
        elif loss == "quantile":
            pieces = [(parameter * y, parameter * one), ((parameter - 1) * y, (parameter - 1) * one)]
        else:
            pieces = [(y - parameter, one), (-y - parameter, -one)]
        self.a = np.stack([a for a, _ in pieces], axis=-1)
        self.s = np.stack([s for _, s in pieces], axis=-1)

    def sizes(self, z):
        """The terms of ``ψ(z)`` by their size: where they cancel, their rounding errors are all that is left."""
        if self.kind not in LOGARITHMIC:
            return z * 0
        own = self.y * 0 + (self.parameter if self.kind == "negative_binomial" else 1)
        total = self.y + own
        terms = abs(total * _log(total)) + abs(self.y * z) + total * (1 + abs(z) + 2 * abs(_log(own)))
        return terms + abs(_LOGARITHMIC[self.kind].slopes(self.y, z, self.parameter)[0]) + abs(_x_log(self.y))

    @property
    def lipschitz(self):
        """Whether slopes are at most one in size."""
        return self.kind in ("plus", "softplus")

    def arguments(self, u):
        """``z = a - s u`` for predictions u of shape (..., n)."""
        return self.a - self.s * u[..., None]

    def value(self, z):
        """``ψ(z)``."""
        if self.kind in LOGARITHMIC:
            return _LOGARITHMIC[self.kind].value(self.y, z, self.parameter)
        if self.kind == "square":
            return z * z / 2
        if self.kind == "softplus":
            return _softplus(z)
        if self.kind == "huber":
            size = abs(z)
            inner = np.minimum(size, self.parameter)
            return inner * (size - inner / 2)
        positive = np.where(z > 0, z, z * 0)
        return positive if self.kind == "plus" else positive * positive / 2

    def slopes(self, z):
        """``ψ'(z)`` and ``ψ''(z)``."""
        if self.kind in LOGARITHMIC:
            return _LOGARITHMIC[self.kind].slopes(self.y, z, self.parameter)
        if self.kind == "square":
            return z, z * 0 + 1
        if self.kind == "softplus":
            chance = _logistic(z)
            return chance, chance * (1 - chance)
        if self.kind == "huber":
            # Outliers have no curvature; a little keeps Newton's steps bounded, and costs them a thousandth of the way.
            inside, one = abs(z) < self.parameter, z * 0 + 1
            return np.minimum(np.maximum(z, -self.parameter), self.parameter), np.where(inside, one, one / 1000)
        active = np.where(z > 0, z * 0 + 1, z * 0)
        return (active, z * 0) if self.kind == "plus" else (active * z, active)

    def conjugate(self, beta):
        """``ψ*(β)`` for decimals in its domain."""
        if self.kind in LOGARITHMIC:
            return _LOGARITHMIC[self.kind].conjugate(self.y, beta, self.parameter)
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


@np.vectorize(otypes=[object])
def _decimal_exp(z):
    with localcontext() as context:
        context.traps[Overflow] = False
        return z.exp()


@np.vectorize(otypes=[object])
def _decimal_log(z):
    return z.ln()


@np.vectorize(otypes=[object])
def _decimal_x_log(x):
    return x * x.ln() if x > 0 else x * 0


def _exp(z):
    return _decimal_exp(z) if z.dtype == object else np.exp(z)


def _log(z):
    return _decimal_log(z) if z.dtype == object else np.log(z)


def _x_log(x):
    # Also in extended precision, which SciPy's xlogy does not support.
    return _decimal_x_log(x) if x.dtype == object else x * np.log(np.where(x == 0, 1, x))


def _root(x):
    return np.vectorize(Decimal.sqrt, otypes=[object])(x) if x.dtype == object else np.sqrt(x)


class _Poisson:
    """``e^u - yu - y + y log y``."""

    @staticmethod
    def value(y, u, _):
        return _exp(u) - y * u - y + _x_log(y)

    @staticmethod
    def slopes(y, u, _):
        return _exp(u) - y, _exp(u)

    @staticmethod
    def conjugate(y, beta, _):
        return _x_log(y + beta) - beta - _x_log(y)


class _Gamma:
    """``ye^{-u} + u - log y - 1``."""

    @staticmethod
    def value(y, u, _):
        return y * _exp(-u) + u - _log(y) - 1

    @staticmethod
    def slopes(y, u, _):
        ratio = y * _exp(-u)
        return 1 - ratio, ratio

    @staticmethod
    def conjugate(y, beta, _):
        return beta * (_log(y) + 1) + _x_log(1 - beta)


class _NegativeBinomial:
    """``(y+θ) log(θ+e^u) - yu - (y+θ) log(y+θ) + y log y``."""

    @staticmethod
    def value(y, u, theta):
        total = y + theta
        return total * _log(theta + _exp(u)) - y * u - _x_log(total) + _x_log(y)

    @staticmethod
    def slopes(y, u, theta):
        share = _exp(u) / (theta + _exp(u))
        return (y + theta) * share - y, (y + theta) * share * (1 - share)

    @staticmethod
    def conjugate(y, beta, theta):
        rest = theta - beta
        return _x_log(y + beta) - _x_log(y) + _x_log(rest) - rest * _log(y * 0 + theta)


class _Tweedie:
    """``2e^{u/2} + 2ye^{-u/2} - 4√y``."""

    @staticmethod
    def value(y, u, _):
        return 2 * _exp(u / 2) + 2 * y * _exp(-u / 2) - 4 * _root(y)

    @staticmethod
    def slopes(y, u, _):
        up, down = _exp(u / 2), y * _exp(-u / 2)
        return up - down, (up + down) / 2

    @staticmethod
    def conjugate(y, beta, _):
        # At the border of the domain, where y and β are zero, t is and the logarithm is not.
        t = (beta + _root(beta * beta + 4 * y)) / 2
        inside = np.where(t > 0, t, t * 0 + 1)
        return np.where(t > 0, 2 * beta * _log(inside) - 2 * inside - 2 * y / inside + 4 * _root(y), t * 0)


_LOGARITHMIC = {"poisson": _Poisson, "gamma": _Gamma, "negative_binomial": _NegativeBinomial, "tweedie": _Tweedie}
