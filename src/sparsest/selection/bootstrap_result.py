"""What :func:`sparsest.bootstrap` returns: frequencies of features, pairs and models, and the effects of selection."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sparsest.core.arrays import Array, Indices
from sparsest.results.plain_tables import Summarised, data_frame, feature_name, text_table, wrapped

_SHOWN, _SHOWN_MODELS, _SHOWN_PAIRS = 15, 5, 5
_WORTH_TELLING = 0.01
_REFERENCES = {
    "all": "the model of all features without a ridge",
    "chosen": "the refit of the chosen features without a ridge (there is none of all features)",
    None: "nothing: neither the model of all features nor the refit of the chosen ones exists",
}


class ModelFrequency(NamedTuple):
    """A set of features, and the share of resamples that chose exactly this set."""

    support: tuple[int, ...]
    frequency: float


class PairFrequency(NamedTuple):
    """Two features: the share of resamples that chose both, and what it would be if they were independent."""

    first: int
    second: int
    together: float
    expected: float


@dataclass(frozen=True, eq=False)
class BootstrapResult(Summarised):
    """How stable a selection is; see :mod:`sparsest.selection.bootstrap` for the definitions.

    Attributes
    ----------
    n_features : number of candidates p
    feature_names : their names, or None
    support, coef : the choice on all rows; ``coef`` has p entries
    chosen : B × p sparse matrix, True where a resample chose a feature
    coefs : B × p sparse matrix of the estimator's coefficients (with its shrinkage), for the data as given; None
        for estimators without coefficients
    reference, reference_error : p coefficients and standard errors of a model without selection; NaN where unknown
    reference_kind : "all" features, the "chosen" ones, or None
    n_requested : number of resamples that were requested
    n_unproved : number of resamples whose search ended without the requested proof

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_toeplitz(n=200, p=50, k=3, snr=5.0, rng=0)
    >>> model = sparsest.BestSubsetRegressor(k=3, method="relaxation")
    >>> repeated = sparsest.bootstrap(model, data.X, data.y, n_resamples=20, random_state=0)
    >>> repeated.model_frequency, repeated.n_resamples
    (1.0, 20)
    """

    n_features: int
    feature_names: tuple[str, ...] | None
    support: Indices
    coef: Array | None
    chosen: sp.csr_array
    coefs: sp.csr_array | None
    reference: Array
    reference_error: Array
    reference_kind: str | None
    n_requested: int
    n_unproved: int

    @property
    def n_resamples(self) -> int:
        """Number of resamples that were done."""
        return int(self.chosen.shape[0])

    @cached_property
    def inclusion(self) -> Array:
        """The inclusion frequency of every feature."""
        return np.asarray(self.chosen.sum(axis=0), dtype=float).ravel() / self.n_resamples

    @cached_property
    def used(self) -> Indices:
        """The features chosen in at least one resample or on all rows; the most frequent first."""
        ever = np.union1d(np.flatnonzero(self.inclusion), self.support)
        return ever[np.argsort(-self.inclusion[ever], kind="stable")].astype(np.intp)

    @cached_property
    def pairwise_inclusion(self) -> Array:
        """Shares of resamples that chose two features, in the order of ``used``; inclusion is on the diagonal."""
        block = self.chosen[:, self.used].astype(float)
        return np.asarray((block.T @ block).todense()) / self.n_resamples

    @cached_property
    def pairs(self) -> list[PairFrequency]:
        """All pairs of used features, sorted by how much their frequency differs from that under independence."""
        share = self.inclusion[self.used]
        rows, columns = np.triu_indices(self.used.size, 1)
        together, expected = self.pairwise_inclusion[rows, columns], share[rows] * share[columns]
        order = np.argsort(-np.abs(together - expected), kind="stable")
        first, second = self.used[rows], self.used[columns]
        return [
            PairFrequency(int(first[i]), int(second[i]), float(together[i]), float(expected[i])) for i in order.tolist()
        ]

    @cached_property
    def models(self) -> list[ModelFrequency]:
        """All models that were chosen, the most frequent first."""
        parts = np.split(self.chosen.indices, self.chosen.indptr[1:-1])
        found = Counter(tuple(sorted(part.tolist())) for part in parts)
        return [ModelFrequency(one, times / self.n_resamples) for one, times in found.most_common()]

    @property
    def model_frequency(self) -> float:
        """The share of resamples with the same choice as on all rows."""
        own = tuple(self.support.tolist())
        return next((one.frequency for one in self.models if one.support == own), 0.0)

    @cached_property
    def relative_conditional_bias(self) -> Array:
        """Mean coefficient over the resamples with a feature, divided by the reference, minus 1; NaN where unknown."""
        if self.coefs is None:
            return np.full(self.n_features, np.nan)
        total, times = (np.asarray(part.sum(axis=0), dtype=float).ravel() for part in (self.coefs, self.chosen))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(times > 0, total / times / self.reference - 1.0, np.nan)

    @cached_property
    def rmsd_ratio(self) -> Array:
        """Root mean squared difference from the reference coefficient, over its standard error; NaN where unknown."""
        if self.coefs is None:
            return np.full(self.n_features, np.nan)
        differences = np.abs(self.reference)
        block = self.coefs[:, self.used].toarray() - self.reference[self.used]
        differences[self.used] = np.sqrt(np.mean(block**2, axis=0))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(differences / self.reference_error)

    def percentiles(self, shares: Any = (0.025, 0.5, 0.975)) -> Array:
        """Percentiles of the coefficients over all resamples, zeros included: a row for each share, p columns."""
        found = np.zeros((len(shares), self.n_features))
        if self.coefs is None:
            return np.full(found.shape, np.nan)
        found[:, self.used] = np.quantile(self.coefs[:, self.used].toarray(), shares, axis=0)
        return found

    def name(self, feature: int) -> str:
        """The name of a feature; its index if there are no names."""
        return feature_name(self.feature_names, feature)

    def to_frame(self) -> Any:
        """A pandas data frame with a row for each feature that was ever chosen, the most frequent first."""
        used = self.used
        low, median, high = self.percentiles()
        columns = {
            "column": used,
            "in_model": np.isin(used, self.support),
            "inclusion": self.inclusion[used],
            "coefficient": np.full(used.size, np.nan) if self.coef is None else self.coef[used],
            "reference": self.reference[used],
            "reference_error": self.reference_error[used],
            "rmsd_ratio": self.rmsd_ratio[used],
            "relative_conditional_bias": self.relative_conditional_bias[used],
            "median": median[used],
            "lower": low[used],
            "upper": high[used],
        }
        return data_frame(columns, [self.name(j) for j in used], "feature")

    def summary(self, width: int = 80) -> str:
        """Tables as text: features, the most frequent models, and pairs that go together or replace each other.

        Parameters
        ----------
        width : the largest number of characters of a line
        """
        done = f"{self.n_resamples} resamples"
        if self.n_resamples < self.n_requested:
            done += f" of {self.n_requested} requested"
        lines = wrapped([f"{done}; the chosen model (*) is chosen again in {self.model_frequency:.1%} of them"], width)
        lines += text_table(
            ["feature", "chosen", "coef", "median", "2.5 %", "97.5 %", "RMSD", "bias"], self._feature_rows(), width
        )
        left = self.used.size - _SHOWN
        lines += [f"  {left} more were chosen less often"] * (left > 0)
        compared = f"RMSD ratio and conditional bias are relative to {_REFERENCES[self.reference_kind]}"
        lines += wrapped([f"{compared}; they include the shrinkage by a ridge."], width)
        lines += ["", f"{len(self.models)} different models, the most frequent of them"]
        lines += text_table(["features", "share"], self._model_rows(), width)
        pairs = self._pair_rows()
        if pairs:
            lines += ["", "Pairs that are chosen together more or less often than independent ones would be"]
            lines += text_table(["pair", "together", "independent"], pairs, width)
        return "\n".join(lines)

    def _feature_rows(self) -> list[list[str]]:
        low, median, high = self.percentiles()
        rows = []
        for j in self.used[:_SHOWN].tolist():
            mark = "*" if j in self.support else ""
            numbers = [np.nan if self.coef is None else self.coef[j], median[j], low[j], high[j]]
            compared = [_text(self.rmsd_ratio[j], ".2f"), _text(self.relative_conditional_bias[j], "+.0%")]
            first = [f"{self.name(j)}{mark}", f"{self.inclusion[j]:.0%}"]
            rows.append([*first, *(_text(x, ".3g") for x in numbers), *compared])
        return rows

    def _model_rows(self) -> list[list[str]]:
        own, rows = tuple(self.support.tolist()), []
        for one in self.models[:_SHOWN_MODELS]:
            names = ", ".join(self.name(j) for j in one.support) or "(none)"
            rows.append([names + "*" * (one.support == own), f"{one.frequency:.1%}"])
        return rows

    def _pair_rows(self) -> list[list[str]]:
        return [
            [f"{self.name(pair.first)} + {self.name(pair.second)}", f"{pair.together:.0%}", f"{pair.expected:.0%}"]
            for pair in self.pairs[:_SHOWN_PAIRS]
            if abs(pair.together - pair.expected) >= _WORTH_TELLING
        ]


def _text(value: float, form: str) -> str:
    return "" if np.isnan(value) else f"{value:{form}}"
