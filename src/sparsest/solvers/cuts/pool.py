"""Cuts: linear lower bounds of the value of a support, from any feasible dual points.

    c(s) ≥ -Σωℓ*(α/ω) - Σ_j s_j q_j,     q_j the gain of X_j'α

A cut does not depend on k, and its gains follow from the products for every γ: a pool of dual points with their
products serves a whole path in both.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sparsest.arrays import Array
from sparsest.problem import Problem


@dataclass
class CutPool:
    """Dual points with their conjugate sums and products with all features."""

    alphas: list[Array] = field(default_factory=list)
    conjugates: list[float] = field(default_factory=list)
    products: list[Array] = field(default_factory=list)

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
