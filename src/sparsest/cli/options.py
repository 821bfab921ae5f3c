"""Options that several commands have, with their help: single ones, and groups that a command takes as one argument.

Options that are settings of the library take their defaults and help texts from :mod:`sparsest.core.settings`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsest.core.settings import SETTINGS

if TYPE_CHECKING:
    from sparsest.tables import ReadingOptions

COLUMNS, SEARCH, FILES = "Columns", "Search", "Output"


def setting(name: str, panel: str | None = None, also: str = "") -> Any:
    """The option of a setting, with its description; ``also`` is appended to the help text."""
    return typer.Option(help=" ".join([SETTINGS[name].help, also]).strip(), rich_help_panel=panel)


def _column(text: str, *names: str) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=COLUMNS)


Data = Annotated[
    str,
    typer.Argument(
        help="A CSV or TSV file (also .gz, .zst), Parquet, Feather, NPY, NPZ, HDF5, .h5ad, zarr, PLINK (.bed, .pgen), "
        "Matrix Market or svmlight; a folder with data.npz; or - for standard input. The content tells the format."
    ),
]
Target = Annotated[
    str | None,
    _column(
        "The column to predict, by name (by number where columns have no names), or a file with that column. By "
        "default y or target, or what the format says."
    ),
]
Weights = Annotated[str | None, _column("A column with weights of the observations.")]
Offset = Annotated[str | None, _column("A column that is added to predictions.")]
Exposure = Annotated[str | None, _column("A column of exposures, to which means are proportional (counts, costs).")]
Out = Annotated[
    str | None, typer.Option(help="Write the model with its certificate to this JSON file.", rich_help_panel=FILES)
]
Report = Annotated[str | None, typer.Option(help="Write a report to this HTML file.", rich_help_panel=FILES)]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files.", rich_help_panel=FILES)]
Json = Annotated[
    bool, typer.Option("--json", help="Print JSON instead of tables (see JSON.md).", rich_help_panel=FILES)
]


@dataclass(frozen=True)
class ColumnOptions:
    """Roles of the columns of a file."""

    target: Target = None
    exclude: Annotated[list[str], _column("Columns that must not be in the model, a,b,…")] = field(default_factory=list)
    ids: Annotated[
        list[str], _column("Columns that name the rows, a,b,…: they are left out. Obvious ones are recognised.", "--id")
    ] = field(default_factory=list)
    exposure: Exposure = None
    impute: Annotated[
        str | None,
        _column(
            "What to do about missing numbers: median or mean fill them in, median+indicator or mean+indicator add a "
            "feature that indicates them, drop leaves their rows out. By default they are an error."
        ),
    ] = None
    drop: Annotated[list[str], _column("Columns to leave out of the table, a,b,…")] = field(default_factory=list)
    categorical: Annotated[
        list[str],
        _column("Columns of numbers, or of numbers and text, that are codes, a,b,…: they are treated like text."),
    ] = field(default_factory=list)

    def requirements(self, *, excluded_in_table: bool, **further: Any) -> ReadingOptions:
        """The options for the reader of tables.

        Parameters
        ----------
        excluded_in_table : whether excluded columns stay in the table, for a method that accepts excluded features
        **further : other fields of ``ReadingOptions``
        """
        from sparsest.tables import ReadingOptions

        apart = names(self.exclude)
        return ReadingOptions(
            target=self.target, ids=names(self.ids) if excluded_in_table else (*names(self.ids), *apart),
            exclude=apart if excluded_in_table else (), impute=self.impute, drop=names(self.drop),
            categorical=names(self.categorical), **{"beside": beside(exposure=self.exposure), **further},
        )  # fmt: skip


@dataclass(frozen=True)
class TableOptions(ColumnOptions):
    """Roles and treatment of the columns of a file, for commands that fit."""

    weights: Weights = None
    offset: Offset = None
    missing_text: Annotated[
        str, _column("What missing text becomes: level (a separate level) or frequent (the most frequent one).")
    ] = "level"
    max_missing: Annotated[
        float, _column("Columns of which a larger share is missing are left out, not filled in.")
    ] = 0.5
    min_level: Annotated[
        int | None,
        _column(
            "Levels of text in fewer rows are merged, and other features in fewer rows are noted; by default 5 from 50 "
            "rows on."
        ),
    ] = None
    drop_zero_exposure: Annotated[
        bool, _column("Leave out rows whose exposure is not above zero.", "--drop-zero-exposure")
    ] = False

    def requirements(self, *, excluded_in_table: bool, **further: Any) -> ReadingOptions:
        """The options for the reader of tables."""
        own: dict[str, Any] = {
            "beside": beside(self.weights, self.offset, self.exposure), "missing_text": self.missing_text,
            "max_missing": self.max_missing, "min_level": self.min_level,
            "drop_zero_exposure": self.drop_zero_exposure,
        }  # fmt: skip
        return super().requirements(excluded_in_table=excluded_in_table, **own, **further)


@dataclass(frozen=True)
class ModelOptions:
    """Loss and scale of a model."""

    loss: Annotated[
        str,
        typer.Option(
            help="squared, huber, quantile, logistic, hinge, poisson, negative_binomial, gamma, …; auto is logistic "
            "for a target of two values and squared for others."
        ),
    ] = "auto"
    epsilon: Annotated[float | None, setting("epsilon")] = None
    delta: Annotated[float | None, setting("delta")] = None
    theta: Annotated[float | None, setting("theta")] = None
    fit_intercept: Annotated[bool, setting("fit_intercept")] = SETTINGS["fit_intercept"].default
    standardize: Annotated[bool, setting("standardize")] = SETTINGS["standardize"].default


@dataclass(frozen=True)
class LimitOptions:
    """Limits of coefficients."""

    lower: Annotated[
        list[str],
        typer.Option(help="Smallest value of a coefficient, such as age=0, or of all, such as 0; may be repeated."),
    ] = field(default_factory=list)
    upper: Annotated[
        list[str],
        typer.Option(help="Largest value of a coefficient, such as age=0, or of all, such as 0; may be repeated."),
    ] = field(default_factory=list)
    positive: Annotated[bool, typer.Option("--positive", help="No coefficient below zero.")] = SETTINGS[
        "positive"
    ].default

    def settings(self) -> dict[str, Any]:
        """The settings of the library, with names of columns."""
        lower, upper = limit_of(self.lower, "--lower"), limit_of(self.upper, "--upper")
        return {"lower": lower, "upper": upper, "positive": self.positive}


@dataclass(frozen=True)
class SubsetOptions(ModelOptions, LimitOptions):
    """Loss, scale and restrictions of a best subset."""

    quantile: Annotated[float | None, setting("quantile")] = None
    max_coef: Annotated[float | None, setting("max_coef")] = SETTINGS["max_coef"].default
    include: Annotated[list[str], _column("Features that must be in the model, a,b,…")] = field(default_factory=list)


@dataclass(frozen=True)
class SearchOptions:
    """Settings of the search for a best subset."""

    method: Annotated[str, setting("method", SEARCH)] = SETTINGS["method"].default
    time_limit: Annotated[float, setting("time_limit", SEARCH)] = SETTINGS["time_limit"].default
    gap_tol: Annotated[float, setting("gap_tol", SEARCH)] = SETTINGS["gap_tol"].default
    threads: Annotated[int | None, setting("n_jobs", SEARCH)] = SETTINGS["n_jobs"].default
    bootstrap: Annotated[
        int,
        typer.Option(
            min=0,
            help="Repeat the selection on this number of resamples of the rows, to see how stable it is.",
            rich_help_panel=SEARCH,
        ),
    ] = 0

    def settings(self) -> dict[str, Any]:
        """The settings of the library."""
        return {
            "method": self.method, "time_limit": self.time_limit, "gap_tol": self.gap_tol, "n_jobs": self.threads,
        }  # fmt: skip


@dataclass(frozen=True)
class OutputOptions:
    """Files to write, and the format of the output."""

    out: Out = None
    report: Report = None
    force: Force = False
    as_json: Json = False


def beside(weights: str | None = None, offset: str | None = None, exposure: str | None = None) -> dict[str, str]:
    """The named columns of weights, offsets and exposures."""
    given = {"sample_weight": weights, "offset": offset, "exposure": exposure}
    return {role: name for role, name in given.items() if name is not None}


def limit_of(given: list[str], option: str) -> float | dict[str, float] | None:
    """One number for all coefficients, or a number for each named one."""
    entries = [text.rpartition("=") for text in names(given)]
    try:
        found = {name: float(value) for name, _, value in entries}
    except ValueError:
        raise ValueError(f"{option} must be a number or column=number, got {', '.join(given)}") from None
    if len(found) < len(entries) or ("" in found and len(found) > 1):
        raise ValueError(f"{option} must be one number, or one for each of some columns, got {', '.join(given)}")
    return found.get("", found or None)


def names(given: list[str]) -> tuple[str, ...]:
    """Names that were given in several options or separated by commas."""
    return tuple(name.strip() for text in given for name in text.split(",") if name.strip())
