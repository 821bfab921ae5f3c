"""Cuts: linear lower bounds of the value of a support, from any feasible dual points.

    c(s) ≥ -Σωℓ*(α/ω) - Σ_j s_j q_j,     q_j the gain of X_j'α

A cut does not depend on k, and its gains follow from the products for every γ: a pool of dual points with their
products serves a whole path in both.  It does depend on the data and the loss.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sparsest.arrays import Array
from sparsest.problem import Problem
from sparsest.solvers.shared.claims import statement_of

# The parts of a statement that cuts depend on.
_DATA_AND_LOSS = ("fingerprint", "loss", "parameters", "offset", "exposure", "fit_intercept", "standardize")


@dataclass
class CutPool:
    """Dual points with their conjugate sums and products with all features, and the data that they are about."""

    about: tuple[Any, ...] | None = None
    alphas: list[Array] = field(default_factory=list)
    conjugates: list[float] = field(default_factory=list)
    products: list[Array] = field(default_factory=list)

    def __len__(self) -> int:
        """The number of cuts."""
        return len(self.alphas)

    def adopt(self, problem: Problem) -> None:
        """Serve this problem from now on; ValueError if the pool's cuts are about other data or another loss."""
        said = statement_of(problem)
        about = tuple(getattr(said, name) for name in _DATA_AND_LOSS)
        if self.about not in (None, about):
            raise ValueError("this pool holds cuts for other data or another loss: use a new CutPool()")
        self.about = about

    def add(self, problem: Problem, alpha: Array) -> int:
        """Add a feasible dual point; return its number."""
        self.alphas.append(alpha)
        self.conjugates.append(problem.conjugate_sum(alpha))
        self.products.append(problem.design.tdot(alpha))
        return len(self) - 1

    def cut(self, number: int, problem: Problem) -> tuple[float, Array]:
        """The constant and the gains q: ``c(s) ≥ constant - q's``."""
        return -self.conjugates[number], problem.gains_from(self.products[number])
