"""Limits of coefficients, as users give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.checks import as_array, as_numbers, by_number, column_numbers, flag, number, shown

# Squares of limits other than 0 must be numbers.
SMALLEST_LIMIT, LARGEST_LIMIT = 1e-150, 1e150


def check_limits(
    p: int, names: tuple[str, ...] | None, lower: Any, upper: Any, positive: bool = False
) -> tuple[Array, Array] | tuple[None, None]:
    """The limits of p coefficients, for the data as given; None if no coefficient has one.

    Parameters
    ----------
    names : names of the columns, if they have any
    lower, upper : a number for all columns, p numbers, or a dictionary by name or number of the columns with limits
    positive : whether 0 is the lower limit of all coefficients
    """
    if flag(positive, "positive"):
        if lower is not None:
            raise ValueError("positive=True means lower=0: give one of them")
        lower = 0.0
    low, high = _limit(lower, "lower", -1.0, p, names), _limit(upper, "upper", 1.0, p, names)
    return (None, None) if np.isinf(low).all() and np.isinf(high).all() else (low, high)


def _limit(given: Any, name: str, sign: float, p: int, names: tuple[str, ...] | None) -> Array:
    """The limits as p numbers, infinite for columns without one."""
    limits = np.full(p, sign * np.inf)
    if isinstance(given, Mapping):
        columns = column_numbers(by_number(list(given), name, names), name, p)
        if np.unique(columns).size < columns.size:
            raise ValueError(f"{name} has a column twice, once by its name and once by its number: {shown(given)}")
        limits[columns] = [number(entry, f"{name} of column {shown(at)}", finite=False) for at, entry in given.items()]
    elif given is not None:
        values = as_numbers(as_array(given, name), name)
        if values.shape not in ((), (p,)):
            raise ValueError(f"{name} must be a number, {p} numbers or a dictionary by column, got {shown(given)}")
        limits[:] = values
    _check_values(limits, name, sign, names)
    return limits


def _check_values(limits: Array, name: str, sign: float, names: tuple[str, ...] | None) -> None:
    """Raise a ValueError that names the first column whose limit is not valid."""
    sizes = np.abs(limits)
    wrong = np.flatnonzero(~(sign * limits >= 0.0))
    extreme = np.flatnonzero(
        ((sizes > 0.0) & (sizes < SMALLEST_LIMIT)) | ((sizes > LARGEST_LIMIT) & np.isfinite(sizes))
    )
    if not wrong.size and not extreme.size:
        return
    at = int(wrong[0] if wrong.size else extreme[0])
    got = f"got {float(limits[at])!r} for column {at if names is None else repr(names[at])}"
    if wrong.size:
        allowed, none = ("at most 0", "-inf") if sign < 0.0 else ("at least 0", "inf")
        raise ValueError(
            f"{name} must be {allowed} for every column, because features that are not in the model have the "
            f"coefficient 0, {got}; use {none} for no limit"
        )
    raise ValueError(
        f"the absolute value of {name} must be 0, infinite or between {SMALLEST_LIMIT:g} and {LARGEST_LIMIT:g}, {got}"
    )
