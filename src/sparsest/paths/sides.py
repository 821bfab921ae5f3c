"""To which sides gradients push features, and how far each may go there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.paths.kernels.screening import BothSides, OneSided


class Pushes(NamedTuple):
    """Entries for a side of a feature, or for a group of features.

    Attributes
    ----------
    size : how strongly the gradient pushes to that side; negative if it pushes to the other.  For a group, the norm of
        its gradients.
    factor : of λ.
    limit : how far coefficients may go on that side.
    """

    size: Array
    factor: Array
    limit: Array


class Sides(ABC):
    """How gradients push features away from zero.

    Attributes
    ----------
    norms : for each feature, the norm of its column or a bound of that of its group's columns: how much the push may
        grow with the distance from a point.
    """

    norms: Array

    @property
    @abstractmethod
    def movable(self) -> Mask:
        """Features whose coefficients may differ from zero."""

    @abstractmethod
    def push(self, index: Indices, grad: Array) -> Array:
        """How strongly gradients push these features away from zero."""

    @abstractmethod
    def pushes(self, index: Indices, grad: Array, shift: float) -> Pushes:
        """All pushes that matter; those at a point at this distance from the one with this gradient are no larger."""


class FeatureSides(Sides):
    """The sides of features that are penalised one by one.

    Parameters
    ----------
    factor, norms : factors of λ, and norms of the columns.
    lower, upper : limits of the coefficients; None for no limits.
    """

    def __init__(self, factor: Array, norms: Array, lower: Array | None, upper: Array | None) -> None:
        self._factor, self.norms, self._lower, self._upper = factor, norms, lower, upper
        self.kernel: BothSides | OneSided = BothSides()
        if lower is not None and upper is not None:
            self.kernel = OneSided((upper > 0.0).astype(np.float64), (lower < 0.0).astype(np.float64))

    @property
    def movable(self) -> Mask:
        """Features whose coefficients may differ from zero."""
        if self._lower is None or self._upper is None:
            return np.ones(self._factor.size, dtype=bool)
        return self._upper > self._lower

    def push(self, index: Indices, grad: Array) -> Array:
        """How strongly gradients push these features away from zero."""
        return self.kernel.push(index, grad)

    def pushes(self, index: Indices, grad: Array, shift: float) -> Pushes:
        """All pushes that matter; those at a point at this distance from the one with this gradient are no larger."""
        factor, allowance = self._factor[index], shift * self.norms[index]
        if self._lower is None or self._upper is None:
            return Pushes(np.abs(grad) + allowance, factor, np.full(index.size, np.inf))
        size = np.concatenate([-grad + allowance, grad + allowance])
        return Pushes(size, np.tile(factor, 2), np.concatenate([self._upper[index], -self._lower[index]]))


class GroupSides(Sides):
    """Features that are penalised by the norms of their groups' coefficients.

    Gradients are always those of whole groups.

    Parameters
    ----------
    factor, norms : factors of λ, and norms of the columns.
    groups : the number of each feature's group.
    """

    def __init__(self, factor: Array, norms: Array, groups: Indices) -> None:
        self._factor, self._groups = factor, groups
        self._group_norms = np.sqrt(np.bincount(groups, norms**2))
        self.norms = self._group_norms[groups]

    @property
    def movable(self) -> Mask:
        """Features whose coefficients may differ from zero: all."""
        return np.ones(self._factor.size, dtype=bool)

    def push(self, index: Indices, grad: Array) -> Array:
        """For each of these features the norm of its group's gradients."""
        groups = self._groups[index]
        return np.sqrt(np.bincount(groups, grad**2, self._group_norms.size))[groups]

    def pushes(self, index: Indices, grad: Array, shift: float) -> Pushes:
        """The norms of the gradients of these features' groups; at a point at this distance they are no larger."""
        present, first = np.unique(self._groups[index], return_index=True)
        size = self.push(index, grad)[first] + shift * self._group_norms[present]
        return Pushes(size, self._factor[index[first]], np.full(present.size, np.inf))
