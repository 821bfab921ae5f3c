"""Write the results of studies into a folder of documents: figures, tables and findings of each study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sparsest.runtime.files import write_whole
from sparsest.studies import figures, tables
from sparsest.studies.certified import Change, changes, proofs
from sparsest.studies.findings import Judgement
from sparsest.studies.results import Results, check
from sparsest.studies.views import Row

# The overview is written between these markers of the folder's README.md.
_BEGIN, _END = "<!-- overview -->", "<!-- end of the overview -->"
_PROOFS_HEADING = "What is proved of the exact models"


def write_figures(results: Results, folder: Path, suffixes: Sequence[str] = (".png", ".svg")) -> list[Path]:
    """Write every figure in each of the formats."""
    folder.mkdir(parents=True, exist_ok=True)
    panels = results.study.panels(results.size)
    return [
        file
        for figure in results.study.figures
        for file in figures.save(figure, panels, results.rows, folder / stem(results, figure.name), suffixes)
    ]


def write_tables(results: Results, folder: Path, *, pictures: bool = False) -> list[Path]:
    """Write findings, proofs and the points of all figures as Markdown, and the points as CSV.

    Parameters
    ----------
    pictures : whether the Markdown shows the figures, which must be in the same folder
    """
    folder.mkdir(parents=True, exist_ok=True)
    text, data = (folder / f"{stem(results)}.{suffix}" for suffix in ("md", "csv"))
    text.write_text(_markdown(results, pictures), encoding="utf-8")
    tables.write_points(results.study.figures, results.rows, data)
    return [text, data]


def write_overview(everything: Sequence[Results], file: Path) -> None:
    """Write all findings of all studies, with links to their pages."""
    lines = ["# Findings of the paper, judged\n", _overview(everything).markdown()]
    for results in everything:
        lines.append(f"## {_heading(results)}\n")
        lines.append(tables.findings_grid(check(results.study, results.rows)).markdown())
    file.write_text("\n".join(lines), encoding="utf-8")


def publish(everything: Sequence[Results], folder: Path) -> list[Path]:
    """Write figures as PNG, tables, the overview, and the models of each size as compressed CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for results in everything:
        files += write_figures(results, folder, suffixes=(".png",)) + write_tables(results, folder, pictures=True)
    for size in dict.fromkeys(results.size for results in everything):
        models = folder / f"models-{size}.csv.gz"
        tables.write_models(_all_rows([results for results in everything if results.size == size]), models)
        files.append(models)
    write_overview(everything, folder / "findings.md")
    _refresh(folder / "README.md", _overview(everything).markdown())
    return [*files, folder / "findings.md"]


def _all_rows(everything: Sequence[Results]) -> list[Row]:
    """Every row once, with the first study that it belongs to: studies of the same data share rows."""
    found: dict[tuple[Any, ...], Row] = {}
    for results in everything:
        for row in results.rows:
            found.setdefault((row["task"], row["position"]), {"study": results.study.name, **row})
    return list(found.values())


def _refresh(readme: Path, overview: str) -> None:
    """Put the overview between the markers of an existing page, if there is one."""
    if not readme.is_file():
        return
    before, begin, rest = readme.read_text(encoding="utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if begin and end:
        write_whole(readme, f"{before}{begin}\n\n{overview}\n{end}{after}")


def stem(results: Results, figure: str = "") -> str:
    """The name of a study's files without the suffix."""
    return "-".join(part for part in (results.study.name, results.size, figure) if part)


def counts(results: Results) -> dict[Judgement, int]:
    """Number of findings with each outcome."""
    found = [verdict.judgement for _, verdict in check(results.study, results.rows)]
    return {judgement: found.count(judgement) for judgement in Judgement}


def _overview(everything: Sequence[Results]) -> tables.Grid:
    body = []
    for results in everything:
        of = counts(results)
        done = f"{results.completion.done} of {results.completion.total}"
        link = f"[{results.study.name}]({stem(results)}.md)"
        body.append([link, results.size, done, *(str(of[judgement]) for judgement in Judgement)])
    heads = ["study", "size", "tasks done", *(judgement.value for judgement in Judgement)]
    return tables.Grid("", heads, body, right=2)


def change_sentence(found: Sequence[Change]) -> str:
    """A sentence: how many findings depend on models that are not proved optimal."""
    changed, lost = sum(one.changed for one in found), sum(one.lost for one in found)
    return (
        f"When exact models that are not proved optimal are left out, the outcome of {changed} of {len(found)} "
        f"findings about the exact method changes, and {lost} can no longer be decided."
    )


def _heading(results: Results) -> str:
    return f"{results.study.name}: {results.study.title} ({results.size} size)"


def _markdown(results: Results, pictures: bool) -> str:
    study, rows = results.study, results.rows
    done = f"{results.completion.done} of {results.completion.total} tasks are done."
    lines = [f"# {_heading(results)}\n", f"{done} {study.remark}".strip() + "\n", "## Findings\n"]
    lines.append(tables.findings_grid(check(study, rows)).markdown())
    counted = proofs(rows)
    if counted:
        lines += [f"## {_PROOFS_HEADING}\n", tables.proofs_grid(counted).markdown()]
        lines.append(change_sentence(changes(study, rows)) + "\n")
        changed = [one for one in changes(study, rows) if one.changed]
        lines += [tables.changes_grid(changed).markdown()] if changed else []
    for figure in study.figures:
        lines.append(f"## {figure.caption}\n")
        if pictures:
            lines.append(f"![{figure.caption}]({stem(results, figure.name)}.png)\n")
        lines += [grid.markdown() for grid in tables.grids(figure, study.panels(results.size), rows)]
    return "\n".join(lines)
