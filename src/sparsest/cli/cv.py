"""The command ``cv``: the number of features and the ridge, chosen by cross-validation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from sparsest.cli import options as o
from sparsest.cli.app import command

if TYPE_CHECKING:
    from sparsest.report import Curve
    from sparsest.results.result import Result
    from sparsest.tables import Table

# The number of features where none was chosen, that of the command fit.
_FEATURES = 10


@command
def cv(
    data: o.Data,
    target: o.Target = None,
    ks: Annotated[
        str, typer.Option(help="Numbers of features to try, such as 0-10,15,20; auto: 0 to 10, then more.")
    ] = "auto",
    gammas: Annotated[str, typer.Option(help="Ridges to try, such as 0.01,0.1,1; auto finds them.")] = "auto",
    max_coef: o.MaxCoef = None,
    folds: Annotated[int, typer.Option(help="Number of parts that are held out in turn.", min=2)] = 5,
    seed: Annotated[int, typer.Option(help="Of the random order in which rows are divided into parts.")] = 0,
    selection: Annotated[
        str, typer.Option(help="best, or one_se: the fewest features within one standard error of the best.")
    ] = "best",
    scoring: Annotated[
        str | None, typer.Option(help="A scorer of scikit-learn, such as r2 or roc_auc; deviance by default.")
    ] = None,
    loss: o.Loss = "auto",
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
    fold_method: Annotated[
        str, typer.Option(help="How the models of the folds are found.", rich_help_panel="Search")
    ] = "relaxation",
    method: o.Method = "tree",
    time_limit: o.TimeLimit = 60.0,
    gap_tol: o.GapTol = 1e-4,
    threads: o.Threads = None,
    bootstrap: o.Bootstrap = 0,
    out: o.Out = None,
    report: o.Report = None,
    force: o.Force = False,
    as_json: o.Json = False,
) -> int:
    """Choose the number of features by cross-validation, then fit and prove the model of all data.

    Example: `sparsest cv patients.csv --target survived --ks 1-8 --out model.json --report report.html`

    Ctrl-C ends it with the folds that are done, and the model that is found at once.
    """
    from sklearn.base import clone
    from sklearn.model_selection import KFold, StratifiedKFold

    from sparsest.cli.data import choose_loss, columns_of, load, rows_of_the_file
    from sparsest.cli.live import watched
    from sparsest.cli.output import refuse_overwriting
    from sparsest.cli.reporting import Delivery
    from sparsest.cli.stability import repeat_selection
    from sparsest.core.checks import by_number
    from sparsest.core.losses import LOSSES
    from sparsest.estimators import BestSubsetClassifierCV, BestSubsetRegressorCV
    from sparsest.tables import Wishes

    refuse_overwriting(force, out, report)
    numbers = None if ks == "auto" else _whole_numbers(ks)
    ridges = "auto" if gammas == "auto" else _numbers(gammas)
    beside = o.beside(weights, offset, exposure)
    wishes = Wishes(
        target, beside, o.names(ids), o.names(exclude), impute,
        missing_text=missing_text, max_missing=max_missing, min_level=min_level, drop=o.names(drop),
        categorical=o.names(categorical), drop_zero_exposure=drop_zero_exposure,
    )  # fmt: skip
    table = load(data, wishes, quiet=as_json)
    chosen_loss = choose_loss(loss, table, quiet=as_json)
    forced = {
        name: tuple(by_number(columns_of(o.names(given), table), name, table.names))
        for name, given in (("include", include), ("exclude", exclude))
    }
    problem: dict[str, Any] = {
        "loss": chosen_loss, "epsilon": epsilon, "delta": delta, "quantile": quantile, "theta": theta,
        "max_coef": max_coef, "fit_intercept": fit_intercept, "standardize": standardize, **forced,
    }  # fmt: skip
    settings: dict[str, Any] = {
        "ks": numbers, "gammas": ridges, "selection": selection, "scoring": scoring, **problem,
        "fold_method": fold_method, "method": method, "time_limit": time_limit, "gap_tol": gap_tol, "n_jobs": threads,
    }  # fmt: skip
    known = chosen_loss in LOSSES and LOSSES[chosen_loss].classification
    make, divide = (BestSubsetClassifierCV, StratifiedKFold) if known else (BestSubsetRegressorCV, KFold)
    delivery = Delivery("cv", data, target, out, report, as_json)
    with watched(Path(data).name, time_limit, quiet=as_json) as (record, listener), rows_of_the_file(table):
        # Rows of a file are often sorted by the target.
        parts = divide(folds, shuffle=True, random_state=seed)
        model = make(**settings, cv=parts, callback=listener)
        try:
            model.fit(table.matrix, table.target, **table.rows)
        except KeyboardInterrupt:
            result = _unvalidated(table, numbers, problem, quiet=as_json)
            return delivery.deliver(result, table, record, settings, more={"chosen": None, "validation": []})
    settings |= {"folds": folds, "seed": seed}
    result = replace(model.result_, feature_names=table.names)
    _note_choice(model, table, folds, quiet=as_json)
    measure = scoring or f"{'mean squared error' if chosen_loss == 'squared' else 'deviance'}, negative"
    if not as_json:
        _print_scores(model, measure)
    more = {"chosen": {"k": int(model.k_), "gamma": float(model.gamma_)}, "validation": _rows(model)}
    stability = None
    if bootstrap:
        again = clone(model).set_params(callback=None)
        stability = repeat_selection(again, table, bootstrap, threads, quiet=as_json)
    return delivery.deliver(result, table, record, settings, _curve(model, measure), more, stability)


def _unvalidated(table: Table, numbers: list[int] | None, problem: dict[str, Any], quiet: bool) -> Result:
    """What is found at once, with the default ridge, where Ctrl-C came before a fold was done."""
    from sparsest.cli.data import add_note
    from sparsest.runtime.events import Status
    from sparsest.subset.api import best_subset

    most = table.matrix.shape[1] - len(problem["exclude"])
    wanted = min(numbers or [_FEATURES], key=lambda k: abs(k - _FEATURES))
    k = max(min(wanted, most), len(problem["include"]))
    found = best_subset(
        table.matrix, table.target, k, feature_names=table.names, method="local", **problem, **table.rows
    )
    add_note(
        table,
        f"interrupted before a fold was done: k = {k} and the ridge are defaults that nothing has validated",
        quiet,
    )
    return replace(found, status=Status.INTERRUPTED)


def _note_choice(model: Any, table: Table, folds: int, quiet: bool) -> None:
    """Note what to know about the choice: missing folds, and a best number or ridge at the end of what was tried."""
    from sparsest.cli.data import add_note

    n_done = sum(name.startswith("split") for name in model.cv_results_)
    if n_done < folds:
        add_note(table, f"interrupted after {n_done} of {folds} folds: the choice rests on these", quiet)
    tried = model.cv_results_["param_k"]
    if tried.size and model.k_ == tried.max() > tried.min() and model.k_ < table.matrix.shape[1]:
        add_note(table, f"the largest number of features that was tried, {model.k_}, is the best: try more", quiet)
    ridges = np.unique(model.cv_results_["param_gamma"])
    if ridges.size > 1 and model.k_ and model.gamma_ == ridges[0]:
        add_note(table, f"the smallest gamma that was tried, {model.gamma_:.3g}, is the best: try smaller ones", quiet)


def _print_scores(model: Any, measure: str) -> None:
    """Print the held-out scores at the ridge that was chosen."""
    from sparsest.cli.output import print_grid

    shown = [
        [f"{'→ ' * (row['k'] == model.k_)}{row['k']}", f"{row['mean']:.5g}", f"{row['standard_error']:.2g}"]
        for row in _rows(model)
        if row["gamma"] == model.gamma_
    ]
    print_grid(
        f"held-out scores ({measure}), gamma = {model.gamma_:.4g}", ["features", "score", "standard error"], shown
    )


def _whole_numbers(text: str) -> list[int]:
    """Whole numbers and ranges of them."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise ValueError(f"--ks must be numbers and ranges such as 1-10,15,20, got {text!r}")
        found += range(int(first), int(last or first) + 1)
    return found


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise ValueError(f"--gammas must be numbers such as 0.01,0.1,1, or auto; got {text!r}") from error


def _rows(model: Any) -> list[dict[str, Any]]:
    """What was tried, and how it scored."""
    table = model.cv_results_
    return [
        {"k": int(k), "gamma": float(gamma), "mean": float(mean), "standard_error": float(error)}
        for k, gamma, mean, error in zip(
            table["param_k"], table["param_gamma"], table["mean_test_score"], table["se_test_score"], strict=True
        )
    ]


def _curve(model: Any, measure: str) -> Curve:
    """The scores at the ridge that was chosen."""
    from sparsest.report import Curve

    table = model.cv_results_
    at = np.flatnonzero(table["param_gamma"] == model.gamma_)
    at = at[np.argsort(table["param_k"][at])]
    ks, scores, errors = (table[name][at].tolist() for name in ("param_k", "mean_test_score", "se_test_score"))
    return Curve(ks, scores, errors, float(model.k_), measure)
