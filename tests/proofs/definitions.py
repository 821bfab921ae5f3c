"""Losses and their conjugates by their definitions, in rational numbers and enclosures.

Nothing here uses the library: a conjugate is the value of ``uα - ℓ(u)`` at the u whose slope is α, for which a guess
with 60 digits is as good as the truth.
"""

from __future__ import annotations

from fractions import Fraction

import flint

BITS = 300


def enclosed(compute):
    """What a function of enclosures returns, with many digits."""
    before, flint.ctx.prec = flint.ctx.prec, BITS
    try:
        return compute()
    finally:
        flint.ctx.prec = before


def ends(value):
    """A rational or an enclosure as a pair of fractions that enclose it."""
    if isinstance(value, flint.fmpq):
        return (Fraction(int(value.p), int(value.q)),) * 2
    return _fraction(value.lower(), -1), _fraction(value.upper(), 1)


def _fraction(ball, side):
    mantissa, exponent = ball.man_exp()
    m, e = int(mantissa), int(exponent)
    assert e <= 5000
    if e < -5000:
        # So small that its digits would fill the memory.
        return Fraction(0) if m * side < 0 else Fraction(side, 2**4000)
    return Fraction(m * 2**e) if e >= 0 else Fraction(m, 2**-e)


def _rational(value):
    return flint.fmpq(*float(value).as_integer_ratio())


def _x_log(x):
    return flint.arb(x) * flint.arb(x).log() if x != 0 else flint.arb(0)


def exact_loss(loss, y, u, **parameters):
    """``ℓ(y, u)``: a rational where it is one, else an enclosure; u may be either."""
    given = {name: _rational(value) for name, value in parameters.items()}
    return enclosed(lambda: _LOSSES[loss](y, u, **given))


def _positive(z):
    return z if z > 0 else z * 0


def _huber(y, u, delta):
    r = abs(y - u)
    return r * r / 2 if r <= delta else delta * r - delta * delta / 2


def _negative_binomial(y, u, theta):
    total = y + theta
    return total * (flint.arb(u).exp() + theta).log() - y * u - _x_log(total) + _x_log(y)


def _tweedie(y, u):
    half = flint.arb(u) / 2
    return 2 * half.exp() + 2 * y * (-half).exp() - 4 * flint.arb(y).sqrt()


_LOSSES = {
    "squared": lambda y, u: (y - u) * (y - u) / 2,
    "logistic": lambda y, u: (1 + (-flint.arb(y * u)).exp()).log(),
    "hinge": lambda y, u: _positive(1 - y * u),
    "squared_hinge": lambda y, u: _positive(1 - y * u) * _positive(1 - y * u) / 2,
    "epsilon_insensitive": lambda y, u, epsilon: _positive(abs(y - u) - epsilon),
    "squared_epsilon_insensitive": lambda y, u, epsilon: _positive(abs(y - u) - epsilon) ** 2 / 2,
    "huber": _huber,
    "quantile": lambda y, u, quantile: quantile * _positive(y - u) + (1 - quantile) * _positive(u - y),
    "poisson": lambda y, u: flint.arb(u).exp() - y * u - y + _x_log(y),
    "gamma": lambda y, u: y * (-flint.arb(u)).exp() + u - flint.arb(y).log() - 1,
    "negative_binomial": _negative_binomial,
    "tweedie": _tweedie,
}


def _log_within(x, y):
    """``log(x/y)``; a number far away where one of them is zero, for there the supremum is not attained."""
    if x == 0:
        return flint.arb(-2000)
    return (flint.arb(x) / flint.arb(y)).log() if y != 0 else flint.arb(2000)


def _root(a, y):
    large = (abs(a) + flint.arb(a * a + 4 * y).sqrt()) / 2
    return large if a >= 0 else y / large


# Predictions at which the slope is a, for losses with a logarithmic link.
_PREDICTIONS = {
    "poisson": lambda y, a: _log_within(y + a, 1),
    "gamma": lambda y, a: _log_within(y, 1 - a),
    "negative_binomial": lambda y, a, theta: _log_within(theta * (y + a), theta - a),
    "tweedie": lambda y, a: flint.arb(-2000) if y == 0 and a == 0 else 2 * _root(a, y).log(),
}


def exact_conjugate(loss, y, alpha, weight, **parameters):
    """An enclosure of ``ωℓ*(y, α/ω)`` for rationals in the domain."""
    given = {name: _rational(value) for name, value in parameters.items()}
    a = alpha / weight

    def compute():
        if loss in _PREDICTIONS:
            u = _PREDICTIONS[loss](y, a, **given)
            return weight * (u * a - _LOSSES[loss](y, u, **given))
        if loss == "logistic":
            return weight * (_x_log(abs(a)) + _x_log(1 - abs(a)))
        value = y * a
        value += a * a / 2 if "squared" in loss or loss == "huber" else 0
        value += given["epsilon"] * abs(a) if "epsilon" in loss else 0
        return flint.arb(weight * value)

    return enclosed(compute)
