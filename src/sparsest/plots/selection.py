"""How often features are chosen, alone and in pairs, and how many of the chosen features are true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Array
from sparsest.metrics import false_features, true_features
from sparsest.paths.path_result import PathResult
from sparsest.plots.style import BLACK, BLUE, PALE, axes, finish, line_styles
from sparsest.results.result import Result
from sparsest.selection.bootstrap_result import BootstrapResult

# Shares above this have a dark square, so their digits are light.
_DARK = 0.6
_MARKERS, _MOST_MARKERS = "osD^vP*", 12


@dataclass
class FrequenciesDisplay:
    """How often features were chosen, the most frequent first; those above the threshold are filled.

    Parameters
    ----------
    frequencies : p shares between 0 and 1
    threshold : smallest share of a feature that is kept
    names : p names of features
    n_shown : number of features to show
    kept : p flags of the features to fill, instead of those above the threshold
    of : what the frequencies are shares of

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_toeplitz(n=200, p=50, k=3, snr=5.0, rng=0)
    >>> stable = sparsest.StabilitySelection(n_pairs=5, random_state=0).fit(data.X, data.y)
    >>> display = sparsest.plots.FrequenciesDisplay.from_estimator(stable)
    >>> display.ax_.get_xlabel()
    'feature, most frequent first'
    """

    frequencies: Array
    threshold: float | None = None
    names: Sequence[str] | None = None
    n_shown: int = 50
    kept: NDArray[np.bool_] | None = None
    of: str = "halves"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **settings: Any) -> FrequenciesDisplay:
        """Draw the frequencies of a fitted :class:`sparsest.StabilitySelection`."""
        names = getattr(estimator, "feature_names_in_", None)
        return cls(estimator.frequencies_, estimator.threshold_, **{"names": names, **settings}).plot(ax)

    @classmethod
    def from_bootstrap(cls, result: BootstrapResult, **settings: Any) -> FrequenciesDisplay:
        """Make the display of a result of :func:`sparsest.bootstrap`; features of the model of all rows are filled.

        Only features that were ever chosen are shown, and at most ``n_shown`` of them.
        """
        used = result.used
        own = {"names": [result.name(j) for j in used], "kept": np.isin(used, result.support), "of": "resamples"}
        return cls(result.inclusion[used], **{**own, **settings})

    def plot(self, ax: Any = None) -> FrequenciesDisplay:
        """Draw a bar for each feature."""
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        order = np.argsort(-self.frequencies, kind="stable")[: self.n_shown]
        shares, places = self.frequencies[order], np.arange(order.size)
        # A rounding error must not put a frequency below an equal threshold.
        kept = np.ones(order.size, dtype=bool) if self.threshold is None else shares >= self.threshold - 1e-12
        label, other = f"kept: {kept.sum()}", "not kept"
        if self.kept is not None:
            kept = self.kept[order]
            label, other = f"in the model: {int(self.kept.sum())}", "not in the model"
        ax.bar(places[kept], shares[kept], color=BLUE, edgecolor=BLACK, linewidth=0.5, label=label)
        if not kept.all():
            ax.bar(places[~kept], shares[~kept], color="white", edgecolor=PALE, hatch="///", label=other)
        if self.threshold is not None:
            ax.axhline(
                self.threshold, color=BLACK, linestyle="--", linewidth=1, label=f"threshold {self.threshold:.2f}"
            )
        labels = [str(j) if self.names is None else str(self.names[j]) for j in order]
        ax.set_xticks(places, labels, rotation=90, fontsize=8 if order.size <= 30 else 6)
        ax.set_ylim(0.0, 1.05)
        ax.set_xlim(-0.8, order.size - 0.2)
        left = self.frequencies.size - order.size
        x = "feature, most frequent first" + (f" ({left} more not shown)" if left else "")
        finish(ax, x, f"share of {self.of} in which it was chosen")
        ax.legend(frameon=False)
        return self


@dataclass
class PairwiseInclusionDisplay:
    """How often two features were chosen together; single inclusion frequencies are on the diagonal.

    Two features that substitute for each other are both frequent, but rarely chosen together: their square is pale.

    Parameters
    ----------
    frequencies : m × m shares
    names : m names of features

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_toeplitz(n=200, p=50, k=3, snr=5.0, rng=0)
    >>> model = sparsest.BestSubsetRegressor(k=3, method="relaxation")
    >>> repeated = sparsest.bootstrap(model, data.X, data.y, n_resamples=10, random_state=0)
    >>> display = sparsest.plots.PairwiseInclusionDisplay.from_bootstrap(repeated).plot()
    >>> display.ax_.get_xlabel()
    'feature, most frequent first'
    """

    frequencies: Array
    names: Sequence[str]

    @classmethod
    def from_bootstrap(cls, result: BootstrapResult, n_shown: int = 15) -> PairwiseInclusionDisplay:
        """Make the display of a result of :func:`sparsest.bootstrap`, for the ``n_shown`` most frequent features."""
        names = [result.name(j) for j in result.used[:n_shown]]
        return cls(result.pairwise_inclusion[:n_shown, :n_shown], names)

    def plot(self, ax: Any = None) -> PairwiseInclusionDisplay:
        """Draw a square for each pair, with its share in per cent."""
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        m = len(self.names)
        image = ax.imshow(self.frequencies, cmap="Blues", vmin=0.0, vmax=1.0)
        for i in range(m):
            for j in range(m):
                share = self.frequencies[i, j]
                colour = "white" if share > _DARK else BLACK
                ax.text(j, i, f"{100 * share:.0f}", ha="center", va="center", color=colour, fontsize=7)
        ax.set_xticks(range(m), self.names, rotation=90, fontsize=8)
        ax.set_yticks(range(m), self.names, fontsize=8)
        finish(ax, "feature, most frequent first", "chosen together with")
        ax.figure.colorbar(image, ax=ax, label="share of resamples that chose both")
        return self


@dataclass
class TrueFalseDisplay:
    """Numbers of true and false features along paths, if the truth is known; perfect paths rise at the left edge.

    Parameters
    ----------
    curves : for each name the numbers of false and of true features along its path
    n_true : number of true features

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_toeplitz(n=200, p=50, k=3, snr=5.0, rng=0)
    >>> paths = {name: sparsest.penalty_path(data.X, data.y, name) for name in ("l1", "mcp")}
    >>> display = sparsest.plots.TrueFalseDisplay.from_results(paths, data.support).plot()
    >>> display.ax_.get_xlabel()
    'false features (number chosen)'
    """

    curves: dict[str, tuple[Array, Array]]
    n_true: int

    @classmethod
    def from_results(cls, results: dict[str, PathResult | Sequence[Result]], true_support: Any) -> TrueFalseDisplay:
        """Make the display of paths by name: penalty paths, or lists of results as ``best_subset_path`` returns."""
        curves = {}
        for name, path in results.items():
            supports = _supports(path)
            false = np.array([false_features(s, true_support) for s in supports], dtype=np.float64)
            true = np.array([true_features(s, true_support) for s in supports], dtype=np.float64)
            curves[name] = (false, true)
        return cls(
            curves, int(np.size(np.flatnonzero(true_support)) if _is_mask(true_support) else np.size(true_support))
        )

    def plot(self, ax: Any = None) -> TrueFalseDisplay:
        """Draw a line for each path."""
        self.ax_ = ax = axes(ax)
        self.figure_ = ax.figure
        looks = line_styles(len(self.curves))
        for i, ((name, (false, true)), look) in enumerate(zip(self.curves.items(), looks, strict=True)):
            # Later curves are narrower, so that curves below them stay visible; long curves have fewer markers.
            ax.plot(
                false, true, **look._asdict(), linewidth=max(4.0 - 1.2 * i, 1.2), label=name,
                marker=_MARKERS[i % len(_MARKERS)], markersize=max(8 - i, 5), markerfacecolor="white",
                markevery=max(1, false.size // _MOST_MARKERS),
            )  # fmt: skip
        ax.axhline(self.n_true, color=BLACK, linewidth=0.8, linestyle=":", label=f"all {self.n_true} true features")
        for axis in (ax.xaxis, ax.yaxis):
            axis.get_major_locator().set_params(integer=True)
        finish(ax, "false features (number chosen)", "true features (number chosen)")
        ax.legend(frameon=False, loc="lower right")
        return self


def _is_mask(support: Any) -> bool:
    return np.asarray(support).dtype == bool


def _supports(path: PathResult | Sequence[Result]) -> list[Any]:
    if isinstance(path, PathResult):
        columns = path.coefs[:, np.flatnonzero(path.solved)]
        return [np.unique(columns.indices[columns.indptr[i] : columns.indptr[i + 1]]) for i in range(columns.shape[1])]
    return [result.support for result in sorted(path, key=lambda one: one.support.size)]
