"""The problem: data, ridge, sparsity, forced features and bounds, frozen; and its primal and dual values.

    min_w  Σ_i ω_i ℓ(y_i, x_i'w + b) + (1/2γ)‖w‖²  [+ λ0 ‖w‖_0]
    s.t.   [‖w‖_0 ≤ k,]  [low_j ≤ w_j ≤ high_j,]  w_j = 0 for j excluded

For every dual point α (in the conjugate's domain, and with Σα = 0 under an intercept) and every region of the
search, given by features forced in (S1) and out (S0),

    D(α) = -Σ_i ω_i ℓ*(y_i, α_i/ω_i) - gain(q),     q_j = max {-uw - w²/(2γ): low_j ≤ w ≤ high_j},  u = X_j'α

is a lower bound, where ``gain`` adds q over S1 and over the best free choice that the sparsity admits.  Without bounds
``q = (γ/2)u²``; where a bound M limits the coefficient, it is ``M|u| - M²/(2γ)``, which is finite without a ridge too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.bounds import UNBOUNDED, Bounds, bounds_of
from sparsest.core.checks import column_numbers
from sparsest.core.data import Data, make_data
from sparsest.core.limits import check_limits
from sparsest.core.settings import check_gamma, check_max_coef
from sparsest.core.sparsity import Region, Sparsity, check_sparsity
from sparsest.core.structure.posing import forced_columns, pose_structure, wants_structure
from sparsest.core.structure.structured import StructuredSparsity

_Value = TypeVar("_Value")

# Settings of a problem beside its data and k.
PROBLEM_SETTINGS = (
    "l0_penalty", "gamma", "max_coef", "lower", "upper", "include", "exclude", "feature_groups", "structure",
)  # fmt: skip


class _OfData(Generic[_Value]):
    """An attribute of a problem that its data have."""

    def __init__(self, get: Callable[[Data], _Value]) -> None:
        self._get = get

    def __get__(self, problem: Problem, owner: type[Problem]) -> _Value:
        return self._get(problem.data)


@dataclass(frozen=True, eq=False)
class Problem:
    """A best-subset problem.

    Attributes
    ----------
    data : observations and loss
    gamma : γ; infinite without a ridge
    sparsity : which supports are admissible
    include, exclude : features forced in and out, in increasing order
    max_coef : limit of the size of all coefficients, or None
    lower, upper : bounds of the coefficients for the data as given, or None
    bounds : bounds of the coefficients for the columns of the design, which combine the three
    design, y, weights, loss, fit_intercept, column_norms, n, p : those of the data
    """

    data: Data
    gamma: float
    sparsity: Sparsity | StructuredSparsity
    include: Indices
    exclude: Indices
    max_coef: float | None = None
    lower: Array | None = None
    upper: Array | None = None
    bounds: Bounds = UNBOUNDED

    design = _OfData(lambda data: data.design)
    y = _OfData(lambda data: data.y)
    weights = _OfData(lambda data: data.weights)
    loss = _OfData(lambda data: data.loss)
    fit_intercept = _OfData(lambda data: data.fit_intercept)
    column_norms = _OfData(lambda data: data.column_norms)
    n = _OfData(lambda data: data.n)
    p = _OfData(lambda data: data.p)

    @property
    def ridge(self) -> float:
        """``λ = 1/γ``."""
        return 1.0 / self.gamma

    @cached_property
    def has_dual_bounds(self) -> bool:
        """Whether a ridge, or bounds on both sides, keep gains finite: without either a dual point proves nothing."""
        alive = self.root.alive
        return bool(np.isfinite(self.gamma)) or alive.size == 0 or self.bounds.closed(alive)

    @property
    def plain_sparsity(self) -> Sparsity:
        """The sparsity of a problem without a structure."""
        assert isinstance(self.sparsity, Sparsity)
        return self.sparsity

    @cached_property
    def root(self) -> Region:
        """The region of all admissible supports."""
        region = Region(self.include, self.exclude, self.p)
        if isinstance(self.sparsity, Sparsity):
            return region
        found = self.sparsity.propagate(region)
        # Posing the problem has found an admissible support.
        assert found is not None
        return found

    @cached_property
    def first_support(self) -> Indices:
        """An admissible support that contains the forced features; without a structure it has no others."""
        if isinstance(self.sparsity, Sparsity):
            return self.include
        chosen = np.zeros(self.sparsity.n_units, dtype=bool)
        chosen[list(self.sparsity.first)] = True
        return self.sparsity.columns_of(chosen)

    @property
    def sizes(self) -> tuple[int, int]:
        """A number of features, or of groups, that is admissible, and the largest one that is not excluded."""
        if isinstance(self.sparsity, Sparsity):
            return self.include.size, self.p - self.exclude.size
        return len(self.sparsity.first), int(np.count_nonzero(self.sparsity.state_of(self.root) >= 0))

    def with_sparsity(self, sparsity: Sparsity | StructuredSparsity) -> Problem:
        """Return the same problem with another k or λ0."""
        return replace(self, sparsity=sparsity)

    def with_gamma(self, gamma: float) -> Problem:
        """Return the same problem with another γ."""
        return replace(self, gamma=check_gamma(gamma))

    def primal(self, margin: Array, w: Array, support: Indices) -> float:
        """The objective of coefficients ``w`` of a support whose predictions are ``margin``."""
        fit = float(self.weights @ self.loss.value(self.y, margin))
        with np.errstate(over="ignore"):
            square = float(w @ w)
        # A model whose squared coefficients overflow is never accepted, even without a ridge.
        if not np.isfinite(square):
            return np.inf
        return fit + 0.5 * self.ridge * square + self.sparsity.cost(support)

    def conjugate_sum(self, alpha: Array) -> float:
        """``Σ ω ℓ*(y, α/ω)``."""
        return float(self.weights @ self.loss.conjugate(self.y, alpha / self.weights))

    def feasible(self, alpha: Array) -> Array:
        """Return a dual point near ``alpha`` that is in the domain and, under an intercept, sums to zero."""
        return self.data.feasible(alpha)

    def gains(self, alpha: Array) -> Array:
        """The gain of every feature at α."""
        return self.gains_from(self.design.tdot(alpha))

    def gains_from(self, products: Array, features: Indices | None = None) -> Array:
        """``max {-uw - w²/(2γ): low ≤ w ≤ high}`` for the products ``u = X_j'α`` of some features, by default all.

        Without ridge and bounds only features that are exactly orthogonal to α gain nothing; all others gain infinity.
        """
        if not self.bounds.exist:
            if np.isfinite(self.gamma):
                return 0.5 * self.gamma * products**2
            return np.where(products == 0.0, 0.0, np.inf)
        w = self.coefficients_from(products, features)
        return -w * (products + 0.5 * self.ridge * w) if np.isfinite(self.gamma) else -w * products

    def coefficients_from(self, products: Array, features: Indices | None = None) -> Array:
        """The w at which the gains of these products are attained; there must be a ridge or bounds."""
        bounds = self.bounds if features is None else self.bounds.of(features)
        if np.isinf(self.gamma):
            return np.where(products < 0.0, bounds.high, np.where(products > 0.0, bounds.low, 0.0))
        return bounds.clip(-self.gamma * products)


def make_problem(X: Any, y: Any, k: int | None = None, **settings: Any) -> Problem:
    """Check the user's data and pose the problem.

    Parameters
    ----------
    **settings : those of :func:`pose` and of :func:`sparsest.core.data.make_data`
    """
    of_problem = {name: settings.pop(name) for name in PROBLEM_SETTINGS if name in settings}
    return pose(make_data(X, y, **settings), k, **of_problem)


def pose(
    data: Data,
    k: int | None = None,
    *,
    l0_penalty: Any = None,
    gamma: float = np.inf,
    include: Sequence[int] = (),
    exclude: Sequence[int] = (),
    max_coef: float | None = None,
    lower: Any = None,
    upper: Any = None,
    feature_groups: Any = None,
    structure: Any = None,
    names: tuple[str, ...] | None = None,
) -> Problem:
    """Pose a problem on data that have been checked; columns whose bounds are both 0 are excluded.

    A structure keeps them, because other columns may need them.  It refers to columns by these ``names``.
    """
    inside, outside = _check_forced(include, exclude, data.p)
    low, high = check_limits(data.p, None, lower, upper)
    sparsity: Sparsity | StructuredSparsity
    if wants_structure(l0_penalty, feature_groups, structure):
        sparsity = pose_structure(data, names, k, l0_penalty, feature_groups, structure, inside, outside)
        inside, outside = (forced_columns(sparsity.units, columns) for columns in (inside, outside))
    else:
        if low is not None and high is not None:
            outside = np.union1d(outside, np.setdiff1d(np.flatnonzero((low == 0.0) & (high == 0.0)), inside))
        sparsity = check_sparsity(k, l0_penalty, inside.size, data.p - outside.size)
    limit = check_max_coef(max_coef)
    bounds = bounds_of(data.design, low, high, limit)
    return Problem(data, check_gamma(gamma), sparsity, inside, outside, limit, low, high, bounds)


def _check_forced(include: Sequence[int], exclude: Sequence[int], p: int) -> tuple[Indices, Indices]:
    inside = np.unique(column_numbers(include, "include", p))
    outside = np.unique(column_numbers(exclude, "exclude", p))
    both = np.intersect1d(inside, outside)
    if both.size:
        raise ValueError(f"columns {both.tolist()} are both in include and in exclude")
    return inside, outside
