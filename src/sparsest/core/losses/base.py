"""What every loss offers to the solvers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from sparsest.core.arrays import Array

# Arguments of exponentials are cut off here: e^300 is about 1e130, a loss that no search accepts, and its square, which
# line searches and norms compute, is still finite.
LARGEST_EXPONENT = 300.0
# Logarithms are taken of at least this number: those of zero are multiplied by zero, or lie on the border of a domain.
TINY = 1e-300


@runtime_checkable
class Loss(Protocol):
    """What every loss offers; ``y``, ``u`` and ``alpha`` broadcast against each other.

    Losses are not negative and ``ℓ*(y, 0) = 0``, so α = 0 proves the bound 0 for every model, and relative gaps make
    sense.  Losses of generalised linear models are half their deviances.

    Attributes
    ----------
    name : the word by which users choose it.
    classification : whether ``y`` is -1 or 1.
    log_link : whether ``y ≥ 0`` and its mean is predicted as ``e^u``.  A loss with neither classes nor a logarithmic
        link depends on ``y - u`` alone.
    positive : whether ``y = 0`` has no finite loss.
    deviance : whether the usual score is the explained share of the loss.
    dispersion : factor of the variance that u implies: "one" if the loss is a negative log-likelihood, "estimated" if
        the factor is estimated from the residuals, None if the loss has no model of the variance.
    smoothness : Lipschitz constant of the derivative in ``u`` for all y; ``inf`` if there is none.
    domain_is_cone : whether ``α`` in the domain implies ``tα`` in it for every ``t ≥ 0``.
    conjugate_is_quadratic : whether ``t → ℓ*(y, tα)`` is ``At + Bt²``.
    limits : arguments of :func:`sparsest.core.checks.number` for each parameter.
    """

    name: str
    classification: bool
    log_link: bool
    positive: bool
    deviance: bool
    dispersion: str | None
    smoothness: float
    domain_is_cone: bool
    conjugate_is_quadratic: bool
    limits: dict[str, dict[str, float]]

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
        """The point of the conjugate's domain nearest to ``α``; the domain is an interval that holds 0."""

    def smoothed(self, mu: float) -> Loss:
        """The loss whose conjugate is ``ℓ* + μα²/2``; a smooth loss returns itself."""


def facts(
    name: str,
    *,
    classification: bool = False,
    log_link: bool = False,
    positive: bool = False,
    deviance: bool = False,
    dispersion: str | None = None,
    smoothness: float = float("inf"),
    domain_is_cone: bool = False,
    conjugate_is_quadratic: bool = False,
    limits: dict[str, dict[str, float]] | None = None,
) -> Callable[[type], Any]:
    """Give a class of losses the attributes of :class:`Loss`, unless it defines one itself."""
    given = {
        "name": name, "classification": classification, "log_link": log_link, "positive": positive,
        "deviance": deviance, "dispersion": dispersion, "smoothness": smoothness, "domain_is_cone": domain_is_cone,
        "conjugate_is_quadratic": conjugate_is_quadratic, "limits": limits or {},
    }  # fmt: skip

    def declare(loss: type) -> Any:
        for fact, value in given.items():
            if fact not in vars(loss):
                setattr(loss, fact, value)
        return loss

    return declare


@runtime_checkable
class PiecewiseLinear(Loss, Protocol):
    """A loss that is a sum of hinges."""

    def pieces(self, y: Array) -> list[tuple[Array, Array]]:
        """``(a, s)`` with ``ℓ(y, u) = Σ max(0, a - s u)``."""
