"""Terms of a table, which are chosen as a unit, and products of features of two terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from sparsest.core.designs.interactions import interactions
from sparsest.tables.encoding import Encoding
from sparsest.tables.features import origins

if TYPE_CHECKING:
    from sparsest.tables.table import Table


def terms(encoding: Encoding, names: Sequence[str]) -> tuple[str, ...]:
    """The term of every feature: for a level the column of text, for a product "a:b", otherwise the feature itself."""
    own = names[: encoding.n_factors]
    found = [column if column in encoding.categories else name for name, (column, _) in origins(encoding, own).items()]
    products = () if encoding.n_factors is None else factors(encoding, own)
    return (*found, *(f"{found[i]}:{found[j]}" for i, j in products))


def factors(encoding: Encoding, names: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs of features to multiply: all pairs from two different columns."""
    columns = [column for column, _ in origins(encoding, names).values()]
    return [(i, j) for i, j in combinations(range(len(columns)), 2) if columns[i] != columns[j]]


def with_products(table: Table) -> Table:
    """Add the products of pairs of features; they are computed when needed."""
    p = table.matrix.shape[1]
    known = tuple(map(str, range(p))) if table.names is None else table.names
    design = interactions(table.matrix, pairs=factors(table.encoding, known), feature_names=known)
    return replace(table, matrix=design, names=design.names, encoding=replace(table.encoding, n_factors=p))
