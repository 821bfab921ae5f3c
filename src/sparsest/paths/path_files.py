"""Files of penalty paths: one JSON object with all models, their gaps and their violations.

==================  =================================================================================================
``format``          "sparsest path"
``version``         2; a reader refuses others
``written_by``      versions of sparsest, Python and NumPy
``loss``            its name, and ``parameters``, an object of the loss's parameters
``fit_intercept``   whether models have an intercept
``rescaled``        whether MCP or SCAD were rescaled by the curvature of the loss
``feature_names``   names of all ``p`` columns, or null
``classes``         two labels, the second one the positive class; null for a regression
``alphas``          penalty strengths, decreasing; the following lists have an entry for each
``support``         numbers of the columns with a coefficient, increasing
``coef``            their coefficients, for the data as given
``intercepts``      the constants, for the data as given
``solved``          whether the path reached this alpha, and ``converged``, whether the tolerance was reached
``dual_gaps``       null for penalties that have none; ``kkt_violations``, ``locally_convex`` (or null) and ``n_iter``
``stopped``         why the path ended, and ``seconds``, the time it took
``about``           what the writer has added, any object
==================  =================================================================================================

Numbers are written with all digits; infinity is null.  Reading executes nothing and checks every type.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from sparsest.core.checks import path_name
from sparsest.results.result_files import Form, is_list, is_of_format, read_checked, versions
from sparsest.runtime.files import write_whole

FORMAT, _VERSION = "sparsest path", 2
_NUMBERS = ("alphas", "intercepts", "kkt_violations", "dual_gaps")
_MASKS = ("solved", "converged", "locally_convex")
_LISTS = (*_NUMBERS, *_MASKS, "n_iter", "support", "coef")
_MAY_BE_NULL = ("dual_gaps", "locally_convex")
_FLAGS = ("fit_intercept", "rescaled")
_OTHERS = ("loss", "parameters", *_FLAGS, "feature_names", "p", "classes", "stopped", "seconds", "about")
_NAMES = {*_LISTS, *_OTHERS, "format", "version", "written_by"}


def write(path: str | Path, kept: dict[str, Any]) -> None:
    """Write the content of a path, in JSON's types, atomically."""
    model = {"format": FORMAT, "version": _VERSION, "written_by": versions(), **kept}
    for name in _NUMBERS:
        if model[name] is not None:
            model[name] = [value if math.isfinite(value) else None for value in model[name]]
    write_whole(path_name(path), json.dumps(model, allow_nan=False, ensure_ascii=False) + "\n")


def is_path(path: str | Path) -> bool:
    """Whether a file says that it holds a path."""
    return is_of_format(path, FORMAT)


def read(path: str | Path) -> dict[str, Any]:
    """Read the content of a path; a ValueError says what is wrong with the file."""
    kept = read_checked(path, Form(FORMAT, _VERSION, _NAMES), _complaint, "path")
    for name in _NUMBERS:
        if kept[name] is not None:
            kept[name] = [math.inf if value is None else float(value) for value in kept[name]]
    return kept


def _complaint(kept: Any) -> str:
    """Why the content of a file is not valid; empty if it is."""
    p, m = kept["p"], len(kept["alphas"]) if isinstance(kept["alphas"], list) else 0
    if type(p) is not int or p < 1 or m < 1:
        return "it has no columns or no alphas"
    for name in _LISTS:
        absent = kept[name] is None and name in _MAY_BE_NULL
        if not absent and not (isinstance(kept[name], list) and len(kept[name]) == m):
            return f"{name} must have one entry for each alpha"
    if not all(_is_model(columns, coef, p) for columns, coef in zip(kept["support"], kept["coef"], strict=True)):
        return "a model is not a list of column numbers in increasing order and as many coefficients"
    right = (
        all(kept[name] is None or is_list(kept[name], (int, float, type(None))) for name in _NUMBERS)
        and all(kept[name] is None or is_list(kept[name], (bool,)) for name in _MASKS)
        and is_list(kept["alphas"], (int, float)) and is_list(kept["intercepts"], (int, float))
        and is_list(kept["n_iter"], (int,)) and isinstance(kept["loss"], str) and isinstance(kept["stopped"], str)
        and isinstance(kept["parameters"], dict) and is_list([*kept["parameters"].values()], (int, float))
        and all(type(kept[name]) is bool for name in _FLAGS) and is_list([kept["seconds"]], (int, float))
        and isinstance(kept["about"], dict) and _are_names(kept["feature_names"], p) and _are_labels(kept["classes"])
    )  # fmt: skip
    return "" if right else "one of its entries has a wrong type"


def _is_model(columns: Any, coef: Any, p: int) -> bool:
    return (
        is_list(columns, (int,))
        and all(0 <= j < p for j in columns)
        and columns == sorted(set(columns))
        and is_list(coef, (int, float))
        and len(coef) == len(columns)
    )


def _are_names(names: Any, p: int) -> bool:
    return names is None or (is_list(names, (str,)) and len(names) == p)


def _are_labels(labels: Any) -> bool:
    return labels is None or (is_list(labels, (str, int, float, bool)) and len(labels) == 2)
