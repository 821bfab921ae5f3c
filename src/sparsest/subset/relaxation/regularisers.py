"""Value, gain and quadratic of a relaxation, whichever regulariser it has."""

from __future__ import annotations

from sparsest.core.arrays import Array
from sparsest.subset.relaxation.kernels.fista import Regulariser, dual_gain, penalty_value
from sparsest.subset.relaxation.kernels.nested import NestedRegulariser, nested_gain
from sparsest.subset.relaxation.nested import NestedLevels, levels_of

AnyRegulariser = Regulariser | NestedRegulariser


def value_of(w: Array, omega: AnyRegulariser) -> float:
    """Ω(w)."""
    if isinstance(omega, NestedRegulariser):
        return levels_of(w, omega)[0]
    return float(penalty_value(w, omega, 0.0)[0])


def sigma_of(w: Array, omega: AnyRegulariser) -> tuple[float, NestedLevels | None]:
    """The σ at which Ω(w) is attained or, with nested limits, 1 and the levels."""
    if isinstance(omega, NestedRegulariser):
        return 1.0, levels_of(w, omega)[1]
    return float(penalty_value(w, omega, 0.0)[1]), None


def gain_at(products: Array, omega: AnyRegulariser) -> float:
    """The gain of the forced and the best free columns at a dual point α with products ``X'α``.

    Coefficients of the best model have the opposite sign.
    """
    if isinstance(omega, NestedRegulariser):
        return float(nested_gain(-products, omega))
    return float(dual_gain(-products, omega))
