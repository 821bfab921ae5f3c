"""Tables that come with scikit-learn, read without importing it."""

from __future__ import annotations

import itertools
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsest.datasets.dataset import Dataset
from sparsest.runtime.faults import reach


def load_diabetes_quadratic() -> Dataset:
    """Diabetes data with all quadratic terms, 442 × 64, as used by Efron et al. (2004).

    Ten main effects, nine squares (sex has two levels, its square is left out) and 45 interactions, named
    like `bmi`, `bmi^2` and `bmi:bp`. Every column is centred and has unit root mean square; y is not scaled.

    Returns
    -------
    Dataset
        Without coef and support.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_diabetes_quadratic()
    >>> data.X.shape, data.feature_names[[2, 11, 20]].tolist()
    ((442, 64), ['bmi', 'bmi^2', 'age:bmi'])
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

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_breast_cancer()
    >>> data.X.shape, data.target_names.tolist()
    ((569, 30), ['malignant', 'benign'])
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
    return np.loadtxt(path, ndmin=2, **layout) if path.is_file() and not reach("shipped table", file) else None
