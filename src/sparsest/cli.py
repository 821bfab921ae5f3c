"""The command line ``sparsest``."""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sparsest.proofs import Certificate, Verdict

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
    """End with one line on stderr and the exit code 2, whatever is wrong with the input; ``--verbose`` shows where."""
    try:
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

    from sparsest.api import best_subset
    from sparsest.datasets import load_breast_cancer, load_diabetes_quadratic
    from sparsest.report import live_progress, print_model

    console = Console()
    cases = (
        ("Diabetes, 442 × 64: disease progression, squared loss", load_diabetes_quadratic(), "squared"),
        ("Breast cancer, 569 × 30: benign or malignant, logistic loss", load_breast_cancer(), "logistic"),
    )
    printed = []
    for title, data, loss in cases:
        settings: dict[str, Any] = {"loss": loss, "standardize": True, "time_limit": time_limit}
        with _one_line_errors():
            if as_json:
                result = best_subset(data.X, data.y, k, **settings)
                printed.append({"title": title, **result.to_dict(data.feature_names)})
                continue
            with live_progress(console, title) as callback:
                result = best_subset(data.X, data.y, k, callback=callback, **settings)
            print_model(console, result, data.feature_names, f"{title}, k = {k}")
    if as_json:
        typer.echo(json.dumps(printed, indent=2))


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
        verdict = _check(proof, data, weighted, exact, expected)
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


def _check(certificate: Certificate, folder: str, weighted: bool, exact: bool, expected: dict[str, Any]) -> Verdict:
    """Load the data of a folder and check a certificate against them."""
    from sparsest.datasets import load_folder

    data = load_folder(folder)
    if weighted and data.sample_weight is None:
        raise ValueError(f"data.npz in {folder} has no array sample_weight")
    weights = data.sample_weight if weighted else None
    return certificate.verify(data.X, data.y, weights, exact=exact, **expected)


@app.command()
def warmup() -> None:
    """Compile the numerical kernels once, so that no later fit has to wait for it."""
    from sparsest.api import warmup as compile_all

    start = time.perf_counter()
    compile_all()
    typer.echo(f"kernels are compiled ({time.perf_counter() - start:.1f} s)")
