"""Products of pairs of columns as a design: they are computed when needed, and not stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from sparsest.core.checks import by_number, check_names, column_names, column_numbers, shown
from sparsest.core.designs.base import Array, Design, Indices, Moments, Subset, Survey
from sparsest.core.designs.dense import Dense
from sparsest.core.designs.packs import DensePack
from sparsest.core.designs.reading import as_design
from sparsest.runtime.memory import available_memory
from sparsest.runtime.sizes import sizes


@dataclass(frozen=True, eq=False)
class Interactions(Design):
    """Columns of a matrix, and products of two of them.

    ``X'r`` over all pairs is one matrix product, ``X' diag(r) X``, which needs neither the memory nor the time of the
    products.

    Attributes
    ----------
    base : the n × m matrix in float64, in Fortran order
    base_names : names of its columns
    first, second : the factors of each column; ``second`` is -1 for a column of the matrix itself
    """

    base: Array
    base_names: tuple[str, ...]
    first: Indices
    second: Indices

    accurate = True

    @property
    def shape(self) -> tuple[int, int]:
        return self.base.shape[0], self.first.size

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns: "a:b" for the product of a and b."""
        own, pairs = self.base_names, zip(self.first, self.second, strict=True)
        return tuple(own[a] if b < 0 else f"{own[a]}:{own[b]}" for a, b in pairs)

    @property
    def requires(self) -> list[tuple[int, list[int]]]:
        """The index of every product and the indices of its factors, for ``Structure(requires=...)``.

        Products with a factor that is not among the columns are left out.
        """
        p, place = self.shape[1], np.full(self.base.shape[1], -1)
        mains = np.flatnonzero(self.second < 0)
        place[self.first[mains]] = mains
        products = np.flatnonzero(self.second >= 0)
        factors = np.column_stack([place[self.first[products]], place[self.second[products]]])
        known = factors.min(axis=1, initial=p) >= 0
        pairs = zip(products[known].tolist(), factors[known].tolist(), strict=True)
        return [(product, sorted(set(pair))) for product, pair in pairs]

    @property
    def resident_bytes(self) -> int:
        return int(self.base.nbytes)

    def columns(self, subset: Subset) -> Array:
        index = np.asarray(subset, dtype=np.intp)
        first, second = self.first[index], self.second[index]
        out = np.asfortranarray(self.base[:, first])
        pairs = second >= 0
        out[:, pairs] *= self.base[:, second[pairs]]
        return out

    def _parts(self, count: int) -> Iterator[slice]:
        width = max(1, sizes().product_bytes // (8 * max(self.shape[0], 1)))
        for begin in range(0, count, width):
            yield slice(begin, min(begin + width, count))

    def survey(self, weights: Array, targets: Array | None = None) -> Survey:
        p = self.shape[1]
        moments = Moments(*np.empty((3, p)))
        products = np.empty((p, *((0,) if targets is None else targets.shape[1:])))
        with np.errstate(over="ignore", invalid="ignore"):
            for part in self._parts(p):
                survey = Dense(self.columns(np.arange(p)[part])).survey(weights, targets)
                for whole, values in zip(moments, survey.moments, strict=True):
                    whole[part] = values
                products[part] = survey.products
        return Survey(moments, products)

    def dot(self, w: Array, subset: Subset | None = None) -> Array:
        index = np.arange(self.shape[1]) if subset is None else np.asarray(subset, dtype=np.intp)
        used = np.flatnonzero(w if w.ndim == 1 else w.any(axis=1))
        index, w = index[used], w[used]
        out = np.zeros((self.shape[0], *w.shape[1:]))
        if self._few(index.size):
            for part in self._parts(index.size):
                out += self.columns(index[part]) @ w[part]
            return out
        for v, vector in enumerate(w[None] if w.ndim == 1 else w.T):
            # x_i'A x_i for the matrix A of the coefficients of pairs.
            coefficients, alone = np.zeros((self.base.shape[1],) * 2), self.second[index] < 0
            np.add.at(coefficients, (self.first[index[~alone]], self.second[index[~alone]]), vector[~alone])
            linear = np.bincount(self.first[index[alone]], vector[alone], self.base.shape[1])
            product = self.base @ linear + np.einsum("ij,ij->i", self.base @ coefficients, self.base)
            out[(slice(None), v) if w.ndim == 2 else slice(None)] = product
        return out

    def tdot(self, r: Array, subset: Subset | None = None) -> Array:
        index = np.arange(self.shape[1]) if subset is None else np.asarray(subset, dtype=np.intp)
        out = np.empty((index.size, *r.shape[1:]))
        if self._few(index.size):
            for part in self._parts(index.size):
                out[part] = self.columns(index[part]).T @ r
            return out
        for v, vector in enumerate(r[None] if r.ndim == 1 else r.T):
            out[(slice(None), v) if r.ndim == 2 else slice(None)] = self._products(vector, index)
        return out

    def _products(self, r: Array, index: Indices) -> Array:
        """``X_S'r`` from ``X' diag(r) X``, computed in blocks of its rows."""
        out = np.empty(index.size)
        first, second = self.first[index], self.second[index]
        alone = second < 0
        out[alone] = (self.base.T @ r)[first[alone]]
        m = self.base.shape[1]
        height = max(1, sizes().product_bytes // (8 * max(m, self.shape[0])))
        order = np.flatnonzero(~alone)[np.argsort(first[~alone], kind="stable")]
        ends = np.searchsorted(first[order], np.arange(0, m + height, height))
        for begin, (start, end) in zip(range(0, m, height), pairwise(ends), strict=False):
            if end > start:
                block = (self.base[:, begin : begin + height] * r[:, None]).T @ self.base
                at = order[start:end]
                out[at] = block[first[at] - begin, second[at]]
        return out

    def _few(self, count: int) -> bool:
        return count < sizes().few_products * self.base.shape[1] ** 2

    def rows(self, keep: Indices) -> Interactions:
        return replace(self, base=np.asfortranarray(self.base[keep]))

    def take(self, subset: Subset) -> Interactions:
        index = np.asarray(subset, dtype=np.intp)
        return replace(self, first=self.first[index], second=self.second[index])

    def nbytes_of(self, subset: Subset) -> int:
        return 2 * self.first.itemsize * len(subset)

    def pack(self, centred: bool) -> DensePack:
        return DensePack(self, centred)


def interactions(
    X: Any, degree: int = 2, *, pairs: Iterable[tuple[Any, Any]] | None = None, feature_names: Any = None
) -> Interactions:
    """The columns of X and products of pairs of them, which are computed when they are needed and not stored.

    With 300 columns these are 300 + 44,850.  The result stands for a matrix in all functions and estimators.  Its
    columns are called "a" and "a:b"; certificates are about the products as double precision computes them.

    Parameters
    ----------
    X : matrix, sparse matrix, data frame or file, which is held in memory in double precision
    degree : the largest number of factors; 2
    pairs : the pairs of columns to multiply, by number or name; a column with itself is a square.  By default all pairs
        of two different columns
    feature_names : names of the columns of X if it has none; "0", "1", … by default

    Returns
    -------
    Interactions
        A design; ``requires`` lists every product with its factors, as ``Structure(requires=...)`` takes it for strong
        heredity.

    Examples
    --------
    >>> import numpy as np
    >>> import sparsest
    >>> X = np.random.default_rng(0).standard_normal((100, 20))
    >>> y = X[:, 3] + 2.0 * X[:, 3] * X[:, 7]
    >>> design = sparsest.interactions(X)
    >>> design.shape, design.requires[0]
    ((100, 210), (20, [0, 1]))
    >>> sparsest.best_subset(design, y, k=2).names
    ['3', '3:7']
    """
    if isinstance(degree, bool) or not np.isscalar(degree) or degree != 2:
        raise ValueError(
            f"degree must be 2, got {shown(degree)}: products of more columns have to be computed beforehand"
        )
    design = as_design(X)
    p = design.shape[1]
    _refuse_too_large(8 * design.shape[0] * p)
    if feature_names is not None:
        names = check_names(feature_names, "feature_names", p)
    else:
        names = column_names(X) or design.names or tuple(str(j) for j in range(p))
    if pairs is None:
        chosen = np.array(list(combinations(range(p), 2)), dtype=np.intp).reshape(-1, 2)
    else:
        chosen = np.array([_pair(pair, names, p) for pair in pairs], dtype=np.intp).reshape(-1, 2)
    first, second = np.concatenate([np.arange(p), chosen[:, 0]]), np.concatenate([np.full(p, -1), chosen[:, 1]])
    return Interactions(design.columns(np.arange(p)), tuple(names), first.astype(np.intp), second.astype(np.intp))


def _refuse_too_large(n_bytes: int) -> None:
    """Raise a ValueError if the columns do not fit into memory."""
    available = available_memory()
    if 0.0 < available < n_bytes:
        raise ValueError(
            f"X takes {n_bytes / 1e9:.3g} GB in double precision, but only {available / 1e9:.3g} GB of memory are "
            "available: give fewer columns, such as those that a relaxation chooses"
        )


def _pair(pair: Any, names: tuple[str, ...], p: int) -> Indices:
    numbers = column_numbers(by_number(pair, "pairs", names), "pairs", p)
    if numbers.size != 2:
        raise ValueError(f"pairs must hold two columns each, got {numbers.size}")
    return numbers
