"""The bootstrap of a command's selection: ``--bootstrap``."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from sparsest.results.result import Result
    from sparsest.selection.bootstrap_result import BootstrapResult
    from sparsest.tables import Table


def estimator_of(result: Result, settings: dict[str, Any]) -> Any:
    """The estimator that makes the same choice as a fit with these settings."""
    from sparsest.estimators import BestSubsetClassifier, BestSubsetRegressor

    make = BestSubsetRegressor if result.classes is None else BestSubsetClassifier
    known = {
        name: value for name, value in settings.items() if name in signature(make).parameters and value is not None
    }
    # Columns by their numbers: the matrix of a table has no names.
    about = result.statement
    restrictions = {name: getattr(about, name) for name in ("include", "exclude", "lower", "upper")}
    return make(**{**known, **restrictions})


def repeat_selection(
    estimator: Any, table: Table, count: int, threads: int | None, quiet: bool
) -> BootstrapResult | None:
    """Bootstrap a selection, with its progress on a terminal; None if nothing was done before Ctrl-C."""
    from sparsest.cli.live import watched
    from sparsest.selection.bootstrap import bootstrap

    with watched("bootstrap", float("inf"), quiet) as (_, listener):
        try:
            found = bootstrap(
                estimator, table.matrix, table.target, n_resamples=count, n_jobs=-1 if threads is None else threads,
                random_state=0, callback=listener, **table.rows,
            )  # fmt: skip
        except KeyboardInterrupt:
            typer.echo("interrupted: no resample was done", err=True)
            return None
    return replace(found, feature_names=table.names)


def as_json(found: BootstrapResult | None) -> dict[str, Any] | None:
    """The bootstrap in JSON's types."""
    if found is None:
        return None
    models = [{"support": list(one.support), "frequency": one.frequency} for one in found.models]
    return {
        "n_resamples": found.n_resamples,
        "model_frequency": found.model_frequency,
        "inclusion": {found.name(j): float(found.inclusion[j]) for j in found.used.tolist()},
        "models": models[:20],
    }
