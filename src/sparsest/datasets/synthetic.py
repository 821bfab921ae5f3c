"""Synthetic designs of the studies.

The response is `y = Xw + ε` or `sign(Xw + ε)`, with Gaussian noise scaled so that
`√SNR = ‖Xw‖ / ‖ε‖` holds exactly. Columns are scaled to unit root mean square after the response has been generated.
Data are generated in float64, block by block: memory stays close to one copy of X, and a seed gives the same data in
float32 and float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sparsest.core.checks import flag, number, shown, whole_number, word
from sparsest.core.settings import Setting, documented
from sparsest.datasets.dataset import Dataset

Task = Literal["regression", "classification"]
Seed = int | np.random.Generator | None

# Number of random numbers drawn at a time: 8 MB.
_BLOCK_ENTRIES = 2**20

_documented = partial(
    documented,
    own={
        "snr": Setting("signal-to-noise ratio ``‖Xw‖² / ‖ε‖²``"),
        "task": Setting('"regression" for the response ``Xw + ε``, "classification" for its sign, -1 or 1'),
        "rng": Setting("None, a seed, or a ``numpy.random.Generator``"),
        "dtype": Setting("type of X, y and coef, float32 or float64"),
        "scale": Setting("whether to scale columns to unit root mean square"),
        "block_entries": Setting("entries of X that are drawn at a time; the data are the same up to rounding"),
    },
)


@_documented
def make_toeplitz(
    n: int,
    p: int,
    k: int,
    *,
    rho: float = 0.2,
    snr: float = 6.0,
    task: Task = "regression",
    rng: Seed = None,
    dtype: DTypeLike = np.float64,
    scale: bool = True,
    block_entries: int = _BLOCK_ENTRIES,
) -> Dataset:
    """Gaussian data whose features correlate as Σ_ij = ρ^|i-j|.

    The true coefficients, before the columns are scaled, are ±1 at k random positions.

    Parameters
    ----------
    n, p, k : numbers of rows, of features and of true features
    rho : correlation of neighbouring features, in (-1, 1)

    Returns
    -------
    Dataset
        X is Fortran-ordered.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_toeplitz(n=100, p=20, k=4, rho=0.5, snr=3.0, rng=0)
    >>> data.X.shape, data.support.size
    ((100, 20), 4)
    """
    _check_arguments(n, p, k, snr, task, dtype, scale)
    whole_number(block_entries, "block_entries", least=1)
    number(rho, "rho", above=-1, below=1)
    data = draw_toeplitz(n, p, k, rho=rho, rng=_generator(rng), block_entries=block_entries)
    return _assemble(data, snr, task, np.dtype(dtype), scale)


@_documented
def make_hard(
    n: int,
    p: int,
    k: int,
    *,
    snr: float = 6.0,
    task: Task = "regression",
    rng: Seed = None,
    dtype: DTypeLike = np.float64,
    scale: bool = True,
    block_entries: int = _BLOCK_ENTRIES,
) -> Dataset:
    """Gaussian data without mutual incoherence: one false feature correlates with every true one.

    Features are independent, except that feature k (counted from 0) has correlation θ = ½(1/k + 1/√k) with
    each of the first k. The true coefficients, before the columns are scaled, are 1/√k on the first k.

    Parameters
    ----------
    n, p, k : numbers of rows, of features and of true features; 2 ≤ k < p

    Returns
    -------
    Dataset
        X is Fortran-ordered.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_hard(n=100, p=20, k=4, rng=0)
    >>> data.X.shape, data.support.size
    ((100, 20), 4)
    """
    _check_arguments(n, p, k, snr, task, dtype, scale)
    whole_number(block_entries, "block_entries", least=1)
    if not 2 <= k < p:
        raise ValueError(f"k must be at least 2 and less than p = {p} for the hard design, got {k}")
    data = draw_hard(n, p, k, rng=_generator(rng), block_entries=block_entries)
    return _assemble(data, snr, task, np.dtype(dtype), scale)


class Blockwise(NamedTuple):
    """A data set while it is drawn: unscaled features in blocks of shape (features, n), coefficients, noise."""

    blocks: Iterator[NDArray[np.float64]]
    w: NDArray[np.float64]
    noise: NDArray[np.float64]

    def response(self, snr: float, task: Task, keep: Callable[[int, NDArray[np.float64]], None]) -> NDArray[np.float64]:
        """Draw all blocks, give each with the number of its first feature to ``keep``, and return the response."""
        signal = np.zeros(self.noise.size)
        start = 0
        for block in self.blocks:
            signal += self.w[start : start + len(block)] @ block
            keep(start, block)
            start += len(block)
        noise = self.noise * (np.linalg.norm(signal) / (math.sqrt(snr) * np.linalg.norm(self.noise)))
        y = signal + noise
        return np.where(y >= 0, 1.0, -1.0) if task == "classification" else y


def draw_toeplitz(
    n: int, p: int, k: int, *, rho: float, rng: np.random.Generator, block_entries: int = _BLOCK_ENTRIES
) -> Blockwise:
    """The data of :func:`make_toeplitz` block by block, for those that do not fit into memory."""
    w = np.zeros(p)
    w[rng.choice(p, size=k, replace=False)] = rng.choice([-1.0, 1.0], size=k)
    noise = rng.standard_normal(n)
    return Blockwise(_toeplitz_blocks(n, p, rho, rng, max(1, block_entries // n)), w, noise)


def draw_hard(n: int, p: int, k: int, *, rng: np.random.Generator, block_entries: int = _BLOCK_ENTRIES) -> Blockwise:
    """The data of :func:`make_hard` block by block."""
    w = np.zeros(p)
    w[:k] = 1 / math.sqrt(k)
    noise = rng.standard_normal(n)
    return Blockwise(_hard_blocks(n, p, k, rng, max(1, block_entries // n)), w, noise)


def _generator(rng: Any) -> np.random.Generator:
    """The source of random numbers."""
    try:
        if not isinstance(rng, bool):
            return np.random.default_rng(rng)
    except (TypeError, ValueError):
        pass
    raise ValueError(f"rng must be None, a whole number >= 0 or a numpy.random.Generator, got {shown(rng)}")


def _check_arguments(n: int, p: int, k: int, snr: float, task: str, dtype: DTypeLike, scale: bool) -> None:
    """Raise a ValueError for arguments that are out of range."""
    whole_number(n, "n", least=1)
    whole_number(p, "p", least=1)
    if n * p > np.iinfo(np.intp).max // 8:
        raise ValueError(f"n × p must be a number of entries that fits into memory, got {shown(n)} × {shown(p)}")
    whole_number(k, "k", least=1, most=p)
    number(snr, "snr", above=0)
    word(task, "task", words=("regression", "classification"))
    flag(scale, "scale")
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(np.void)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ValueError(f"dtype must be float32 or float64, got {shown(dtype)}")


def _assemble(data: Blockwise, snr: float, task: Task, dtype: np.dtype[Any], scale: bool) -> Dataset:
    """The data set in memory."""
    n, p = data.noise.size, data.w.size
    rows = np.empty((p, n), dtype=dtype)
    coef = data.w.copy()

    def keep(start: int, block: NDArray[np.float64]) -> None:
        part = slice(start, start + len(block))
        if scale:
            rms = np.sqrt(np.einsum("ij,ij->i", block, block) / n)
            block /= rms[:, None]
            coef[part] *= rms
        rows[part] = block

    y = data.response(snr, task, keep)
    return Dataset(rows.T, y.astype(dtype), coef.astype(dtype), np.flatnonzero(data.w))


def _normal_blocks(n: int, p: int, generator: np.random.Generator, width: int) -> Iterator[NDArray[np.float64]]:
    """Independent standard normal features, in blocks of shape (width, n)."""
    for start in range(0, p, width):
        yield generator.standard_normal((min(width, p - start), n))


def _toeplitz_blocks(
    n: int, p: int, rho: float, generator: np.random.Generator, width: int
) -> Iterator[NDArray[np.float64]]:
    """Features of the recursion x_j = ρ x_{j-1} + √(1-ρ²) z_j, in blocks of shape (features, n)."""
    previous: NDArray[np.float64] | None = None
    for block in _normal_blocks(n, p, generator, width):
        for feature in block:
            if previous is not None:
                feature *= math.sqrt(1 - rho**2)
                feature += rho * previous
            previous = feature
        # The caller scales the block in place, and the recursion goes on from the unscaled feature.
        previous = block[-1].copy()
        yield block


def _hard_blocks(n: int, p: int, k: int, generator: np.random.Generator, width: int) -> Iterator[NDArray[np.float64]]:
    """Features of the hard design, in blocks of shape (features, n)."""
    theta = (1 / k + 1 / math.sqrt(k)) / 2
    total = np.zeros(n)
    start = 0
    for block in _normal_blocks(n, p, generator, width):
        total += block[: max(0, k - start)].sum(axis=0)
        if start <= k < start + len(block):
            feature = block[k - start]
            feature *= math.sqrt(1 - k * theta**2)
            feature += theta * total
        start += len(block)
        yield block
