"""CSV, Parquet and Feather by pyarrow, on all cores; the memory of columns is freed as the matrix is filled."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsest.runtime.faults import reach
from sparsest.runtime.sizes import sizes
from sparsest.tables.dialect import Dialect
from sparsest.tables.opening import Opened, need
from sparsest.tables.source import MISSING, Column, Levels, Source, distinct, levels_of

# A block of text must hold a whole row, so wide tables get larger blocks.
_ROWS_IN_BLOCK = 8
# The file is read up to this many times; each failure finds one column whose type contradicts its first entries.
_PASSES = 2
_BAD_COLUMN = re.compile(r"In CSV column #(\d+)")


def read_csv(opened: Opened, dialect: Dialect) -> Source:
    """Read a text file; columns whose later entries contradict the type of the first ones are read again."""
    import pyarrow as pa
    from pyarrow import csv

    longest = max((len(line) for line in opened.head.splitlines()[:50]), default=0)
    block = max(sizes().text_bytes, _ROWS_IN_BLOCK * longest)
    encoding = "utf-8" if dialect.encoding == "utf-8-sig" else dialect.encoding
    reading = csv.ReadOptions(
        use_threads=True, block_size=block, encoding=encoding, column_names=list(dialect.names),
        skip_rows=1 if dialect.header else 0,
    )  # fmt: skip
    parsing = csv.ParseOptions(delimiter=dialect.separator, newlines_in_values=_quotes_span_lines(opened.head))
    words: dict[str, Any] = {
        "null_values": list(MISSING),
        "strings_can_be_null": True,
        "decimal_point": dialect.decimal,
    }
    types = {name: _wide(pa, kind) for name, kind in _first_types(csv, opened, reading, parsing, words)}
    text = pa.dictionary(pa.int32(), pa.string())
    n_passes = 0
    while True:
        n_passes += 1
        converting = csv.ConvertOptions(column_types=types, **words)
        try:
            with _input(pa, opened) as stream:
                table = csv.read_csv(stream, reading, parsing, converting)
            return replace(from_arrow(table, list(dialect.notes)), first_row=1 + dialect.header)
        except pa.ArrowInvalid as error:
            bad = _BAD_COLUMN.search(str(error))
            name = dialect.names[int(bad[1])] if bad else None
            if name is None or types[name] == text:
                raise ValueError(f"{opened.name} cannot be read as a table: {error}") from error
            types[name] = text
            if n_passes == _PASSES:
                # With many such columns, one pass finds all of them.
                with _input(pa, opened) as stream:
                    types |= dict.fromkeys(_contradicting(stream, types, reading, parsing, words), text)


def _contradicting(stream: Any, types: dict[str, Any], reading: Any, parsing: Any, words: dict[str, Any]) -> set[str]:
    """Names of columns with entries that are not of the type of the column."""
    import pyarrow as pa
    from pyarrow import compute, csv

    found: set[str] = set()
    typed = [name for name, kind in types.items() if not pa.types.is_dictionary(kind)]
    as_text = csv.ConvertOptions(column_types=dict.fromkeys(types, pa.string()), **words)
    with csv.open_csv(stream, reading, parsing, as_text) as batches:
        for batch in batches:
            for name in [name for name in typed if name not in found]:
                try:
                    entries = compute.utf8_trim_whitespace(batch.column(name))
                    compute.replace_substring(entries, words["decimal_point"], ".").cast(types[name])
                except pa.ArrowInvalid:
                    found.add(name)
    return found


def _quotes_span_lines(head: bytes) -> bool:
    """Whether a quoted entry spans several lines, which prevents parallel parsing."""
    return any(line.count(b'"') % 2 for line in head.splitlines()[:-1])


def _input(pa: Any, opened: Opened) -> Any:
    reach("pass over text")
    raw = pa.BufferReader(opened.content) if opened.path is None else pa.OSFile(str(opened.path))
    return raw if opened.compression is None else pa.CompressedInputStream(raw, opened.compression)


def _first_types(csv: Any, opened: Opened, reading: Any, parsing: Any, words: dict[str, Any]) -> Any:
    """Names and types of the columns, inferred from the first block."""
    import pyarrow as pa

    try:
        with _input(pa, opened) as stream, csv.open_csv(stream, reading, parsing, csv.ConvertOptions(**words)) as first:
            return [(field.name, field.type) for field in first.schema]
    except pa.ArrowInvalid as error:
        raise ValueError(f"{opened.name} cannot be read as a table: {error}") from error


def _wide(pa: Any, kind: Any) -> Any:
    """The type to read a column as, given that of its first entries: integers become floats, as decimals may follow."""
    types = pa.types
    if types.is_integer(kind) or types.is_floating(kind) or types.is_null(kind):
        return pa.float64()
    return pa.dictionary(pa.int32(), pa.string()) if types.is_string(kind) or types.is_binary(kind) else kind


def read_parquet(opened: Opened) -> Source:
    """Read a Parquet file."""
    return _read_stored(opened, "parquet")


def read_feather(opened: Opened) -> Source:
    """Read a Feather file."""
    return _read_stored(opened, "feather")


def _read_stored(opened: Opened, module: str) -> Source:
    try:
        import pyarrow as pa
        from pyarrow import feather, parquet
    except ImportError as error:
        raise need("pyarrow", f"{opened.name}: {module} files need pyarrow") from error
    reader = parquet.read_table if module == "parquet" else feather.read_table
    try:
        return from_arrow(reader(opened.plain_path or pa.BufferReader(opened.read())), [])
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{opened.name} cannot be read: save it again ({error})") from error


def from_arrow(table: Any, notes: list[str]) -> Source:
    """The columns of an Arrow table; each can be freed separately."""
    names = distinct([str(name) for name in table.column_names], notes)
    columns = [_column(name, table.column(j)) for j, name in enumerate(names)]
    return Source(table.num_rows, columns, notes=notes)


def _column(name: str, values: Any) -> Column:
    import pyarrow as pa

    kind, types = values.type, pa.types
    inner = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_string(inner) or types.is_large_string(inner) or types.is_null(inner):
        return Column(name, "text", partial(_levels, values))
    if types.is_dictionary(kind):
        return Column(name, "other", lambda: values)
    if types.is_temporal(kind):
        return Column(name, "date", lambda: values)
    if types.is_decimal(kind):
        values, kind = values.cast(pa.float64()), pa.float64()
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        whole = values.null_count == 0 or types.is_floating(kind)
        dtype = np.dtype(kind.to_pandas_dtype()) if whole else np.dtype(np.float64)
        return Column(name, "number", partial(_numbers, values, dtype), dtype)
    return Column(name, "other", lambda: values)


def _numbers(values: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The numbers of a chunked array, chunk by chunk; NaN for missing values."""
    found = np.empty(len(values), dtype=dtype)
    place = 0
    for chunk in values.chunks:
        end = place + len(chunk)
        # Nulls of integers become NaN, of booleans None.
        part = chunk.to_numpy(zero_copy_only=False)
        found[place:end] = part if part.dtype != object else [np.nan if x is None else x for x in part]
        place = end
    return found


def _levels(values: Any) -> Levels:
    import pyarrow as pa

    if pa.types.is_null(values.type):
        return Levels(np.full(len(values), -1, dtype=np.int32), ())
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    whole = values.unify_dictionaries().combine_chunks()
    whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    words = np.array(whole.dictionary.to_pylist(), dtype=object)
    inner = levels_of(words)
    codes = whole.indices.to_numpy(zero_copy_only=False)
    missing = np.isnan(codes) if codes.dtype.kind == "f" else np.zeros(codes.size, dtype=bool)
    if not words.size:
        return Levels(np.full(codes.size, -1, dtype=np.int32), ())
    sorted_codes = inner.codes[np.where(missing, 0, codes).astype(np.intp)]
    return Levels(np.where(missing, -1, sorted_codes).astype(np.int32), inner.levels)
