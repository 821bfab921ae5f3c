"""The command ``fit``: the best model with few features, proved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from sparsest.cli import options as o
from sparsest.cli.app import command, log


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
    target: o.Target = None,
    k: Annotated[
        str,
        typer.Option(
            help="The largest number of features; or aic, aicc, bic, ebic, gic or mbic, which choose it.",
            parser=_size,
            metavar="NUMBER|CRITERION",
        ),
    ] = "10",
    l0_penalty: Annotated[float | None, typer.Option(help="The price of a feature, instead of k.")] = None,
    loss: o.Loss = "auto",
    gamma: o.Gamma = "auto",
    max_coef: o.MaxCoef = None,
    epsilon: o.Epsilon = None,
    delta: o.Delta = None,
    quantile: o.Quantile = None,
    theta: o.Theta = None,
    fit_intercept: o.FitIntercept = True,
    standardize: o.Standardize = True,
    include: o.Include = [],  # noqa: B006
    exclude: o.Exclude = [],  # noqa: B006
    ids: o.Ids = [],  # noqa: B006
    weights: o.Weights = None,
    offset: o.Offset = None,
    exposure: o.Exposure = None,
    impute: o.Impute = None,
    missing_text: o.MissingText = "level",
    max_missing: o.MaxMissing = 0.5,
    min_level: o.MinLevel = None,
    drop: o.Drop = [],  # noqa: B006
    categorical: o.Categorical = [],  # noqa: B006
    drop_zero_exposure: o.DropZeroExposure = False,
    method: o.Method = "tree",
    time_limit: o.TimeLimit = 60.0,
    gap_tol: o.GapTol = 1e-4,
    threads: o.Threads = None,
    start: Annotated[str | None, typer.Option(help="A model.json to start from.", rich_help_panel="Search")] = None,
    screen: Annotated[
        int | None,
        typer.Option(help="Solve for this many features that screening keeps.", rich_help_panel="Search"),
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="highs, scip or gurobi, for the method cuts.", rich_help_panel="Search")
    ] = None,
    node_limit: Annotated[
        int | None, typer.Option(help="The largest number of nodes.", rich_help_panel="Search")
    ] = None,
    max_memory: Annotated[
        float | None,
        typer.Option(help="Bytes for open regions, proof and Gram matrix.", rich_help_panel="Search"),
    ] = None,
    option: Annotated[
        list[str],
        typer.Option(help="A further setting of the method, NAME=VALUE; repeat for more.", rich_help_panel="Search"),
    ] = [],  # noqa: B006
    bootstrap: o.Bootstrap = 0,
    out: o.Out = None,
    report: o.Report = None,
    force: o.Force = False,
    as_json: o.Json = False,
) -> int:
    """Find the best model with few features, and prove it.

    Example: `sparsest fit patients.csv --target survived --k 5 --impute median --out model.json --report report.html`

    Numbers are taken as they are, columns of text become one feature for each level, identifiers are left out. Ctrl-C
    ends the search with the best model so far. The options are the arguments of the function best_subset.
    """
    from sparsest.cli.data import choose_loss, columns_of, gamma_of, load, rows_of_the_file
    from sparsest.cli.live import watched
    from sparsest.cli.output import refuse_overwriting
    from sparsest.cli.reporting import Delivery
    from sparsest.cli.stability import estimator_of, repeat_selection
    from sparsest.results.result import Result
    from sparsest.tables import Wishes

    refuse_overwriting(force, out, report)
    further = dict(_setting(text) for text in option)
    first = None if start is None else Result.load(start)
    wishes = Wishes(
        target, o.beside(weights, offset, exposure), o.names(ids), o.names(exclude), impute,
        missing_text=missing_text, max_missing=max_missing, min_level=min_level, drop=o.names(drop),
        categorical=o.names(categorical), drop_zero_exposure=drop_zero_exposure,
    )  # fmt: skip
    table = load(data, wishes, quiet=as_json)
    settings: dict[str, Any] = {
        "k": k if l0_penalty is None else None, "l0_penalty": l0_penalty, "gamma": gamma_of(gamma),
        "max_coef": max_coef, "loss": choose_loss(loss, table, quiet=as_json), "epsilon": epsilon, "delta": delta,
        "quantile": quantile, "theta": theta, "method": method, "fit_intercept": fit_intercept,
        "standardize": standardize, "include": columns_of(o.names(include), table),
        "exclude": columns_of(o.names(exclude), table), "time_limit": time_limit, "gap_tol": gap_tol,
        "screen": screen, "engine": engine, "n_jobs": threads, "node_limit": node_limit, "max_memory": max_memory,
        "options": further,
    }  # fmt: skip
    log("solving for %s with the method %s", "k" if l0_penalty is None else "a price of features", method)
    with watched(Path(data).name, time_limit, quiet=as_json) as (record, listener), rows_of_the_file(table):
        result, more = _search(
            table.matrix, table.target, feature_names=table.names, start=first, **table.rows,
            callback=listener, **settings,
        )  # fmt: skip
    stability = None
    if bootstrap:
        stability = repeat_selection(estimator_of(result, settings), table, bootstrap, threads, quiet=as_json)
    delivery = Delivery("fit", data, target, out, report, as_json)
    code = delivery.deliver(result, table, record, settings, more=more, stability=stability)
    if more["choice"] and not as_json:
        left = more["choice"]["not_excluded"]
        typer.echo(f"{k} chose {result.support.size} features; {left or 'none'} of the other numbers may be better")
    return code


def _search(X: Any, y: Any, k: Any, **settings: Any) -> tuple[Any, dict[str, Any]]:
    """The best model of at most k features, or of as many as a criterion chooses, and what JSON tells of the choice."""
    from sparsest.subset.api import best_subset

    if not isinstance(k, str):
        return best_subset(X, y, k, **settings), {"choice": None}
    from sparsest.selection.certified_search import certified_choice, settings_of_a_choice

    choice = certified_choice(X, y, k, **settings_of_a_choice(settings))
    told = {"criterion": k, "value": choice.value, "lower_bound": choice.lower_bound}
    return choice.result, {"choice": {**told, "not_excluded": list(choice.not_excluded)}}


def _setting(text: str) -> tuple[str, Any]:
    """NAME=VALUE, with a value of JSON where it is one, and a text else."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--option must be NAME=VALUE, got {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
