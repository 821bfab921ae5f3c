"""Tables of Arrow, and Parquet and Feather files, read by columns on demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Indices
from sparsest.core.checks import required_package, shown
from sparsest.core.designs.base import Design
from sparsest.core.designs.sources import PickingSource
from sparsest.core.designs.streamed import Streamed
from sparsest.runtime.sizes import sizes

# Largest number of Parquet columns that a message names.
_SHOWN_COLUMNS = 5


@dataclass(eq=False)
class ArrowColumns(PickingSource):
    """Columns of numbers; ``load`` returns the table of those with the given names."""

    load: Callable[[list[str]], Any]
    schema: Any
    n: int

    def __post_init__(self) -> None:
        import pyarrow as pa

        kinds, types = [field.type for field in self.schema], pa.types
        usable = [
            types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)
            for kind in kinds
        ]
        names = [str(name) for name in self.schema.names]
        if not all(usable):
            bad = [name for name, fine in zip(names, usable, strict=True) if not fine]
            more = ", …" if len(bad) > _SHOWN_COLUMNS else ""
            raise ValueError(
                f"X has columns that are not numeric ({', '.join(map(shown, bad[:_SHOWN_COLUMNS]))}{more}): leave them "
                "out, or encode them first"
            )
        if len(set(names)) < len(names):
            raise ValueError("X has two columns of the same name: rename one of them")
        # The type that holds all columns, and missing values as NaN.
        single = all(types.is_float32(kind) or kind.bit_width <= 16 for kind in kinds)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self.names = tuple(names)
        self.shape, self.line_bytes = (self.n, len(names)), self.n * self.dtype.itemsize

    def pick(self, index: Indices) -> NDArray[Any]:
        assert self.names is not None
        names = [self.names[j] for j in index]
        table, out = self.load(names), np.empty((index.size, self.n), dtype=self.dtype)
        for line, name in zip(out, names, strict=True):
            _fill(line, table.column(name))
        return out.T


def _fill(line: NDArray[Any], column: Any) -> None:
    """Copy the numbers of a column, chunk by chunk, with NaN for missing values."""
    import pyarrow as pa

    place = 0
    for chunk in column.chunks:
        if pa.types.is_decimal(chunk.type) or pa.types.is_boolean(chunk.type):
            chunk = chunk.cast(pa.float64() if pa.types.is_decimal(chunk.type) else pa.int8())
        values = chunk.to_numpy(zero_copy_only=False)
        if values.dtype.kind in "iu" and values.dtype.itemsize == 8 and values.size and np.abs(values).max() >= 2**53:
            raise ValueError(
                "X holds whole numbers that double precision cannot represent: subtract a constant or divide, or drop "
                "the column if it is an identifier"
            )
        line[place : place + len(chunk)] = values
        place += len(chunk)


def read(X: Any) -> Design | None:
    """The design of a table, a file or a dataset; None for anything else."""
    if hasattr(X, "select") and hasattr(X, "num_rows"):
        # NumPy converts small ones.
        if X.nbytes < sizes().large_matrix:
            return None
        return Streamed(ArrowColumns(X.select, X.schema, X.num_rows))
    if hasattr(X, "metadata") and hasattr(X, "read_row_group"):
        return _parquet(X)
    if hasattr(X, "to_table") and hasattr(X, "count_rows"):
        return Streamed(ArrowColumns(lambda names: X.to_table(columns=names), X.schema, X.count_rows()))
    return None


def _parquet(file: Any) -> Design:
    schema = file.schema_arrow
    return Streamed(ArrowColumns(lambda names: file.read(columns=names), schema, file.metadata.num_rows))


def open_parquet(path: Path) -> Design:
    """The columns of a Parquet file, or of a folder of them."""
    required_package("pyarrow", "io", f"{path}: Parquet files")
    import pyarrow as pa
    from pyarrow import dataset, parquet

    try:
        found = read(dataset.dataset(path, format="parquet") if path.is_dir() else parquet.ParquetFile(path))
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} cannot be read as Parquet ({error})") from error
    assert found is not None
    return found


def open_feather(path: Path) -> Design:
    """The columns of a Feather (Arrow) file, mapped if it is not compressed."""
    required_package("pyarrow", "io", f"{path}: Feather files")
    import pyarrow as pa
    from pyarrow import feather

    try:
        with pa.memory_map(str(path)) as mapped, pa.ipc.open_file(mapped) as file:
            schema, n = file.schema, sum(file.get_batch(i).num_rows for i in range(file.num_record_batches))
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} cannot be read as Feather ({error})") from error

    def load(names: list[str]) -> Any:
        return feather.read_table(path, columns=names, memory_map=True)

    return Streamed(ArrowColumns(load, schema, n))
