"""Value and gain of a relaxation, whichever regulariser it has."""

from __future__ import annotations

from sparsest.core.arrays import Array
from sparsest.subset.relaxation.kernels.nested import NestedRegulariser
from sparsest.subset.relaxation.kernels.regulariser import Regulariser
from sparsest.subset.relaxation.nested import NestedLevels, levels_of

AnyRegulariser = Regulariser | NestedRegulariser


def value_of(w: Array, omega: AnyRegulariser) -> float:
    """Ω(w)."""
    return float(omega.penalty(w, omega.start_levels()))


def sigma_of(w: Array, omega: AnyRegulariser) -> tuple[float, NestedLevels | None]:
    """The σ at which Ω(w) is attained or, with nested limits, 1 and the levels."""
    if isinstance(omega, NestedRegulariser):
        return 1.0, levels_of(w, omega)
    levels = omega.start_levels()
    omega.penalty(w, levels)
    return float(levels[0]), None


def gain_at(products: Array, omega: AnyRegulariser) -> float:
    """The gain of the forced and the best free columns at a dual point α with products ``X'α``.

    Coefficients of the best model have the opposite sign.
    """
    return float(omega.gain(-products))
