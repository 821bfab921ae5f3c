"""The result of :func:`sparsest.penalty_path`: one model for each penalty strength, with gaps and violations."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Mask
from sparsest.core.checks import number
from sparsest.core.data import added_to_predictions
from sparsest.core.designs import as_design, feature_names
from sparsest.core.losses import LOSSES, Loss, make_loss, mean_of, parameters_of
from sparsest.paths import path_files


class Stop(Enum):
    """Why a path ended; the value is the text for the user.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_toeplitz(n=200, p=50, k=3, snr=5.0, rng=0)
    >>> path = sparsest.penalty_path(data.X, data.y, max_features=2)
    >>> path.stopped is sparsest.Stop.MAX_FEATURES, path.stopped.value
    (True, 'ended at the largest number of features that was allowed')
    """

    COMPLETE = "solved for every alpha"
    SATURATED = "ended where the model fits perfectly: smaller alphas would only follow noise"
    MAX_FEATURES = "ended at the largest number of features that was allowed"
    N_FEATURES = "ended with the last model of the requested number of features or fewer"
    TIME_LIMIT = "stopped at the time limit"
    INTERRUPTED = "interrupted"

    def __reduce__(self) -> tuple[type, tuple[str]]:
        """Restore a member from its value; unlike pickle, skops does not support enumerations."""
        return type(self), (self.value,)


class LinearModel(NamedTuple):
    """Coefficients and intercept for the data as given."""

    coef: Array
    intercept: float


@dataclass(frozen=True, eq=False, repr=False)
class PathResult:
    """One model for each penalty strength, m of them, the strongest penalty first.

    There is a column for every alpha.  If the path ended early, ``solved`` is False for the remaining alphas, and their
    columns repeat the last solved model (the constant model if there is none), so that paths of several folds are
    aligned.

    Attributes
    ----------
    alphas : ndarray of shape (m,), decreasing.
    coefs : csc_array of shape (p, m), on the scale of the data as given.
    intercepts : ndarray of shape (m,).
    n_nonzero : ndarray of int, nonzero coefficients of each model.
    solved : ndarray of bool, whether the path reached this alpha; True up to some alpha, then False.
    converged : ndarray of bool, whether the gap (or violation) reached ``tol``; False where not solved.
    dual_gaps : relative duality gap of each model, or None for the penalties that have none (MCP, SCAD); infinite where
        not solved.  They bound the excess over the smallest objective, also with features that are not penalised; where
        no better bound is known, they are as large as the objective.
    kkt_violations : largest violation of the optimality conditions, relative to alpha times the median of the penalty
        factors that are not zero; infinite where not solved.
    locally_convex : for MCP and SCAD, whether the objective is strictly convex in the nonzero coefficients around
        the solution, on both sides of the penalty's kinks; None for the others.
    n_iter : sweeps of coordinate descent for each alpha, with those of the steps that lead to it.
    stopped : why the path ended.
    seconds : duration of the call, including preparation of the data and excluding compilation of kernels.
    loss : the loss.
    feature_names : names of the columns if X was a data frame, else None.
    classes : the two labels in sorted order for a classification loss, else None.
    fit_intercept : whether models have an intercept.
    rescaled : whether MCP or SCAD were rescaled by the curvature of the loss, see :func:`sparsest.penalty_path`: models
        then solve an estimating equation, of which ``kkt_violations`` are the violations, and ``locally_convex`` is
        about the objective in which the curvatures of the solution are kept.
    about : further information to keep in a file, in JSON's types.
    reading : for X that is read in blocks, such as from disk or on a cluster, the ``passes`` over it (a pass over some
        columns counts as their share), ``bytes``, ``seconds_reading`` and ``seconds_computing``, added up over threads;
        None for X in memory.  It is not written to files.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_toeplitz(n=200, p=50, k=3, snr=5.0, rng=0)
    >>> path = sparsest.penalty_path(data.X, data.y, alphas=5)
    >>> path.n_nonzero.tolist(), path.stopped.name
    ([0, 7, 41, 48, 49], 'COMPLETE')
    >>> path.predict(data.X[:2]).shape
    (2, 5)
    """

    alphas: Array
    coefs: Any
    intercepts: Array
    n_nonzero: NDArray[np.int_]
    solved: Mask
    converged: Mask
    dual_gaps: Array | None
    kkt_violations: Array
    locally_convex: Mask | None
    n_iter: NDArray[np.int_]
    stopped: Stop
    seconds: float
    loss: Loss = field(default_factory=lambda: make_loss("squared"))
    feature_names: list[str] | None = None
    classes: NDArray[Any] | None = None
    fit_intercept: bool = True
    rescaled: bool = False
    about: dict[str, Any] = field(default_factory=dict)
    reading: dict[str, float] | None = None

    def alpha_of(self, k: int) -> float:
        """The smallest alpha before the first model of more than k features.

        Parameters
        ----------
        k : largest number of features of the model

        Examples
        --------
        >>> import sparsest
        >>> data = sparsest.datasets.make_toeplitz(n=200, p=50, k=3, snr=5.0, rng=0)
        >>> path = sparsest.penalty_path(data.X, data.y, "mcp")
        >>> path.at(path.alpha_of(3)).coef.nonzero()[0].tolist()
        [2, 12, 15]
        """
        last = int(self.solved.sum())
        many = np.flatnonzero(self.n_nonzero[:last] > k)
        end = int(many[0]) if many.size else last
        if end == 0:
            raise ValueError(f"no model of this path has at most {k} features")
        return float(self.alphas[end - 1])

    def at(self, alpha: float) -> LinearModel:
        """The model at any alpha between the largest and the smallest that were solved.

        Between two alphas of the path, coefficients and intercept are interpolated linearly.  For the squared loss with
        the l1 penalty that is exact where both models have the same support and signs.

        Returns
        -------
        LinearModel
            ``coef`` of p entries, and ``intercept``.
        """
        known = self.alphas[self.solved]
        if known.size == 0:
            raise ValueError("no alpha of this path was solved: give larger alphas, or a larger max_features")
        strength = number(alpha, "alpha", least=float(known[-1]), most=float(known[0]))
        after = int(np.searchsorted(-known, -strength))
        before = after if known[after] == strength else after - 1
        if before == after:
            return LinearModel(self._column(after), float(self.intercepts[after]))
        share = (known[before] - strength) / (known[before] - known[after])
        coef = (1.0 - share) * self._column(before) + share * self._column(after)
        return LinearModel(coef, float((1.0 - share) * self.intercepts[before] + share * self.intercepts[after]))

    def _column(self, i: int) -> Array:
        return self.coefs[:, [i]].toarray()[:, 0]

    def decision_function(
        self, X: Any, alpha: float | None = None, *, offset: Any = None, exposure: Any = None
    ) -> Array:
        """``Xw + b`` of every row, with offset and exposure; for two classes, positive values mean the second one.

        Parameters
        ----------
        X : matrix, sparse matrix or data frame of n rows
        alpha : one penalty strength, see :meth:`at`; all of the path by default
        offset, exposure : those of the rows of X, as in the fit

        Returns
        -------
        ndarray of shape (n, m), or (n,) for one alpha
        """
        names, design = feature_names(X), as_design(X)
        p = self.coefs.shape[0]
        if design.shape[1] != p:
            raise ValueError(f"X has {design.shape[1]} columns, but the path was fitted to {p}")
        if names is not None and self.feature_names is not None and names != self.feature_names:
            raise ValueError(
                "the columns of X have other names, or another order, than in the fit: give the same columns in the "
                "same order"
            )
        if alpha is None:
            used = np.unique(self.coefs.indices)
            values = design.dot(self.coefs[used].toarray(), used) + self.intercepts
        else:
            coef, intercept = self.at(alpha)
            values = design.dot(coef) + intercept
        added = added_to_predictions(offset, exposure, design.shape[0], self.loss)
        values = (values.T + added).T
        if not np.isfinite(values).all():
            raise ValueError("X contains NaN or infinity: impute or drop those entries first")
        return values

    def predict(self, X: Any, alpha: float | None = None, *, offset: Any = None, exposure: Any = None) -> NDArray[Any]:
        """Predictions for every row: labels for a classification loss, means ``e^u`` for a logarithmic link, else u.

        Parameters and shapes are those of :meth:`decision_function`.
        """
        values = self.decision_function(X, alpha, offset=offset, exposure=exposure)
        return mean_of(self.loss, values) if self.classes is None else self.classes[(values > 0.0).astype(np.intp)]

    def to_frame(self) -> Any:
        """The coefficients as a pandas DataFrame: a row for each alpha, a column for each feature that is ever used.

        The first column is ``(intercept)``; the others have the features' names, or their numbers.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas") from error
        used = np.unique(self.coefs.indices)
        names = used.tolist() if self.feature_names is None else [self.feature_names[j] for j in used]
        table = np.column_stack([self.intercepts, self.coefs[used].toarray().T])
        return pd.DataFrame(table, index=pd.Index(self.alphas, name="alpha"), columns=["(intercept)", *names])

    def save(self, path: str | Path) -> None:
        """Write all models to one file of JSON, see :mod:`sparsest.paths.path_files`; whole or not at all."""
        if LOSSES.get(self.loss.name) is not type(self.loss):
            raise ValueError(
                f"a path with the loss {self.loss.name!r}, which is not one of sparsest's losses, cannot be saved"
            )
        labels = None if self.classes is None else self.classes.tolist()
        ends = self.coefs.indptr.tolist()
        columns, entries = self.coefs.indices.tolist(), self.coefs.data.tolist()
        parts = [slice(start, end) for start, end in pairwise(ends)]
        plain = (
            "alphas",
            "intercepts",
            "solved",
            "converged",
            "dual_gaps",
            "kkt_violations",
            "locally_convex",
            "n_iter",
        )
        arrays = {name: getattr(self, name) for name in plain}
        kept = {
            "loss": self.loss.name,
            "parameters": parameters_of(self.loss),
            "fit_intercept": self.fit_intercept,
            "rescaled": self.rescaled,
            "feature_names": self.feature_names,
            "p": int(self.coefs.shape[0]),
            "classes": labels,
            "support": [columns[part] for part in parts],
            "coef": [entries[part] for part in parts],
            **{name: None if values is None else values.tolist() for name, values in arrays.items()},
            "stopped": self.stopped.name,
            "seconds": float(self.seconds),
            "about": self.about,
        }
        path_files.write(path, kept)

    @classmethod
    def load(cls, path: str | Path) -> PathResult:
        """Read what ``save`` wrote; nothing in the file is executed."""
        kept = path_files.read(path)
        if kept["stopped"] not in Stop.__members__:
            raise ValueError(f"{path} has an unknown value of stopped, {kept['stopped']!r}")
        counts = [len(columns) for columns in kept["support"]]
        indices = np.array([j for columns in kept["support"] for j in columns], dtype=np.intp)
        data = np.array([value for coef in kept["coef"] for value in coef], dtype=np.float64)
        coefs = sp.csc_array((data, indices, np.append(0, np.cumsum(counts))), shape=(kept["p"], len(counts)))
        gaps, convex, labels = (kept[name] for name in ("dual_gaps", "locally_convex", "classes"))
        return cls(
            alphas=np.array(kept["alphas"], dtype=np.float64),
            coefs=coefs,
            intercepts=np.array(kept["intercepts"], dtype=np.float64),
            n_nonzero=np.array(counts, dtype=np.int_),
            solved=np.array(kept["solved"], dtype=bool),
            converged=np.array(kept["converged"], dtype=bool),
            dual_gaps=None if gaps is None else np.array(gaps),
            kkt_violations=np.array(kept["kkt_violations"]),
            locally_convex=None if convex is None else np.array(convex, dtype=bool),
            n_iter=np.array(kept["n_iter"], dtype=np.int_),
            stopped=Stop[kept["stopped"]],
            seconds=float(kept["seconds"]),
            loss=make_loss(kept["loss"], **kept["parameters"]),
            feature_names=kept["feature_names"],
            classes=None if labels is None else np.array(labels),
            fit_intercept=kept["fit_intercept"],
            rescaled=kept["rescaled"],
            about=kept["about"],
        )

    def _repr_html_(self) -> str:
        """The coefficients over the penalty, for notebooks."""
        from sparsest.results.markup import fragment, paragraph, paths_chart

        used = np.unique(self.coefs.indices)
        names = [f"column {j}" if self.feature_names is None else self.feature_names[j] for j in used.tolist()]
        return fragment(paragraph(repr(self)), paths_chart(self.alphas, self.coefs[used].toarray(), names))

    def __repr__(self) -> str:
        """One line with the grid, sizes, and numbers of unsolved and unconverged alphas."""
        m, n_solved = self.alphas.size, int(self.solved.sum())
        parts = [
            self.stopped.name,
            f"{m} alphas from {self.alphas[0]:.3g} to {self.alphas[-1]:.3g}",
            f"up to {self.n_nonzero.max()} of {self.coefs.shape[0]} features",
        ]
        if self.rescaled:
            parts.append("concavity rescaled by the curvature of the loss")
        if n_solved < m:
            parts.append(f"{m - n_solved} not solved")
        if self.converged.sum() < n_solved:
            parts.append(f"{n_solved - self.converged.sum()} not converged")
        return f"PathResult({', '.join(parts)}, seconds={self.seconds:.3g})"
