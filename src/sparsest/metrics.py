"""Metrics of a selected support against the true one.

A support is a collection of distinct feature indices, or a boolean mask with one entry per feature. With TF
and FF the numbers of true and false features selected, and k_true the size of the true support, the accuracy
is TF / k_true and the false discovery rate FF / (TF + FF). The accuracy is that of Bertsimas, Pauphilet and Van Parys
(2020); elsewhere it is called the recall, and 1 less the false discovery rate the precision.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sparsest.core.checks import as_array, as_numbers, number
from sparsest.core.settings import Setting, documented

__all__ = [
    "accuracy",
    "false_discovery_rate",
    "false_features",
    "precision",
    "recall",
    "support_of",
    "true_features",
]

_documented = partial(
    documented,
    own={
        "support": Setting("indices of the selected features, or a boolean mask with one entry per feature"),
        "true_support": Setting("indices of the true features, or a mask"),
    },
)


def support_of(coef: ArrayLike, threshold: float = 1e-8) -> NDArray[np.intp]:
    """Indices of the coefficients whose absolute value exceeds a threshold.

    Parameters
    ----------
    coef : array-like of shape (p,)
        Coefficients.
    threshold : float
        Coefficients of at most this absolute value count as zero.

    Returns
    -------
    ndarray of int
        The indices in increasing order.

    Examples
    --------
    >>> import sparsest
    >>> sparsest.metrics.support_of([0.0, 1.5, 0.0, -2.0]).tolist()
    [1, 3]
    """
    w = as_numbers(as_array(coef, "coef"), "coef")
    if w.ndim != 1:
        raise ValueError(f"coef must be one-dimensional, got shape {w.shape}")
    if not np.all(np.isfinite(w)):
        raise ValueError("coef must be finite, it holds NaN or infinity")
    return np.flatnonzero(np.abs(w) > number(threshold, "threshold", least=0))


@_documented
def true_features(support: ArrayLike, true_support: ArrayLike) -> int:
    """Number TF of selected features that belong to the true support.

    Returns
    -------
    int
        The size of the intersection.

    Examples
    --------
    >>> import sparsest
    >>> sparsest.metrics.true_features([0, 3, 7], [0, 3, 4, 5])
    2
    """
    selected, truth = _index_pair(support, true_support)
    return int(np.intersect1d(selected, truth, assume_unique=True).size)


@_documented
def false_features(support: ArrayLike, true_support: ArrayLike) -> int:
    """Number FF of selected features that do not belong to the true support.

    Returns
    -------
    int
        The size of the difference.

    Examples
    --------
    >>> import sparsest
    >>> sparsest.metrics.false_features([0, 3, 7], [0, 3, 4, 5])
    1
    """
    selected, truth = _index_pair(support, true_support)
    return int(np.setdiff1d(selected, truth, assume_unique=True).size)


@_documented
def accuracy(support: ArrayLike, true_support: ArrayLike) -> float:
    """Share of the true features that were selected, TF / k_true; the true support must not be empty.

    Returns
    -------
    float
        A number between 0 and 1.

    Examples
    --------
    >>> import sparsest
    >>> sparsest.metrics.accuracy([0, 3, 7], [0, 3, 4, 5])
    0.5
    """
    _, truth = _index_pair(support, true_support)
    if truth.size == 0:
        raise ValueError("accuracy and recall are not defined for an empty true support")
    return true_features(support, true_support) / truth.size


@_documented
def recall(support: ArrayLike, true_support: ArrayLike) -> float:
    """Share of the true features that were selected, TF / k_true: the same as :func:`accuracy`.

    Returns
    -------
    float
        A number between 0 and 1.

    Examples
    --------
    >>> import sparsest
    >>> sparsest.metrics.recall([0, 3, 7], [0, 3, 4, 5])
    0.5
    """
    return accuracy(support, true_support)


@_documented
def precision(support: ArrayLike, true_support: ArrayLike) -> float:
    """Share of the selected features that are true, TF divided by the number selected; 1 when nothing is selected.

    Returns
    -------
    float
        A number between 0 and 1.

    Examples
    --------
    >>> import sparsest
    >>> sparsest.metrics.precision([0, 3, 7, 9], [0, 3, 4, 5])
    0.5
    """
    selected, _ = _index_pair(support, true_support)
    return true_features(support, true_support) / selected.size if selected.size else 1.0


@_documented
def false_discovery_rate(support: ArrayLike, true_support: ArrayLike) -> float:
    """Share of the selected features that are false, FF divided by the number selected; 0 when nothing is selected.

    Returns
    -------
    float
        A number between 0 and 1.

    Examples
    --------
    >>> import sparsest
    >>> sparsest.metrics.false_discovery_rate([0, 3, 7, 9], [0, 3, 4, 5])
    0.5
    """
    selected, _ = _index_pair(support, true_support)
    if selected.size == 0:
        return 0.0
    return false_features(support, true_support) / selected.size


def _index_pair(support: ArrayLike, true_support: ArrayLike) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Both supports as indices, after checking that they can refer to the same features."""
    selected, p_selected = _indices(support, "support")
    truth, p_truth = _indices(true_support, "true_support")
    if p_selected is not None and p_truth is not None and p_selected != p_truth:
        raise ValueError(f"the masks have different lengths: {p_selected} and {p_truth}")
    p = p_selected if p_selected is not None else p_truth
    largest = max(selected.max(initial=-1), truth.max(initial=-1))
    if p is not None and largest >= p:
        raise ValueError(f"index {largest} lies outside the mask of the other support, which has {p} features")
    return selected, truth


def _indices(support: ArrayLike, name: str) -> tuple[NDArray[np.intp], int | None]:
    """Indices of a support, and the number of features if it is a mask."""
    array = as_array(support, name)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}")
    if array.dtype == np.bool_:
        return np.flatnonzero(array), array.size
    if array.size == 0:
        return np.empty(0, dtype=np.intp), None
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"{name} must hold integer indices or a boolean mask, got {array.dtype}; "
            "support_of(coef) gives the indices of a coefficient vector"
        )
    if array.min() < 0:
        raise ValueError(f"{name} must hold indices of at least 0, got {array.min()}")
    if np.unique(array).size != array.size:
        raise ValueError(f"{name} holds an index more than once; a mask must be of type bool")
    return array.astype(np.intp), None
