"""A digest of the data that does not depend on how they are stored.

Columns, response (labels as -1 and 1), weights, and offset and exposure if there are any, are read in double precision,
with 0 for -0.  Each vector is multiplied by two vectors of keys modulo 2^64, and the SHA-256 of these products is the
fingerprint.  A change of one entry always changes it; any other change does so except with a probability of about
2^-80.  It guards against mistakes only: the proof itself is computed from the data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np

from sparsest.proofs.data import Data
from sparsest.proofs.rounding import Array
from sparsest.proofs.row_blocks import Words, folded, row_sums


def word_products(lines: Array, keys: Words, room: Words | None = None) -> Words:
    """The products of columns, given as contiguous lines without -0, with vectors of keys: a row for each of these.

    ``room`` is an array of the size of the lines that may be changed.
    """
    words = folded(lines, room)
    return np.stack([np.einsum("ij,j->i", words, key) for key in keys])


class Fingerprint:
    """The digest of columns and vectors that are added in order."""

    def __init__(self, n: int, p: int) -> None:
        self._hash = hashlib.sha256(b"sparsest data 2" + n.to_bytes(8, "little") + p.to_bytes(8, "little"))
        self.keys = _keys(n)

    def products(self, lines: Array) -> Words:
        """The products of columns, given as contiguous lines without -0, with the keys: a row for each key."""
        return word_products(lines, self.keys)

    def add(self, products: Words) -> None:
        """Continue with the products of further columns."""
        self._hash.update(np.ascontiguousarray(products.T, dtype="<u8").data)

    def add_vector(self, vector: Array) -> None:
        """Continue with a vector."""
        self.add(self.products(np.add(vector, 0.0)[None]))

    def text(self) -> str:
        """The digest."""
        return self._hash.hexdigest()


def _keys(n: int) -> Words:
    """Two vectors of odd numbers: the first 2n outputs of the generator SplitMix64 from 0, with the last bit set."""
    z = np.arange(1, 2 * n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) | np.uint64(1)).reshape(2, n)


def fingerprint(data: Data, digests: Callable[[Words], Words | None] = lambda keys: None) -> str:
    """The fingerprint of data; ``digests`` returns the products of all columns with the keys if they are known."""
    found = Fingerprint(data.n, data.p)
    products = digests(found.keys)
    if products is None and data.by_rows:
        products = row_sums(data, np.empty((0, data.n)), shifted=False, keys=found.keys).digests
    if products is not None:
        found.add(products)
    else:
        for part in data.parts(data.p):
            found.add(found.products(data.lines(part)))
    for vector in data.vectors():
        found.add_vector(vector)
    return found.text()
