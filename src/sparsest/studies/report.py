"""The report: one HTML page of all studies run so far, with embedded figures and no references to other files."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

from markupsafe import Markup

from sparsest.results.markup import STYLE, paragraph, table
from sparsest.studies import figures, tables
from sparsest.studies.certified import changes, proofs
from sparsest.studies.findings import Judgement
from sparsest.studies.publish import change_sentence, counts, stem
from sparsest.studies.results import Results, check
from sparsest.studies.study import Figure

_PAGE = Markup("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Studies of sparsest</title>
<link rel="icon" href="data:,">
<style>{}
{}</style>
</head>
<body class="sparsest">
<main>
<h1>Sparse regression: the studies of Bertsimas, Pauphilet and Van Parys (2020), run again</h1>
{}
</main>
</body>
</html>
""")
# Figures keep the paper's colours on a white background in dark mode too.
_MORE_STYLE = Markup("""
body { margin: 0; } main { max-width: 72em; margin: 0 auto; padding: 1em; }
h1 { line-height: 1.2; font-size: 1.7em; }
h2 { margin-top: 2.5em; border-top: 1px solid var(--line); padding-top: 1em; }
a { color: var(--a); } figure { margin: 1em 0; } figure img { background: #fff; }
@media (min-width: 56em) { figure img { max-width: 100%; height: auto; } }
figcaption { color: var(--soft); } summary { cursor: pointer; color: var(--soft); }
.confirmed { color: var(--good); font-weight: 600; } .not { color: var(--warn); font-weight: 600; }
@media print { h2 { break-before: page; } }
""")
_CLASSES = {Judgement.CONFIRMED: "confirmed", Judgement.NOT_CONFIRMED: "not", Judgement.UNDECIDED: "soft"}


def report(everything: Sequence[Results]) -> str:
    """The page."""
    parts = [_introduction(everything), _overview(everything), *(_study(results) for results in everything)]
    return str(_PAGE.format(STYLE, _MORE_STYLE, Markup("\n").join(parts)))


def _introduction(everything: Sequence[Results]) -> Markup:
    rows = [row for results in everything for row in results.rows]
    made = sorted({f"sparsest {row['version']} on {row['machine']}" for row in rows})
    return Markup("\n").join(
        [
            paragraph(
                "Methods are compared on the same data sets; a difference of more than two standard errors decides. "
                "“Exact” is the best subset search with a time limit; a model that is not proved optimal has a gap. "
                "Times are CPU seconds of one core."
            ),
            paragraph("; ".join(made)),
        ]
    )


def _overview(everything: Sequence[Results]) -> Markup:
    body = []
    for results in everything:
        link = Markup('<a href="#{}">{}</a>').format(stem(results), results.study.name)
        done = f"{results.completion.done} of {results.completion.total}"
        of = counts(results)
        body.append([link, results.size, done, *(str(of[judgement]) for judgement in Judgement)])
    heads = ["study", "size", "tasks done", *(judgement.value for judgement in Judgement)]
    return table(heads, body, right=(2, 3, 4, 5))


def _study(results: Results) -> Markup:
    study, rows = results.study, results.rows
    parts = [
        Markup('<section id="{}"><h2>{}</h2>').format(stem(results), f"{study.title} ({results.size} size)"),
        paragraph(" ".join(filter(None, [_how_much(results), study.remark]))),
        _findings(results),
        *(_figure(results, figure) for figure in study.figures),
    ]
    counted = proofs(rows)
    if counted:
        parts += [Markup("<h3>What is proved</h3>"), _grid(tables.proofs_grid(counted))]
        found = changes(study, rows)
        parts.append(paragraph(change_sentence(found)))
        if any(one.changed for one in found):
            parts.append(_grid(tables.changes_grid([one for one in found if one.changed])))
    return Markup("\n").join([*parts, Markup("</section>")])


def _how_much(results: Results) -> str:
    done, total, _ = results.completion
    return "" if done == total else f"So far {done} of {total} tasks are done."


def _findings(results: Results) -> Markup:
    body = [
        [finding.text, _judged(verdict.judgement), verdict.figures]
        for finding, verdict in check(results.study, results.rows)
    ]
    return table(["finding of the paper", "outcome", "figures"], body) if body else Markup("")


def _judged(judgement: Judgement) -> Markup:
    return Markup('<span class="{}">{}</span>').format(_CLASSES[judgement], judgement.value)


def _figure(results: Results, figure: Figure) -> Markup:
    found = tables.grids(figure, results.study.panels(results.size), results.rows)
    grids = Markup("\n").join(Markup("<h4>{}</h4>{}").format(grid.title, _grid(grid)) for grid in found)
    shape = (
        '<figure><div class="scroll"><img src="{}" alt="{}"></div><details><summary>{}</summary>{}</details></figure>'
    )
    return Markup(shape).format(_picture(results, figure), figure.caption, f"{figure.caption}: the numbers", grids)


def _picture(results: Results, figure: Figure) -> str:
    """The figure as a data URL."""
    from matplotlib import rc_context

    out = io.BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": stem(results, figure.name)}):
        canvas = figures.draw(figure, results.study.panels(results.size), results.rows)
        canvas.savefig(out, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(out.getvalue()).decode()


def _grid(grid: tables.Grid) -> Markup:
    return table(grid.heads, grid.rows, right=range(grid.right, len(grid.heads)))
