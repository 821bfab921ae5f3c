"""Synthetic designs of the studies, and loaders of real data.

The synthetic response is `y = Xw + ε` or `sign(Xw + ε)`, with Gaussian noise scaled so that
`√SNR = ‖Xw‖ / ‖ε‖` holds exactly. Columns are scaled to unit root mean square after the response was made.
Data are made in float64, one block of columns after the other: memory stays near one X, and a seed means the
same data in float32 and float64.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sparsest.checks import check_sparse, flag, number, shown, whole_number, word

__all__ = [
    "Dataset",
    "load_breast_cancer",
    "load_diabetes_quadratic",
    "load_folder",
    "make_hard",
    "make_toeplitz",
]

Task = Literal["regression", "classification"]
Seed = int | np.random.Generator | None

# Random numbers that are drawn at a time: 8 MB.
_BLOCK_ENTRIES = 2**20


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
        Weights of the observations, what is added to their predictions, and what their means are proportional to.
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
    n, p, k : int
        Numbers of rows, of features and of true features.
    rho : float
        Correlation of neighbouring features, in (-1, 1).
    snr : float
        Signal-to-noise ratio ‖Xw‖² / ‖ε‖².
    task : {"regression", "classification"}
        Whether y is `Xw + ε` or its sign, -1 or 1.
    rng : None, int or numpy.random.Generator
        Seed or source of the random numbers.
    dtype : float32 or float64
        Type of X, y and coef.
    scale : bool
        Scale columns to unit root mean square.
    block_entries : int
        Entries of X that are drawn at a time; the data are the same but for rounding.

    Returns
    -------
    Dataset
        X is Fortran-ordered.
    """
    _check_arguments(n, p, k, snr, task, dtype, scale)
    width = max(1, whole_number(block_entries, "block_entries", least=1) // n)
    number(rho, "rho", above=-1, below=1)
    generator = _generator(rng)
    w = np.zeros(p)
    w[generator.choice(p, size=k, replace=False)] = generator.choice([-1.0, 1.0], size=k)
    noise = generator.standard_normal(n)
    return _assemble(_toeplitz_blocks(n, p, rho, generator, width), w, noise, snr, task, np.dtype(dtype), scale)


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
    n, p, k : int
        Numbers of rows, of features and of true features; 2 ≤ k < p.
    snr : float
        Signal-to-noise ratio ‖Xw‖² / ‖ε‖².
    task : {"regression", "classification"}
        Whether y is `Xw + ε` or its sign, -1 or 1.
    rng : None, int or numpy.random.Generator
        Seed or source of the random numbers.
    dtype : float32 or float64
        Type of X, y and coef.
    scale : bool
        Scale columns to unit root mean square.
    block_entries : int
        Entries of X that are drawn at a time; the data are the same but for rounding.

    Returns
    -------
    Dataset
        X is Fortran-ordered.
    """
    _check_arguments(n, p, k, snr, task, dtype, scale)
    width = max(1, whole_number(block_entries, "block_entries", least=1) // n)
    if not 2 <= k < p:
        raise ValueError(f"k must be at least 2 and less than p = {p} for the hard design, got {k}")
    generator = _generator(rng)
    w = np.zeros(p)
    w[:k] = 1 / math.sqrt(k)
    noise = generator.standard_normal(n)
    return _assemble(_hard_blocks(n, p, k, generator, width), w, noise, snr, task, np.dtype(dtype), scale)


def load_diabetes_quadratic() -> Dataset:
    """Diabetes data with all quadratic terms, 442 × 64, as used by Efron et al. (2004).

    Ten main effects, nine squares (sex has two levels, its square is left out) and 45 interactions, named
    like `bmi`, `bmi^2` and `bmi:bp`. Every column is centred and has unit root mean square; y is not scaled.

    Returns
    -------
    Dataset
        Without coef and support.
    """
    names = ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6")
    main, target = _table("diabetes_data_raw.csv.gz"), _table("diabetes_target.csv.gz")
    if main is None or target is None:
        from sklearn.datasets import load_diabetes

        main, target = load_diabetes(return_X_y=True)
    main = (main - main.mean(axis=0)) / main.std(axis=0)
    terms = [(name, main[:, j]) for j, name in enumerate(names)]
    terms += [(f"{name}^2", main[:, j] ** 2) for j, name in enumerate(names) if name != "sex"]
    terms += [
        (f"{names[i]}:{names[j]}", main[:, i] * main[:, j]) for i, j in itertools.combinations(range(len(names)), 2)
    ]
    X = np.asfortranarray(np.column_stack([column for _, column in terms]))
    X -= X.mean(axis=0)
    X /= np.sqrt(np.mean(X**2, axis=0))
    return Dataset(X, target.ravel(), feature_names=np.array([t for t, _ in terms]))


def load_breast_cancer() -> Dataset:
    """Breast cancer data of Wisconsin, 569 × 30, with labels 0 (malignant) and 1 (benign).

    Returns
    -------
    Dataset
        Without coef and support; `target_names[y]` are the names of the labels.
    """
    table = _table("breast_cancer.csv", delimiter=",", skiprows=1)
    if table is None:
        from sklearn.datasets import load_breast_cancer as load

        table = np.column_stack(load(return_X_y=True))
    measured = (
        "radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity", "concave points",
        "symmetry", "fractal dimension",
    )  # fmt: skip
    names = [f"mean {name}" for name in measured] + [f"{name} error" for name in measured]
    return Dataset(
        np.asfortranarray(table[:, :-1]),
        table[:, -1].astype(np.int64),
        feature_names=np.array([*names, *(f"worst {name}" for name in measured)]),
        target_names=np.array(["malignant", "benign"]),
    )


def _table(file: str, **layout: Any) -> NDArray[np.float64] | None:
    """A table that comes with scikit-learn, whose import would take a second; None if it is elsewhere."""
    package = find_spec("sklearn")
    assert package is not None and package.submodule_search_locations is not None
    path = Path(package.submodule_search_locations[0], "datasets", "data", file)
    return np.loadtxt(path, ndmin=2, **layout) if path.is_file() else None


# Arrays of a folder with an entry for each observation, beside the response.
_OF_ROWS = ("sample_weight", "offset", "exposure")


def load_folder(path: str | os.PathLike[str]) -> Dataset:
    """Data of one folder.

    The file `data.npz` holds `y`, `X` unless it is sparse, and possibly `feature_names`, `sample_weight`, `offset` and
    `exposure`; a sparse X is the file `X.npz` in the form of `scipy.sparse.save_npz`. Types and labels are kept as they
    are stored.

    Parameters
    ----------
    path : path-like
        The folder.

    Returns
    -------
    Dataset
        Without coef and support.
    """
    try:
        folder = Path(path)
    except TypeError as error:
        raise ValueError(f"path must name a folder, got {shown(path)}") from error
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no data folder {folder}")
    if not (folder / "data.npz").is_file():
        raise FileNotFoundError(f"the data folder {folder} has no file data.npz")
    arrays = _read(folder / "data.npz", _stored_arrays)
    if "y" not in arrays:
        raise ValueError(f"{folder / 'data.npz'} has no array y")
    y, names = arrays["y"], arrays.get("feature_names")
    X: Any = arrays["X"] if "X" in arrays else _load_sparse(folder)
    if X.ndim != 2 or y.shape != (X.shape[0],):
        raise ValueError(f"X and y in {folder} do not fit together: shapes {X.shape} and {y.shape}")
    for name, values in (("X", X if "X" in arrays else X.data), ("y", y)):
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise ValueError(f"{name} in {folder} contains NaN or infinity: impute or drop those entries first")
    if names is not None and names.shape != (X.shape[1],):
        raise ValueError(f"{folder} has {X.shape[1]} features but feature_names of shape {names.shape}")
    rows = {name: arrays[name] for name in _OF_ROWS if name in arrays}
    for name, values in rows.items():
        if values.shape != y.shape:
            raise ValueError(f"{folder} has {y.size} observations but {name} of shape {values.shape}")
    return Dataset(X, y, feature_names=names, **rows)


def _load_sparse(folder: Path) -> Any:
    """The sparse design of a data folder."""
    from scipy import sparse

    if not (folder / "X.npz").is_file():
        raise FileNotFoundError(f"the data folder {folder} has neither an array X in data.npz nor a file X.npz")
    X = _read(folder / "X.npz", sparse.load_npz)
    check_sparse(X, f"X in {folder}")
    return X


_Content = TypeVar("_Content")


def _read(file: Path, reader: Callable[[BinaryIO], _Content]) -> _Content:
    """Read a file, and tell in one sentence when it is broken."""
    try:
        with file.open("rb") as opened:
            return reader(opened)
    except OSError:
        raise
    except Exception as error:
        # A damaged file can fail in the zip archive, its compression, the arrays' headers or their sizes, and each
        # layer raises errors of its own.
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ValueError(f"{file} cannot be read, write it anew with numpy.savez or save_npz ({reason})") from error


def _stored_arrays(file: BinaryIO) -> dict[str, NDArray[Any]]:
    """The arrays of an npz file that a data set has."""
    stored = np.load(file, allow_pickle=False)
    if not isinstance(stored, np.lib.npyio.NpzFile):
        raise ValueError("it holds a single array without a name")
    with stored:
        arrays = {name: stored[name] for name in ("X", "y", "feature_names", *_OF_ROWS) if name in stored}
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise ValueError(f"its {name} is not an array")
    return arrays


def _generator(rng: Any) -> np.random.Generator:
    """The source of random numbers."""
    try:
        if not isinstance(rng, bool):
            return np.random.default_rng(rng)
    except (TypeError, ValueError):
        pass
    raise ValueError(f"rng must be None, a whole number >= 0 or a numpy.random.Generator, got {shown(rng)}")


def _check_arguments(n: int, p: int, k: int, snr: float, task: str, dtype: DTypeLike, scale: bool) -> None:
    """Raise a ValueError for arguments that no generator can serve."""
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


def _assemble(
    blocks: Iterator[NDArray[np.float64]],
    w: NDArray[np.float64],
    noise: NDArray[np.float64],
    snr: float,
    task: Task,
    dtype: np.dtype[Any],
    scale: bool,
) -> Dataset:
    """Data set from blocks of shape (features, n) and the coefficients of the unscaled features."""
    n, p = noise.size, w.size
    rows = np.empty((p, n), dtype=dtype)
    coef = w.copy()
    signal = np.zeros(n)
    start = 0
    for block in blocks:
        part = slice(start, start + len(block))
        signal += w[part] @ block
        if scale:
            rms = np.sqrt(np.einsum("ij,ij->i", block, block) / n)
            block /= rms[:, None]
            coef[part] *= rms
        rows[part] = block
        start = part.stop
    noise *= np.linalg.norm(signal) / (math.sqrt(snr) * np.linalg.norm(noise))
    y = signal + noise
    if task == "classification":
        y = np.where(y >= 0, 1.0, -1.0)
    return Dataset(rows.T, y.astype(dtype), coef.astype(dtype), np.flatnonzero(w))


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
