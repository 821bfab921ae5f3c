"""The study runner: every experiment of Bertsimas, Pauphilet and Van Parys (2019), declared, run, drawn and judged."""

from __future__ import annotations

from sparsest.studies.catalog import STUDIES, find
from sparsest.studies.results import check, rows_of, status, table
from sparsest.studies.runner import estimate, run
from sparsest.studies.store import Store
from sparsest.studies.study import SIZES, Study

__all__ = ["SIZES", "STUDIES", "Store", "Study", "check", "estimate", "find", "rows_of", "run", "status", "table"]
