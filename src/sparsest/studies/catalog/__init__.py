"""The studies of Bertsimas, Pauphilet and Van Parys (2020): one small file for each group that shares its data."""

from __future__ import annotations

from sparsest.studies.catalog import classification, real, regression, timing
from sparsest.studies.study import Study

STUDIES: dict[str, Study] = {
    study.name: study for module in (regression, classification, real, timing) for study in module.STUDIES
}


def find(name: str) -> Study:
    """Return the study with a name; a ValueError lists the names that exist."""
    if name not in STUDIES:
        raise ValueError(f"there is no study {name!r}: choose one of {', '.join(STUDIES)}")
    return STUDIES[name]
