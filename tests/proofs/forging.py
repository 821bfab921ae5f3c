"""Helpers for forged certificates: each is refused, or its claim is true even so."""

from fractions import Fraction

import numpy as np

from proofs.helpers import certificate_of, optimum_of

N, P, GAMMA = 20, 5, 0.1


def exact_objective(certificate, X, y):
    """The objective of the incumbent in fractions; squared loss, columns as they are, no weights."""
    model, total = certificate.incumbent, Fraction(0)
    for row, response in zip(X[:, model.support], y, strict=True):
        u = Fraction(model.intercept)
        for w, x, c in zip(model.coef, row, model.center, strict=True):
            u += Fraction(float(w)) * (Fraction(float(x)) - Fraction(float(c)))
        total += (Fraction(float(response)) - u) ** 2 / 2
    if np.isfinite(certificate.statement.gamma):
        total += sum(Fraction(float(w)) ** 2 for w in model.coef) / (2 * Fraction(certificate.statement.gamma))
    return total + Fraction(certificate.statement.price) * model.support.size


def valid_or_true(certificate, X, y):
    """Whether a certificate is refused; otherwise its claim has to be true."""
    verdict = certificate.verify(X, y)
    if not verdict:
        assert verdict.reasons
        return False
    assert verdict.lower_bound <= optimum_of(certificate.statement, X, y)
    assert exact_objective(certificate, X, y) <= Fraction(verdict.objective)
    claimed = Fraction(certificate.objective)
    assert abs(claimed - exact_objective(certificate, X, y)) <= claimed / 10**8
    return True


def refused(certificate, X, y, reason=""):
    verdict = certificate.verify(X, y)
    assert not verdict.valid and any(reason in one for one in verdict.reasons), verdict.reasons


def boast(X, y, proof, lower_bound, support=(), **settings):
    """A certificate that claims a bound, regardless of what its proof proves."""
    return certificate_of(X, y, proof, support=support, lower_bound=lower_bound, **settings)


def strongest(X, y, proof, support=(), **settings):
    """A certificate that claims all that the check of its proof gives."""
    return certificate_of(X, y, proof, support=support, **settings)
