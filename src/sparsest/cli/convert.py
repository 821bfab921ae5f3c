"""The command ``convert``: write a matrix in the layout that is fastest to read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from sparsest.cli.app import command


@command
def convert(
    data: Annotated[str, typer.Argument(help="A file with a matrix: NPY, HDF5, h5ad, zarr, Parquet, PLINK, CSV, …")],
    out: Annotated[str, typer.Argument(help="The file to write: .npy, or .bed for genotypes of PLINK.")],
    dtype: Annotated[str, typer.Option(help="Type of the entries: auto, float64, float32 or int8.")] = "auto",
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")] = False,
) -> None:
    """Write a matrix in the layout that is fastest to read: NumPy's format in column order.

    Example: `sparsest convert cells.h5ad cells.npy --dtype float32`

    Only blocks are held in memory, so the matrix may be larger than memory. `sparsest fit` and all functions read the
    file without loading it. Names of columns are written to a second file whose name ends with .names.
    """
    from sparsest.cli.output import refuse_overwriting
    from sparsest.tables.converting import convert as write

    refuse_overwriting(force, out)
    start = time.perf_counter()
    with _progress(Path(out).name) as show_share:
        notes = write(data, Path(out), dtype, show_share)
    for note in notes:
        typer.echo(note)
    typer.echo(f"written to {out} in {time.perf_counter() - start:.1f} s")


@contextmanager
def _progress(title: str) -> Iterator[Callable[[float], Any]]:
    """Yield a function to call with the finished share; a bar shows it if stderr is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda share: None
        return
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(title, total=1.0)
        yield lambda share: progress.update(task, completed=share)
