"""The application, and the logs, one-line errors and exit codes of all commands.

Exit codes: 0 for success, 1 for an invalid proof, 2 for wrong input, 130 after Ctrl-C.
"""

from __future__ import annotations

import functools
import gc
import inspect
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperGroup

from sparsest import __version__

INVALID, WRONG_INPUT, INTERRUPTED = 1, 2, 130
# Number of allocations between two garbage collections.  Importing modules leaves no garbage, and with Python's default
# threshold collections took 0.06 to 0.1 s of the demo's 1.3 s.
_OBJECTS_BETWEEN_COLLECTIONS = 50_000


class _OneLineUsage(TyperGroup):
    """Commands that report wrong usage in one line, like every other error."""

    def main(self, *args: Any, **settings: Any) -> Any:
        """Run the command, and leave with its exit code."""
        try:
            code = super().main(*args, **settings | {"standalone_mode": False})
        except Exception as error:
            # Versions of typer have different classes of usage errors.
            if not hasattr(error, "format_message"):
                raise
            context = getattr(error, "ctx", None)
            if type(error).__name__ == "NoArgsIsHelpError":
                typer.echo(context.get_help() if context else "see sparsest --help")
            else:
                where = context.command_path if context else "sparsest"
                message = " ".join(error.format_message().split()).rstrip(".")
                typer.echo(f"error: {message[:1].lower()}{message[1:]}; see {where} --help", err=True)
            sys.exit(WRONG_INPUT)
        sys.exit(code if isinstance(code, int) else 0)


app = typer.Typer(
    cls=_OneLineUsage,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Select the few features that matter, and prove it.\n\n"
    "First steps: `sparsest demo`, then `sparsest fit data.csv --target outcome --k 5`.",
)

_Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log what is being done.")]
_Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of errors.")]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sparsest {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Hold the options of the application itself."""


def command(
    function: Callable[..., int | None], group: typer.Typer = app, name: str | None = None
) -> Callable[..., None]:
    """Make a function a command with ``--verbose`` and ``--debug``; its return value is the exit code.

    A parameter whose type is a dataclass becomes a group of options, one for each field.
    """
    own = inspect.signature(function, eval_str=True).parameters.values()
    groups: dict[str, Any] = {one.name: one.annotation for one in own if is_dataclass(one.annotation)}

    @functools.wraps(function)
    def run(*args: Any, verbose: bool = False, debug: bool = False, **kwargs: Any) -> None:
        _set_up_logs(verbose)
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
        with _one_line_errors(debug):
            for group, kind in groups.items():
                kwargs[group] = kind(**{field.name: kwargs.pop(field.name) for field in fields(kind)})
            code = function(*args, **kwargs)
        raise typer.Exit(code or 0)

    shared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)
        for name, kind in (("verbose", _Verbose), ("debug", _Debug))
    ]
    single = [one for one in own if one.name not in groups]
    parameters = [*single, *(option for kind in groups.values() for option in _options_of(kind)), *shared]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    group.command(name)(run)
    return run


def _options_of(group: Any) -> Iterator[inspect.Parameter]:
    """The options of a group, with their defaults."""
    kinds, usual = get_type_hints(group, include_extras=True), group()
    for one in fields(group):
        yield inspect.Parameter(
            one.name, inspect.Parameter.KEYWORD_ONLY, default=getattr(usual, one.name), annotation=kinds[one.name]
        )


def log(message: str, *values: Any) -> None:
    """Log what is being done, for ``--verbose``."""
    logging.getLogger("sparsest").debug(message, *values)


def _set_up_logs(verbose: bool) -> None:
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(message)s")
    logging.getLogger("sparsest").setLevel(logging.DEBUG if verbose else logging.INFO)


@contextmanager
def _one_line_errors(debug: bool) -> Iterator[None]:
    """Report input errors in one line on stderr, with exit code 2.

    Warnings of the library are switched off: commands print the same facts themselves.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            yield
        return
    except (OSError, ValueError, ImportError) as error:
        message, caught = str(error), error  # type: tuple[str, BaseException]
    except MemoryError as error:
        message, caught = "not enough memory: check the data file, or use less data", error
    except RecursionError as error:
        message, caught = "the JSON file is nested too deeply: check that it is the right file", error
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        message = f"the input cannot be used ({type(error).__name__}: {error}): compare it with the help"
        caught = error
    except KeyboardInterrupt:
        typer.echo("interrupted before a result was found; no file was written", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if debug:
        raise caught
    typer.echo(f"error: {' '.join(message.split())}", err=True)
    raise typer.Exit(WRONG_INPUT) from None
