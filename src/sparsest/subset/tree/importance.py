"""Importance of features over all models near the optimum: how many contain each, and its range of coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.results.plain_tables import Summarised, data_frame, feature_name, shortened, text_table, wrapped

# Largest numbers of features in the table of a summary, and in its list of features that all models contain.
_SHOWN, _NAMED = 20, 8


@dataclass(frozen=True, eq=False)
class Importance(Summarised):
    """The result of ``near_optimal(...).importance()``: ranges over models, the most frequent features first.

    There is an entry for each feature of any model.

    Attributes
    ----------
    features : indices of the columns
    share : the share of the models that contain each feature
    lower, upper : smallest and largest coefficient in the models that contain the feature, for the data as given
    deviations : standard deviations of the columns
    n_models : number of models
    complete : whether a proof shows that these are all models within the requested distance
    feature_names : names of all columns, or None

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_diabetes_quadratic()
    >>> result = sparsest.best_subset(data.X, data.y, k=3, feature_names=data.feature_names)
    >>> found = sparsest.near_optimal(result, data.X, data.y, within=0.02).importance()
    >>> sorted(found.names[:2]), found.share.round(2).tolist()
    (['bmi', 's5'], [1.0, 1.0, 0.33, 0.33, 0.33])
    """

    features: Indices
    share: Array
    lower: Array
    upper: Array
    deviations: Array
    n_models: int
    complete: bool
    feature_names: tuple[str, ...] | None = None

    @property
    def names(self) -> list[str]:
        """The names of the features, or the indices of their columns if there are no names."""
        return [feature_name(self.feature_names, j) for j in self.features.tolist()]

    def to_frame(self) -> Any:
        """A pandas data frame with a row for each feature."""
        columns = {
            "column": self.features,
            "share": self.share,
            "lower": self.lower,
            "upper": self.upper,
            "lower_per_deviation": self.lower * self.deviations,
            "upper_per_deviation": self.upper * self.deviations,
        }
        return data_frame(columns, self.names, "feature")

    def summary(self, width: int = 80) -> str:
        """A table as text.

        Parameters
        ----------
        width : the largest number of characters of a line
        """
        every = ", ".join(shortened(name, 30) for name in np.array(self.names)[self.share == 1.0][:_NAMED])
        more = ", …" * (int((self.share == 1.0).sum()) > _NAMED)
        these = f"All {self.n_models} models" if self.complete else f"{self.n_models} models (more may exist)"
        lines = wrapped([f"{these}; in each of them: {every or 'no feature'}{more}"], width)
        rows = [
            [name, f"{share:.0%}", f"{low:.4g} … {high:.4g}", f"{low * scale:.4g} … {high * scale:.4g}"]
            for name, share, low, high, scale in zip(
                self.names[:_SHOWN], self.share, self.lower, self.upper, self.deviations, strict=False
            )
        ]
        left = self.features.size - _SHOWN
        table = text_table(["feature", "in", "coefficient", "per SD"], rows, width)
        return "\n".join([*lines, *table, *[f"  {left} more are in fewer models"] * (left > 0)])


def importance_of(
    supports: list[Indices],
    coefs: list[Array],
    deviations: dict[int, float],
    complete: bool,
    feature_names: tuple[str, ...] | None = None,
) -> Importance:
    """Ranges over models with these supports and coefficients.

    Parameters
    ----------
    deviations : standard deviation of each column that occurs
    complete : whether these are all models within the requested distance
    """
    columns = np.concatenate([np.empty(0, dtype=np.intp), *supports])
    values = np.concatenate([np.empty(0), *coefs])
    features, place, times = np.unique(columns, return_inverse=True, return_counts=True)
    lower, upper = np.full(features.size, np.inf), np.full(features.size, -np.inf)
    np.minimum.at(lower, place, values)
    np.maximum.at(upper, place, values)
    scale = np.array([deviations[j] for j in features.tolist()])
    size = np.maximum(np.abs(lower), np.abs(upper)) * scale
    order = np.lexsort((-size, -times))
    share = times / max(len(supports), 1)
    return Importance(
        features[order].astype(np.intp), share[order], lower[order], upper[order], scale[order],
        n_models=len(supports), complete=complete, feature_names=feature_names,
    )  # fmt: skip
