"""Data of one folder: arrays in NumPy's files, the design possibly sparse."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from sparsest.core.checks import check_sparse, path_name
from sparsest.datasets.dataset import Dataset

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

    Examples
    --------
    >>> import numpy as np
    >>> import os
    >>> import sparsest
    >>> os.mkdir("folder")
    >>> np.savez("folder/data.npz", X=np.eye(3), y=np.arange(3.0))
    >>> sparsest.datasets.load_folder("folder").X.shape
    (3, 3)
    """
    folder = path_name(path, kind="folder")
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
    """Read a file; raise a ValueError of one sentence if it is damaged."""
    try:
        with file.open("rb") as opened:
            return reader(opened)
    except OSError:
        raise
    except Exception as error:
        # A damaged file can fail in the zip archive, its compression, the arrays' headers or their sizes, and each
        # layer raises different errors.
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ValueError(f"{file} cannot be read: save it again with numpy.savez or save_npz ({reason})") from error


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
