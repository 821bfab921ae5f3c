"""What a Newton step costs compared with sweeps."""

from __future__ import annotations

from typing import NamedTuple

from sparsest.runtime.jit import kernel

# However small a sweep is, the calls of a Newton step are worth no more of them: with ten features the time of 8,000,
# which would soon be all that are allowed.
_MOST_CALL_SWEEPS = 300.0


class Price(NamedTuple):
    """What a Newton step costs, in sweeps.

    Attributes
    ----------
    sweeps : in any case.
    entries : of G that a sweep would touch in the time that the calls take.
    rebuild : for each active feature, if fewer than ``enough`` of them are in the inverse that is there.
    """

    sweeps: float
    entries: float
    rebuild: float
    enough: float


@kernel
def newton_price(price, w):
    """What a Newton step at w costs, in sweeps."""
    active = 0
    for j in range(w.size):
        active += w[j] != 0.0
    rebuild = price.rebuild * active if active > price.enough else 0.0
    return price.sweeps + min(price.entries / (1.0 + active * w.size), _MOST_CALL_SWEEPS) + rebuild
