"""Which features the columns of a table become, with notes on missing values and rare levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sparsest.tables.encoding import GAP, Encoding, categorical_features
from sparsest.tables.features import Filled, Part, grouped
from sparsest.tables.reading_options import ReadingOptions
from sparsest.tables.source import Column, listing

# Largest number of columns whose replacements are listed.
_MOST_LISTED = 30


class Plan(NamedTuple):
    """The parts of the matrix with the names of their features, the encoding, and notes for the user."""

    parts: list[Part]
    names: list[str]
    encoding: Encoding
    notes: list[str]


def plan_columns(candidates: Sequence[Column], encoding: Encoding, options: ReadingOptions, n_rows: int) -> Plan:
    """Decide for every column which features it becomes, or that it is left out."""
    plan = Plan([], [], encoding, [])
    empty: list[str] = []
    gappy: list[str] = []
    pooled: list[str] = []
    categories: dict[str, dict[str, str | None]] = {}
    indicators: dict[str, str] = {}
    for column in candidates:
        share = _share_missing(column) if _must_be_filled(column, options) else 0.0
        if share > options.max_missing:
            gappy.append(f"{column.name} ({share:.0%})")
        elif column.kind == "number":
            plan.parts.append(Part(column))
            plan.names.append(column.name)
            if share > 0.0 and str(options.impute).endswith("+indicator"):
                indicators[column.name] = f"{column.name}=missing"
                plan.parts.append(Part(column, ((GAP,),)))
                plan.names.append(indicators[column.name])
        elif groups := _grouped_levels(column, options, n_rows, categories, pooled):
            plan.parts.append(Part(column, tuple(groups.values())))
            plan.names.extend(groups)
        else:
            empty.append(column.name)
    remarks = {
        "left out, because too many values are missing (--max-missing)": gappy,
        "left out, because there is at most one value": empty,
        "columns of text became one column for each level": list(categories),
        "levels of few rows were merged (--min-level)": pooled,
    }
    plan.notes.extend(f"{remark}: {listing(names)}" for remark, names in remarks.items() if names)
    left_out = (*encoding.left_out, *empty, *(name.rpartition(" (")[0] for name in gappy))
    return plan._replace(encoding=replace(encoding, left_out=left_out, categories=categories, indicators=indicators))


def _grouped_levels(
    column: Column,
    options: ReadingOptions,
    n_rows: int,
    categories: dict[str, dict[str, str | None]],
    pooled: list[str],
) -> dict[str, tuple[str, ...]]:
    """The features of a column of text with their levels; none if it has at most one value."""
    missing_level = options.missing_text == "level" and options.impute != "drop"
    features = categorical_features(
        column, column.load(), missing_level=missing_level, least=options.least_rows(n_rows)
    )
    groups = grouped(features)
    if groups:
        categories[column.name] = features
    pooled.extend(f"{name} ({len(levels)} levels)" for name, levels in groups.items() if len(levels) > 1)
    return groups


def _must_be_filled(column: Column, options: ReadingOptions) -> bool:
    """Whether missing values of a column must be replaced or their rows dropped."""
    return options.impute is not None and (
        column.kind == "number" or options.missing_text == "frequent" or options.impute == "drop"
    )


def _share_missing(column: Column) -> float:
    values = column.load()
    if column.kind != "number":
        return float((values.codes < 0).mean())
    return float(np.isnan(values).mean()) if values.dtype.kind == "f" else 0.0


def what_was_filled(filled: Filled, impute: str | None, n_rows: int) -> list[str]:
    """Notes on how many values of every column were missing, and what replaced them."""
    notes = []
    for name, count in filled.missing.items():
        if name not in filled.fill:
            continue
        value = filled.fill[name]
        if value == GAP:
            how = "are a separate level"
        elif isinstance(value, str):
            how = f"became the most frequent text, {value!r}"
        else:
            how = f"became the {str(impute).partition('+')[0]}, {value:.6g}"
        notes.append(f"column {name!r}: {count} of {n_rows} values were missing and {how}")
    more = len(notes) - _MOST_LISTED
    if more > 0:
        notes[_MOST_LISTED:] = [f"and {more} more columns with missing values; the model's file lists all"]
    return notes
