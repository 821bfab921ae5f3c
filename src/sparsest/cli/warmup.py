"""The command ``warmup``: compile kernels in advance."""

from __future__ import annotations

import time

import typer

from sparsest.cli.app import command


@command
def warmup() -> None:
    """Compile the numerical kernels once, so that no later fit has to wait for it.

    Example: `sparsest warmup`
    """
    from sparsest.warming import warmup as compile_all

    start = time.perf_counter()
    compile_all()
    typer.echo(f"kernels are compiled ({time.perf_counter() - start:.1f} s)")
