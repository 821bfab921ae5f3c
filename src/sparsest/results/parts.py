"""Named parts of a result: what a later search may begin from, and what screening has done."""

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
    """Where a later search of a similar problem may begin, beside the support of the model.

    Attributes
    ----------
    relaxed : from methods that solve the Boolean relaxation
    subgradient : the best dual point of the subgradient method
    """

    relaxed: RelaxedPoint | None = None
    subgradient: Array | None = None


class Screening(NamedTuple):
    """What screening has kept, and what is proved of the features that it dropped.

    Attributes
    ----------
    kept : the columns that the method has solved for
    safe : whether it is proved that no better model has one of the dropped features
    bound_of_dropped : a lower bound of the objective of all models that have one of them
    n_not_excluded : how many of them may be in a better model
    restricted_lower_bound, restricted_certificate : what is proved of models of the kept columns alone
    """

    kept: Indices
    safe: bool
    bound_of_dropped: float
    n_not_excluded: int
    restricted_lower_bound: float
    restricted_certificate: Certificate | None
