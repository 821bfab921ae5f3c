"""Cuts: linear lower bounds of the value of a support, from any feasible dual points.

    c(s) ≥ -Σωℓ*(α/ω) - Σ_j s_j q_j,     q_j the gain of X_j'α

A cut does not depend on k, and its gains follow from the products for every γ: a pool of dual points with their
products serves a whole path in both.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from sparsest.core.arrays import Array
from sparsest.core.problem import Problem
from sparsest.subset.claims import statement_of

# What a cut depends on; the fingerprint is that of X, y, weights, offset and exposure.
_OF_THE_DATA = (
    "n", "p", "loss", "parameters", "offset", "exposure", "fit_intercept", "standardize", "fingerprint",
)  # fmt: skip


@dataclass
class CutPool:
    """Dual points with their conjugate sums and products with all features, of the data that it was first used for."""

    alphas: list[Array] = field(default_factory=list)
    conjugates: list[float] = field(default_factory=list)
    products: list[Array] = field(default_factory=list)
    _data: dict[str, Any] | None = field(default=None, repr=False)

    def insist_on_data(self, problem: Problem) -> None:
        """Refuse a problem with other data or another loss than those that the points are feasible for."""
        stated = asdict(statement_of(problem))
        data = {name: stated[name] for name in _OF_THE_DATA}
        if self._data is not None and self._data != data:
            other = ", ".join(name for name in _OF_THE_DATA if self._data[name] != data[name])
            raise ValueError(
                f"pool holds cuts of other data (different {other}): give a new CutPool, or the data of its first use"
            )
        self._data = data

    def __len__(self) -> int:
        """The number of cuts."""
        return len(self.alphas)

    def add(self, problem: Problem, alpha: Array) -> int:
        """Add a feasible dual point; return its number."""
        self.alphas.append(alpha)
        self.conjugates.append(problem.conjugate_sum(alpha))
        self.products.append(problem.design.tdot(alpha))
        return len(self) - 1

    def cut(self, number: int, problem: Problem) -> tuple[float, Array]:
        """The constant and the gains q: ``c(s) ≥ constant - q's``."""
        return -self.conjugates[number], problem.gains_from(self.products[number])
