"""Splits: diagonals δ such that ``X'ΩX + ridge - diag(δ)`` is positive semidefinite.

With an intercept, all columns are centred with the weights.  R denotes ``ridge - δ``.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.proofs.bounds import SMALLEST_RIDGE, ridge_below
from sparsest.proofs.columns import Columns
from sparsest.proofs.data import Data, Room
from sparsest.proofs.rounding import UNIT, Array, Indices, growth, is_semidefinite, norms_above, sum_above
from sparsest.proofs.steps import Split, is_column_set

# A base with a larger error of its reduction is refused.
_MOST_REDUCTION_ERROR = 0.01
# The number of raised splits whose diagonals are cached; neighbouring steps of a proof share them.
_REMEMBERED = 64


class CentredColumns(NamedTuple):
    """``√Ω(x̃ - mean)`` of some columns, each with a relative error of at most ``error`` in norm, and the ridge."""

    features: Indices
    values: Array
    norms: Array
    error: float
    ridge: Array
    exponents: NDArray[np.intc]
    units: Array
    room: Room


def centred_columns(data: Data, features: Indices, gamma: float) -> CentredColumns:
    """Centre columns and multiply them by ``√Ω``; the ridge ``d_j/γ`` is a lower bound."""
    values, bounds = data.block(features)
    if data.fit_intercept:
        values = values - data.weights @ values / data.total
    values = np.sqrt(data.weights)[:, None] * values
    norms = norms_above(values) * (1.0 + growth(8))
    # The error of the mean of x̃ is γ_n ‖√Ωx̃‖/√W.  As x̃ is nearly centred, its norm is hardly larger than that of the
    # centred column; this is checked here.
    if (bounds.weighted_norms > 1.5 * norms).any():
        raise ValueError("a column is not centred")
    error = _centring_error(data.n)
    ridge, scales = ridge_below(bounds.ridge_low, gamma), (bounds.exponents, bounds.units)
    return CentredColumns(features, np.asfortranarray(values), norms, error, ridge, *scales, data.room)


def _centring_error(n: int) -> float:
    """The error of a centred and weighted column, relative to its norm."""
    return 1.6 * growth(n + 16)


def reduction_error(n: int, m: int, trace: float) -> float:
    """The relative rounding error of the reduction by a base with this ``trace(P)``, see ``_Plain._reduced``."""
    return 2.0 * (growth(m + 2 * n + 40) + 2.0 * _centring_error(n)) * trace


def acceptable_diagonal(data: Data, gamma: float, features: Indices, delta: Array) -> Array | None:
    """The slightly smaller diagonal that the check accepts, or None; for solvers."""
    try:
        columns = centred_columns(data, features, gamma)
        back = _part_to_give_back(columns, delta / np.square(columns.units))
    except ValueError:
        return None
    return delta * (1.0 - 2.0 * back) if back < 0.25 else None


class Diagonals:
    """The diagonals of the splits of a proof for scaled columns, checked on first use."""

    def __init__(self, data: Data, gamma: float, splits: Sequence[Split]) -> None:
        self.data, self.gamma, self.splits = data, gamma, splits
        self._plain: dict[int, _Plain] = {}
        self._raised: dict[int, tuple[Indices, Array]] = {}
        self._lock = Lock()

    def diagonal(self, number: int, columns: Columns) -> Array:
        """δ for scaled columns; 0 for features that the split does not cover."""
        with self._lock:
            return self._diagonal(number, columns)

    def _diagonal(self, number: int, columns: Columns) -> Array:
        split = self._split(number)
        base = number if split.base is None else split.base
        plain = self._base(base)
        delta = np.zeros(columns.features.size)
        covered = plain.columns.features
        known = columns.position[covered] >= 0
        places = columns.position[covered[known]]
        delta[places] = plain.delta[known]
        if split.base is not None:
            if number not in self._raised:
                if len(self._raised) >= _REMEMBERED:
                    self._raised.clear()
                self._raised[number] = plain.raised(split)
            features, values = self._raised[number]
            inside = columns.position[features] >= 0
            delta[columns.position[features[inside]]] = values[inside]
        # The columns may have other scales than those for which the diagonal was checked.
        moved = plain.columns.exponents[known] - columns.bounds.exponents[places]
        if moved.any():
            scaled = np.ldexp(delta[places], 2 * moved)
            # Use 0 if the change of scale loses digits.
            delta[places] = np.where(np.ldexp(scaled, -2 * moved) == delta[places], scaled, 0.0)
        return delta

    def _split(self, number: int) -> Split:
        if not 0 <= number < len(self.splits):
            raise ValueError(f"the proof refers to split {number}, but it has {len(self.splits)} splits")
        return self.splits[number]

    def _base(self, number: int) -> _Plain:
        split = self._split(number)
        if split.base is not None:
            raise ValueError("the base of a split has a base itself")
        if number not in self._plain:
            _require_diagonal(split, self.data.p)
            self._plain[number] = _Plain(centred_columns(self.data, split.features, self.gamma), split.delta)
        return self._plain[number]


class _Plain:
    """A split without a base; δ is reduced if rounding might hide a negative eigenvalue."""

    def __init__(self, columns: CentredColumns, delta: Array) -> None:
        self.columns = columns
        scaled = delta / np.square(columns.units)
        if not (np.isfinite(scaled).all() and (scaled >= SMALLEST_RIDGE).all()):
            raise ValueError("a split's diagonal is out of range")
        back = 0.0 if (scaled <= columns.ridge).all() else _part_to_give_back(columns, scaled)
        self.delta: Array = scaled * ((1.0 - back) * (1.0 - 4.0 * UNIT))
        self._reduction: tuple[Array, Array, float] | None = None

    def raised(self, split: Split) -> tuple[Indices, Array]:
        """Check a split based on this one; return its features and their diagonal for scaled columns.

        Let R > 0 belong to the base, and add ``more`` to δ of the features S.  ``G + R - diag(more)_S`` is
        positive semidefinite if and only if ``X_S'P^{-1}X_S - diag(R(1 - R/more))`` is, ``P = I + XR^{-1}X'``.
        """
        _require_diagonal(split, int(self.columns.features.max(initial=-1)) + 1)
        order = np.argsort(self.columns.features)
        at = np.searchsorted(self.columns.features, split.features, sorter=order)
        chosen = order[np.minimum(at, order.size - 1)]
        if (self.columns.features[chosen] != split.features).any():
            raise ValueError("a split has features that its base does not cover")
        delta = split.delta / np.square(self.columns.units[chosen])
        if not (np.isfinite(delta).all() and (delta >= SMALLEST_RIDGE).all()):
            raise ValueError("a split's diagonal is out of range")
        half, errors, factor = self._reduced()
        given = self._given()[chosen]
        more = (delta - self.delta[chosen]) * (1.0 + 4.0 * UNIT)
        # A δ that is at most that of the base keeps the matrix positive semidefinite.
        risen = more > 0.0
        self._require_raised(half[:, chosen[risen]], errors[chosen[risen]], factor, given[risen], more[risen])
        return split.features, delta * (1.0 - 8.0 * UNIT)

    @staticmethod
    def _require_raised(half: Array, errors: Array, factor: float, given: Array, more: Array) -> None:
        size = given.size
        ratio = given / more
        needed = given * (1.0 - ratio) + 8.0 * UNIT * given * (1.0 + ratio)
        norms = norms_above(half)
        # Scaling rows and columns by powers of two is exact and makes them comparable.
        scale = np.ldexp(1.0, -(np.frexp(np.square(norms) + np.abs(needed))[1] // 2))
        K = half.T @ half
        K *= (1.0 - factor) * np.outer(scale, scale)
        a, b = float(np.linalg.norm(scale * norms)), float(np.linalg.norm(scale * errors))
        error = 1.01 * (2.0 * a * b + b * b + growth(half.shape[0] + 8) * a * a)
        K.flat[:: size + 1] -= scale * scale * needed
        error += 8.0 * UNIT * sum_above(np.square(scale) * (np.square(norms) + np.abs(needed)))
        if not is_semidefinite(K, error):
            raise ValueError("a split does not leave a positive semidefinite matrix")

    def _given(self) -> Array:
        """A lower bound of ``R = ridge - δ``."""
        given = (self.columns.ridge - self.delta) * (1.0 - 4.0 * UNIT)
        if not (given > 0.0).all():
            raise ValueError("the base of a split is not below the ridge")
        return given

    def _reduced(self) -> tuple[Array, Array, float]:
        """Z near ``L^{-1}X`` for ``LL'`` near P, bounds of the errors of its columns, and η with ``P ≤ LL'/(1 - η)``.

        ``P ≥ I``, so errors of its entries and of its Cholesky factor, at most ``γ trace(P)`` in norm, are relative
        errors.  ``L^{-1}X - Z = L^{-1}(X - LZ)`` is bounded by the residual, as ``‖L^{-1}‖`` is at most about 1.
        """
        if self._reduction is None:
            X, n = self.columns.values, self.columns.values.shape[0]
            require_room(n, self.columns.room)
            scaled = X / np.sqrt(self._given())
            P = scaled @ scaled.T
            P.flat[:: n + 1] += 1.0
            trace = sum_above(P.diagonal())
            error = reduction_error(n, X.shape[1], trace)
            if not error < _MOST_REDUCTION_ERROR:
                raise ValueError("a split leaves too little of the ridge: rounding errors hide the rest")
            factor = np.linalg.cholesky(P)
            half = np.linalg.solve(factor, X)
            residual = norms_above(X - factor @ half)
            size = growth(n + 4) * float(np.linalg.norm(factor)) * norms_above(half) + growth(4) * norms_above(X)
            self._reduction = half, 1.02 * (residual + size) + 1.02 * self.columns.error * self.columns.norms, error
        return self._reduction


def require_room(order: int, room: Room) -> None:
    """Refuse to form a square matrix that is too large."""
    if 8 * order * order > room.most:
        raise ValueError(f"a step needs a matrix of order {order}, which is too large")


def _require_diagonal(split: Split, p: int) -> None:
    """Refuse a split without a positive number for each of its features."""
    if not is_column_set(split.features, p) or split.delta.shape != split.features.shape:
        raise ValueError("the features or the diagonal of a split do not fit the data")
    if not (np.isfinite(split.delta).all() and (split.delta > 0).all()):
        raise ValueError("a split's diagonal is not positive")


def _part_to_give_back(columns: CentredColumns, delta: Array) -> float:
    """Return the share by which δ must be reduced to make the matrix positive semidefinite; ValueError if none will."""
    n, m = columns.values.shape
    require_room(m, columns.room)
    # A positive semidefinite matrix has no negative diagonal entry.
    if (delta > 1.01 * (np.square(columns.norms) + columns.ridge)).any():
        raise ValueError("the diagonal of a split is larger than that of the matrix")
    scale = np.ldexp(1.0, -(np.frexp(delta)[1] // 2))
    Q = columns.values.T @ columns.values
    Q.flat[:: m + 1] += columns.ridge - delta
    Q *= np.outer(scale, scale)
    size = sum_above(np.square(scale) * (np.square(columns.norms) + columns.ridge + delta))
    error = 1.01 * (growth(n + 12) + 2.0 * columns.error + columns.error**2) * size
    share = float((np.square(scale) * delta).min())
    for back in (0.0, 2.0 * error / share, 8.0 * error / share):
        given_back = Q.copy()
        given_back.flat[:: m + 1] += back * np.square(scale) * delta
        if back < 1.0 and is_semidefinite(given_back, error * (1.0 + back)):
            return back
    raise ValueError("a split does not leave a positive semidefinite matrix")
