"""Coefficients along a path: over the penalty strength, or over the number of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsest.core.arrays import Array
from sparsest.paths.path_result import PathResult
from sparsest.plots.style import PALE, axes, finish, line_styles, spread
from sparsest.results.result import Result


@dataclass
class CoefficientPathDisplay:
    """A line for each feature's coefficient; the largest are labelled, the others are pale.

    Parameters
    ----------
    positions : m strengths of the penalty, or numbers of features
    coefs : p × m coefficients
    over : "alpha" or "k"
    names : p names of features
    n_named : number of features to label
    chosen : the position that was chosen, if any

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_toeplitz(n=200, p=50, k=3, snr=5.0, rng=0)
    >>> path = sparsest.penalty_path(data.X, data.y)
    >>> display = sparsest.plots.CoefficientPathDisplay.from_result(path).plot()
    >>> display.ax_.get_xscale()
    'log'
    """

    positions: Array
    coefs: Array
    over: str = "alpha"
    names: Sequence[str] | None = None
    n_named: int = 8
    chosen: float | None = None

    @classmethod
    def from_result(cls, result: PathResult | Sequence[Result], **settings: Any) -> CoefficientPathDisplay:
        """Make the display of a penalty path, or of the results of :func:`sparsest.best_subset_path`."""
        if isinstance(result, PathResult):
            known, names = result.solved, result.feature_names
            return cls(result.alphas[known], result.coefs.toarray()[:, known], names=names, **settings)
        results = sorted(result, key=lambda one: one.support.size)
        sizes = np.array([one.support.size for one in results], dtype=np.float64)
        coefs = np.column_stack([one.coef for one in results])
        return cls(sizes, coefs, "k", names=results[0].feature_names, **settings)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **settings: Any) -> CoefficientPathDisplay:
        """Draw the path of a fitted ``PenalizedRegressorCV`` or ``PenalizedClassifierCV``; its alpha is marked."""
        return cls.from_result(estimator.result_, **{"chosen": estimator.alpha_, **settings}).plot(ax)

    def plot(self, ax: Any = None) -> CoefficientPathDisplay:
        """Draw the path."""
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        over_alpha = self.over == "alpha"
        size = np.abs(self.coefs).max(axis=1)
        used = np.flatnonzero(size)
        named = used[np.argsort(-size[used], kind="stable")[: self.n_named]]
        for j in np.setdiff1d(used, named):
            ax.plot(self.positions, self.coefs[j], color=PALE, linewidth=0.8, zorder=1)
        for j, look in zip(named, line_styles(named.size), strict=True):
            ax.plot(self.positions, self.coefs[j], **look._asdict(), linewidth=1.6, zorder=2, label=self._name(j))
        ax.axhline(0.0, color="black", linewidth=0.6, zorder=0)
        if over_alpha:
            ax.set_xscale("log")
            ax.invert_xaxis()
        if self.chosen is not None:
            ax.axvline(self.chosen, color="black", linestyle=":", linewidth=1.2)
            ax.annotate("chosen", (self.chosen, 1.0), xycoords=("data", "axes fraction"), ha="center", va="bottom")
        self._label_ends(ax, named)
        position = "alpha (strength of the penalty)" if over_alpha else "k (number of features)"
        finish(ax, position, "coefficient (for the data as given)")
        if not over_alpha:
            ax.xaxis.get_major_locator().set_params(integer=True)
        others = used.size - named.size
        if others:
            ax.plot([], [], color=PALE, linewidth=0.8, label=f"{others} other features")
            # A white background keeps the line of the choice from crossing the text.
            last = (part[-1:] for part in ax.get_legend_handles_labels())
            ax.legend(*last, facecolor="white", framealpha=0.9, edgecolor="none", loc="best")
        return self

    def _label_ends(self, ax: Any, named: Any) -> None:
        """Write names at the ends of the lines, without overlaps."""
        low, high = ax.get_ylim()
        ends = self.coefs[named, -1] if self.over == "alpha" else self.coefs[named, int(np.argmax(self.positions))]
        heights = spread(ends, 0.055 * (high - low))
        for j, height, look in zip(named, heights, line_styles(named.size), strict=True):
            ax.annotate(
                self._name(j), (1.01, height), xycoords=("axes fraction", "data"), color=look.color, va="center",
                annotation_clip=False,
            )  # fmt: skip

    def _name(self, j: int) -> str:
        return f"feature {j}" if self.names is None else str(self.names[j])
