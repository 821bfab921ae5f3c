"""Sizes of blocks: how much is read, computed or parsed at a time.  They do not change results.

Tests change them by :func:`resized`, because data that fill several blocks of the usual size are too large for a test.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple


class Sizes(NamedTuple):
    """The sizes.

    Attributes
    ----------
    large_matrix : matrices in files of at least this many bytes are read in blocks; smaller ones are loaded, or mapped
        and used like those in memory, because the system keeps them there.
    rows_of_map : rows of a mapped array that are processed together: results of columns are combined once a block.
    digest_entries : entries that are converted to float64 at a time for digests: they stay in the cache.
    product_bytes : bytes of products of columns that are computed at a time, and of blocks of matrices of products.
    few_products : products with fewer columns than this share of all pairs are computed column by column; a matrix
        product gives those of all pairs at once.
    text_bytes : bytes of text that one thread parses at a time: with these, 1.06 GB of CSV took at most 2.64 times the
        memory of its matrix; other sizes were not tried.
    text_rows : rows of text that Python's reader returns at a time.
    head_bytes : a file whose first line is longer is not a table.
    written_bytes : bytes of the rows that are written at a time.
    written_columns : columns that are copied from these rows at a time.
    """

    large_matrix: int = 1 << 28
    rows_of_map: int = 256
    digest_entries: int = 1 << 17
    product_bytes: int = 1 << 23
    few_products: float = 1 / 8
    text_bytes: int = 1 << 22
    text_rows: int = 20_000
    head_bytes: int = 1 << 28
    written_bytes: int = 1 << 28
    written_columns: int = 1024


_sizes = Sizes()


def sizes() -> Sizes:
    """The sizes in use."""
    return _sizes


@contextmanager
def resized(**changes: Any) -> Iterator[None]:
    """Use other sizes, in all threads of this process."""
    global _sizes
    before = _sizes
    _sizes = before._replace(**changes)
    try:
        yield
    finally:
        _sizes = before
