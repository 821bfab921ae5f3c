"""The certified choice: the best number of features by an information criterion, and the proof that no other is better.

The criterion of a support S is ``C(f(S)) + penalty(|S|)``.  Here f(S), the minimum of losses plus ridge on S, replaces
the sum of losses, and every column counts as one degree of freedom, in groups too.  Without a ridge this is the
classical criterion.  With a ridge it is the criterion of the penalised likelihood, in which the ridge is a normal prior
of the coefficients.  The losses of the shrunk coefficients alone cannot be used, because there is no lower bound of
them over all supports.

**Theorem.**  Let ``L_k ≤ f(S)`` for all admissible supports of at most k columns, which is what a certificate for k
proves.  As C is increasing, ``C(max_{k' ≥ k} L_k') + penalty(k)`` is a lower bound of the criterion of every support of
k columns.  A size whose bound exceeds the value of some model is excluded: no support of that size is the best.
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
from sparsest.selection.certified_sizes import stated_of_size
from sparsest.selection.criteria import Criterion


class ChoiceVerdict(NamedTuple):
    """The outcome of a check of a certified choice; true if and only if everything claimed is proved.

    Attributes
    ----------
    valid : whether the certificates prove what the choice claims
    reasons : what is wrong with it
    value : an upper bound of the criterion of the chosen model
    lower_bound : the proved lower bound of the criterion of all admitted supports
    not_excluded : the other sizes that the certificates do not exclude

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_diabetes_quadratic()
    >>> choice = sparsest.certified_choice(data.X[:, :10], data.y, "bic")
    >>> verdict = choice.verify(data.X[:, :10], data.y)
    >>> verdict.valid, verdict.not_excluded
    (True, ())
    """

    valid: bool
    reasons: tuple[str, ...]
    value: float
    lower_bound: float
    not_excluded: tuple[int, ...]

    def __bool__(self) -> bool:
        """Whether everything claimed is proved."""
        return self.valid


# At most this many of the sizes that are not excluded are listed.
_SHOWN_SIZES = 8


@dataclass(frozen=True, eq=False)
class CertifiedChoice:
    """The best model by a criterion, and for every number of features a bound that holds for all its supports.

    Attributes
    ----------
    result : the best model; its certificate is about models with at most that number of features
    criterion : the criterion with its parameters
    sizes : the numbers of features that were considered, in increasing order; groups count by their columns
    results : for some sizes a result whose certificate bounds the objective of all supports of at most that size
    status : OPTIMAL if every other size is excluded, and the model is the best of its size within ``gap_tol``
    seconds : duration of the call, including preparation of the data and excluding compilation of kernels

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
        """The chosen number of features, where groups count by their columns."""
        return int(self.result.support.size)

    @property
    def value(self) -> float:
        """The criterion of the chosen model, rounded up."""
        return value_above(self.criterion, self.result.objective, self.k)

    @property
    def bounds(self) -> Array:
        """A lower bound of the criterion for each size."""
        known = {k: result.lower_bound for k, result in self.results.items()}
        return bounds_of_sizes(self.criterion, self.sizes, known)

    @property
    def values(self) -> Array:
        """The criterion of the best known model of each size; NaN if no model is known."""
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
        """The other sizes for which it is not proved that no support is better."""
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
        """Check all certificates against the data, and derive from them alone which sizes are excluded.

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
            verdict = _certificate(result).verify(X, y, **rows, exact=exact, **common, **stated_of_size(about, k))
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
            reasons.append(
                f"the choice claims the size {self.k} and that only {list(self.not_excluded)} are not excluded; the "
                f"model has {size} features, and the certificates do not exclude {list(left)}"
            )
        if not lower >= self.lower_bound:
            reasons.append(f"the bound claimed is {self.lower_bound!r}, the certificates give {lower!r}")
        return ChoiceVerdict(not reasons, tuple(reasons), value, lower, left)

    def to_frame(self) -> Any:
        """A pandas data frame with bound and value of the criterion for each size, and whether it is excluded."""
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
        """A one-line description."""
        left = list(self.not_excluded)
        shown = f"{left}" if len(left) <= _SHOWN_SIZES else f"{len(left)} of {len(self.sizes)} sizes"
        return (
            f"CertifiedChoice({self.status.name}, k={self.k}, {self.criterion.name}={self.value:.6g}, "
            f"lower_bound={self.lower_bound:.6g}, not_excluded={shown}, seconds={self.seconds:.3g})"
        )


# Fields that all certificates of a choice must share.  Prices of features are refused: they would change the bounds.
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
    """Contradictions between a choice and its certificates, as far as they are found without checking a proof."""
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
    if any(_has_price(result) for result in [*choice.results.values(), choice.result]):
        yield "features have a price beside the criterion"


def _has_price(result: Result) -> bool:
    rules = result.statement.structure
    return bool(result.statement.l0_penalty) or (rules is not None and rules.prices is not None)


def about_other_sizes(left: Sequence[int], word: str = "feature") -> str:
    """A sentence about the numbers of features that were not chosen; those in ``left`` are not excluded."""
    if not left:
        return f"every other number of {word}s is excluded by a proof"
    shown = ", ".join(str(k) for k in left[:_SHOWN_SIZES])
    if len(left) > _SHOWN_SIZES:
        shown = f"{shown}, … ({len(left)} numbers in all)"
    return f"a model of {shown} {word}{'' if tuple(left) == (1,) else 's'} may be better"


def value_above(criterion: Criterion, objective: float, size: int) -> float:
    """The criterion of a model with ``size`` features, plus an allowance for rounding."""
    return criterion.value(objective, size) + criterion.rounding(objective, size)


def bounds_of_sizes(criterion: Criterion, sizes: Sequence[int], known: Mapping[int, float]) -> Array:
    """The theorem, less an allowance for rounding; ``known`` maps k to the bound for at most k features."""
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
