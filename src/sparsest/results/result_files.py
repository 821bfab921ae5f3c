"""Files of results: one JSON object with the model, its problem, its bound and the certificate.

==================  =================================================================================================
``format``          "sparsest model"
``version``         1; a reader refuses others
``written_by``      versions of sparsest, Python and NumPy
``problem``         the problem: n, p, loss, parameters, offset, exposure, gamma, k, l0_penalty, max_coef, include,
                    exclude, lower, upper, structure, fit_intercept, standardize, and the fingerprint of the data
``feature_names``   names of all p columns, or null
``feature_groups``  groups of all p columns, texts or numbers; null, or absent in older files, without groups
``support``         numbers of the chosen columns, increasing
``coef``            their coefficients, for the data as given
``intercept``       the constant, for the data as given
``classes``         two labels, the second one the positive class; null for a regression
``objective``       value of the objective, and ``lower_bound`` of all models
``null_loss``       loss of the model without features; older files lack it, or it is null
``deviations``      standard deviations of the chosen columns; likewise
``status``          OPTIMAL, TIME_LIMIT, NODE_LIMIT, INTERRUPTED or HEURISTIC
``seconds``         duration, and ``n_nodes``
``about``           what the writer has added, any object: the command line puts its settings there, and the encoding of
                    the data's columns
``certificate``     see :mod:`sparsest.proofs.files`; null without a proof
==================  =================================================================================================

Numbers are written with all digits.  Infinity, which JSON lacks, is written as text.  Reading executes nothing and
checks every type.
"""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparsest.core.checks import path_name
from sparsest.proofs.certificate import Certificate
from sparsest.proofs.statement import Statement
from sparsest.runtime.files import write_whole

FORMAT, _VERSION = "sparsest model", 1
_NUMBERS = ("intercept", "objective", "lower_bound", "seconds")
_INFINITIES = ("inf", "-inf")
_LABELS = (str, int, float, bool)
_LATER = ("null_loss", "deviations", "feature_groups")
_MODEL = ("support", "coef", "status", "n_nodes", "feature_names", "classes", "about", *_LATER)
_NAMES = {*_NUMBERS, *_MODEL, "format", "version", "written_by", "problem", "certificate"}


def write(path: str | Path, kept: dict[str, Any], statement: Statement, certificate: Certificate | None) -> None:
    """Write a result, its problem and its certificate atomically."""
    labels = kept["classes"] or []
    if not all(type(label) in _LABELS for label in labels):
        raise ValueError(f"labels of type {type(labels[0]).__name__} cannot be saved: use text or numbers")
    model = {
        "format": FORMAT,
        "version": _VERSION,
        "written_by": versions(),
        "problem": statement.to_json(),
        **kept,
        **{name: _finite(kept[name]) for name in _NUMBERS},
    }
    text = json.dumps(model, allow_nan=False, ensure_ascii=False)
    # A certificate may be large: its text is appended without parsing it.
    proof = "null" if certificate is None else certificate.to_json()
    write_whole(path_name(path), f'{text[:-1]}, "certificate": {proof}}}\n')


def versions() -> dict[str, str]:
    """Versions of sparsest, Python and NumPy."""
    return {"sparsest": version("sparsest"), "python": platform.python_version(), "numpy": np.__version__}


def read(path: str | Path) -> tuple[dict[str, Any], Statement, Certificate | None]:
    """Read a result, its problem and its certificate; raise ValueError if the file is not valid."""
    kept = read_checked(path, Form(FORMAT, _VERSION, _NAMES, _LATER), _complaint, "result")
    kept = dict.fromkeys(_LATER) | kept
    statement = Statement.from_json(kept["problem"])
    if any(j >= statement.p for j in kept["support"]):
        raise ValueError(f"{path} holds a model of columns that its problem does not have")
    if kept["feature_names"] is not None and len(kept["feature_names"]) != statement.p:
        raise ValueError(f"{path} has {len(kept['feature_names'])} names for {statement.p} columns")
    proof = kept.pop("certificate")
    certificate = None if proof is None else Certificate.from_json(json.dumps(proof))
    if certificate is not None and certificate.statement != statement:
        raise ValueError(f"{path} holds a certificate for another problem than its own")
    return kept | {name: float(kept[name]) for name in _NUMBERS}, statement, certificate


def is_of_format(path: str | Path, name: str) -> bool:
    """Whether the file exists and begins with the name of this format."""
    file = path_name(path)
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        return f'"{name}"'.encode() in opened.read(200)


class Form(NamedTuple):
    """A file format: its name, its version and its entries.

    Entries that were added ``later`` may be missing.
    """

    name: str
    version: int
    entries: set[str]
    later: tuple[str, ...] = ()

    def complaint(self, kept: Any) -> str:
        """Why a file is not valid, apart from the content of its entries; empty if it is."""
        if not isinstance(kept, dict) or kept.get("format") != self.name:
            return f"it is not of the format {self.name!r}"
        if kept.get("version") != self.version:
            return f"its version is {kept.get('version')!r}, this sparsest reads {self.version}"
        if not self.entries - set(self.later) <= set(kept) <= self.entries:
            return f"fields are missing or unexpected; the fields are {', '.join(sorted(self.entries))}"
        return ""


def read_checked(path: str | Path, form: Form, complaint_of: Callable[[Any], str], kind: str) -> Any:
    """Read a JSON file; raise ValueError with the reason if it is not valid."""
    file = path_name(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        kept = strict_json(file.read_bytes().decode())
        complaint = form.complaint(kept) or complaint_of(kept)
    except (UnicodeError, ValueError, RecursionError) as error:
        complaint = str(error)
    if complaint:
        raise ValueError(f"{path} is not a valid {kind} file: {complaint}")
    return kept


def strict_json(text: str) -> Any:
    """Parse JSON; duplicate keys and NaN are errors."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a key occurs twice")
        return found

    return json.loads(text, object_pairs_hook=unique, parse_constant=_refuse)


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not a valid number in JSON")


def _finite(value: float) -> float | str:
    return float(value) if math.isfinite(value) else str(float(value))


def _complaint(kept: Any) -> str:
    """Why the model of a file is not valid; empty if it is."""
    columns, coef, names, labels = (kept[name] for name in ("support", "coef", "feature_names", "classes"))
    if not (is_list(columns, (int,)) and all(j >= 0 for j in columns) and columns == sorted(set(columns))):
        return "its support is not a list of column numbers in increasing order"
    if not (is_list(coef, (int, float)) and len(coef) == len(columns)):
        return "it does not have one coefficient for each column of the support"
    if not all(_is_number(kept[name]) for name in _NUMBERS) or type(kept["n_nodes"]) is not int:
        return f"one of {', '.join(_NUMBERS)}, n_nodes is not a number"
    if not (kept.get("null_loss") is None or type(kept["null_loss"]) in (int, float)):
        return "its null_loss is not a number"
    scale = kept.get("deviations")
    if not (scale is None or (is_list(scale, (int, float)) and len(scale) == len(columns))):
        return "it does not have one standard deviation for each column of the support"
    groups = kept.get("feature_groups")
    if not (groups is None or is_list(groups, (str, int))):
        return "its groups are neither texts nor whole numbers"
    if not isinstance(kept["status"], str) or not (names is None or is_list(names, (str,))):
        return "its status or its names are not text"
    if not isinstance(kept["about"], dict) or not isinstance(kept["certificate"], (dict, type(None))):
        return "its entry about or certificate is not an object"
    return "" if labels is None or (is_list(labels, _LABELS) and len(labels) == 2) else "it does not have two labels"


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) or value in _INFINITIES


def is_list(values: Any, types: tuple[type, ...]) -> bool:
    """Whether a value is a list whose entries have these types."""
    return isinstance(values, list) and all(type(value) in types for value in values)
