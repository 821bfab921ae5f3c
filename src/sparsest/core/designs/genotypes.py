"""Genotypes of PLINK as a design: .bed files packed at two bits, and .pgen files by pgenlib.

Columns are numbers of copies of an allele: of the first one in a .bed file, of the alternate one in a .pgen file.  A
missing genotype is replaced by the mean of the known ones of its column, rounded to single precision, or by 0 if none
is known.  Products are computed from packed bytes; anything else unpacks blocks in the cache of the processor.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Indices, frozen
from sparsest.core.checks import required_package
from sparsest.core.designs.packed import PackedBlock
from sparsest.core.designs.sources import PickingSource, Source
from sparsest.core.designs.streamed import Streamed
from sparsest.core.kernels.genotypes import count_genotypes

_MAGIC, _BY_VARIANT = b"\x6c\x1b", 1
_HEADER_BYTES = 3
MISSING = -1
# The sum of the four genotypes of every byte without missing ones, and the number of missing ones.
_COPIES = np.array([2, MISSING, 1, 0], dtype=np.int8)
_OF_BYTES = _COPIES[(np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3]
_SUMS = frozen(np.maximum(_OF_BYTES, 0).sum(axis=1).astype(np.int8))
_GAPS = frozen((_OF_BYTES == MISSING).sum(axis=1).astype(np.int8))
# Unpacked blocks stay in the cache.
_BLOCK_BYTES = 1 << 22


@dataclass(eq=False)
class PackedGenotypes(PickingSource):
    """Variants packed at two bits, one in each line of bytes, usually mapped from a .bed file.

    Attributes
    ----------
    packed : p × ⌈n/4⌉ bytes
    n : number of samples
    """

    packed: NDArray[np.uint8]
    n: int
    names: tuple[str, ...] | None = None
    # Number of missing genotypes, -1 if not yet counted, and their replacements.
    n_missing: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    fill: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, dtype=np.float32), repr=False)

    def __post_init__(self) -> None:
        p = self.packed.shape[0]
        self.shape, self.line_bytes, self.concurrent = (self.n, p), self.n, True
        self.stored_line_bytes, self.block_bytes, self.imputes = self.packed.shape[1], _BLOCK_BYTES, "mean"
        if self.n_missing.size != p:
            self.n_missing, self.fill = np.full(p, -1, dtype=np.int64), np.zeros(p, dtype=np.float32)

    def pick(self, index: Indices) -> PackedBlock:
        if index.size and index[-1] - index[0] == index.size - 1:
            packed = self.packed[index[0] : index[-1] + 1]
        else:
            packed = np.take(self.packed, index, axis=0)
        packed = frozen(np.ascontiguousarray(packed))
        if (self.n_missing[index] < 0).any():
            self._count(packed, index)
        return PackedBlock(packed, self.n, self.n_missing[index], self.fill[index])

    def _count(self, packed: NDArray[np.uint8], index: Indices) -> None:
        """Count the missing genotypes of some variants, and compute their replacements."""
        totals, missing = np.empty((2, index.size), dtype=np.int64)
        count_genotypes(packed, self.n, _SUMS, _GAPS, totals, missing)
        known = self.n - missing
        self.fill[index] = np.where(known > 0, totals / np.maximum(known, 1), 0.0)
        self.n_missing[index] = missing

    def taken(self, index: Indices) -> PackedGenotypes:
        """Some of the variants, copied as they are packed."""
        names = None if self.names is None else tuple(self.names[j] for j in index)
        packed = np.take(self.packed, index, axis=0)
        return PackedGenotypes(packed, self.n, names, self.n_missing[index], self.fill[index])

    def column_bytes(self, index: Indices) -> int:
        return self.packed.shape[1] * index.size


@dataclass(eq=False)
class PgenGenotypes(Source):
    """The hard calls of a .pgen file, read by pgenlib."""

    path: str
    n: int
    p: int
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        self.shape, self.line_bytes, self.stored_line_bytes = (self.n, self.p), self.n, -(-self.n // 4)
        self.imputes = "mean"
        self._open()

    def _open(self) -> None:
        pgenlib = required_package("pgenlib", "genotypes", f"{self.path}: .pgen files")
        try:
            self._file = pgenlib.PgenReader(str(self.path).encode(), raw_sample_ct=self.n, variant_ct=self.p)
        except RuntimeError as error:
            raise ValueError(f"{self.path} cannot be read as genotypes: {error}") from error

    def read(self, begin: int, end: int) -> NDArray[Any]:
        calls = np.empty((end - begin, self.n), dtype=np.int8)
        if end > begin:
            self._file.read_range(begin, end, calls)
        missing = calls < 0
        if not missing.any():
            return calls.T
        known = (~missing).sum(axis=1)
        totals = np.where(missing, 0, calls).sum(axis=1)
        fill = np.where(known > 0, totals / np.maximum(known, 1), 0.0).astype(np.float32)
        return np.where(missing, fill[:, None], calls.astype(np.float32)).T

    def column_bytes(self, index: Indices) -> int:
        # As many as single precision takes, if there are missing ones.
        return 4 * self.n * index.size

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_file"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()


def open_bed(path: Path) -> Streamed:
    """The genotypes of a .bed file, mapped, with the names of its .bim file."""
    n, names = len(table_lines(path.with_suffix(".fam"))), _names(path.with_suffix(".bim"), 1)
    with path.open("rb") as file:
        head = file.read(_HEADER_BYTES)
    if head[:2] != _MAGIC or len(head) < _HEADER_BYTES:
        raise ValueError(f"{path} is not a .bed file of PLINK")
    if head[2] != _BY_VARIANT:
        raise ValueError(f"{path} is stored by sample: write it by variant, as PLINK has done since version 1.0")
    width = -(-n // 4)
    if path.stat().st_size != _HEADER_BYTES + width * len(names):
        raise ValueError(
            f"{path} has the wrong size for {n} samples and {len(names)} variants: it is incomplete, or does not "
            "belong to its .bim and .fam files"
        )
    packed = np.memmap(path, dtype=np.uint8, mode="r", offset=_HEADER_BYTES, shape=(len(names), width))
    return Streamed(PackedGenotypes(np.asarray(packed), n, names))


def open_pgen(path: Path) -> Streamed:
    """The genotypes of a .pgen file, with the names of the .pvar file and the number of samples of the .psam file."""
    n = len(table_lines(path.with_suffix(".psam")))
    names = _names(path.with_suffix(".pvar"), 2)
    return Streamed(PgenGenotypes(str(path), n, len(names), names))


def table_lines(path: Path) -> list[list[str]]:
    """The lines of a table that accompanies the genotypes, without comments and header."""
    if not path.is_file():
        raise ValueError(f"there is no file {path}, which is needed to read the genotypes")
    lines = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line[0].startswith("#")]


def _names(path: Path, column: int) -> tuple[str, ...]:
    lines = table_lines(path)
    if any(len(line) <= column for line in lines):
        raise ValueError(f"{path} has a line with fewer than {column + 1} entries")
    return tuple(line[column] for line in lines)
