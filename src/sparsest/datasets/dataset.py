"""What generators and loaders return: a design with its response and, for synthetic data, the truth behind them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Dataset(NamedTuple):
    """A design with its response and, for synthetic data, the truth behind them.

    Attributes
    ----------
    X : ndarray or SciPy sparse container of shape (n, p)
        The design.
    y : ndarray of shape (n,)
        The response: numbers, or labels.
    coef : ndarray of shape (p,), or None
        True coefficients for this X, so that `X @ coef` is the signal without noise.
    support : ndarray of int, or None
        Indices of the nonzero true coefficients, in increasing order.
    feature_names, target_names : ndarray of str, or None
        Names of the columns of X and of the classes.
    sample_weight, offset, exposure : ndarray of shape (n,), or None
        Weights of the observations, offsets of their predictions, and exposures, to which their means are proportional.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_toeplitz(n=20, p=5, k=2, rng=0)
    >>> type(data).__name__, data.X.shape, data.support.size, data.feature_names is None
    ('Dataset', (20, 5), 2, True)
    """

    X: Any
    y: NDArray[Any]
    coef: NDArray[np.floating] | None = None
    support: NDArray[np.intp] | None = None
    feature_names: NDArray[np.str_] | None = None
    target_names: NDArray[np.str_] | None = None
    sample_weight: NDArray[np.floating] | None = None
    offset: NDArray[np.floating] | None = None
    exposure: NDArray[np.floating] | None = None
