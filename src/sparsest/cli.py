"""The command line ``sparsest``."""

from __future__ import annotations

import json
import logging
import math
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from sparsest.datasets import Dataset
    from sparsest.proofs import Certificate

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Select the few features that matter, and prove it.")

Json = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON instead of tables.")]


@app.callback()
def _setup(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what is being done.")] = False,
) -> None:
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(message)s")
    logging.getLogger("sparsest").setLevel(logging.DEBUG if verbose else logging.INFO)


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """End with one line on stderr and the exit code 2, whatever is wrong with the input; ``--verbose`` shows where.

    What the library warns of stands in what a command prints.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            yield
    except (OSError, ValueError) as error:
        message = str(error)
    except MemoryError:
        message = "this needs more memory than there is: are the data and the file the right ones?"
    except RecursionError:
        message = "the file is nested too deeply: write it anew with Certificate.to_json"
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        message = f"the input cannot be used ({type(error).__name__}: {error}); is it what the help describes?"
    else:
        return
    logging.getLogger("sparsest").debug("the error arose here:", exc_info=True)
    typer.echo(f"error: {' '.join(message.split())}", err=True)
    raise typer.Exit(2)


@app.command()
def demo(
    k: Annotated[int, typer.Option(help="Number of features of each model.", min=1)] = 6,
    time_limit: Annotated[float, typer.Option(help="Seconds for each model.", min=0.01)] = 60.0,
    as_json: Json = False,
) -> None:
    """Fit a regression and a classifier to data that come with scikit-learn, and show what is proved."""
    from rich.console import Console

    console = Console()
    with _compiling_beside():
        _run_demo(console, k, time_limit, as_json)


def _run_demo(console: Console, k: int, time_limit: float, as_json: bool) -> None:
    """Fit and print both models."""
    from sparsest.api import best_subset
    from sparsest.datasets import load_breast_cancer, load_diabetes_quadratic
    from sparsest.progress import in_terminal
    from sparsest.report import print_model

    cases = (
        ("Diabetes, 442 × 64: disease progression, squared loss", load_diabetes_quadratic(), "squared"),
        ("Breast cancer, 569 × 30: benign or malignant, logistic loss", load_breast_cancer(), "logistic"),
    )
    printed = []
    for title, data, loss in cases:
        settings: dict[str, Any] = {
            "loss": loss,
            "time_limit": time_limit,
            "feature_names": data.feature_names,
        }
        with _one_line_errors():
            if as_json:
                printed.append({"title": title, **best_subset(data.X, data.y, k, **settings).to_dict()})
                continue
            with in_terminal(console, title) as callback:
                result = best_subset(data.X, data.y, k, callback=callback, **settings)
            print_model(console, result, f"{title}, k = {k}")
    if as_json:
        typer.echo(json.dumps(printed, indent=2))


@contextmanager
def _compiling_beside() -> Iterator[None]:
    """Where no kernel is compiled yet, let a process beside this one begin with those that are wanted last."""
    from sparsest.kernels.jit import is_cache_empty

    if not is_cache_empty():
        yield
        return
    command = [sys.executable, "-c", "from sparsest.api import warmup; warmup()"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as helper:
        try:
            yield
        finally:
            # Kernels are stored one by one: what it has compiled stays.
            helper.terminate()


@app.command()
def fit(
    data: Annotated[str, typer.Argument(help="Folder with data.npz (X and y), and X.npz when X is sparse.")],
    k: Annotated[int, typer.Option(help="The largest number of features.")] = 10,
    l0_penalty: Annotated[float | None, typer.Option(help="The price of a feature, instead of k.")] = None,
    gamma: Annotated[str, typer.Option(help="The ridge is |w|²/(2 gamma): a number, inf for none, or auto.")] = "auto",
    loss: Annotated[
        str, typer.Option(help="squared, huber, quantile, logistic, hinge, poisson, negative_binomial, gamma, …")
    ] = "squared",
    epsilon: Annotated[float | None, typer.Option(help="Half width of the insensitive zone.")] = None,
    delta: Annotated[float | None, typer.Option(help="Where Huber's loss becomes linear.")] = None,
    quantile: Annotated[float | None, typer.Option(help="The quantile of the quantile loss.")] = None,
    theta: Annotated[float | None, typer.Option(help="Theta of the negative binomial loss.")] = None,
    method: Annotated[str, typer.Option(help="tree, cuts, relaxation, subgradient or local.")] = "tree",
    fit_intercept: Annotated[bool, typer.Option(help="Whether to fit an intercept.")] = True,
    standardize: Annotated[bool, typer.Option(help="Whether to solve for columns of mean square 1.")] = True,
    weighted: Annotated[
        bool, typer.Option("--weighted", help="Weigh the observations by the array sample_weight of data.npz.")
    ] = False,
    offset: Annotated[bool, typer.Option("--offset", help="Add the array offset of data.npz to predictions.")] = False,
    exposure: Annotated[
        bool, typer.Option("--exposure", help="Means are proportional to the array exposure of data.npz.")
    ] = False,
    include: Annotated[list[str], typer.Option(help="A column that must be in the model; repeat for more.")] = [],  # noqa: B006
    exclude: Annotated[list[str], typer.Option(help="A column that must not be in it; repeat for more.")] = [],  # noqa: B006
    start: Annotated[str | None, typer.Option(help="File of an earlier result to start from.")] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds.")] = 60.0,
    gap_tol: Annotated[float, typer.Option(help="Relative gap at which a model counts as optimal.")] = 1e-4,
    engine: Annotated[str | None, typer.Option(help="highs, scip or gurobi, for the method cuts.")] = None,
    n_jobs: Annotated[int | None, typer.Option(help="Number of threads; all cores by default.")] = None,
    node_limit: Annotated[int | None, typer.Option(help="The largest number of nodes.")] = None,
    max_memory: Annotated[float | None, typer.Option(help="Bytes for open regions, proof and Gram matrix.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show incumbent, bound, gap and nodes meanwhile.")] = False,
    option: Annotated[
        list[str], typer.Option(help="A further setting of the method, NAME=VALUE; repeat for more.")
    ] = [],  # noqa: B006
    output: Annotated[str | None, typer.Option(help="Write the result with its certificate to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Find the best model with few features for the data of a folder, and prove it.

    The options are the arguments of the function best_subset.
    """
    from rich.console import Console

    from sparsest.api import best_subset
    from sparsest.report import print_model
    from sparsest.result import Result

    with _one_line_errors():
        table, rows = _load(data, sample_weight=weighted, offset=offset, exposure=exposure)
        names = None if table.feature_names is None else table.feature_names.tolist()
        result = best_subset(
            table.X, table.y, k if l0_penalty is None else None, l0_penalty=l0_penalty,
            gamma=gamma if gamma == "auto" else _number(gamma), loss=loss, epsilon=epsilon, delta=delta,
            quantile=quantile, theta=theta, **rows, method=method,
            fit_intercept=fit_intercept, standardize=standardize,
            include=_columns(include, names), exclude=_columns(exclude, names), feature_names=names,
            start=None if start is None else Result.load(start), time_limit=time_limit, gap_tol=gap_tol, engine=engine,
            n_jobs=n_jobs, node_limit=node_limit, max_memory=max_memory, verbose=verbose and not as_json,
            options=dict(_setting(text) for text in option),
        )  # fmt: skip
        if output is not None:
            result.save(output)
    if as_json:
        typer.echo(json.dumps(_finite(result.to_dict())))
    else:
        print_model(Console(), result, f"{data}: {result.statement.sentence()}")


def _columns(given: list[str], names: list[str] | None) -> Any:
    """Columns by name or by number."""
    return [int(text) if text.isdecimal() and text not in (names or ()) else text for text in given]


def _number(text: str) -> Any:
    """A number, or the text as it is, which is then refused by name."""
    try:
        return float(text)
    except ValueError:
        return text


def _setting(text: str) -> tuple[str, Any]:
    """NAME=VALUE, with a value of JSON where it is one, and a text else."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--option must be NAME=VALUE, got {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _finite(data: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity and no NaN: they become null."""
    return {name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in data.items()}


@app.command()
def verify(
    certificate: Annotated[str, typer.Argument(help="File written by Certificate.save.")],
    data: Annotated[str, typer.Argument(help="Folder with data.npz (X and y), and X.npz when X is sparse.")],
    weighted: Annotated[
        bool, typer.Option("--weighted", help="Weigh the observations by the array sample_weight of data.npz.")
    ] = False,
    offset: Annotated[bool, typer.Option("--offset", help="Add the array offset of data.npz to predictions.")] = False,
    exposure: Annotated[
        bool, typer.Option("--exposure", help="Means are proportional to the array exposure of data.npz.")
    ] = False,
    exact: Annotated[
        bool, typer.Option("--exact", help="Check in rational arithmetic, slowly (needs python-flint).")
    ] = False,
    k: Annotated[int | None, typer.Option(help="Refuse a proof for another number of features.")] = None,
    l0_penalty: Annotated[float | None, typer.Option(help="Refuse a proof for another price of a feature.")] = None,
    gamma: Annotated[float | None, typer.Option(help="Refuse a proof for another ridge.")] = None,
    loss: Annotated[str | None, typer.Option(help="Refuse a proof for another loss.")] = None,
    as_json: Json = False,
) -> None:
    """Check a certificate against the data, without the solver, and say which problem it is about."""
    expected = {"k": k, "l0_penalty": l0_penalty, "gamma": gamma, "loss": loss}
    with _one_line_errors():
        proof = _read_certificate(Path(certificate))
        table, rows = _load(data, sample_weight=weighted, offset=offset, exposure=exposure)
        verdict = proof.verify(table.X, table.y, exact=exact, **rows, **expected)
    if as_json:
        problem = {"statement": proof.statement.to_json()}
        typer.echo(json.dumps(_finite({**verdict._asdict(), "gap": verdict.gap}) | problem))
    else:
        typer.echo(f"problem: {verdict.problem}")
        typer.echo(f"fingerprint of the data: {verdict.fingerprint}")
        typer.echo("valid" if verdict else "NOT VALID: " + "; ".join(verdict.reasons))
        typer.echo(f"objective {verdict.objective:.10g}, lower bound {verdict.lower_bound:.10g}, gap {verdict.gap:.3%}")
    raise typer.Exit(0 if verdict else 1)


def _read_certificate(file: Path) -> Certificate:
    """Read a certificate of either form; a folder or a device is refused."""
    from sparsest.proofs import Certificate

    if not file.is_file():
        raise ValueError(f"there is no file {file}")
    return Certificate.load(file)


def _load(folder: str, **wanted: bool) -> tuple[Dataset, dict[str, Any]]:
    """Load the data of a folder, and those of its arrays of rows that are wanted."""
    from sparsest.datasets import load_folder

    data = load_folder(folder)
    rows = {name: getattr(data, name) for name, asked in wanted.items() if asked}
    for name, values in rows.items():
        if values is None:
            raise ValueError(f"data.npz in {folder} has no array {name}")
    return data, rows


@app.command()
def warmup() -> None:
    """Compile the numerical kernels once, so that no later fit has to wait for it."""
    from sparsest.api import warmup as compile_all

    start = time.perf_counter()
    compile_all()
    typer.echo(f"kernels are compiled ({time.perf_counter() - start:.1f} s)")
