"""The data of a study: training, validation and test rows from the same model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices
from sparsest.core.data import encode_labels
from sparsest.datasets import load_folder, make_hard, make_toeplitz

# Shares of the rows of real data that are held out: for testing as in the paper; of the rest, a quarter for validation.
_TEST_SHARE, _VALIDATION_SHARE = 0.15, 0.25


@dataclass(frozen=True)
class Source:
    """How data are generated or read.  Source, number of rows and number of the data set determine the data.

    Attributes
    ----------
    design : "toeplitz" and "hard" are synthetic; "real-x" is a real matrix with a synthetic response; "real" is real.
    task : "regression" or "classification".
    p, k, snr, rho : number of features and of true features, signal-to-noise ratio and correlation of neighbours; 0 if
        not applicable.
    folder : name of the folder of real data.
    classes : the two labels of real data to classify; rows with other labels are left out.
    n_validation, n_test : numbers of validation and test rows; for real data, shares of the rows.
    dtype : type of a synthetic matrix; float32 halves the memory.
    """

    design: Literal["toeplitz", "hard", "real-x", "real"]
    task: Literal["regression", "classification"] = "regression"
    p: int = 0
    k: int = 0
    snr: float = 0.0
    rho: float = 0.0
    folder: str = ""
    classes: tuple[str, ...] = ()
    n_validation: int = 300
    n_test: int = 400
    dtype: Literal["float64", "float32"] = "float64"

    @property
    def real(self) -> bool:
        """Whether the rows come from a folder."""
        return self.design.startswith("real")

    def nbytes(self, n: int) -> int:
        """Bytes of a synthetic matrix with n training rows; 0 for real data."""
        return (n + self.n_validation + self.n_test) * self.p * np.dtype(self.dtype).itemsize


class Rows(NamedTuple):
    """A matrix and its response."""

    X: Array
    y: Array


class Sample(NamedTuple):
    """Rows for training, validation and testing, and the true features if they are known.

    Columns have mean square 1 over the training rows.  For real data they are also centred over the training rows, and
    models have an intercept.
    """

    train: Rows
    validation: Rows
    test: Rows
    support: Indices | None
    task: str
    fit_intercept: bool


def draw(source: Source, n: int, rng: np.random.Generator, folder: str | None = None) -> Sample:
    """Draw a data set with n training rows; for real data the file determines the number of rows.

    Parameters
    ----------
    folder : the folder that holds the folders of real data
    """
    if source.real:
        return _real(source, rng, folder)
    total = n + source.n_validation + source.n_test
    make: Any = make_hard if source.design == "hard" else make_toeplitz
    more = {} if source.design == "hard" else {"rho": source.rho}
    data = make(
        total, source.p, source.k, snr=source.snr, task=source.task, rng=rng, scale=False, dtype=source.dtype, **more
    )
    ends = (0, n, n + source.n_validation, total)
    parts = [slice(start, end) for start, end in pairwise(ends)]
    return _split(data.X, data.y, parts, data.support, source.task, False)


def _real(source: Source, rng: np.random.Generator, folder: str | None) -> Sample:
    if folder is None or not (Path(folder) / source.folder).is_dir():
        raise ValueError(
            f"this study needs the folder {source.folder} of real data: give the folder that contains it with --data "
            "or in the environment variable SPARSEST_DATA"
        )
    data = load_folder(Path(folder) / source.folder)
    X, labels = np.asarray(data.X, dtype=np.float64), np.asarray(data.y)
    if source.classes:
        keep = np.flatnonzero(np.isin(labels, source.classes))
        X, labels = X[keep], labels[keep]
    X = X[:, np.ptp(X, axis=0) > 0.0]
    order = rng.permutation(X.shape[0])
    n_test = round(_TEST_SHARE * order.size)
    n_validation = round(_VALIDATION_SHARE * (order.size - n_test))
    parts = np.split(order, (order.size - n_test - n_validation, order.size - n_test))
    if source.design == "real":
        y = encode_labels(labels)[0] if source.task == "classification" else labels.astype(np.float64)
        return _split(X, y, parts, None, source.task, True)
    support = np.sort(rng.choice(X.shape[1], size=source.k, replace=False))
    chosen = (X[:, support] - X[:, support].mean(axis=0)) / X[:, support].std(axis=0)
    signal = chosen @ rng.choice([-1.0, 1.0], size=source.k)
    noise = rng.standard_normal(signal.size)
    noise *= np.linalg.norm(signal) / (np.sqrt(source.snr) * np.linalg.norm(noise))
    return _split(X, signal + noise, parts, support, source.task, True)


def _split(
    X: NDArray[Any], y: NDArray[Any], parts: Sequence[slice | Indices], support: Indices | None, task: str, center: bool
) -> Sample:
    """Split the rows and scale all of them by statistics of the training rows; columns constant there are not scaled.

    A part is copied once and scaled in place, so memory never holds more than X and one copy.
    """
    matrices = [np.array(X[part], order="F") for part in parts]
    if center:
        shift = matrices[0].mean(axis=0)
        for matrix in matrices:
            matrix -= shift
    scale = scale_of(matrices[0])
    for matrix in matrices:
        matrix /= scale
    rows = [Rows(matrix, np.asarray(y[part], dtype=np.float64)) for matrix, part in zip(matrices, parts, strict=True)]
    return Sample(rows[0], rows[1], rows[2], support, task, center)


def scale_of(train: NDArray[Any]) -> NDArray[Any]:
    """What columns are divided by to have mean square 1; 1 for those that are zero."""
    scale: NDArray[Any] = np.sqrt(np.einsum("ij,ij->j", train, train) / train.shape[0])
    scale[scale == 0.0] = 1.0
    return scale
