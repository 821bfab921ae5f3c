"""Options that several commands have, with their help."""

from __future__ import annotations

from typing import Annotated

import typer

_COLUMNS, _SEARCH, _FILES = "Columns", "Search", "Output"

Data = Annotated[
    str,
    typer.Argument(
        help="A CSV or TSV file (also .gz, .zst), Parquet, Feather, NPY, NPZ, Matrix Market, svmlight, .h5ad or .bed; "
        "a folder with data.npz; or - for standard input. The content tells the format."
    ),
]
Target = Annotated[
    str | None,
    typer.Option(
        help="The column to predict, by name (by number where columns have no names), or a file with that column. "
        "By default y or target, or what the format says.",
        rich_help_panel=_COLUMNS,
    ),
]
Weights = Annotated[
    str | None, typer.Option(help="A column with weights of the observations.", rich_help_panel=_COLUMNS)
]
Offset = Annotated[str | None, typer.Option(help="A column that is added to predictions.", rich_help_panel=_COLUMNS)]
Exposure = Annotated[
    str | None,
    typer.Option(help="A column that means are proportional to (losses of counts).", rich_help_panel=_COLUMNS),
]
Ids = Annotated[
    list[str],
    typer.Option(
        "--id",
        help="Columns that name the rows, a,b,…: they are left out. Obvious ones are recognised.",
        rich_help_panel=_COLUMNS,
    ),
]
Include = Annotated[list[str], typer.Option(help="Features that must be in the model, a,b,…", rich_help_panel=_COLUMNS)]
Exclude = Annotated[
    list[str], typer.Option(help="Columns that must not be in the model, a,b,…", rich_help_panel=_COLUMNS)
]
Impute = Annotated[
    str | None,
    typer.Option(
        help="What to do about missing numbers: median or mean fill them in, median+indicator or mean+indicator add a "
        "feature that says where, drop leaves their rows out. By default they are an error.",
        rich_help_panel=_COLUMNS,
    ),
]
MissingText = Annotated[
    str,
    typer.Option(
        help="What missing text becomes: level, one of its own, or frequent, the most frequent one.",
        rich_help_panel=_COLUMNS,
    ),
]
MaxMissing = Annotated[
    float,
    typer.Option(
        help="Columns of which a larger share is missing are left out, not filled in.", rich_help_panel=_COLUMNS
    ),
]
MinLevel = Annotated[
    int | None,
    typer.Option(
        help="Levels of text in fewer rows are one together, and other features in fewer rows are noted; by default 5 "
        "from 50 rows on.",
        rich_help_panel=_COLUMNS,
    ),
]
Drop = Annotated[list[str], typer.Option(help="Columns to leave out of the table, a,b,…", rich_help_panel=_COLUMNS)]
Categorical = Annotated[
    list[str],
    typer.Option(help="Columns of numbers that are codes, a,b,…: a feature for each.", rich_help_panel=_COLUMNS),
]
DropZeroExposure = Annotated[
    bool,
    typer.Option(
        "--drop-zero-exposure", help="Leave out rows whose exposure is not above zero.", rich_help_panel=_COLUMNS
    ),
]
Gamma = Annotated[str, typer.Option(help="The ridge is |w|²/(2 gamma): a number, inf for none, or auto.")]
MaxCoef = Annotated[
    float | None,
    typer.Option(help="An upper limit of every coefficient's size, for columns of mean square 1 if standardised."),
]
Loss = Annotated[
    str,
    typer.Option(
        help="squared, huber, quantile, logistic, hinge, poisson, negative_binomial, gamma, …; auto is logistic for a "
        "target of two values and squared for others."
    ),
]
Epsilon = Annotated[float | None, typer.Option(help="Half width of the insensitive zone.")]
Delta = Annotated[float | None, typer.Option(help="Where Huber's loss becomes linear.")]
Quantile = Annotated[float | None, typer.Option(help="The quantile of the quantile loss.")]
Theta = Annotated[float | None, typer.Option(help="Theta of the negative binomial loss.")]
Method = Annotated[str, typer.Option(help="tree, cuts, relaxation, subgradient or local.", rich_help_panel=_SEARCH)]
FitIntercept = Annotated[bool, typer.Option(help="Whether to fit an intercept.")]
Standardize = Annotated[bool, typer.Option(help="Whether to solve for columns of mean square 1.")]
TimeLimit = Annotated[float, typer.Option(help="Seconds for each model.", rich_help_panel=_SEARCH)]
GapTol = Annotated[
    float, typer.Option(help="Relative gap at which a model counts as optimal.", rich_help_panel=_SEARCH)
]
Threads = Annotated[int | None, typer.Option(help="Number of threads; all cores by default.", rich_help_panel=_SEARCH)]
Bootstrap = Annotated[
    int,
    typer.Option(
        min=0, help="Repeat the selection on so many resamples of the rows, to see how stable it is.",
        rich_help_panel=_SEARCH,
    ),
]  # fmt: skip
Out = Annotated[
    str | None,
    typer.Option(help="Write the model with its certificate to this JSON file.", rich_help_panel=_FILES),
]
Report = Annotated[str | None, typer.Option(help="Write a report to this HTML file.", rich_help_panel=_FILES)]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files.", rich_help_panel=_FILES)]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print JSON instead of tables (see JSON.md).", rich_help_panel=_FILES),
]


def beside(weights: str | None, offset: str | None = None, exposure: str | None = None) -> dict[str, str]:
    """The columns of weights, offsets and exposures that were named."""
    given = {"sample_weight": weights, "offset": offset, "exposure": exposure}
    return {role: name for role, name in given.items() if name is not None}


def names(given: list[str]) -> tuple[str, ...]:
    """Names that were given one by one or with commas between them."""
    return tuple(name.strip() for text in given for name in text.split(",") if name.strip())
