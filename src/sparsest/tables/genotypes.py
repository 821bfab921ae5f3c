"""PLINK files: genotypes (.bed) with the variants (.bim) and the samples (.fam) beside them.

A byte holds four genotypes of one variant, two bits each, the lowest first: 00 means two copies of the first allele, 10
one, 11 none, and 01 is missing.  Columns are numbers of copies of the first allele.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsest.runtime.sizes import sizes
from sparsest.tables.on_demand import about_reading
from sparsest.tables.opening import Opened
from sparsest.tables.source import Source, column_of, distinct, number_column

_MISSING = -1
_COPIES = np.array([2, _MISSING, 1, 0], dtype=np.int8)
# The four genotypes of every byte.
_DECODED = _COPIES[(np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3]
_HEADER_BYTES, _BY_VARIANT = 3, 1
_NO_PHENOTYPE = -9.0
# Name of the column with the names of the samples.
_ROWS = "sample"


def read_genotypes(opened: Opened) -> Source:
    """Read the genotypes of all samples, as int8, or as float32 with NaN where some are missing."""
    if opened.path is None:
        raise ValueError(f"{opened.name}: genotypes need a .bim and a .fam file beside the .bed file")
    if len(opened.head) < _HEADER_BYTES or opened.head[2] != _BY_VARIANT:
        raise ValueError(f"{opened.name} is stored by sample: convert it to variant order, PLINK's default since 1.0")
    samples, variants = (_lines(opened.path.with_suffix(end)) for end in (".fam", ".bim"))
    notes: list[str] = []
    matrix: Any = None
    if len(samples) * len(variants) >= sizes().large_matrix and opened.plain_path is not None:
        from sparsest.core.designs.genotypes import open_bed

        matrix = open_bed(opened.plain_path)
        notes += [about_reading(matrix), "missing genotypes are replaced by the mean of their variant"]
    else:
        matrix = _genotypes(opened, len(samples), len(variants))
    names = tuple(distinct([line[1] for line in variants], notes))
    phenotype = np.array([_number(line[5]) for line in samples])
    phenotype[phenotype == _NO_PHENOTYPE] = np.nan
    sex = np.array([_number(line[4]) for line in samples])
    rows = column_of(_ROWS, np.array([line[1] for line in samples], dtype=object))
    columns = [number_column("phenotype", phenotype), number_column("sex", sex), rows]
    return Source(len(samples), columns, matrix, names, "phenotype", notes, ids=_ROWS)


def _lines(path: Path) -> list[list[str]]:
    if not path.is_file():
        raise ValueError(f"there is no file {path}, which is needed to read the genotypes")
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if any(len(line) < 6 for line in lines):
        raise ValueError(f"{path} has a line with fewer than six entries")
    return lines


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _genotypes(opened: Opened, n: int, p: int) -> NDArray[np.int8] | NDArray[np.float32]:
    width = -(-n // 4)
    packed = np.frombuffer(opened.read(), dtype=np.uint8)[_HEADER_BYTES:]
    if packed.size != width * p:
        raise ValueError(
            f"{opened.name} has {packed.size} bytes of genotypes, but {n} samples and {p} variants need {width * p}: "
            "the file is incomplete, or does not belong to its .bim and .fam files"
        )
    matrix = np.empty((n, p), dtype=np.int8, order="F")
    for j, variant in enumerate(packed.reshape(p, width)):
        matrix[:, j] = _DECODED[variant].ravel()[:n]
    missing = matrix == _MISSING
    if not missing.any():
        return matrix
    known = matrix.astype(np.float32)
    known[missing] = np.nan
    return known
