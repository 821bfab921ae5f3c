"""The page of a model, and that of a path."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from sparsest.core.data import Data
from sparsest.core.problem import Problem
from sparsest.paths.path_result import PathResult
from sparsest.report import alternatives, answer, checks, figures
from sparsest.report.stability import describe as describe_stability
from sparsest.results.facts import facts_on
from sparsest.results.markup import STYLE, scores_chart, table
from sparsest.results.result import Result
from sparsest.results.result_files import versions
from sparsest.results.wording import asked_sentence, measure_sentence, proof_sentence
from sparsest.runtime.events import Status
from sparsest.runtime.faults import reach
from sparsest.runtime.progress import Record
from sparsest.selection.bootstrap_result import BootstrapResult
from sparsest.selection.diagnostics import Diagnosis, diagnose_on, held_out
from sparsest.subset.solvers import make_solver
from sparsest.subset.task import problem_of, problem_on
from sparsest.subset.tree.near_optimal import NearOptimalSearch

# Alternatives: relative distance from the optimum, largest number, and time limit in seconds.
_WITHIN, _MOST_ALTERNATIVES, _SECONDS = 0.01, 50, 20.0
_PATH_ROWS = 10


class Curve(NamedTuple):
    """Held-out scores for several numbers of features, with their standard errors, and the number that was chosen."""

    ks: Sequence[float]
    scores: Sequence[float]
    errors: Sequence[float]
    chosen: float
    measure: str = "score"


def model_report(
    result: Result,
    X: Any,
    y: Any,
    *,
    rows: dict[str, Any] | None = None,
    prepared: Data | None = None,
    target: str = "y",
    record: Record | None = None,
    curve: Curve | None = None,
    ids: Sequence[str] | None = None,
    command: str = "",
    notes: Sequence[str] = (),
    data: str = "DATA",
    model: str | None = "model.json",
    target_file: str | None = None,
    stability: BootstrapResult | None = None,
    hurry: Callable[[], bool] = lambda: False,
) -> str:
    """Return the report of a model as an HTML page.

    Parameters
    ----------
    result : what ``best_subset`` returned
    X, y : the data of the fit, which the result does not hold
    rows : ``sample_weight``, ``offset`` and ``exposure``, as far as they were given
    prepared : the data as prepared by the search; by default they are prepared here
    target : what is predicted
    record : events of the search, for the chart of bound and incumbent
    curve : the choice of the number of features
    ids : names of the rows
    command : how the model was made
    notes : what was noted about the data
    data, model : names of the files, for the command that verifies; None for a model that is in no file
    target_file : the file that holds the target, if it is not in the data
    stability : what a bootstrap of the selection found
    hurry : called before each slow part; the part is left out if it returns True
    """
    beside = rows or {}
    problem = problem_of(result, X, y, **beside) if prepared is None else problem_on(result, prepared)
    found = diagnose_on(result, problem, beside.get("sample_weight"))
    quick = result.status is Status.INTERRUPTED
    near = None if quick or hurry() else _alternatives(result, problem)
    scores = None if quick or hurry() else held_out(result, X, y, **beside)
    weights = beside.get("sample_weight")
    return _template("model.html").render(
        **_answer(result, found, target),
        **_certainty(result, problem.data),
        held=None if scores is None else checks.held_out_part(result, scores, y, weights, target),
        search=None if record is None or not record.points else figures.bound_and_incumbent(record),
        curve=curve,
        curve_chart=None if curve is None else scores_chart(*curve[:3], "number of features", curve.chosen),
        near=near,
        stability=None if stability is None else describe_stability(stability),
        influential=checks.influential_rows(result, found, ids),
        command=command,
        notes=list(notes),
        versions=versions(),
        data=shlex.join([data] if target_file is None else [data, "--target", target_file]),
        model=None if model is None else shlex.quote(model),
    )


def _answer(result: Result, found: Diagnosis, target: str) -> dict[str, Any]:
    """The question, the features that answer it, and how they depend on each other and on single rows."""
    labels = None if result.classes is None else (str(result.classes[0]), str(result.classes[1]))
    return {
        "style": STYLE,
        "title": f"What predicts {target}?",
        "asked": asked_sentence(result.statement, target, labels),
        "measure": measure_sentence(result.statement),
        "features": answer.feature_table(result, found, target),
        "explanation": answer.explanation(result, found, target),
        "pairs": checks.correlated_pairs(result, found),
        "substitutes": checks.substitute_table(result, found),
        "has_influence": found.influence is not None,
    }


def _certainty(result: Result, data: Data) -> dict[str, Any]:
    """What is proved, what the model explains, and what the data allow to say."""
    facts = facts_on(result, data)
    return {
        "result": result,
        "proof": proof_sentence(result.statement, result.status.name, result.gap),
        "proved": result.status is Status.OPTIMAL,
        "explained": result.explained_lines(),
        "facts": facts.sentences(),
        "doubts": facts.warnings(),
    }


def _alternatives(result: Result, problem: Problem) -> alternatives.Alternatives | None:
    """The alternatives; None for losses and ridges that the tree cannot search."""
    reach("report")
    search = NearOptimalSearch(_WITHIN, _MOST_ALTERNATIVES, make_solver("tree", time_limit=_SECONDS))
    try:
        near = search.solve(problem, result)
    except ValueError:
        return None
    return alternatives.describe(result, near, _WITHIN)


def path_report(
    path: PathResult,
    names: Sequence[str],
    *,
    target: str = "y",
    command: str = "",
    alpha: float | None = None,
    notes: Sequence[str] = (),
    data: str = "DATA",
    file: str | None = None,
) -> str:
    """Return the report of a penalty path as an HTML page.

    Parameters
    ----------
    names : the names of all columns
    target : what is predicted
    command : how the path was made
    alpha : penalty of the chosen model, if one was chosen
    notes : what was noted about the data
    data, file : names of the files, for the command that predicts; None for a path that is in no file
    """
    known = path.alphas[path.solved]
    return _template("path.html").render(
        style=STYLE,
        title=f"What predicts {target}?",
        path=path,
        n_failed=int((path.solved & ~path.converged).sum()),
        n_solved=known.size,
        weakest=known[-1] if known.size else None,
        lines=figures.path_lines(path, names, alpha),
        sizes=figures.features_over_penalty(path, alpha),
        models=table(["penalty", "features", "largest coefficients"], _path_rows(path, names), right=(1,), names=(2,)),
        alpha=alpha,
        chosen=None if alpha is None else _chosen(path, names, alpha),
        command=command,
        notes=list(notes),
        versions=versions(),
        data=shlex.quote(data),
        file=None if file is None else shlex.quote(file),
    )


def _path_rows(path: PathResult, names: Sequence[str]) -> list[list[str]]:
    """Some of the models that were solved, evenly over the path."""
    shown = np.unique(np.linspace(0, max(int(path.solved.sum()), 1) - 1, _PATH_ROWS).astype(int))
    rows = []
    for i in shown.tolist():
        column = path.coefs[:, [i]]
        order = np.argsort(-np.abs(column.data), kind="stable")[:8]
        features = ", ".join(names[column.indices[j]] for j in order) or "–"
        more = ", …" if column.indices.size > order.size else ""
        rows.append([f"{path.alphas[i]:.4g}", str(path.n_nonzero[i]), features + more])
    return rows


def _chosen(path: PathResult, names: Sequence[str], alpha: float) -> Markup:
    """The coefficients of one model."""
    coef, intercept = path.at(alpha)
    order = [j for j in np.argsort(-np.abs(coef), kind="stable").tolist() if coef[j] != 0.0]
    rows = [*([names[j], f"{coef[j]:+.5g}"] for j in order), ["(intercept)", f"{intercept:+.5g}"]]
    return table(["feature", "coefficient per unit"], rows, right=(1,))


@cache
def _environment() -> Environment:
    """Templates that escape everything and raise an error for undefined names."""
    return Environment(
        loader=PackageLoader("sparsest.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )


def _template(name: str) -> Any:
    return _environment().get_template(name)
