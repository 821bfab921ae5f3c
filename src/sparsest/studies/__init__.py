"""The study runner: every experiment of Bertsimas, Pauphilet and Van Parys (2020), with figures and findings."""

from __future__ import annotations

from sparsest.studies.catalog import STUDIES, find
from sparsest.studies.results import check, results_of, rows_of, status
from sparsest.studies.runner import estimate, run
from sparsest.studies.store import Store
from sparsest.studies.study import SIZES, Study

__all__ = ["SIZES", "STUDIES", "Store", "Study", "check", "estimate", "find", "results_of", "rows_of", "run", "status"]
