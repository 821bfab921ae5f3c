"""The command ``demo``: two data sets that come with scikit-learn."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from sparsest.cli import options as o
from sparsest.cli.app import INTERRUPTED, command


@command
def demo(
    k: Annotated[int, typer.Option(help="Number of features of each model.", min=1)] = 6,
    time_limit: Annotated[float, typer.Option(help="Seconds for each model.", min=0.01)] = 60.0,
    as_json: o.Json = False,
) -> int:
    """Fit a regression and a classifier to data from scikit-learn, and show models and proofs.

    Example: `sparsest demo --k 4`
    """
    with _compiling_beside():
        return _run(k, time_limit, as_json)


def _run(k: int, time_limit: float, as_json: bool) -> int:
    """Fit and print both models."""
    from sparsest.cli.live import watched
    from sparsest.cli.output import print_json, print_model
    from sparsest.datasets import load_breast_cancer, load_diabetes_quadratic
    from sparsest.runtime.events import Status
    from sparsest.subset.api import best_subset

    cases = (
        ("Diabetes, 442 × 64: disease progression, squared loss", load_diabetes_quadratic(), "squared"),
        ("Breast cancer, 569 × 30: benign or malignant, logistic loss", load_breast_cancer(), "logistic"),
    )
    printed: list[dict[str, Any]] = []
    code = 0
    for title, data, loss in cases:
        names = None if data.feature_names is None else data.feature_names.tolist()
        with watched(title, time_limit, quiet=as_json) as (_, listener):
            result = best_subset(
                data.X, data.y, k, loss=loss, time_limit=time_limit, feature_names=names, callback=listener
            )
        printed.append({"title": title, **result.to_dict()})
        if not as_json:
            print_model(result, f"{title}, k = {k}")
            typer.echo()
        if result.status is Status.INTERRUPTED:
            code = INTERRUPTED
            break
    if as_json:
        print_json("demo", {"models": printed})
    return code


@contextmanager
def _compiling_beside() -> Iterator[None]:
    """If no kernel is compiled yet, start a process that compiles those that the demo needs last."""
    from sparsest.runtime.jit import is_cache_empty

    if not is_cache_empty():
        yield
        return
    command = [sys.executable, "-c", "from sparsest.warming import warmup; warmup()"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as helper:
        try:
            yield
        finally:
            # Each kernel is cached as soon as it is compiled, so stopping the process loses only the last one.
            helper.terminate()
