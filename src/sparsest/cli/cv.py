"""The command ``cv``: the number of features and the ridge, chosen by cross-validation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from sparsest.cli import options as o
from sparsest.cli.app import command
from sparsest.cli.structure import StructureOptions
from sparsest.core.settings import SETTINGS

if TYPE_CHECKING:
    from sparsest.report import Curve
    from sparsest.results.result import Result
    from sparsest.tables import Table

# The number of features if none could be chosen: the default of the command fit.
_FEATURES = 10


@command
def cv(
    data: o.Data,
    columns: o.TableOptions,
    model: o.SubsetOptions,
    structure: StructureOptions,
    search: o.SearchOptions,
    files: o.OutputOptions,
    ks: Annotated[
        str, typer.Option(help="Numbers of features to try, such as 0-10,15,20; auto: 0 to 10, then more.")
    ] = "auto",
    gammas: Annotated[str, typer.Option(help="Ridges to try, such as 0.01,0.1,1; auto finds them.")] = "auto",
    folds: Annotated[int, typer.Option(help="Number of folds, which are held out in turn.", min=2)] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the random order in which rows are divided into folds.")] = 0,
    selection: Annotated[str, o.setting("selection")] = SETTINGS["selection"].default,
    scoring: Annotated[
        str | None, typer.Option(help="A scorer of scikit-learn, such as r2 or roc_auc; deviance by default.")
    ] = None,
    fold_method: Annotated[
        str, typer.Option(help="The method for the models of the folds.", rich_help_panel=o.SEARCH)
    ] = "relaxation",
) -> int:
    """Choose the number of features by cross-validation, then fit and prove the model of all data.

    Example: `sparsest cv patients.csv --target survived --ks 1-8 --out model.json --report report.html`

    Ctrl-C ends the validation with the folds that are done; a short search then finds the model.
    """
    from sparsest.cli.data import load, model_settings, rows_of_the_file
    from sparsest.cli.live import watched
    from sparsest.cli.output import refuse_overwriting
    from sparsest.cli.reporting import ModelOutput

    quiet = files.as_json
    refuse_overwriting(files.force, files.out, files.report)
    numbers = None if ks == "auto" else _whole_numbers(ks)
    ridges = "auto" if gammas == "auto" else _numbers(gammas)
    table = structure.prepare(load(data, columns.requirements(excluded_in_table=True), quiet))
    problem = _by_number(model_settings(model, columns, table, quiet), table) | structure.settings(table)
    settings: dict[str, Any] = {
        "ks": numbers, "gammas": ridges, "selection": selection, "scoring": scoring, **problem,
        "fold_method": fold_method, **search.settings(),
    }  # fmt: skip
    output = ModelOutput("cv", data, columns.target, files)
    with watched(Path(data).name, search.time_limit, quiet) as (record, listener), rows_of_the_file(table):
        validated = _estimator(settings, folds, seed, listener)
        try:
            validated.fit(table.matrix, table.target, **table.rows)
        except KeyboardInterrupt:
            result = _unvalidated(table, numbers, problem, quiet)
            return output.write(result, table, record, settings, more={"chosen": None, "validation": []})
    result = replace(validated.result_, feature_names=table.names)
    _note_choice(validated, table, folds, quiet)
    measure = scoring or f"negative {'mean squared error' if problem['loss'] == 'squared' else 'deviance'}"
    if not quiet:
        _print_scores(validated, measure)
    more = {"chosen": {"k": int(validated.k_), "gamma": float(validated.gamma_)}, "validation": _rows(validated)}
    stability = _stability(validated, table, search, quiet) if search.bootstrap else None
    settings |= {"folds": folds, "seed": seed}
    return output.write(result, table, record, settings, _curve(validated, measure), more, stability)


def _by_number(settings: dict[str, Any], table: Table) -> dict[str, Any]:
    """Settings with column numbers in place of names: the matrix of a table has no names."""
    from sparsest.core.checks import by_number

    forced = {name: tuple(by_number(settings[name], name, table.names)) for name in ("include", "exclude")}
    limits = {
        name: dict(zip(by_number(settings[name], name, table.names), settings[name].values(), strict=True))
        for name in ("lower", "upper")
        if isinstance(settings[name], dict)
    }
    return settings | forced | limits


def _estimator(settings: dict[str, Any], folds: int, seed: int, listener: Any) -> Any:
    """The estimator that validates these settings on random folds."""
    from sparsest.core.losses import LOSSES
    from sparsest.estimators import BestSubsetClassifierCV, BestSubsetRegressorCV
    from sparsest.selection.folds import random_folds

    classes = settings["loss"] in LOSSES and LOSSES[settings["loss"]].classification
    make = BestSubsetClassifierCV if classes else BestSubsetRegressorCV
    return make(**settings, cv=random_folds(folds, classification=classes, seed=seed), callback=listener)


def _stability(validated: Any, table: Table, search: o.SearchOptions, quiet: bool) -> Any:
    """Repeat the whole selection on resamples of the rows."""
    from sklearn.base import clone

    from sparsest.cli.stability import repeat_selection

    again = clone(validated).set_params(callback=None)
    return repeat_selection(again, table, search.bootstrap, search.threads, quiet)


def _unvalidated(table: Table, numbers: list[int] | None, problem: dict[str, Any], quiet: bool) -> Result:
    """The model of a short search with the default ridge, for Ctrl-C before the first fold was done."""
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
        f"interrupted before a fold was done: k = {k} and the ridge are defaults, not validated",
        quiet,
    )
    return replace(found, status=Status.INTERRUPTED)


def _note_choice(model: Any, table: Table, folds: int, quiet: bool) -> None:
    """Note folds that are missing, and a best number of features or ridge at the end of its grid."""
    from sparsest.cli.data import add_note

    n_done = sum(name.startswith("split") for name in model.cv_results_)
    if n_done < folds:
        add_note(table, f"interrupted after {n_done} of {folds} folds: the choice uses only these", quiet)
    if model.at_an_end_:
        add_note(table, model.at_an_end_, quiet)


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
    """The pairs of k and gamma that were tried, with their scores."""
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
