"""The losses: scalar mathematics of ``ℓ(y, u)`` that never sees the data matrix.

Every loss is a NamedTuple of its parameters, and each family has its own file.  The bodies of ``value``,
``derivative``, ``second_derivative`` and ``conjugate`` use nothing but arithmetic and NumPy ufuncs, so the same text
serves whole arrays here and, compiled, single numbers in the kernels.

The conjugate is ``ℓ*(y, α) = max_u uα - ℓ(y, u)``.  With an observation weight ω the dual variable is
``α = ω ℓ'(y, u)`` and ``(ωℓ)*(α) = ω ℓ*(α/ω)``.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.checks import number, shown, word
from sparsest.core.losses.base import LARGEST_EXPONENT, Loss, PiecewiseLinear
from sparsest.core.losses.classes import Hinge, Logistic, SquaredHinge
from sparsest.core.losses.gamma import Gamma
from sparsest.core.losses.huber import Huber
from sparsest.core.losses.insensitive import EpsilonInsensitive, SquaredEpsilonInsensitive
from sparsest.core.losses.negative_binomial import NegativeBinomial
from sparsest.core.losses.offsets import with_offset
from sparsest.core.losses.poisson import Poisson
from sparsest.core.losses.quantile import Quantile
from sparsest.core.losses.squared import Squared
from sparsest.core.losses.tweedie import Tweedie

__all__ = [
    "LOSSES",
    "PARAMETERS",
    "EpsilonInsensitive",
    "Gamma",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "NegativeBinomial",
    "PiecewiseLinear",
    "Poisson",
    "Quantile",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "Tweedie",
    "dual_from_margin",
    "make_loss",
    "mean_of",
    "parameters_of",
    "with_offset",
]

LOSSES: dict[str, type[Loss]] = {
    loss.name: loss
    for loss in (
        Squared,
        Logistic,
        Hinge,
        SquaredHinge,
        EpsilonInsensitive,
        SquaredEpsilonInsensitive,
        Huber,
        Quantile,
        Poisson,
        Gamma,
        NegativeBinomial,
        Tweedie,
    )
}

# The names of all parameters of losses; functions and estimators take them beside the name of a loss.
PARAMETERS: tuple[str, ...] = tuple(dict.fromkeys(field for loss in LOSSES.values() for field in loss._fields))


def dual_from_margin(loss: Loss, y: Array, u: Array, weights: Array, mu: float = 0.0) -> Array:
    """Return the dual point ``α = ω ℓ'(y, u)``, which lies in the conjugate's domain.

    At a kink of the loss there are many such points; ``mu > 0`` gives that of the smoothed loss, which tends to the
    best of them as ``mu`` and the error of ``u`` go to zero.
    """
    return weights * (loss.smoothed(mu) if mu > 0 else loss).derivative(y, u)


def mean_of(loss: Loss, u: Array) -> Array:
    """The prediction of a regression with the linear predictor u: ``e^u`` if the link is logarithmic."""
    return np.exp(np.minimum(u, LARGEST_EXPONENT)) if loss.log_link else u


def make_loss(loss: str | Loss, **parameters: Any) -> Loss:
    """Return the loss of that name with these parameters, or one that is given, checked.

    Parameters
    ----------
    **parameters : ``PARAMETERS`` by name; None means the loss's own default.  A value for a parameter that the loss
        does not have is an error
    """
    given = {name: value for name, value in parameters.items() if value is not None}
    if _is_loss(loss):
        if given:
            raise ValueError(f"{', '.join(given)} must be given to the loss itself if it is an object, {shown(loss)}")
        _checked(type(loss), parameters_of(loss))
        return loss
    cls = LOSSES[word(loss, "loss", words=LOSSES)]
    for name in given:
        if name not in cls._fields:
            whose = " or ".join(repr(other.name) for other in LOSSES.values() if name in other._fields)
            hint = f"leave it out, or choose {whose}" if whose else f"it has {', '.join(cls._fields) or 'none'}"
            raise ValueError(f"loss {cls.name!r} has no parameter {name}, got {shown(given[name])}: {hint}")
    return cls(**_checked(cls, given))


def _is_loss(given: object) -> TypeGuard[Loss]:
    """Whether this is a loss; the test by type is fast, that of the protocol compares all methods."""
    if type(given) in LOSSES.values():
        return True
    # A class of losses has all methods, too, but only its instances have parameters.
    return not isinstance(given, str | type) and isinstance(given, Loss)


def parameters_of(loss: Loss) -> dict[str, Any]:
    """The parameters of a loss by their names."""
    return loss._asdict()


def _checked(cls: type[Loss], given: dict[str, Any]) -> dict[str, Any]:
    """The parameters as floats; raise a ValueError for one that is out of its limits."""
    return {
        name: number(value, name, **cls.limits[name]) if name in cls.limits else value for name, value in given.items()
    }
