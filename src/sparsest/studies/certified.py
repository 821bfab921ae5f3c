"""Beyond the paper: how many exact models are proved optimal, and which findings change if only those are used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sparsest.studies.findings import Finding, Judgement, Verdict
from sparsest.studies.study import Study
from sparsest.studies.views import Row

# The exact model counts as better than the relaxation's if its objective is lower by more than this fraction.
_BETTER = 1e-6


class Proofs(NamedTuple):
    """Proofs of optimality in one panel, over all sizes and data sets.

    Attributes
    ----------
    fits : number of exact fits.
    certified : number of fits whose certificate of optimality the checker accepted.
    median_gap, largest_gap : final gaps of the other fits; NaN if there are none.
    tight : number of relaxations that prove their own rounded model optimal; None if that was not recorded.
    improved : number of exact models that are better than the rounded relaxation.
    """

    panel: str
    fits: int
    certified: int
    median_gap: float
    largest_gap: float
    tight: int | None
    improved: int


def proofs(rows: Sequence[Row]) -> list[Proofs]:
    """Count the proofs in every panel, and in all panels together."""
    relaxed = {_fit(row): row["objective"] for row in rows if row["method"] == "relaxation" and "objective" in row}
    panels: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row["method"] == "exact" and "certified" in row:
            panels[row["panel"]].append(row)
    counted = [_count(panel, of_panel, relaxed) for panel, of_panel in panels.items()]
    together = [row for of_panel in panels.values() for row in of_panel]
    return [*counted, _count("all", together, relaxed)] if len(counted) > 1 else counted


def _fit(row: Row) -> tuple[Any, ...]:
    return row["panel"], row["x"], row["set"], row["k"]


def _count(panel: str, rows: Sequence[Row], relaxed: dict[tuple[Any, ...], float]) -> Proofs:
    gaps = [row["gap"] for row in rows if not row["certified"]] or [np.nan]
    improved = sum(row["objective"] < (1.0 - _BETTER) * relaxed.get(_fit(row), -np.inf) for row in rows)
    known = [row["tight"] for row in rows if "tight" in row]
    return Proofs(
        panel, len(rows), sum(row["certified"] for row in rows), float(np.median(gaps)), float(np.max(gaps)),
        sum(known) if known else None, int(improved),
    )  # fmt: skip


def only_certified(study: Study, rows: Sequence[Row]) -> list[Row]:
    """Drop the exact models that are not proved optimal.

    If a study chooses the size on validation rows, a data set is kept or dropped as a whole, according to its chosen
    model: choosing among the proved models only would be another method.
    """
    if not study.chosen:
        return [row for row in rows if row["method"] != "exact" or row.get("certified")]
    chosen: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        if row["method"] == "exact" and "validation" in row:
            best = chosen.setdefault(_data_set(row), row)
            if row["validation"] < best["validation"]:
                chosen[_data_set(row)] = row
    return [row for row in rows if row["method"] != "exact" or chosen.get(_data_set(row), {}).get("certified")]


def _data_set(row: Row) -> tuple[Any, ...]:
    return row["panel"], row["x"], row["set"]


class Change(NamedTuple):
    """A finding judged on all rows, and on the rows that remain without unproved exact models."""

    finding: Finding
    all: Verdict
    certified: Verdict

    @property
    def changed(self) -> bool:
        """Whether the two judgements contradict each other."""
        return self.certified.judgement not in (self.all.judgement, Judgement.UNDECIDED)

    @property
    def lost(self) -> bool:
        """Whether a finding that all models decide is undecided with the proved models alone."""
        return self.all.judgement is not Judgement.UNDECIDED and self.certified.judgement is Judgement.UNDECIDED


def changes(study: Study, rows: Sequence[Row]) -> list[Change]:
    """Judge the findings about the exact method twice: with and without unproved models."""
    proved = only_certified(study, rows)
    return [
        Change(finding, finding.judge(rows), finding.judge(proved))
        for finding in study.findings
        if "exact" in finding.judge(rows).figures
    ]
