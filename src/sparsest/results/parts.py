"""Parts of a result: starting points for a later search, and the outcome of screening."""

from __future__ import annotations

from typing import NamedTuple

from sparsest.core.arrays import Array, Indices
from sparsest.proofs.certificate import Certificate


class RelaxedPoint(NamedTuple):
    """The last point of a Boolean relaxation: coefficients of some features, intercept, and dual point α."""

    features: Indices
    w: Array
    b: float
    alpha: Array


class Restart(NamedTuple):
    """Starting points for a later search of a similar problem, in addition to the support.

    Attributes
    ----------
    relaxed : from methods that solve the Boolean relaxation
    subgradient : the best dual point of the subgradient method
    """

    relaxed: RelaxedPoint | None = None
    subgradient: Array | None = None


class Screening(NamedTuple):
    """The outcome of screening: the kept features, and what is proved about the dropped ones.

    Attributes
    ----------
    kept : the columns that the method was run on
    safe : whether it is proved that no better model has one of the dropped features
    bound_of_dropped : a lower bound of the objective of all models that have one of them
    n_not_excluded : number of dropped features that may be in a better model
    restricted_lower_bound, restricted_certificate : bound and certificate for models of the kept columns only
    """

    kept: Indices
    safe: bool
    bound_of_dropped: float
    n_not_excluded: int
    restricted_lower_bound: float
    restricted_certificate: Certificate | None
