"""P-values after selection, by repeated sample splitting (Meinshausen, Meier and Bühlmann 2009).

In each of B splits, a part of the rows selects features S and the other rows test them.  The refit of S without a ridge
on the other rows has p-values ``p_j`` that the selection does not bias.  Let ``P_j^(b)`` be ``min(|S| p_j, 1)``, or 1
for features that were not selected, and ``q_γ`` the γ-quantile over the splits.  Then

    P_j = min {1, (1 - log γ_min) inf_{γ ≥ γ_min} min {1, q_γ(P_j^(b)) / γ}}

controls the family-wise error: the probability of any ``P_j ≤ α`` among features without an effect is at most α.  The
infimum is attained where γ is a multiple of 1/B.  For the false discovery rate, the i-th smallest of all p values is
compared with ``iα / Σ_{l≤p} 1/l``, as Benjamini and Yekutieli (2001) do for dependent tests: the expected share of
selected features without an effect is at most α.  This follows from ``Σ_j Pr(P_j ≤ t) ≤ t`` over the features without
an effect, which holds for t < 1; values of 1 are never significant.

Both require valid p-values of the refits (asymptotic for losses other than the squared one), and that every selection
contains all features with an effect: if one is missed, a feature correlated with it may take over its effect.

Meinshausen, Meier and Bühlmann (2009), p-values for high-dimensional regression, JASA 104, 1671-1681.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from sparsest.core.arrays import Array, Indices
from sparsest.core.checks import flag, function, number, optional, whole_number, word
from sparsest.results.inference import COVARIANCES, infer, overdispersion_note, p_value_text
from sparsest.results.plain_tables import Summarised, data_frame, feature_name, text_table, wrapped
from sparsest.results.refits import NoRefit
from sparsest.runtime.progress import Listener
from sparsest.selection.refitting import (
    Observations,
    drawn_with_all_classes,
    fit_to,
    has_intercept,
    loss_of,
    make_observations,
    two_classes,
)
from sparsest.selection.repeating import repeat

CONTROLS = ("family_wise", "false_discovery")
_SHOWN = 15


class Split(NamedTuple):
    """The result of one split: the selected features, and their unadjusted p-values from the other rows.

    ``tested`` is False if the refit on the other rows does not exist; all p-values are then 1, which is conservative.
    ``overdispersion`` is that of the refit's :class:`sparsest.results.inference.Inference`.  ``unproved`` and
    ``at_an_end`` are those of :class:`sparsest.selection.refitting.Choice`.
    """

    support: Indices
    p_values: Array
    tested: bool
    unproved: bool
    at_an_end: str = ""
    overdispersion: float = np.nan


@dataclass(frozen=True, eq=False)
class MultiSplitResult(Summarised):
    """P-values of all features after selection; see :mod:`sparsest.selection.splitting`.

    Attributes
    ----------
    p_values : p adjusted values that control the family-wise error
    p_values_false_discovery : p adjusted values that control the false discovery rate
    frequencies : share of the splits in which each feature was chosen
    splits : the result of each split
    feature_names : names of the features, or None
    n_requested : number of splits that were requested

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_toeplitz(n=200, p=50, k=3, snr=5.0, rng=0)
    >>> model = sparsest.BestSubsetRegressor(k=5, method="relaxation")
    >>> split = sparsest.multi_split(model, data.X, data.y, n_splits=20, random_state=0)
    >>> bool((split.p_values[data.support] < 0.001).all()), split.n_splits
    (True, 20)
    """

    p_values: Array
    p_values_false_discovery: Array
    frequencies: Array
    splits: list[Split]
    feature_names: tuple[str, ...] | None
    n_requested: int

    @property
    def n_splits(self) -> int:
        """Number of finished splits."""
        return len(self.splits)

    @property
    def n_untested(self) -> int:
        """Number of splits whose refit on the other rows does not exist."""
        return sum(not split.tested for split in self.splits)

    @property
    def overdispersion(self) -> float:
        """For counts, the median over the splits of how many times as much they vary as their loss assumes."""
        ratios = np.array([split.overdispersion for split in self.splits])
        known = ratios[~np.isnan(ratios)]
        return float(np.median(known)) if known.size else np.nan

    def significant(self, alpha: float = 0.05, control: str = "family_wise") -> Indices:
        """The features whose adjusted p-value is at most ``alpha``, the smallest first.

        Parameters
        ----------
        alpha : level of the family-wise error, or of the false discovery rate
        control : "family_wise" or "false_discovery"
        """
        level = number(alpha, "alpha", above=0, below=1)
        values = self._values(control)
        order = np.argsort(values, kind="stable")
        return order[values[order] <= level]

    def name(self, feature: int) -> str:
        """The name of a feature; its index if there are no names."""
        return feature_name(self.feature_names, feature)

    def to_frame(self) -> Any:
        """A pandas data frame with a row for each feature that was ever chosen, the smallest p-values first."""
        order = self._order()
        columns = {
            "column": order,
            "p_value": self.p_values[order],
            "p_value_false_discovery": self.p_values_false_discovery[order],
            "frequency": self.frequencies[order],
        }
        return data_frame(columns, [self.name(j) for j in order], "feature")

    def summary(self, alpha: float = 0.05, width: int = 80) -> str:
        """The significant features, and a table of the smallest p-values, as text.

        Parameters
        ----------
        alpha : level of the family-wise error
        width : the largest number of characters of a line
        """
        found = self.significant(alpha)
        names = ", ".join(self.name(j) for j in found) or "none"
        size = np.mean([split.support.size for split in self.splits])
        lines = [
            f"{self.n_splits} splits, {size:.3g} features chosen on average",
            f"significant at {100 * alpha:g} % (family-wise error): {names}",
        ]
        if self.n_untested:
            lines.append(f"{self.n_untested} splits could not be tested: their p-values count as 1")
        lines += overdispersion_note(self.overdispersion)
        lines, order = wrapped(lines, width), self._order()
        rows = [
            [self.name(j), *(p_value_text(p) for p in both), f"{self.frequencies[j]:.0%}"]
            for j in order[:_SHOWN].tolist()
            for both in [(self.p_values[j], self.p_values_false_discovery[j])]
        ]
        lines += text_table(["feature", "p (family-wise)", "p (false discovery)", "chosen"], rows, width)
        left = order.size - _SHOWN
        return "\n".join([*lines, *[f"  {left} more were chosen at least once"] * (left > 0)])

    def _values(self, control: str) -> Array:
        family_wise = word(control, "control", words=CONTROLS) == "family_wise"
        return self.p_values if family_wise else self.p_values_false_discovery

    def _order(self) -> Indices:
        """Features selected at least once, by p-value and then by frequency."""
        used = np.flatnonzero(self.frequencies)
        return used[np.lexsort((-self.frequencies[used], self.p_values[used]))]


def multi_split(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
    n_splits: int = 50,
    fraction: float = 0.5,
    stratify: bool = False,
    gamma_min: float = 0.05,
    cov_type: str | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    callback: Listener | None = None,
    verbose: bool = False,
) -> MultiSplitResult:
    """Compute p-values after selection by repeated splits: one part of the rows selects, the other tests.

    Ctrl-C, or a callback that returns True, stops it; the result then uses the splits finished so far.

    Parameters
    ----------
    estimator : selects the features: any estimator of this package, or one with ``get_support`` or ``coef_``.  It
        should select too many features rather than too few, but fewer than there are test rows
    X : matrix, sparse matrix or data frame of shape (n, p)
    y : n responses or labels
    sample_weight, offset, exposure : n numbers each
    n_splits : number of splits
    fraction : share of the rows that select features
    stratify : whether both parts have the same shares of the classes; for classifiers
    gamma_min : the smallest quantile over the splits that is used.  Smaller values find features that few splits
        select; larger values lose less power, as p-values are multiplied by ``1 - log(gamma_min)``
    cov_type : the type of covariance for the tests, see :meth:`sparsest.Result.inference`
    n_jobs : splits at a time, by joblib's conventions and its backend
    random_state : seed of the splits
    callback : called with an event ``Repetition`` after every split; returning True stops it
    verbose : show how many splits are done

    Returns
    -------
    MultiSplitResult
        Adjusted p-values, ``significant(alpha)``, ``to_frame()`` and ``summary()``.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_toeplitz(n=200, p=50, k=3, snr=5.0, rng=0)
    >>> model = sparsest.BestSubsetRegressor(k=3, method="relaxation")
    >>> split = sparsest.multi_split(model, data.X, data.y, n_splits=20, random_state=0)
    >>> split.significant(0.05).tolist(), data.support.tolist()
    ([2, 15, 12], [2, 12, 15])
    """
    count = whole_number(n_splits, "n_splits", least=1)
    share, least = number(fraction, "fraction", above=0, below=1), number(gamma_min, "gamma_min", above=0, below=1)
    if cov_type is not None:
        word(cov_type, "cov_type", words=COVARIANCES)
    listener, live = optional(function)(callback, "callback"), flag(verbose, "verbose")
    data = make_observations(X, y, sample_weight=sample_weight, offset=offset, exposure=exposure)
    classes = two_classes(estimator, data.y, flag(stratify, "stratify"))
    seed = check_random_state(random_state)
    draws = [(estimator, data, *_halves(data.y, classes, share, stratify, seed), cov_type) for _ in range(count)]
    splits = repeat(_split, draws, "splits", title="splits", n_jobs=n_jobs, callback=listener, verbose=live)
    if not any(split.tested for split in splits):
        raise ValueError(
            "no split could be tested: the estimator chooses more features than the other rows can test, or features "
            "that depend on each other or separate the classes there; let it choose fewer, or give a smaller fraction"
        )
    p = data.design.shape[1]
    adjusted = aggregated(splits, p, least)
    chosen = np.concatenate([split.support for split in splits])
    frequencies = np.bincount(chosen, minlength=p) / len(splits)
    return MultiSplitResult(adjusted, false_discovery(adjusted), frequencies, splits, data.names, count)


def _halves(
    y: NDArray[Any], classes: NDArray[Any] | None, share: float, stratify: bool, seed: np.random.RandomState
) -> tuple[Indices, Indices]:
    """Draw the rows that select and the rows that test; both contain every class."""
    groups = (
        [np.flatnonzero(y == label) for label in classes] if classes is not None and stratify else [np.arange(y.size)]
    )
    sizes = [round(share * group.size) for group in groups]
    if not 0 < sum(sizes) < y.size:
        raise ValueError(f"{y.size} rows cannot be split with fraction = {share:g}: both parts need rows")

    def draw() -> tuple[Indices, Indices]:
        mixed = list(zip([seed.permutation(group) for group in groups], sizes, strict=True))
        first, second = [group[:size] for group, size in mixed], [group[size:] for group, size in mixed]
        return np.sort(np.concatenate(first)), np.sort(np.concatenate(second))

    return drawn_with_all_classes(draw, list, y, classes)


def _split(estimator: Any, data: Observations, first: Indices, second: Indices, cov_type: str | None) -> Split:
    """Select features on the first rows, test them on the second."""
    fitted, choice = fit_to(estimator, data.take(first))
    support, others = choice.support, data.take(second)
    names = [str(j) for j in support]
    settings: dict[str, Any] = {"loss": loss_of(fitted), "fit_intercept": has_intercept(fitted), **others.given}
    try:
        found = infer(others.design.columns(support), others.y, names, cov_type=cov_type, **settings)
    except NoRefit:
        # More features than test rows, or features that are dependent or separate the classes there.
        return Split(support, np.ones(support.size), False, choice.unproved, choice.at_an_end)
    p_values = found.p_value[: support.size]
    return Split(support, p_values, True, choice.unproved, choice.at_an_end, found.overdispersion)


def aggregated(splits: list[Split], p: int, gamma_min: float) -> Array:
    """Adjusted p-values of all p features over the splits, for the family-wise error."""
    count = len(splits)
    first = max(ceil(gamma_min * count - 1e-9), 1)
    used = np.unique(np.concatenate([split.support for split in splits]))
    values = np.ones((count, used.size))
    for row, split in zip(values, splits, strict=True):
        row[np.searchsorted(used, split.support)] = np.minimum(split.p_values * split.support.size, 1.0)
    # The γ-quantile is the k-th smallest value for (k-1)/B < γ ≤ k/B: the largest γ is the best of these.
    ordered = np.sort(values, axis=0)[first - 1 :]
    quotients = ordered * (count / np.arange(first, count + 1))[:, None]
    adjusted = np.ones(p)
    adjusted[used] = np.minimum((1.0 - log(gamma_min)) * np.minimum(quotients, 1.0).min(axis=0), 1.0)
    return adjusted


def false_discovery(p_values: Array) -> Array:
    """Turn p-values that control the family-wise error into ones that control the false discovery rate."""
    p = p_values.size
    order = np.argsort(p_values, kind="stable")
    ranks = np.arange(1, p + 1)
    scaled = np.where(p_values[order] < 1.0, p_values[order] * (1.0 / ranks).sum() / ranks, np.inf)
    found = np.empty(p)
    found[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return found
