"""The commands ``study …``: list, run, plot, judge and report the experiments of the paper."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sparsest.cli.app import INTERRUPTED, app, command
from sparsest.cli.options import Force, Json
from sparsest.runtime.duration import duration

if TYPE_CHECKING:
    from sparsest.studies import Store, Study
    from sparsest.studies.results import Results
    from sparsest.studies.study import Size

study = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Run the experiments of Bertsimas, Pauphilet and Van Parys (2020) again, and judge their findings.\n\n"
    "First steps: `sparsest study run all --size smoke`, then `sparsest study report`.",
)
app.add_typer(study, name="study")
_command = partial(command, group=study)

# A note announces runs that would take more seconds than this.
_LONG = 3 * 3600.0

_Names = Annotated[list[str], typer.Argument(help="Names of studies (see `list`), or all.", show_default="all")]
_Size = Annotated[str, typer.Option(help="smoke (seconds), small (an hour on two cores) or paper (weeks).")]
_Store = Annotated[str, typer.Option(help="The SQLite file with the results.")]
_Folder = Annotated[str, typer.Option(help="The folder to write to.")]
_STORE = "studies.sqlite"


@partial(_command, name="list")
def list_studies(as_json: Json = False) -> None:
    """List the studies with their findings.

    Example: `sparsest study list`
    """
    from sparsest.cli.output import print_grid, print_json
    from sparsest.studies import SIZES, STUDIES, estimate

    sizes = {
        one.name: {size: (len(tasks := one.tasks(size)), estimate(tasks, {}, 1)) for size in SIZES}
        for one in STUDIES.values()
    }
    if as_json:
        entries = [
            {
                "study": one.name,
                "title": one.title,
                "findings": [finding.text for finding in one.findings],
                "sizes": {size: {"tasks": n, "seconds": s} for size, (n, s) in sizes[one.name].items()},
            }
            for one in STUDIES.values()
        ]
        print_json("study list", {"studies": entries})
        return
    rows = [
        [one.name, *(duration(seconds) for _, seconds in sizes[one.name].values()), one.title]
        for one in STUDIES.values()
    ]
    title = "Studies, and how long they take on one core (some share tasks)"
    print_grid(title, ["study", *SIZES, "what"], rows, left=(0, 4))


@_command
def run(
    names: _Names,
    size: _Size = "small",
    store: _Store = _STORE,
    data: Annotated[
        str | None, typer.Option(envvar="SPARSEST_DATA", help="The folder that holds the folders of real data.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Local processes; all cores by default.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler, whose workers have one thread each.")
    ] = None,
    sets: Annotated[int | None, typer.Option(help="Largest number of data sets of each kind.")] = None,
    places: Annotated[int | None, typer.Option(help="Largest number of points of each curve.")] = None,
    scratch: Annotated[
        str | None, typer.Option(help="Folder for large data sets; by default the system's folder for temporary files.")
    ] = None,
    in_memory: Annotated[
        float, typer.Option(help="Data sets of more GB than this are written to disk in blocks and read from there.")
    ] = 2.0,
    extras: Annotated[bool, typer.Option("--extras", help="Also run methods of other packages (abess).")] = False,
) -> int:
    """Run studies; finished tasks are not repeated, so a run can be stopped at any time and resumed later.

    Example: `sparsest study run reg-fixed-k reg-cv-k --size small --store results.sqlite`

    After Ctrl-C all finished tasks are kept.
    """
    import os

    from sparsest.cli.study_progress import following
    from sparsest.studies import Store, estimate
    from sparsest.studies.runner import run as run_tasks
    from sparsest.studies.scratch import Scratch

    known = {task.id: task for one in _find(names) for task in one.tasks(_sized(size), extras=extras, places=places)}
    tasks = sorted(known.values(), key=lambda task: task.number)
    if sets is not None:
        tasks = [task for task in tasks if task.number < sets]
    large = Scratch(in_memory=1e9 * in_memory) if scratch is None else Scratch(scratch, 1e9 * in_memory)
    if not Path(large.folder).is_dir():
        raise ValueError(f"there is no folder {large.folder}: make it, or name another one with --scratch")
    place = Store(store)
    workers = jobs or os.cpu_count() or 1
    done = place.seconds()
    seconds = estimate(tasks, done, workers)
    finished = sum(task.id in done for task in tasks)
    typer.echo(
        f"{len(tasks)} tasks, {finished} of them done; the rest takes about {duration(seconds)} on {workers} "
        f"process{'es' if workers > 1 else ''}",
        err=True,
    )
    if seconds > _LONG:
        typer.echo("this takes long: stop it with Ctrl-C at any time; the same command continues from there", err=True)
    with following(len(tasks), finished) as listener:
        ended = run_tasks(
            tasks, place, n_jobs=jobs, cluster=cluster, folder=data, scratch=large, listener=listener
        )  # fmt: skip
    if ended.interrupted:
        typer.echo(f"interrupted; {ended.done} of {ended.total} tasks are done and kept in {store}", err=True)
        return INTERRUPTED
    if ended.failed:
        known_failures = place.failures()
        first = next(known_failures[task.id] for task in tasks if task.id in known_failures)
        raise ValueError(f"{ended.failed} of {ended.total} tasks failed, the first with: {first.splitlines()[0]}")
    typer.echo(f"{ended.done} of {ended.total} tasks are done, in {store}")
    return 0


@_command
def status(names: _Names = ["all"], size: _Size = "small", store: _Store = _STORE, as_json: Json = False) -> None:  # noqa: B006
    """Show how much of every study is done.

    Example: `sparsest study status all --size small`
    """
    from sparsest.cli.output import print_grid, print_json
    from sparsest.studies import status as status_of

    place = _existing(store)
    finished = place.finished()
    failed = place.failures()
    rows = []
    for one in _find(names):
        completion = status_of(one, _sized(size), finished)
        failures = sum(task.id in failed for task in one.tasks(_sized(size), extras=True))
        rows.append({"study": one.name, **completion._asdict(), "failed": failures})
    if as_json:
        print_json("study status", {"size": size, "studies": rows})
        return
    cells = [
        [str(row["study"]), f"{row['done']} of {row['total']}", str(row["failed"]), duration(float(row["seconds"]))]
        for row in rows
    ]
    print_grid(f"Studies of {size} size in {store}", ["study", "tasks done", "failed", "time taken"], cells)


@_command
def check(names: _Names = ["all"], size: _Size = "small", store: _Store = _STORE, as_json: Json = False) -> None:  # noqa: B006
    """Judge every finding of the paper on the results: confirmed, not confirmed or undecided, with the figures.

    Example: `sparsest study check reg-cv-k --size small`
    """
    from sparsest.cli.output import print_grid, print_json
    from sparsest.studies.results import check as judge

    found = _results(names, [size], store)
    if as_json:
        entries = [
            {
                "study": one.study.name, "finding": finding.text, "judgement": verdict.judgement.value,
                "figures": verdict.figures,
            }
            for one in found
            for finding, verdict in judge(one.study, one.rows)
        ]  # fmt: skip
        print_json("study check", {"size": size, "findings": entries})
        return
    for one in found:
        title = f"{one.study.name}, {size} size: {one.completion.done} of {one.completion.total} tasks done"
        cells = [[f.text, v.judgement.value, v.figures] for f, v in judge(one.study, one.rows)]
        print_grid(title, ["finding", "outcome", "figures"], cells, left=(0, 1, 2))


@_command
def plot(names: _Names = ["all"], size: _Size = "small", store: _Store = _STORE, out: _Folder = "figures") -> None:  # noqa: B006
    """Draw the figures in the paper's form, as PNG and SVG.

    Example: `sparsest study plot reg-fixed-k --size small --out figures`
    """
    from sparsest.studies.publish import write_figures

    _print_files(file for one in _results(names, [size], store) for file in write_figures(one, Path(out)))


@_command
def table(names: _Names = ["all"], size: _Size = "small", store: _Store = _STORE, out: _Folder = "tables") -> None:  # noqa: B006
    """Write the findings and the numbers behind the figures as Markdown and CSV.

    Example: `sparsest study table reg-fixed-k --size small --out tables`
    """
    from sparsest.studies.publish import write_tables

    _print_files(file for one in _results(names, [size], store) for file in write_tables(one, Path(out)))


@_command
def publish(store: _Store = _STORE, out: _Folder = "docs/studies") -> None:
    """Write a folder of documents with the figures, tables, findings and models of all results in the store.

    Example: `sparsest study publish --store studies.sqlite --out docs/studies`
    """
    from sparsest.studies.publish import publish as write_all

    _print_files(write_all(_results(["all"], None, store), Path(out)))


@_command
def report(
    store: _Store = _STORE,
    out: Annotated[str, typer.Option(help="The HTML file to write.")] = "studies.html",
    force: Force = False,
) -> None:
    """Write one HTML page of all studies run so far; it needs no other files.

    Example: `sparsest study report --store studies.sqlite --out studies.html`
    """
    from sparsest.cli.output import refuse_overwriting
    from sparsest.studies.report import report as page

    refuse_overwriting(force, out)
    Path(out).write_text(page(_results(["all"], None, store)), encoding="utf-8")
    typer.echo(out)


def _print_files(files: Iterable[Path]) -> None:
    for file in files:
        typer.echo(str(file))


def _find(names: list[str]) -> list[Study]:
    from sparsest.studies import STUDIES, find

    return list(STUDIES.values()) if "all" in names else [find(name) for name in names]


def _sized(size: str) -> Size:
    from sparsest.studies import SIZES

    for one in SIZES:
        if one == size:
            return one
    raise ValueError(f"--size must be one of {', '.join(SIZES)}, got {size!r}")


def _existing(store: str) -> Store:
    from sparsest.studies import Store

    if not Path(store).is_file():
        raise ValueError(f"there is no file {store}: name it with --store, or make it with `sparsest study run`")
    return Store(store)


def _results(names: list[str], sizes: list[str] | None, store: str) -> list[Results]:
    """The results of studies; by default of all sizes, the largest first."""
    from sparsest.studies import SIZES, results_of

    wanted = [_sized(size) for size in sizes] if sizes is not None else list(reversed(SIZES))
    found = results_of(_find(names), wanted, _existing(store))
    if not found:
        of = "" if sizes is None else f" of {', '.join(sizes)} size"
        raise ValueError(f"{store} has no results of these studies{of}: make them with `sparsest study run`")
    return found
