"""The certified choice: the best number of features by an information criterion, and the proof that no other is better.

The criterion of a support S is ``C(f(S)) + penalty(|S|)``: f(S) is the least objective on S, losses and ridge, in the
place of the sum of losses; every feature is one degree of freedom.  Without a ridge that is the classical criterion.
With one it is that of the penalised likelihood, the ridge being a normal prior of the coefficients: the losses of the
shrunk coefficients alone would not do, because nothing bounds them over all supports.

**Theorem.**  Let ``L_k ≤ f(S)`` for all supports of at most k features, which is what a certificate for k proves.  As C
grows, ``C(max_{k' ≥ k} L_k') + penalty(k)`` is a lower bound of the criterion of every support of k features.  A size
whose bound exceeds the value of some model is excluded: no support of that size is the best.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import numpy as np

from sparsest.core.arrays import Array
from sparsest.proofs.certificate import Certificate
from sparsest.results.result import Result
from sparsest.runtime.events import Status
from sparsest.selection.criteria import Criterion


class ChoiceVerdict(NamedTuple):
    """What a check of a certified choice found; true exactly when nothing is wrong."""

    valid: bool
    reasons: tuple[str, ...]
    value: float
    lower_bound: float
    not_excluded: tuple[int, ...]

    def __bool__(self) -> bool:
        """Whether all that is claimed is proved."""
        return self.valid


# How many of the numbers of features that are not excluded are named.
_SHOWN_SIZES = 8


@dataclass(frozen=True, eq=False)
class CertifiedChoice:
    """The best model by a criterion, and for every number of features what is proved of all its supports.

    Attributes
    ----------
    result : the best model, with its certificate for models of at most as many features
    criterion : the criterion, with all that it depends on
    sizes : the numbers of features that were admitted, rising
    results : for some sizes a result whose certificate bounds the objective of all supports of at most that size
    status : OPTIMAL if every other size is excluded, and the model is the best of its size within ``gap_tol``
    seconds : from the call to the choice, with the preparation of the data, without the compilation of kernels

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_diabetes_quadratic()
    >>> choice = sparsest.certified_choice(data.X[:, :10], data.y, "ebic")
    >>> choice.k, choice.result.support.tolist()
    (5, [1, 2, 3, 6, 8])
    >>> bool(choice.verify(data.X[:, :10], data.y))
    True
    """

    result: Result
    criterion: Criterion
    sizes: tuple[int, ...]
    results: Mapping[int, Result]
    status: Status
    seconds: float

    @property
    def k(self) -> int:
        """The chosen number of features."""
        return int(self.result.support.size)

    @property
    def value(self) -> float:
        """The criterion of the chosen model, from above."""
        return value_above(self.criterion, self.result.objective, self.k)

    @property
    def bounds(self) -> Array:
        """For every size a lower bound of the criterion of all its supports."""
        known = {k: result.lower_bound for k, result in self.results.items()}
        return bounds_of_sizes(self.criterion, self.sizes, known)

    @property
    def values(self) -> Array:
        """For every size the criterion of the best model that is known; NaN where none is."""
        found = dict.fromkeys(self.sizes, np.nan)
        for result in [*self.results.values(), self.result]:
            size = result.support.size
            if size in found:
                found[size] = float(np.fmin(found[size], value_above(self.criterion, result.objective, size)))
        return np.array(list(found.values()))

    @property
    def lower_bound(self) -> float:
        """A lower bound of the criterion of all admitted supports."""
        return float(min(self.bounds.min(), self.value))

    @property
    def not_excluded(self) -> tuple[int, ...]:
        """The sizes, beside the chosen one, of which a support might be better."""
        return open_sizes(self.sizes, self.bounds, self.value, self.k)

    def verify(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        exposure: Any = None,
        exact: bool = False,
    ) -> ChoiceVerdict:
        """Check all certificates again from the data, and from them alone which sizes are excluded.

        Parameters
        ----------
        X, y, sample_weight, offset, exposure : the data of the fit
        exact : check in rational arithmetic (needs python-flint)
        """
        reasons = list(_complaints(self, sample_weight))
        proved: dict[int, float] = {}
        about = self.result.statement
        common = {name: getattr(about, name) for name in _COMMON}
        rows = {"sample_weight": sample_weight, "offset": offset, "exposure": exposure}
        for k, result in self.results.items():
            verdict = _certificate(result).verify(X, y, **rows, exact=exact, **common, k=k)
            reasons += [f"k = {k}: {reason}" for reason in verdict.reasons]
            proved[k] = verdict.lower_bound
        verdict = _certificate(self.result).verify(X, y, **rows, exact=exact)
        reasons += [f"the chosen model: {reason}" for reason in verdict.reasons]
        size = int(_certificate(self.result).support.size)
        value = value_above(self.criterion, verdict.objective, size)
        bounds = bounds_of_sizes(self.criterion, self.sizes, proved)
        left = open_sizes(self.sizes, bounds, value, size)
        lower = float(min(bounds.min(), value))
        if size != self.k or not set(left) <= set(self.not_excluded):
            reasons.append(f"the certificates leave {list(left)} beside {size}, not {list(self.not_excluded)}")
        if not lower >= self.lower_bound:
            reasons.append(f"the bound claimed is {self.lower_bound!r}, the certificates give {lower!r}")
        return ChoiceVerdict(not reasons, tuple(reasons), value, lower, left)

    def to_frame(self) -> Any:
        """A pandas data frame: for each size bound and value of the criterion, and whether it is excluded."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("a data frame needs pandas: pip install pandas") from error
        left = {*self.not_excluded, self.k}
        columns = {
            "lower_bound": self.bounds,
            "value": self.values,
            "excluded": [size not in left for size in self.sizes],
        }
        return pd.DataFrame(columns, index=pd.Index(self.sizes, name="k"))

    def __repr__(self) -> str:
        """The choice, and what is not excluded, at a glance."""
        left = list(self.not_excluded)
        shown = f"{left}" if len(left) <= _SHOWN_SIZES else f"{len(left)} of {len(self.sizes)} sizes"
        return (
            f"CertifiedChoice({self.status.name}, k={self.k}, {self.criterion.name}={self.value:.6g}, "
            f"lower_bound={self.lower_bound:.6g}, not_excluded={shown}, seconds={self.seconds:.3g})"
        )


# What all certificates of a choice must have in common; a price of features would make their bounds others.
_COMMON = (
    "n",
    "p",
    "loss",
    "parameters",
    "gamma",
    "max_coef",
    "lower",
    "upper",
    "include",
    "exclude",
    "fit_intercept",
    "standardize",
    "fingerprint",
)


def _certificate(result: Result) -> Certificate:
    assert result.certificate is not None
    return result.certificate


def _complaints(choice: CertifiedChoice, sample_weight: Any) -> Iterable[str]:
    """What is wrong with a choice before any proof is looked at."""
    about, criterion = choice.result.statement, choice.criterion
    total = float(about.n) if sample_weight is None else float(np.sum(np.asarray(sample_weight, dtype=np.float64)))
    if not np.isclose(total, criterion.n, rtol=1e-12, atol=0.0):
        yield f"the criterion is for weights that sum to {criterion.n!r}, not to {total!r}"
    if (criterion.loss, criterion.fit_intercept) != (about.loss, about.fit_intercept):
        yield "the criterion is for another loss, or for another intercept, than the certificates"
    if criterion.p < about.p - len(about.exclude):
        yield f"the criterion counts {criterion.p} candidates, there are {about.p - len(about.exclude)}"
    if choice.k not in choice.sizes:
        yield f"the chosen size {choice.k} is not among those admitted"
    if any(result.statement.l0_penalty for result in [*choice.results.values(), choice.result]):
        yield "features have a price beside the criterion"


def about_other_sizes(left: Sequence[int]) -> str:
    """What is proved of the numbers of features that were not chosen, in words; those ``left`` are not excluded."""
    if not left:
        return "every other number of features is excluded by a proof"
    shown = ", ".join(str(k) for k in left[:_SHOWN_SIZES])
    if len(left) > _SHOWN_SIZES:
        shown = f"{shown}, … ({len(left)} numbers in all)"
    return f"a model of {shown} feature{'' if tuple(left) == (1,) else 's'} may be better"


def value_above(criterion: Criterion, objective: float, size: int) -> float:
    """An upper bound, against rounding, of the criterion of a model with ``size`` features."""
    return criterion.value(objective, size) + criterion.rounding(objective, size)


def bounds_of_sizes(criterion: Criterion, sizes: Sequence[int], known: Mapping[int, float]) -> Array:
    """The theorem, with an allowance for rounding: ``known`` has bounds for models of at most k features, by k."""
    order = sorted(known)
    best = np.maximum.accumulate([known[k] for k in reversed(order)])[::-1] if order else np.empty(0)
    found = np.full(len(sizes), -inf)
    for i, size in enumerate(sizes):
        at = int(np.searchsorted(order, size))
        objective = max(float(best[at]), 0.0) if at < len(order) else 0.0
        found[i] = criterion.value(objective, size) - criterion.rounding(objective, size)
    return found


def open_sizes(sizes: Sequence[int], bounds: Array, value: float, chosen: int) -> tuple[int, ...]:
    """The sizes beside the chosen one whose bounds do not exceed a value."""
    return tuple(k for k, bound in zip(sizes, bounds, strict=True) if k != chosen and not bound > value)
