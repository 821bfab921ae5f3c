"""The losses of the checker: conjugates, domains and values with bounds of their rounding errors.

They are implemented independently of :mod:`sparsest.core.losses`, so that solver and checker do not share a mistake.
``y``, ``alpha`` and ``margin`` are matrices with a row for each observation, ``weights`` a column ω.  A dual point α
belongs to the weighted loss: its conjugate is ``ωℓ*(y, α/ω)``.
"""

from __future__ import annotations

from sparsest.proofs.losses.base import ROUNDINGS, LossRule
from sparsest.proofs.losses.classes import Hinge, Logistic, SquaredHinge
from sparsest.proofs.losses.gamma import Gamma
from sparsest.proofs.losses.huber import Huber
from sparsest.proofs.losses.insensitive import EpsilonInsensitive, SquaredEpsilonInsensitive
from sparsest.proofs.losses.negative_binomial import NegativeBinomial
from sparsest.proofs.losses.poisson import Poisson
from sparsest.proofs.losses.quantile import Quantile
from sparsest.proofs.losses.squared import Squared
from sparsest.proofs.losses.tweedie import Tweedie

__all__ = ["ROUNDINGS", "RULES", "LossRule", "Squared"]

RULES: dict[str, type[LossRule]] = {
    "squared": Squared,
    "logistic": Logistic,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    "huber": Huber,
    "quantile": Quantile,
    "poisson": Poisson,
    "gamma": Gamma,
    "negative_binomial": NegativeBinomial,
    "tweedie": Tweedie,
}
