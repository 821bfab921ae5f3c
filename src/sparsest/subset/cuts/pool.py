"""Cuts: linear lower bounds of the objective c(s) of a support, one for each feasible dual point.

    c(s) ≥ -Σωℓ*(α/ω) - Σ_j s_j q_j,     q_j the gain of X_j'α

A cut does not depend on k, and its gains for any γ follow from the products X'α.  A pool of dual points with their
products can therefore be used for a whole path in k and γ.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from sparsest.core.arrays import Array
from sparsest.core.problem import Problem
from sparsest.subset.claims import statement_of

# The fields of a statement that a cut depends on; the fingerprint covers X, y, weights, offset and exposure.
_DATA_FIELDS = (
    "n", "p", "loss", "parameters", "offset", "exposure", "fit_intercept", "standardize", "fingerprint",
)  # fmt: skip


@dataclass
class CutPool:
    """Dual points with their conjugate sums and their products with all features, for the data of its first use."""

    alphas: list[Array] = field(default_factory=list)
    conjugates: list[float] = field(default_factory=list)
    products: list[Array] = field(default_factory=list)
    _data: dict[str, Any] | None = field(default=None, repr=False)

    def check_data(self, problem: Problem) -> None:
        """Raise ValueError if data or loss differ from those of the first use."""
        stated = asdict(statement_of(problem))
        data = {name: stated[name] for name in _DATA_FIELDS}
        if self._data is not None and self._data != data:
            other = ", ".join(name for name in _DATA_FIELDS if self._data[name] != data[name])
            raise ValueError(
                f"pool holds cuts of other data (different {other}): give a new CutPool, or the data of its first use"
            )
        self._data = data

    def __len__(self) -> int:
        """The number of cuts."""
        return len(self.alphas)

    def add(self, problem: Problem, alpha: Array) -> int:
        """Add a feasible dual point; return its index."""
        self.alphas.append(alpha)
        self.conjugates.append(problem.conjugate_sum(alpha))
        self.products.append(problem.design.tdot(alpha))
        return len(self) - 1

    def cut(self, number: int, problem: Problem) -> tuple[float, Array]:
        """The constant and the gains q of the cut ``c(s) ≥ constant - q's``."""
        return -self.conjugates[number], problem.gains_from(self.products[number])
