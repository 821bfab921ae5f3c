"""Detect the format of a file from its first bytes; open compressed files and standard input.

File names are not used: they can be wrong, and standard input has none.
"""

from __future__ import annotations

import gzip
import io
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from sparsest.runtime.sizes import sizes

# Number of bytes from which the format is detected.  For a text file more is read until there are this many lines:
# tables of genes have lines of many megabytes.
_HEAD_BYTES, _HEAD_LINES = 1 << 20, 3
_MAGIC = (
    (b"PAR1", "parquet"),
    (b"ARROW1", "feather"),
    (b"FEA1", "feather"),
    (b"\x93NUMPY", "npy"),
    (b"PK\x03\x04", "npz"),
    (b"%%MatrixMarket", "matrix market"),
    (b"\x89HDF\r\n\x1a\n", "h5ad"),
    (b"\x6c\x1b", "bed"),
    (b"\xff\xd8\xff", "an image"),
    (b"\x89PNG", "an image"),
    (b"%PDF", "a PDF document"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file"),
    (b"RDX3", "a file of R"),
    (b"RDX2", "a file of R"),
)
READABLE = frozenset(("parquet", "feather", "npy", "npz", "matrix market", "h5ad", "bed", "svmlight", "text"))
_SVMLIGHT = re.compile(rb"^\s*[-+]?[\d.]+(e[-+]?\d+)?(\s+qid:\d+)?(\s+\d+:[-+.\deE]+)+\s*(#.*)?$")
ADVICE = "give a CSV, TSV, Parquet, Feather, NPY, NPZ, Matrix Market, svmlight, .h5ad or .bed file, or a folder"


@dataclass(frozen=True)
class Opened:
    """A file, or the bytes of standard input, that can be read several times.

    ``compression`` is "gzip", "zstd" or None, and ``head`` the first bytes without it: of a text file some whole lines.
    """

    name: str
    path: Path | None
    content: bytes
    compression: str | None
    head: bytes
    kind: str

    @property
    def plain_path(self) -> Path | None:
        """The path of an uncompressed file; None for compressed files and standard input."""
        return self.path if self.compression is None else None

    @contextmanager
    def stream(self) -> Iterator[BinaryIO]:
        """The bytes without compression."""
        with io.BytesIO(self.content) if self.path is None else self.path.open("rb") as file:
            try:
                yield _decompressed(file, self.compression, self.name)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise ValueError(f"{self.name} cannot be read: its compressed data are damaged ({error})") from error

    def read(self) -> bytes:
        """All bytes without compression."""
        with self.stream() as file:
            return file.read()

    def n_bytes(self) -> int:
        """Number of bytes without compression."""
        with self.stream() as file:
            return sum(map(len, iter(partial(file.read, _HEAD_BYTES), b"")))


def open_data(data: str) -> Opened:
    """Open a file, or standard input for "-", and detect its format; folders are handled elsewhere."""
    if data == "-":
        return _look("standard input", None, sys.stdin.buffer.read())
    path = Path(data)
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {data}")
    if not path.is_file():
        # A pipe can be read only once.
        return _look(data, None, path.read_bytes())
    return _look(data, path, b"")


def _look(name: str, path: Path | None, content: bytes) -> Opened:
    with io.BytesIO(content) if path is None else path.open("rb") as file:
        first = file.read(4)
        compression = "gzip" if first[:2] == b"\x1f\x8b" else "zstd" if first == b"\x28\xb5\x2f\xfd" else None
        file.seek(0)
        try:
            stream = _decompressed(file, compression, name)
            head = stream.read(_HEAD_BYTES)
            kind = _kind(head, name)
            if kind == "text":
                head = _whole_lines(head, stream, name)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{name} cannot be read, its compression is damaged ({error})") from error
    return Opened(name, path, content, compression, head, kind)


def _whole_lines(head: bytes, stream: BinaryIO, name: str) -> bytes:
    """The beginning of a text file up to the end of a line, with at least a few lines if the file has them."""
    end = b"\r" if b"\r" in head and b"\n" not in head else b"\n"
    parts, n_bytes, count = [head], len(head), head.count(end)
    more = head if n_bytes == _HEAD_BYTES else b""
    while more and count < _HEAD_LINES and n_bytes < sizes().head_bytes:
        more = stream.read(_HEAD_BYTES)
        parts.append(more)
        n_bytes, count = n_bytes + len(more), count + more.count(end)
    whole = b"".join(parts)
    if not more:
        return whole
    if not count:
        raise ValueError(f"{name} has a first line of more than {n_bytes >> 20} MB: is it a table? {ADVICE}")
    return whole[: whole.rindex(end) + 1]


def _kind(head: bytes, name: str) -> str:
    if not head:
        raise ValueError(f"{name} is empty")
    kind = next((kind for magic, kind in _MAGIC if head.startswith(magic)), "")
    if not kind:
        lines = [line for line in head.splitlines()[:20] if line.strip() and not line.lstrip().startswith(b"#")]
        kind = "svmlight" if lines and _SVMLIGHT.match(lines[0]) else "text"
        if kind == "text" and b"\0" in head[:4096] and not head.startswith((b"\xff\xfe", b"\xfe\xff")):
            kind = "a binary file of an unknown format"
    if kind not in READABLE:
        raise ValueError(f"{name} is {kind}: {ADVICE}")
    return kind


def _decompressed(file: BinaryIO, compression: str | None, name: str) -> BinaryIO:
    if compression is None:
        return file
    if compression == "gzip":
        return gzip.GzipFile(fileobj=file)  # type: ignore[return-value]
    try:
        import pyarrow as pa
    except ImportError as error:
        raise need("pyarrow", f"{name}: zstd-compressed files need pyarrow") from error
    return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(file), "zstd"))


def need(package: str, why: str) -> ValueError:
    """The error for a package that is not installed."""
    return ValueError(f"{why}: pip install {package}, or pip install 'sparsest[io]' for all readers")
