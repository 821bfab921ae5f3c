"""Options of a user about the columns of a file."""

from __future__ import annotations

from dataclasses import dataclass, field

# The default of min_level, and the smallest number of rows for which it applies.
_FEW_ROWS, _MANY_ROWS = 5, 50


@dataclass(frozen=True)
class ReadingOptions:
    """Options of a user about the columns of a file.

    Attributes
    ----------
    target : a column, or a file with one column
    beside : columns of weights, offsets and exposures, by the names of these arguments
    ids : columns that name the rows
    exclude : columns that must not be in the model; those that no model can use are left out of the table
    impute : "median", "mean", "median+indicator", "mean+indicator" or "drop" for missing values
    missing_text : "level" or "frequent": missing text is a separate level, or becomes the most frequent one
    max_missing : largest share of missing values of a column to be filled in; other columns are left out
    min_level : levels of fewer rows than this are pooled, and rarer features are noted; by default 5 from 50 rows
        on, else 1
    drop : columns that are left out of the table
    categorical : columns of numbers, or of numbers and text, that are codes; they are encoded like text
    drop_zero_exposure : whether to leave out rows with zero exposure
    """

    target: str | None = None
    beside: dict[str, str] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    impute: str | None = None
    missing_text: str = "level"
    max_missing: float = 0.5
    min_level: int | None = None
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    drop_zero_exposure: bool = False

    def least_rows(self, n_rows: int) -> int:
        """The smallest number of rows of a level that is not merged with others."""
        return (_FEW_ROWS if n_rows >= _MANY_ROWS else 1) if self.min_level is None else self.min_level
