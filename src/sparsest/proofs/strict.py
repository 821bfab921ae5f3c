"""Strict checks of the parts of a statement: a file may contain anything."""

from __future__ import annotations

from typing import Any

# Integers up to this one are floating-point numbers and machine integers.
_LARGEST_WHOLE = 2**53
_LONGEST_SHOWN = 200


def is_count(value: Any) -> bool:
    """Whether this is an integer from 0 to 2^53; True and False are not."""
    return _is_whole(value) and 0 <= value <= _LARGEST_WHOLE


def is_number(value: Any) -> bool:
    """Whether this is a number in the range of floating-point numbers; integers in JSON may exceed it."""
    return isinstance(value, float) or (_is_whole(value) and abs(value) <= _LARGEST_WHOLE)


def are_counts(values: Any) -> bool:
    """Whether this is a tuple of integers from 0 to 2^53."""
    if not isinstance(values, tuple) or not all(issubclass(kind, int) and kind is not bool for kind in _types(values)):
        return False
    return not values or 0 <= min(values) <= max(values) <= _LARGEST_WHOLE


def are_numbers(values: Any) -> bool:
    """Whether this is a tuple of numbers in the range of floating-point numbers."""
    if not isinstance(values, tuple):
        return False
    if all(issubclass(kind, float) for kind in _types(values)):
        return True
    return all(is_number(value) for value in values)


def require(condition: bool, name: str, value: Any) -> None:
    """Refuse a problem with this part."""
    if not condition:
        raise ValueError(f"a problem cannot have {name} = {shortened(value)}")


def shortened(value: Any) -> str:
    """The representation of a value, or its beginning."""
    shown = repr(value)
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"


def _types(values: tuple[Any, ...]) -> set[type]:
    return set(map(type, values))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
