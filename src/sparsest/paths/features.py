"""Settings of single features of a path: penalty factors, limits of coefficients, and groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.checks import as_array, as_numbers
from sparsest.core.designs import Design, shift_and_scale
from sparsest.core.limits import check_limits
from sparsest.core.structure.posing import group_labels

# Violations are relative to the usual penalty: a factor below this share of it would have no effect.
_LEAST_FACTOR = 1e-8


@dataclass(frozen=True, eq=False)
class FeatureRules:
    """Factors and limits of the p features.

    Attributes
    ----------
    factor : factors of λ.
    lower, upper : limits of the coefficients for the data as given, which include zero; None for no limits.
    groups : the number of each feature's group, from 0 on; None if features are penalised one by one.  Features of a
        group have the same factor.
    """

    factor: Array
    lower: Array | None = None
    upper: Array | None = None
    groups: Indices | None = None

    @property
    def usual_factor(self) -> float:
        """The median of the factors that are not zero: alphas times this are of the size of gradients."""
        positive = self.factor[self.factor > 0.0]
        return float(np.median(positive)) if positive.size else 1.0

    def limits_of(self, view: Design) -> tuple[Array, Array] | tuple[None, None]:
        """The limits of the coefficients of a view's columns."""
        if self.lower is None or self.upper is None:
            return None, None
        scale = shift_and_scale(view, np.arange(self.factor.size))[1]
        return self.lower * scale, self.upper * scale


def make_rules(
    p: int,
    names: tuple[str, ...] | None = None,
    *,
    penalty_factor: Any = None,
    lower: Any = None,
    upper: Any = None,
    positive: bool = False,
    feature_groups: Any = None,
) -> FeatureRules:
    """Check the settings of p features, which may refer to features by these names."""
    low, high = check_limits(p, names, lower, upper, positive)
    factor = _check_factor(penalty_factor, p)
    if feature_groups is None:
        return FeatureRules(factor, low, high)
    groups = check_groups(feature_groups, p, names)
    uneven = np.flatnonzero(factor != factor[np.unique(groups, return_index=True)[1]][groups])
    if uneven.size:
        raise ValueError(
            f"penalty_factor must be the same for all columns of a group; that of column {uneven[0]} differs from that "
            "of the first column of its group"
        )
    return FeatureRules(factor * np.sqrt(np.bincount(groups))[groups], low, high, groups)


def check_groups(feature_groups: Any, p: int, names: tuple[str, ...] | None = None) -> Indices:
    """The number of each column's group, in the order in which labels first occur."""
    numbers: dict[Any, int] = {}
    labels = group_labels(feature_groups, p, names)
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.intp)


def _check_factor(penalty_factor: Any, p: int) -> Array:
    """Factors of alpha, one for each feature."""
    if penalty_factor is None:
        return np.ones(p)
    factor = as_numbers(as_array(penalty_factor, "penalty_factor"), "penalty_factor")
    if factor.shape != (p,):
        raise ValueError(f"penalty_factor must have {p} entries, got shape {factor.shape}")
    if not np.isfinite(factor).all() or (factor < 0).any():
        raise ValueError("penalty_factor must be finite and not negative")
    positive = factor[factor > 0.0]
    if positive.size and positive.min() < _LEAST_FACTOR * np.median(positive):
        raise ValueError(
            f"the smallest positive penalty_factor, {positive.min():.3g}, is below {_LEAST_FACTOR:g} times the median: "
            "use 0 for features that are never penalised"
        )
    return factor
