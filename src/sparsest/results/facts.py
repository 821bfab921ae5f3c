"""Statistical facts that a proof does not cover: the amount of data per feature, and the error without features.

A proof says that no other choice fits these rows better.  It does not say that there are enough rows: with 7 deaths in
400 rows, the best model of 19 features can be proved as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.data import Data, make_data
from sparsest.core.designs import as_design, unstandardized
from sparsest.core.losses import mean_of
from sparsest.results.result import Result

# With fewer events per feature, coefficients are biased and too variable (Peduzzi and others 1996).  A feature that
# differs from its most frequent value in fewer than the second number of rows is reported as rare.
_EVENTS_PER_FEATURE, _RARE = 10, 5


class Rare(NamedTuple):
    """A chosen feature that has its most frequent value in all but a few rows."""

    name: str
    n_rows: int


@dataclass(frozen=True, eq=False)
class Facts:
    """The facts that :func:`facts_of` computes.

    Attributes
    ----------
    n : number of rows with a positive weight
    class_counts : rows of each label, the second one the positive class; None for a regression
    n_events : what limits the number of features: rows of the rarer class, rows above zero for losses of counts and
        amounts, or all rows
    n_features : number of chosen features
    effective_n : effective sample size ``(Σω)² / Σω²``
    rare : chosen features that differ from their most frequent value in fewer than five rows
    error, null_error : errors of the model and of the model without features on these rows: the share of wrong labels,
        or the root mean squared error
    event : what ``n_events`` counts, in words
    """

    n: int
    class_counts: dict[str, int] | None
    n_events: int
    n_features: int
    effective_n: float
    rare: tuple[Rare, ...]
    error: float
    null_error: float
    event: str

    @property
    def events_per_feature(self) -> float:
        """Events for each chosen feature; infinite without features."""
        return self.n_events / self.n_features if self.n_features else np.inf

    def sentences(self) -> list[str]:
        """One sentence for each fact, without the warnings."""
        said = []
        if self.class_counts is not None:
            said.append(f"Rows of each class: {_listed(self.class_counts)}.")
        if self.n_features:
            said.append(f"There are {self.n_events:,} {self.event}: {self.events_per_feature:.3g} for each feature.")
        if self.effective_n < 0.999 * self.n:
            said.append(
                f"The weights of the {self.n:,} rows differ: these rows have the information of about "
                f"{self.effective_n:,.0f} rows of equal weight."
            )
        return [*said, self.error_sentence()]

    def error_sentence(self) -> str:
        """The error on these rows, compared with that of the model without features."""
        if self.class_counts is None:
            return (
                f"Without features the typical error is {self.null_error:.4g}; with them it is {self.error:.4g} on the "
                "same rows, which is usually less than on new ones."
            )
        return (
            f"Without features {self.null_error:.1%} of the labels are wrong; with them {self.error:.1%} on the same "
            "rows, which is usually less than on new ones."
        )

    def warnings(self) -> list[str]:
        """Reasons to doubt the model even if it is proved."""
        said = []
        if self.events_per_feature < _EVENTS_PER_FEATURE:
            most = self.n_events // _EVENTS_PER_FEATURE
            said.append(
                f"Too few data for {self.n_features} features: {self.events_per_feature:.3g} {self.event} for each; "
                f"the usual minimum is {_EVENTS_PER_FEATURE}. Choose at most {max(most, 1)}, or do not rely on the "
                "coefficients."
            )
        if self.rare:
            which = ", ".join(f"{one.name} ({one.n_rows} row{'s' * (one.n_rows != 1)})" for one in self.rare)
            said.append(f"Features that differ from their usual value in a few rows only: {which}.")
        return said

    def short(self) -> list[str]:
        """One line of numbers, and the warnings, for a terminal."""
        counts = "" if self.class_counts is None else f" ({_listed(self.class_counts)})"
        each = f", {self.events_per_feature:.3g} {self.event} for each feature" if self.n_features else ""
        return [f"{self.n} rows{counts}{each}", *self.warnings()]


def facts_of(
    result: Result, X: Any, y: Any, *, sample_weight: Any = None, offset: Any = None, exposure: Any = None
) -> Facts:
    """Compute statistical facts about a model from its data.

    Parameters
    ----------
    result : what ``best_subset`` returned
    X, y, sample_weight, offset, exposure : the data of the result
    """
    chosen = as_design(X).columns(result.support)
    # Data have at least one column.
    block = chosen if chosen.shape[1] else np.zeros((chosen.shape[0], 1))
    data = make_data(
        block, y, loss=result.loss, fit_intercept=result.statement.fit_intercept, sample_weight=sample_weight,
        offset=offset, exposure=exposure,
    )  # fmt: skip
    return _facts(result, data, np.arange(chosen.shape[1]))


def facts_on(result: Result, data: Data) -> Facts:
    """The same for data that are already prepared."""
    return _facts(result, data, result.support)


def _facts(result: Result, data: Data, support: Indices) -> Facts:
    """Facts from data whose columns ``support`` are the chosen ones."""
    columns = unstandardized(data.design).columns(support)
    margin = columns @ result.coef[result.support] + result.intercept + data.added
    error = _errors(data)
    counts, events, event = _events(data)
    return Facts(
        n=data.n,
        class_counts=counts,
        n_events=events,
        n_features=int(result.support.size),
        effective_n=float(data.weights.sum() ** 2 / (data.weights**2).sum()),
        rare=tuple(_rare(columns, result.names)),
        error=error(margin),
        null_error=error(np.full(data.n, data.null.b + data.y_offset) + data.added),
        event=event,
    )


def _events(data: Data) -> tuple[dict[str, int] | None, int, str]:
    """Rows of each class, the number of events, and what an event is called."""
    if data.classes is not None:
        positive = data.response > 0.0
        counts = {str(label): int((positive == i).sum()) for i, label in enumerate(data.classes)}
        return counts, min(counts.values()), "rows of the rarer class"
    if data.loss.log_link:
        return None, int((data.response > 0.0).sum()), "rows with a response above zero"
    return None, data.n, "rows"


def _rare(columns: Array, names: list[str]) -> list[Rare]:
    found = []
    for column, name in zip(columns.T, names, strict=True):
        times = np.unique(column, return_counts=True)[1]
        others = int(column.size - times.max())
        if others < _RARE:
            found.append(Rare(name, others))
    return found


def _errors(data: Data) -> Callable[[Array], float]:
    """The error of predictions: wrong labels, or the root of the mean squared error."""
    weights = data.weights / data.weights.sum()
    if data.loss.classification:
        return lambda margin: float(weights @ ((margin > 0.0) != (data.response > 0.0)))
    return lambda margin: float(np.sqrt(weights @ (data.response - mean_of(data.stated_loss, margin)) ** 2))


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {label}" for label, count in counts.items())
