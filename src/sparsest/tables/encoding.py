"""The encoding of columns as features: plain data that is stored with a model, so that other files are read alike.

A column of numbers becomes a feature of the same name.  A column of text with two levels becomes one feature, which is
1 for the second level in sorted order; with more levels it becomes one feature for each, called ``column=level``.
Missing text is a separate level; rare levels are merged into one, called ``other``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from sparsest.tables.source import Column, Levels, listing

IMPUTATIONS = ("median", "mean", "median+indicator", "mean+indicator", "drop")
# Treatment of missing text: a separate level, or replacement by the most frequent level.
MISSING_TEXTS = ("level", "frequent")
# The level of missing text: no text of a file is empty.
GAP = ""
BESIDE = ("sample_weight", "offset", "exposure")

# Text with more levels is not treated as a category.
_MOST_LEVELS = 50
_IDENTIFIER = re.compile(
    r"^$|^unnamed: 0$|^(row)?names?$|^row[_. ]?names?$|^barcode$|(^|[_. -])(id|ids|idx|index|uuid|key)$"
    r"|^(sample|patient|subject|case|record)s?([_. -]?(id|no|nr|number|name|code))?$",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"^\s*(\d{1,2}[./-]\d{1,2}[./-]\d{4}|\d{4}[./-]\d{1,2}[./-]\d{1,2})([T ]\d{1,2}:\d{2}(:\d{2}.*)?)?\s*$"
)


@dataclass(frozen=True)
class Encoding:
    """Everything that is needed to read the same columns from another file.

    Attributes
    ----------
    target : name of the target column; None if the target is in a separate file
    beside : columns with the "sample_weight", "offset" or "exposure" of the rows
    ids : columns that name the rows
    left_out : columns that are not used
    categories : for every column of text and each of its levels, the name of the level's feature; None for the
        reference level, which has no feature
    impute : one of ``IMPUTATIONS`` for missing values, or None
    fill : replacement of the missing values of each column; "" for text with missing values as a separate level
    indicators : for columns of numbers, the names of the features that indicate missing values
    categorical : columns of numbers that are read as text
    missing : number of missing values of each column in the data of the fit
    n_factors : number of features before the pairwise products; None without products
    """

    target: str | None = None
    beside: dict[str, str] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    categories: dict[str, dict[str, str | None]] = field(default_factory=dict)
    impute: str | None = None
    fill: dict[str, float | str] = field(default_factory=dict)
    indicators: dict[str, str] = field(default_factory=dict)
    categorical: tuple[str, ...] = ()
    missing: dict[str, int] = field(default_factory=dict)
    n_factors: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The encoding in JSON's types."""
        return asdict(self) | {name: list(getattr(self, name)) for name in _LISTS}

    @classmethod
    def from_json(cls, data: Any) -> Encoding:
        """Read what ``to_json`` wrote; a ValueError says what is wrong."""
        names = {entry.name for entry in fields(cls)}
        if not isinstance(data, dict) or not names - _LATER <= set(data) <= names:
            raise ValueError(f"the encoding of a table must be described by {', '.join(sorted(names))}")
        data = cls().to_json() | data
        right = (
            isinstance(data["target"], (str, type(None)))
            and isinstance(data["beside"], dict)
            and data["beside"].keys() <= set(BESIDE)
            and _are_texts(data["beside"].values())
            and all(_are_texts(data[name]) for name in _LISTS)
            and isinstance(data["categories"], dict)
            and all(_are_features(features) for features in data["categories"].values())
            and data["impute"] in (None, *IMPUTATIONS)
            and isinstance(data["fill"], dict)
            and all(type(value) in (str, int, float) for value in data["fill"].values())
            and _are_features(data["indicators"])
            and isinstance(data["missing"], dict)
            and all(type(count) is int for count in data["missing"].values())
            and (data["n_factors"] is None or (type(data["n_factors"]) is int and data["n_factors"] > 0))
        )
        if not right:
            raise ValueError("the encoding of a table has entries of the wrong type")
        return cls(**data | {name: tuple(data[name]) for name in _LISTS})


_LISTS = ("ids", "left_out", "categorical")
# Fields that files of earlier versions lack.
_LATER = {"indicators", "categorical", "missing", "n_factors"}


def _are_features(features: Any) -> bool:
    return isinstance(features, dict) and _are_texts(name for name in features.values() if name is not None)


def _are_texts(values: Any) -> bool:
    return isinstance(values, Iterable) and not isinstance(values, str) and all(isinstance(v, str) for v in values)


def is_identifier(column: Column, first: bool) -> bool:
    """Whether a column names the rows: distinct texts or whole numbers, and either its name says so or it is first."""
    named = _IDENTIFIER.search(column.name) is not None
    if column.kind == "text" and (named or first):
        codes, levels = column.load()
        if not named and sum(map(_is_number, levels)) > len(levels) / 2:
            return False
        return bool(codes.size > 1 and codes.min() >= 0 and np.unique(codes).size == codes.size)
    if column.kind == "number" and named:
        values = column.load()
        whole = values.dtype.kind in "iu" or bool(np.all(values == np.round(values)))
        return bool(whole and values.size > 1 and np.unique(values).size == values.size)
    return False


def categorical_features(column: Column, found: Levels, *, missing_level: bool, least: int) -> dict[str, str | None]:
    """The features of a column of text by its levels, see :class:`Encoding`; a ValueError if it is not categorical.

    Parameters
    ----------
    missing_level : whether missing text is a separate level
    least : two or more levels with fewer rows than this are merged
    """
    levels, n_known = found.levels, int((found.codes >= 0).sum())
    numbers = [level for level in levels if _is_number(level)]
    advice = f"leave it out with --drop '{column.name}'"
    if len(numbers) > len(levels) / 2 and not column.coded:
        odd = next(level for level in levels if not _is_number(level))
        raise ValueError(
            f"column {column.name!r} holds numbers and text such as {odd!r}: correct it, {advice}, or read all of them "
            f"as levels with --categorical '{column.name}'"
        )
    if len(levels) > _MOST_LEVELS or len(levels) > max(2, n_known / 2):
        raise ValueError(
            f"column {column.name!r} holds text, {len(levels)} different values such as {levels[0][:30]!r}: {advice}, "
            f"or with --id '{column.name}' if it names the rows"
        )
    base = levels[0] if 0 < len(levels) <= 2 else None
    features = {level: None if level == base else f"{column.name}={level}" for level in levels}
    counts = np.bincount(found.codes[found.codes >= 0], minlength=len(levels))
    rare = [level for level, count in zip(levels, counts.tolist(), strict=True) if count < least]
    if base is None and len(rare) > 1:
        other = _unused(f"{column.name}=other", features)
        features |= dict.fromkeys(rare, other)
    if missing_level and n_known < found.codes.size and levels:
        features[GAP] = _unused(f"{column.name}=missing", features)
    return features


def _unused(name: str, features: dict[str, str | None]) -> str:
    """A name that differs from all levels."""
    while name in features.values():
        name += "*"
    return name


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def refuse_dates(columns: Iterable[Column]) -> None:
    """Raise a ValueError for columns that cannot be features."""
    for column in columns:
        if column.kind == "date" or (column.kind == "text" and _holds_dates(column.load().levels)):
            raise ValueError(
                f"column {column.name!r} holds dates or times: convert it to numbers, such as days since a date, or "
                f"leave it out with --drop '{column.name}'"
            )
        if column.kind == "other":
            raise ValueError(
                f"column {column.name!r} holds neither numbers nor text: leave it out with --drop '{column.name}'"
            )


def _holds_dates(levels: tuple[str, ...]) -> bool:
    """Whether all texts are dates, day or year first."""
    return bool(levels) and all(_DATE.match(level) for level in levels)


def refuse_missing(missing: dict[str, int], n_rows: int) -> None:
    """Raise a ValueError that names the columns with missing values."""
    if missing:
        worst = max(missing.values())
        raise ValueError(
            f"missing values in {len(missing)} column{'s' if len(missing) > 1 else ''}, up to {worst} of {n_rows} "
            f"rows: {listing(list(missing))}; fill them in with --impute median (or mean), or leave these rows out "
            f"with --impute drop"
        )
