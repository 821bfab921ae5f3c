"""The directions in which gradients push coefficients away from zero, and the limits in each direction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.penalties import Penalty
from sparsest.paths.kernels.boxes import sum_of_boxes
from sparsest.paths.kernels.duality import sum_of_sides
from sparsest.paths.kernels.screening import BothSides, OneSided


class Pushes(NamedTuple):
    """Entries for a side of a feature, or for a group of features without limits.

    Attributes
    ----------
    size : the push of the gradient in that direction; negative if it pushes in the other one.  For a group, the norm
        of its gradients.
    factor : the penalty factor, by which λ is multiplied.
    limit : the largest absolute coefficient in that direction.
    """

    size: Array
    factor: Array
    limit: Array

    def conjugates(self, penalty: Penalty, alpha: float, scale: float) -> tuple[float, float]:
        """The largest push relative to what it may be, and the sum of the conjugates at ``scale`` times it."""
        found: tuple[float, float] = sum_of_sides(penalty, self.size, alpha * self.factor, self.limit, scale)
        return found


class GroupPushes(NamedTuple):
    """Entries for the features of groups with limits, one group after the other.

    Attributes
    ----------
    size : how strongly the gradient pushes to the side where it would take the feature; not negative.
    room : how far the coefficient may go there.
    starts : where each group begins, with the end of the last one.
    factor : the factor of λ of each group.
    shift : for each group, the amount by which the norm of the pushes may grow.
    """

    size: Array
    room: Array
    starts: Indices
    factor: Array
    shift: Array

    def conjugates(self, penalty: Penalty, alpha: float, scale: float) -> tuple[float, float]:
        """The largest push relative to what it may be, and the sum of the conjugates at ``scale`` times it."""
        found: tuple[float, float] = sum_of_boxes(
            penalty, self.size, self.room, self.starts, alpha * self.factor, self.shift, scale
        )
        return found


class Sides(ABC):
    """The pushes of gradients on coefficients that are zero.

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
    def pushes(self, index: Indices, grad: Array, shift: float) -> Pushes | GroupPushes:
        """Upper bounds of all pushes at points within this distance of the one with this gradient."""


class FeatureSides(Sides):
    """The sides of features that are penalised one by one.

    Parameters
    ----------
    factor, norms : factors of λ, and norms of the columns.
    lower, upper : limits of the coefficients; None for no limits.
    """

    def __init__(self, factor: Array, norms: Array, lower: Array | None, upper: Array | None) -> None:
        self._factor, self.norms, self._lower, self._upper = factor, norms, lower, upper
        self.kernel = sides_within(lower, upper)

    @property
    def movable(self) -> Mask:
        """Features whose coefficients may differ from zero."""
        return _movable(self._factor.size, self._lower, self._upper)

    def push(self, index: Indices, grad: Array) -> Array:
        """How strongly gradients push these features away from zero."""
        return self.kernel.push(index, grad)

    def pushes(self, index: Indices, grad: Array, shift: float) -> Pushes:
        """Upper bounds of all pushes at points within this distance of the one with this gradient."""
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
    lower, upper : limits of the coefficients; None for no limits.
    """

    def __init__(
        self, factor: Array, norms: Array, groups: Indices, lower: Array | None = None, upper: Array | None = None
    ) -> None:
        self._factor, self._groups, self._lower, self._upper = factor, groups, lower, upper
        self._group_norms = np.sqrt(np.bincount(groups, norms**2))
        self.norms = self._group_norms[groups]
        self.kernel = sides_within(lower, upper)

    @property
    def movable(self) -> Mask:
        """Features whose coefficients may differ from zero."""
        return _movable(self._factor.size, self._lower, self._upper)

    def push(self, index: Indices, grad: Array) -> Array:
        """For each of these features the norm of its group's gradients, as far as they push where it may go."""
        groups, sizes = self._groups[index], np.maximum(self.kernel.push(index, grad), 0.0)
        return np.sqrt(np.bincount(groups, sizes**2, self._group_norms.size))[groups]

    def pushes(self, index: Indices, grad: Array, shift: float) -> Pushes | GroupPushes:
        """Upper bounds of the pushes of these features' groups at points within this distance."""
        present, first, which = np.unique(self._groups[index], return_index=True, return_inverse=True)
        allowance, factor = shift * self._group_norms[present], self._factor[index[first]]
        if self._lower is None or self._upper is None:
            return Pushes(self.push(index, grad)[first] + allowance, factor, np.full(present.size, np.inf))
        order = np.argsort(which, kind="stable")
        index, grad = index[order], grad[order]
        room = np.where(grad < 0.0, self._upper[index], -self._lower[index])
        starts = np.append(0, np.cumsum(np.bincount(which, minlength=present.size)))
        return GroupPushes(np.abs(grad), room, starts, factor, allowance)


def sides_within(lower: Array | None, upper: Array | None) -> BothSides | OneSided:
    """Which gradients push features to a side where limits let them go."""
    if lower is None or upper is None:
        return BothSides()
    return OneSided((upper > 0.0).astype(np.float64), (lower < 0.0).astype(np.float64))


def _movable(p: int, lower: Array | None, upper: Array | None) -> Mask:
    return np.ones(p, dtype=bool) if lower is None or upper is None else upper > lower
