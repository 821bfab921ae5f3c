"""Format durations."""

from __future__ import annotations

_UNITS = (("centuries", 3155760000.0), ("weeks", 604800.0), ("days", 86400.0), ("hours", 3600.0), ("min", 60.0))


def duration(seconds: float) -> str:
    """A time in a suitable unit."""
    for unit, length in _UNITS:
        if seconds >= 2.0 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"
