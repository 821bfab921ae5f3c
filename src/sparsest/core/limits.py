"""Limits of coefficients, as users give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.checks import as_array, as_numbers, by_number, column_numbers, flag


def check_limits(
    p: int, names: tuple[str, ...] | None, lower: Any, upper: Any, positive: bool
) -> tuple[Array, Array] | tuple[None, None]:
    """The limits of p coefficients, or None for no limits."""
    if flag(positive, "positive"):
        if lower is not None:
            raise ValueError("positive=True means lower=0: give one of them")
        lower = 0.0
    if lower is None and upper is None:
        return None, None
    low, high = _limit(lower, "lower", -np.inf, p, names), _limit(upper, "upper", np.inf, p, names)
    if not ((low <= 0.0) & (high >= 0.0)).all():
        raise ValueError("limits of coefficients must include zero: lower must not be positive, nor upper negative")
    return low, high


def _limit(given: Any, name: str, default: float, p: int, names: tuple[str, ...] | None) -> Array:
    """The limits as p numbers; features that a dictionary does not name have the default."""
    if isinstance(given, Mapping):
        keys = list(given)
        index = column_numbers(by_number(keys, name, names), name, p)
        values = as_numbers(as_array([given[key] for key in keys], name), name)
    else:
        index = np.arange(p)
        values = as_numbers(as_array(default if given is None else given, name), name)
        if values.shape not in ((), (p,)):
            raise ValueError(
                f"{name} must be a number, {p} numbers or a dictionary from columns to numbers, got shape "
                f"{values.shape}"
            )
    if np.isnan(values).any():
        raise ValueError(f"{name} contains NaN: use -inf or inf for no limit")
    limits = np.full(p, default)
    limits[index] = values
    return limits
