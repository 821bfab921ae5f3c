"""Scores of cross-validation: a curve over k or alpha, and a map over k and gamma."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsest.core.arrays import Array
from sparsest.plots.style import BLACK, BLUE, ORANGE, VERMILION, axes, finish


def _table(estimator: Any, *needed: str) -> dict[str, Array]:
    """The columns of ``cv_results_``; a ValueError if some are missing."""
    results = getattr(estimator, "cv_results_", {})
    if not {"mean_test_score", "se_test_score", *needed} <= set(results):
        columns = ", ".join((*needed, "mean_test_score", "se_test_score"))
        raise ValueError(f"this plot needs a fitted estimator whose cv_results_ has {columns}")
    return results


@dataclass
class ValidationCurveDisplay:
    """Mean scores with bars of one standard error; the chosen model and the one-standard-error choice are marked.

    Parameters
    ----------
    positions : m values of k or alpha, each once
    mean, standard_error : mean and standard error of the scores at each position; larger scores are better
    over : "k" or "alpha"
    chosen : the position that was chosen
    score_name : what the scores are, for the label

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_toeplitz(n=200, p=50, k=3, snr=5.0, rng=0)
    >>> model = sparsest.BestSubsetRegressorCV(ks=range(6)).fit(data.X, data.y)
    >>> display = sparsest.plots.ValidationCurveDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel()
    'k (number of features)'
    """

    positions: Array
    mean: Array
    standard_error: Array
    over: str = "k"
    chosen: float | None = None
    score_name: str = "mean score (larger is better)"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **settings: Any) -> ValidationCurveDisplay:
        """Draw the curve of a fitted estimator with cross-validation.

        A curve over k has the best gamma at each k; a curve over alpha has the chosen values of the other parameters.
        """
        over = "k" if "param_k" in getattr(estimator, "cv_results_", {}) else "alpha"
        results = _table(estimator, f"param_{over}")
        positions, mean, error = (results[name] for name in (f"param_{over}", "mean_test_score", "se_test_score"))
        rows = np.arange(mean.size)
        if over == "alpha":
            others = [results[name] for name in results if name.startswith("param_") and name != "param_alpha"]
            rows = rows[np.all([values == values[estimator.best_index_] for values in others], axis=0)]
        order = rows[np.argsort(-mean[rows], kind="stable")]
        _, first = np.unique(positions[order], return_index=True)
        best = order[first]
        chosen = getattr(estimator, f"{over}_")
        settings = {"chosen": chosen, **settings}
        return cls(positions[best].astype(np.float64), mean[best], error[best], over, **settings).plot(ax)

    @property
    def one_se(self) -> float | None:
        """The simplest position whose mean is within one standard error of the best; None if errors are unknown."""
        best = int(np.nanargmax(self.mean))
        if np.isnan(self.standard_error[best]):
            return None
        within = self.positions[self.mean >= self.mean[best] - self.standard_error[best]]
        return float(within.min() if self.over == "k" else within.max())

    def plot(self, ax: Any = None) -> ValidationCurveDisplay:
        """Draw the curve."""
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        order = np.argsort(self.positions)
        x, y, e = self.positions[order], self.mean[order], self.standard_error[order]
        ax.errorbar(
            x, y, e, color=BLUE, ecolor="#7FB2D5", marker="o", markersize=3.5, linewidth=1.4, elinewidth=1.0, capsize=2,
            label="mean ± one standard error",
        )  # fmt: skip
        if (simplest := self.one_se) is not None:
            best, at = int(np.nanargmax(y)), int(np.flatnonzero(x == simplest)[0])
            ax.axhline(y[best] - e[best], color=BLACK, linewidth=0.8, linestyle=":", label="one error below the best")
            ax.plot(
                x[at], y[at], "s", markersize=10, markerfacecolor="none", markeredgecolor=VERMILION, markeredgewidth=2,
                label=f"one standard error: {self.over} = {x[at]:.4g}",
            )  # fmt: skip
        if self.chosen is not None:
            at = int(np.argmin(np.abs(x - self.chosen)))
            ax.plot(
                x[at], y[at], "D", markersize=7, color=ORANGE, markeredgecolor=BLACK, zorder=5,
                label=f"chosen: {self.over} = {x[at]:.4g}",
            )  # fmt: skip
        if self.over == "alpha":
            ax.set_xscale("log")
            ax.invert_xaxis()
        else:
            ax.xaxis.get_major_locator().set_params(integer=True)
        finish(ax, "k (number of features)" if self.over == "k" else "alpha (strength of the penalty)", self.score_name)
        ax.legend(frameon=False)
        return self


@dataclass
class ValidationMapDisplay:
    """Mean scores as a map over numbers of features and ridges; the chosen cell is framed.

    Parameters
    ----------
    ks, gammas : the values in increasing order
    mean : a row for each gamma, a column for each k; NaN where there is no model
    chosen : the k and the gamma that were chosen
    score_name : what the scores are, for the label

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_toeplitz(n=200, p=50, k=3, snr=5.0, rng=0)
    >>> model = sparsest.BestSubsetRegressorCV(ks=range(6)).fit(data.X, data.y)
    >>> display = sparsest.plots.ValidationMapDisplay.from_estimator(model)
    >>> display.ax_.get_xlabel()
    'k (number of features)'
    """

    ks: Array
    gammas: Array
    mean: Array
    chosen: tuple[float, float] | None = None
    score_name: str = "mean score (larger is better)"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **settings: Any) -> ValidationMapDisplay:
        """Draw the map of a fitted ``BestSubsetRegressorCV`` or ``BestSubsetClassifierCV``."""
        results = _table(estimator, "param_k", "param_gamma")
        ks, column = np.unique(results["param_k"], return_inverse=True)
        gammas, row = np.unique(results["param_gamma"], return_inverse=True)
        table = np.full((gammas.size, ks.size), np.nan)
        table[row, column] = results["mean_test_score"]
        chosen = (float(estimator.k_), float(estimator.gamma_))
        return cls(ks, gammas, table, **{"chosen": chosen, **settings}).plot(ax)

    def plot(self, ax: Any = None) -> ValidationMapDisplay:
        """Draw the map."""
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        # cividis increases in lightness, so it is readable for colour-blind readers and in greyscale.
        image = ax.imshow(self.mean, cmap="cividis", aspect="auto", origin="lower", interpolation="nearest")
        ax.figure.colorbar(image, ax=ax, label=self.score_name)
        for axis, values in ((ax.xaxis, self.ks), (ax.yaxis, self.gammas)):
            at = np.unique(np.linspace(0, values.size - 1, min(values.size, 10)).round().astype(int))
            axis.set_ticks(at, [f"{values[i]:.3g}" for i in at])
        if self.chosen is not None:
            x = int(np.argmin(np.abs(self.ks - self.chosen[0])))
            y = int(np.argmin(np.abs(self.gammas - self.chosen[1])))
            for color, width in ((BLACK, 3.5), ("white", 1.5)):
                ax.plot(
                    np.array([-0.5, 0.5, 0.5, -0.5, -0.5]) + x, np.array([-0.5, -0.5, 0.5, 0.5, -0.5]) + y,
                    color=color, linewidth=width, clip_on=False,
                )  # fmt: skip
            ax.set_title(f"chosen: k = {self.ks[x]:g}, gamma = {self.gammas[y]:.3g}", loc="left")
        ax.set(xlabel="k (number of features)", ylabel="gamma (the ridge is 1/gamma)")
        return self
