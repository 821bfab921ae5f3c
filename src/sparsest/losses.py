"""The losses: scalar mathematics of ``ℓ(y, u)`` that never sees the data matrix.

Every loss is a NamedTuple of its parameters.  The bodies of ``value``, ``derivative``,
``second_derivative`` and ``conjugate`` use nothing but arithmetic and NumPy ufuncs, so the same text
serves whole arrays here and, compiled, single numbers in the kernels.

The conjugate is ``ℓ*(y, α) = max_u uα - ℓ(y, u)``.  With an observation weight ω the dual variable is
``α = ω ℓ'(y, u)`` and ``(ωℓ)*(α) = ω ℓ*(α/ω)``.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from sparsest.arrays import Array
from sparsest.checks import number, word


@runtime_checkable
class Loss(Protocol):
    """What every loss offers; ``y``, ``u`` and ``alpha`` broadcast against each other.

    Attributes
    ----------
    name : the word by which users choose it.
    classification : whether ``y`` is -1 or 1.
    smoothness : Lipschitz constant of the derivative in ``u`` (``inf`` when there is none).
    domain_is_cone : whether ``α`` in the domain implies ``tα`` in it for every ``t ≥ 0``.
    conjugate_is_quadratic : whether ``t → ℓ*(y, tα)`` is ``At + Bt²``.
    """

    name: str
    classification: bool
    smoothness: float
    domain_is_cone: bool
    conjugate_is_quadratic: bool

    def value(self, y: Any, u: Any) -> Any:
        """``ℓ(y, u)``."""

    def derivative(self, y: Any, u: Any) -> Any:
        """``ℓ'(y, u)`` in ``u`` (a subgradient at a kink)."""

    def second_derivative(self, y: Any, u: Any) -> Any:
        """``ℓ''(y, u)`` in ``u`` (one element of the generalised derivative at a kink)."""

    def conjugate(self, y: Any, alpha: Any) -> Any:
        """``ℓ*(y, α)`` for ``α`` in the domain."""

    def conjugate_derivative(self, y: Any, alpha: Any) -> Any:
        """A subgradient of ``ℓ*(y, ·)`` at ``α``: the prediction that belongs to a dual point."""

    def project(self, y: Any, alpha: Any) -> Any:
        """The point of the conjugate's domain nearest to ``α``."""

    def smoothed(self, mu: float) -> Loss:
        """The loss whose conjugate is ``ℓ* + μα²/2``; a smooth loss returns itself."""


@runtime_checkable
class PiecewiseLinear(Loss, Protocol):
    """A loss that is a sum of hinges."""

    def pieces(self, y: Array) -> list[tuple[Array, Array]]:
        """``(a, s)`` with ``ℓ(y, u) = Σ max(0, a - s u)``."""


class Squared(NamedTuple):
    """Least squares, ``½(y - u)²``."""

    name = "squared"
    classification = False
    smoothness = 1.0
    domain_is_cone = True
    conjugate_is_quadratic = True

    def value(self, y, u):
        return 0.5 * (y - u) * (y - u)

    def derivative(self, y, u):
        return u - y

    def second_derivative(self, y, u):
        return 1.0 + 0.0 * u

    def conjugate(self, y, alpha):
        return (0.5 * alpha + y) * alpha

    def conjugate_derivative(self, y, alpha):
        return alpha + y

    def project(self, y, alpha):
        return alpha + 0.0

    def smoothed(self, mu):
        return self


class Logistic(NamedTuple):
    """Logistic regression, ``log(1 + e^{-yu})`` with ``y`` in {-1, 1}."""

    name = "logistic"
    classification = True
    smoothness = 0.25
    domain_is_cone = False
    conjugate_is_quadratic = False

    def value(self, y, u):
        z = y * u
        return np.maximum(-z, 0.0) + np.log1p(np.exp(-np.abs(z)))

    def derivative(self, y, u):
        return -y / (1.0 + np.exp(np.minimum(y * u, 700.0)))

    def second_derivative(self, y, u):
        e = np.exp(-np.abs(u))
        return e / ((1.0 + e) * (1.0 + e))

    def conjugate(self, y, alpha):
        a = np.minimum(np.maximum(-y * alpha, 0.0), 1.0)
        # a log a is 0 at a = 0: the floor keeps the logarithm finite and changes no value.
        return a * np.log(np.maximum(a, 1e-300)) + (1.0 - a) * np.log(np.maximum(1.0 - a, 1e-300))

    def conjugate_derivative(self, y, alpha):
        a = np.minimum(np.maximum(-y * alpha, 1e-15), 1.0 - 1e-15)
        return y * np.log((1.0 - a) / a)

    def project(self, y, alpha):
        return y * np.minimum(np.maximum(y * alpha, -1.0), 0.0)

    def smoothed(self, mu):
        return self


class SmoothedHinge(NamedTuple):
    """The hinge loss with ``μα²/2`` added to its conjugate: quadratic on ``0 < 1 - yu < μ``."""

    mu: float

    name = "smoothed_hinge"
    classification = True
    domain_is_cone = False
    conjugate_is_quadratic = True

    @property
    def smoothness(self) -> float:
        return 1.0 / self.mu

    def value(self, y, u):
        z = np.maximum(1.0 - y * u, 0.0)
        t = np.minimum(z, self.mu)
        return t * (z - 0.5 * t) / self.mu

    def derivative(self, y, u):
        return -y * np.minimum(np.maximum((1.0 - y * u) / self.mu, 0.0), 1.0)

    def second_derivative(self, y, u):
        z = 1.0 - y * u
        return ((z > 0.0) & (z < self.mu)) / self.mu

    def conjugate(self, y, alpha):
        return (0.5 * self.mu * alpha + y) * alpha

    def conjugate_derivative(self, y, alpha):
        return self.mu * alpha + y

    def project(self, y, alpha):
        return y * np.minimum(np.maximum(y * alpha, -1.0), 0.0)

    def smoothed(self, mu):
        return self


class Hinge(NamedTuple):
    """The support vector machine's ``[1 - yu]_+`` with ``y`` in {-1, 1}."""

    name = "hinge"
    classification = True
    smoothness = float("inf")
    domain_is_cone = False
    conjugate_is_quadratic = True

    def value(self, y, u):
        return np.maximum(1.0 - y * u, 0.0)

    def derivative(self, y, u):
        return -y * (y * u < 1.0)

    def second_derivative(self, y, u):
        return 0.0 * u

    def conjugate(self, y, alpha):
        return y * alpha

    def conjugate_derivative(self, y, alpha):
        return y + 0.0 * alpha

    def project(self, y, alpha):
        return y * np.minimum(np.maximum(y * alpha, -1.0), 0.0)

    def smoothed(self, mu):
        return SmoothedHinge(mu)

    def pieces(self, y: Array) -> list[tuple[Array, Array]]:
        """``(a, s)`` with ``ℓ(y, u) = Σ max(0, a - s u)``."""
        return [(np.ones_like(y), y)]


class SquaredHinge(NamedTuple):
    """``½[1 - yu]_+²`` with ``y`` in {-1, 1}."""

    name = "squared_hinge"
    classification = True
    smoothness = 1.0
    domain_is_cone = True
    conjugate_is_quadratic = True

    def value(self, y, u):
        z = np.maximum(1.0 - y * u, 0.0)
        return 0.5 * z * z

    def derivative(self, y, u):
        return -y * np.maximum(1.0 - y * u, 0.0)

    def second_derivative(self, y, u):
        return 1.0 * (y * u < 1.0)

    def conjugate(self, y, alpha):
        return (0.5 * alpha + y) * alpha

    def conjugate_derivative(self, y, alpha):
        return alpha + y

    def project(self, y, alpha):
        return y * np.minimum(y * alpha, 0.0)

    def smoothed(self, mu):
        return self


class SmoothedEpsilonInsensitive(NamedTuple):
    """The ε-insensitive loss with ``μα²/2`` added to its conjugate."""

    epsilon: float
    mu: float

    name = "smoothed_epsilon_insensitive"
    classification = False
    domain_is_cone = False
    conjugate_is_quadratic = True

    @property
    def smoothness(self) -> float:
        return 1.0 / self.mu

    def value(self, y, u):
        z = np.maximum(np.abs(y - u) - self.epsilon, 0.0)
        t = np.minimum(z, self.mu)
        return t * (z - 0.5 * t) / self.mu

    def derivative(self, y, u):
        r = u - y
        return np.sign(r) * np.minimum(np.maximum((np.abs(r) - self.epsilon) / self.mu, 0.0), 1.0)

    def second_derivative(self, y, u):
        z = np.abs(y - u) - self.epsilon
        return ((z > 0.0) & (z < self.mu)) / self.mu

    def conjugate(self, y, alpha):
        return (0.5 * self.mu * alpha + y) * alpha + self.epsilon * np.abs(alpha)

    def conjugate_derivative(self, y, alpha):
        return self.mu * alpha + y + self.epsilon * np.sign(alpha)

    def project(self, y, alpha):
        return np.minimum(np.maximum(alpha, -1.0), 1.0)

    def smoothed(self, mu):
        return self


class EpsilonInsensitive(NamedTuple):
    """Support vector regression's ``[|y - u| - ε]_+``."""

    epsilon: float = 0.1

    name = "epsilon_insensitive"
    classification = False
    smoothness = float("inf")
    domain_is_cone = False
    conjugate_is_quadratic = True

    def value(self, y, u):
        return np.maximum(np.abs(y - u) - self.epsilon, 0.0)

    def derivative(self, y, u):
        r = u - y
        return np.sign(r) * (np.abs(r) > self.epsilon)

    def second_derivative(self, y, u):
        return 0.0 * u

    def conjugate(self, y, alpha):
        return y * alpha + self.epsilon * np.abs(alpha)

    def conjugate_derivative(self, y, alpha):
        return y + self.epsilon * np.sign(alpha)

    def project(self, y, alpha):
        return np.minimum(np.maximum(alpha, -1.0), 1.0)

    def smoothed(self, mu):
        return SmoothedEpsilonInsensitive(self.epsilon, mu)

    def pieces(self, y: Array) -> list[tuple[Array, Array]]:
        """``(a, s)`` with ``ℓ(y, u) = Σ max(0, a - s u)``."""
        one = np.ones_like(y)
        return [(y - self.epsilon, one), (-y - self.epsilon, -one)]


class SquaredEpsilonInsensitive(NamedTuple):
    """``½[|y - u| - ε]_+²``."""

    epsilon: float = 0.1

    name = "squared_epsilon_insensitive"
    classification = False
    smoothness = 1.0
    domain_is_cone = True
    conjugate_is_quadratic = True

    def value(self, y, u):
        z = np.maximum(np.abs(y - u) - self.epsilon, 0.0)
        return 0.5 * z * z

    def derivative(self, y, u):
        r = u - y
        return np.sign(r) * np.maximum(np.abs(r) - self.epsilon, 0.0)

    def second_derivative(self, y, u):
        return 1.0 * (np.abs(y - u) > self.epsilon)

    def conjugate(self, y, alpha):
        return (0.5 * alpha + y) * alpha + self.epsilon * np.abs(alpha)

    def conjugate_derivative(self, y, alpha):
        return alpha + y + self.epsilon * np.sign(alpha)

    def project(self, y, alpha):
        return alpha + 0.0

    def smoothed(self, mu):
        return self


LOSSES: dict[str, type[Loss]] = {
    loss.name: loss for loss in (Squared, Logistic, Hinge, SquaredHinge, EpsilonInsensitive, SquaredEpsilonInsensitive)
}


def dual_from_margin(loss: Loss, y: Array, u: Array, weights: Array, mu: float = 0.0) -> Array:
    """Return the dual point ``α = ω ℓ'(y, u)``, which lies in the conjugate's domain.

    A loss with a kink has many; ``mu > 0`` takes the smoothed loss's, which tends to the best of them
    as ``mu`` and the error of ``u`` go to zero.
    """
    return weights * (loss.smoothed(mu) if mu > 0 else loss).derivative(y, u)


def make_loss(name: str | Loss, epsilon: float = 0.1) -> Loss:
    """Return the loss of that name; ``epsilon`` is the insensitive zone of the support vector losses."""
    width = number(epsilon, "epsilon", least=0)
    # A class of losses has all their methods too; only what is made of one holds the parameters.
    if isinstance(name, Loss) and not isinstance(name, type):
        return name
    cls = LOSSES[word(name, "loss", words=LOSSES)]
    return cls(width) if "epsilon" in cls._fields else cls()
