"""Files of results: a zip archive of ``result.json`` and, where there is a proof, ``certificate.bin``.

Numbers are written with all their digits.  Reading executes nothing and takes no type on trust.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

from sparsest.proofs.certificate import Certificate
from sparsest.proofs.statement import Statement

_MODEL, _PROOF, _FORM = "result.json", "certificate.bin", "sparsest result 1"
_NUMBERS = ("intercept", "objective", "lower_bound", "seconds")
_LABELS = (str, int, float, bool)
_NAMES = {*_NUMBERS, "form", "support", "coef", "status", "n_nodes", "statement", "feature_names", "classes"}


def write(path: str | Path, kept: dict[str, Any], certificate: Certificate | None) -> None:
    """Write what a result keeps, in JSON's types, and its certificate."""
    labels = kept["classes"] or []
    if not all(type(label) in _LABELS for label in labels):
        raise ValueError(f"labels of type {type(labels[0]).__name__} cannot be saved: use text or numbers")
    text = json.dumps({"form": _FORM, **kept}, allow_nan=False)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_MODEL, text)
        if certificate is not None:
            # Its numbers do not compress.
            archive.writestr(_PROOF, certificate.to_bytes(), zipfile.ZIP_STORED)


def read(path: str | Path) -> tuple[dict[str, Any], Statement, Certificate | None]:
    """Return what a result keeps, its statement and its certificate, or say what is wrong with the file."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        with zipfile.ZipFile(path) as archive:
            members = set(archive.namelist())
            kept: Any = json.loads(archive.read(_MODEL)) if _MODEL in members else None
            proof = archive.read(_PROOF) if _PROOF in members else None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, UnicodeError, ValueError) as error:
        raise ValueError(f"{path} is no file of a result: {error}") from error
    complaint = _complaint(kept)
    if complaint:
        raise ValueError(f"{path} is no file of a result: {complaint}")
    statement = Statement.from_json(kept["statement"])
    if any(j >= statement.p for j in kept["support"]):
        raise ValueError(f"{path} holds a model of columns that its problem does not have")
    if kept["feature_names"] is not None and len(kept["feature_names"]) != statement.p:
        raise ValueError(f"{path} has {len(kept['feature_names'])} names for {statement.p} columns")
    certificate = None if proof is None else Certificate.from_bytes(proof)
    if certificate is not None and certificate.statement != statement:
        raise ValueError(f"{path} holds a certificate for another problem than its own")
    return kept, statement, certificate


def _complaint(kept: Any) -> str:
    """What is wrong with the model of a file."""
    if not isinstance(kept, dict) or kept.get("form") != _FORM or set(kept) != _NAMES:
        return f"it has no {_MODEL} of the form {_FORM!r}"
    columns, coef, names, labels = (kept[name] for name in ("support", "coef", "feature_names", "classes"))
    if not (_is_list(columns, (int,)) and all(j >= 0 for j in columns) and columns == sorted(set(columns))):
        return "its support is no list of column numbers in increasing order"
    if not (_is_list(coef, (int, float)) and len(coef) == len(columns)):
        return "it has not one coefficient for each column of the support"
    if not all(type(kept[name]) in (int, float) for name in _NUMBERS) or type(kept["n_nodes"]) is not int:
        return f"one of {', '.join(_NUMBERS)}, n_nodes is no number"
    if not isinstance(kept["status"], str) or not (names is None or _is_list(names, (str,))):
        return "its status or its names are no texts"
    return "" if labels is None or (_is_list(labels, _LABELS) and len(labels) == 2) else "it has not two labels"


def _is_list(values: Any, types: tuple[type, ...]) -> bool:
    return isinstance(values, list) and all(type(value) in types for value in values)
