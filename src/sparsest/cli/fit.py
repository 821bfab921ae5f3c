"""The command ``fit``: the best model with few features, proved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from sparsest.cli import options as o
from sparsest.cli.app import command, log
from sparsest.cli.structure import StructureOptions
from sparsest.core.settings import SETTINGS

if TYPE_CHECKING:
    from sparsest.core.data import Data as PreparedData
    from sparsest.results.result import Result


def _size(text: Any) -> int | str:
    """A number of features, or the name of a criterion."""
    given = str(text)
    if given.lstrip("+-").isdecimal():
        return int(given)
    from sparsest.selection.criteria import CRITERIA

    if given not in CRITERIA:
        raise typer.BadParameter(f"{given!r} is neither a whole number nor one of {', '.join(CRITERIA)}")
    return given


@command
def fit(
    data: o.Data,
    columns: o.TableOptions,
    model: o.SubsetOptions,
    structure: StructureOptions,
    search: o.SearchOptions,
    files: o.OutputOptions,
    k: Annotated[
        str,
        typer.Option(
            help="The largest number of features; or aic, aicc, bic, ebic, gic or mbic, which choose it.",
            parser=_size,
            metavar="NUMBER|CRITERION",
        ),
    ] = "10",
    l0_penalty: Annotated[float | None, typer.Option(help="The price of a feature, instead of k.")] = None,
    gamma: Annotated[str, o.setting("gamma")] = SETTINGS["gamma"].default,
    start: Annotated[str | None, typer.Option(help="A model.json to start from.", rich_help_panel=o.SEARCH)] = None,
    screen: Annotated[int | None, o.setting("screen", o.SEARCH)] = None,
    engine: Annotated[str | None, o.setting("engine", o.SEARCH)] = None,
    node_limit: Annotated[int | None, o.setting("node_limit", o.SEARCH)] = None,
    max_memory: Annotated[float | None, o.setting("max_memory", o.SEARCH)] = None,
    option: Annotated[
        list[str],
        typer.Option(help="A further setting of the method, NAME=VALUE; repeat for more.", rich_help_panel=o.SEARCH),
    ] = [],  # noqa: B006
) -> int:
    """Find the best model with few features, and prove it.

    Example: `sparsest fit patients.csv --target survived --k 5 --impute median --out model.json --report report.html`

    Numbers are taken as they are, the levels of a column of text are chosen together, identifiers are left out. Ctrl-C
    ends the search with the best model so far. The options are the arguments of the function best_subset.
    """
    from sparsest.cli.data import gamma_of, load, model_settings, rows_of_the_file
    from sparsest.cli.live import watched
    from sparsest.cli.output import refuse_overwriting
    from sparsest.cli.reporting import ModelOutput
    from sparsest.cli.stability import estimator_of, repeat_selection
    from sparsest.results.result import Result

    refuse_overwriting(files.force, files.out, files.report)
    further = dict(_setting(text) for text in option)
    first = None if start is None else Result.load(start)
    table = structure.prepare(load(data, columns.requirements(excluded_in_table=True), quiet=files.as_json))
    settings: dict[str, Any] = {
        "k": k if l0_penalty is None else None, "l0_penalty": l0_penalty, "gamma": gamma_of(gamma),
        **model_settings(model, columns, table, quiet=files.as_json), **structure.settings(table),
        **search.settings(), "screen": screen, "engine": engine, "node_limit": node_limit, "max_memory": max_memory,
        "options": further,
    }  # fmt: skip
    log("solving for %s with the method %s", "k" if l0_penalty is None else "a price of features", search.method)
    with watched(Path(data).name, search.time_limit, files.as_json) as (record, listener), rows_of_the_file(table):
        found = _search(
            table.matrix, table.target, feature_names=table.names, start=first, **table.rows,
            callback=listener, **settings,
        )  # fmt: skip
    stability = None
    if search.bootstrap:
        again = estimator_of(found.result, settings)
        stability = repeat_selection(again, table, search.bootstrap, search.threads, quiet=files.as_json)
    output = ModelOutput("fit", data, columns.target, files)
    code = output.write(
        found.result, table, record, settings, more={"choice": found.choice}, stability=stability, prepared=found.data
    )
    if found.choice is not None and not files.as_json:
        from sparsest.selection.certified import about_other_sizes

        n_chosen = found.result.support.size
        word = "feature" if found.result.feature_groups is None else "column"
        others = about_other_sizes(found.choice["not_excluded"], word)
        typer.echo(f"{k} chose {n_chosen} {word}{'' if n_chosen == 1 else 's'}; {others}")
    return code


class _Found(NamedTuple):
    """A model, the choice of its size by a criterion for the JSON, and the data as prepared by the search."""

    result: Result
    choice: dict[str, Any] | None = None
    data: PreparedData | None = None


def _search(X: Any, y: Any, k: Any, **settings: Any) -> _Found:
    """Find the best model of at most k features, or of as many as a criterion chooses."""
    if not isinstance(k, str):
        from sparsest.subset.task import solve

        result, prepared = solve(X, y, k=k, **settings)
        return _Found(result, data=prepared)
    from sparsest.selection.certified_search import certified_choice, settings_of_a_choice

    choice = certified_choice(X, y, k, **settings_of_a_choice(settings))
    about = {"criterion": k, "value": choice.value, "lower_bound": choice.lower_bound}
    return _Found(choice.result, {**about, "not_excluded": list(choice.not_excluded)})


def _setting(text: str) -> tuple[str, Any]:
    """Split NAME=VALUE; the value is parsed as JSON if possible, and is text otherwise."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--option must be NAME=VALUE, got {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
