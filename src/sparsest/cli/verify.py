"""The command ``verify``: check a proof against the data, without the solver."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsest.cli import options as o
from sparsest.cli.app import INVALID, command, log

if TYPE_CHECKING:
    from sparsest.proofs import Certificate
    from sparsest.tables import Encoding


@command
def verify(
    model: Annotated[str, typer.Argument(help="File written by fit or cv with --out, or by Certificate.save.")],
    data: o.Data,
    target: o.Target = None,
    weights: o.Weights = None,
    offset: o.Offset = None,
    exposure: o.Exposure = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Check in rational arithmetic, slowly (needs python-flint).")
    ] = False,
    k: Annotated[int | None, typer.Option(help="Refuse a proof for another number of features.")] = None,
    l0_penalty: Annotated[float | None, typer.Option(help="Refuse a proof for another price of a feature.")] = None,
    gamma: Annotated[float | None, typer.Option(help="Refuse a proof for another ridge.")] = None,
    max_coef: Annotated[float | None, typer.Option(help="Refuse a proof for another limit of coefficients.")] = None,
    loss: Annotated[str | None, typer.Option(help="Refuse a proof for another loss.")] = None,
    unrestricted: Annotated[
        bool,
        typer.Option("--unrestricted", help="Refuse a proof with limits of coefficients, forced features or rules."),
    ] = False,
    as_json: o.Json = False,
) -> int:
    """Check a proof against the data, without the solver, and say which problem it is about.

    Example: `sparsest verify model.json patients.csv`

    The exit code is 0 for a proof that holds and 1 for one that does not. The fingerprint shows whether the data are
    those of the fit.
    """
    from sparsest.cli.data import print_notes
    from sparsest.cli.live import watched
    from sparsest.cli.output import print_json
    from sparsest.core.designs import reporting
    from sparsest.runtime.clock import Clock
    from sparsest.tables import read_with_encoding

    proof, encoding, names = _read_proof(Path(model))
    about = proof.statement
    table = read_with_encoding(
        data, encoding, names, about.p, target=target, beside=o.beside(weights, offset, exposure)
    )
    given = {"k": k, "l0_penalty": l0_penalty, "gamma": gamma, "max_coef": max_coef, "loss": loss}
    none: dict[str, Any] = dict.fromkeys(_RESTRICTIONS) if unrestricted else {}
    expected = none | {name: value for name, value in given.items() if value is not None}
    log("read %d rows and %d columns; checking the proof", *table.matrix.shape)
    with watched(Path(data).name, inf, as_json) as (_, listener):
        matrix = reporting(table.matrix, Clock(inf, listener).read)
        verdict = proof.verify(matrix, table.target, exact=exact, **table.rows, **expected)
    if as_json:
        content: dict[str, Any] = {**verdict._asdict(), "gap": verdict.gap, "statement": about.to_json()}
        print_json("verify", content)
    else:
        print_notes(table.notes)
        typer.echo(f"problem: {about.sentence(names)}")
        typer.echo(f"fingerprint of the data: {verdict.fingerprint}")
        typer.echo("valid" if verdict else "NOT VALID: " + "; ".join(verdict.reasons))
        if verdict.gap < inf:
            found = f"objective {verdict.objective:.10g}, lower bound {verdict.lower_bound:.10g}"
            typer.echo(f"{found}, gap {verdict.gap:.3%}")
    return 0 if verdict else INVALID


# Settings that a proof about all models of at most k features does not have.
_RESTRICTIONS = ("max_coef", "lower", "upper", "include", "exclude", "structure")


def _read_proof(file: Path) -> tuple[Certificate, Encoding, tuple[str, ...] | None]:
    """The certificate in a file of a model or of a certificate; the encoding and names of the model's columns."""
    from sparsest.cli.data import encoding_of
    from sparsest.paths.path_files import is_path
    from sparsest.proofs import Certificate
    from sparsest.results.result import Result
    from sparsest.results.result_files import FORMAT, is_of_format
    from sparsest.tables import Encoding

    if not file.is_file():
        raise ValueError(f"there is no file {file}")
    if is_path(file):
        raise ValueError(f"{file} holds a penalty path, which has no proof: verify models of fit or cv")
    if not is_of_format(file, FORMAT):
        return Certificate.load(file), Encoding(), None
    result = Result.load(file)
    if result.certificate is None:
        raise ValueError(f"{file} holds a model without a certificate: fit it without --option proof=false")
    return result.certificate, encoding_of(result), result.feature_names
