"""Convert a matrix to the layout that is fastest to read: NumPy's format in column order.

Only blocks are held in memory.  A file that is stored by rows is converted a block of rows at a time.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsest.core.checks import word
from sparsest.core.designs import Dense, Sparse, Streamed, as_design, on_demand
from sparsest.core.designs.combining import dense_array
from sparsest.core.designs.files import OPENERS
from sparsest.core.designs.sources import in_memory
from sparsest.runtime.sizes import sizes
from sparsest.tables.on_demand import in_bytes, names_file
from sparsest.tables.readers import read_source

TYPES = ("auto", "float64", "float32", "int8")
_PACKED = (".bed", ".bim", ".fam")


def convert(
    data: str, out: Path, dtype: str = "auto", callback: Callable[[float], Any] = lambda share: None
) -> list[str]:
    """Write the matrix of a file to another file; return notes for the user.

    Parameters
    ----------
    data : a file of any format
    out : name ending in ``.npy`` for column order, or in ``.bed`` for an unchanged copy of PLINK genotypes
    dtype : type of the entries; "auto" is that of the file, or for genotypes the smallest of ``TYPES`` that holds them
    callback : called with the finished share
    """
    word(dtype, "--dtype", words=TYPES)
    if out.suffix.lower() == ".bed":
        return _copy_packed(Path(data), out)
    if out.suffix.lower() != ".npy":
        raise ValueError(f"{out} must end with .npy, or with .bed for genotypes of PLINK")
    design = _open(data)
    kind = _type_of(design) if dtype == "auto" else np.dtype(dtype)
    _refuse_too_large(design, kind, out)
    unfinished = out.with_name(out.name + ".unfinished")
    try:
        written = np.lib.format.open_memmap(unfinished, mode="w+", dtype=kind, shape=design.shape, fortran_order=True)
        for rows, columns, block in _blocks(design):
            converted = block.astype(kind, copy=False)
            if kind.kind == "i" and not np.array_equal(converted, block):
                raise ValueError(f"{data} holds numbers that {kind} cannot represent: use --dtype float32 or float64")
            written[rows, columns] = converted
            callback(rows.stop / design.shape[0] if design.source.by_rows else columns.stop / design.shape[1])
        written.flush()
        del written
        unfinished.replace(out)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    n, p = design.shape
    notes = [f"{n} × {p} entries of type {kind}, columns one after the other"]
    if design.names is not None:
        names_file(out).write_text("".join(f"{name}\n" for name in design.names), encoding="utf-8")
        notes.append(f"the names of the columns are in {names_file(out)}")
    return notes


def _refuse_too_large(design: Streamed, kind: np.dtype[Any], out: Path) -> None:
    """Raise a ValueError if the file does not fit on the disk: writing to a mapped file would end the process."""
    size, free = design.shape[0] * design.shape[1] * kind.itemsize, shutil.disk_usage(out.absolute().parent).free
    if size > free:
        smaller = "" if kind.itemsize == 1 else ", or a smaller type with --dtype"
        raise ValueError(
            f"{out} would have {in_bytes(size)} in {kind}, but only {in_bytes(free)} are free there: name another "
            f"folder{smaller}"
        )


def _open(data: str) -> Streamed:
    """The design of a file; files that cannot be read in blocks are loaded into memory."""
    known = Path(data).suffix.lower() in OPENERS
    matrix, names = (on_demand(data), None) if known else _loaded(data)
    design = as_design(matrix)
    if isinstance(design, Streamed):
        return design
    assert isinstance(design, (Dense, Sparse))
    source = in_memory(design.matrix if isinstance(design, Sparse) else design.array)
    source.names = names
    return Streamed(source)


def _loaded(data: str) -> tuple[Any, tuple[str, ...] | None]:
    """Load the matrix of a file with the names of its columns."""
    source = read_source(data)
    if source.matrix is not None:
        return source.matrix, source.names
    other = [column.name for column in source.columns if column.kind != "number"]
    if other:
        raise ValueError(f"column {other[0]!r} of {data} holds no numbers: only matrices of numbers can be converted")
    columns = np.column_stack([column.load() for column in source.columns])
    return np.asfortranarray(columns), tuple(column.name for column in source.columns)


def _type_of(design: Streamed) -> np.dtype[Any]:
    """The type that holds all entries."""
    kinds = {block.dtype for _, _, block in _blocks(design)} if design.source.imputes else set()
    if not kinds:
        kinds = {next(_blocks(design))[2].dtype}
    return np.dtype(np.result_type(*kinds))


def _blocks(design: Streamed) -> Iterator[tuple[slice, slice, NDArray[Any]]]:
    """Blocks of entries with their rows and columns, in the type of the file."""
    source = design.source
    width = max(source.width(sizes().written_bytes), 1)
    for begin in range(0, source.n_lines, width):
        part = slice(begin, min(begin + width, source.n_lines))
        block = dense_array(design.block(part.start, part.stop))
        if not source.by_rows:
            yield slice(None), part, block
            continue
        step = sizes().written_columns
        for left in range(0, design.shape[1], step):
            tile = slice(left, min(left + step, design.shape[1]))
            yield part, tile, block[:, tile]


def _copy_packed(data: Path, out: Path) -> list[str]:
    """Copy PLINK genotypes, which are already packed, with their .bim and .fam files."""
    if data.suffix.lower() != ".bed":
        raise ValueError(f"only PLINK genotypes can be written to {out}: give the name of a .npy file")
    n, p = as_design(data).shape
    for ending in _PACKED:
        shutil.copyfile(data.with_suffix(ending), out.with_suffix(ending))
    return [f"{n} × {p} genotypes, packed at two bits"]
