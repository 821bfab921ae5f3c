"""The style sheet, light and dark, for phones and print; it applies within one class only."""

from __future__ import annotations

from markupsafe import Markup

STYLE = Markup("""
.sparsest { --ink: #1d2430; --soft: #5b6575; --line: #d9dee6; --paper: #ffffff; --panel: #f5f7fa; --good: #14743f;
  --warn: #96510a; --a: #1f5fbf; --b: #c2410c; --c: #0f766e; --d: #7c3aed; --e: #be185d; --f: #4d7c0f; --g: #57534e;
  color: var(--ink); background: var(--paper); font: 16px/1.5 system-ui, "Segoe UI", Roboto, sans-serif; }
@media screen and (prefers-color-scheme: dark) { .sparsest { --ink: #e6eaf0; --soft: #a3adbb; --line: #3a4352;
  --paper: #141820; --panel: #1d232d; --good: #5fd38d; --warn: #f0b15a; --a: #7db2ff; --b: #ff9d66; --c: #4fd1c5;
  --d: #bda1ff; --e: #ff8ac0; --f: #b5e06a; --g: #cfc8c2; } }
.sparsest table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.sparsest th, .sparsest td { padding: .3em .7em; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; background: none; color: inherit; }
.sparsest th { color: var(--soft); font-weight: 600; font-size: .85em; vertical-align: bottom; }
.sparsest td:first-child, .sparsest th:first-child { padding-left: 0; }
.sparsest .name { overflow-wrap: anywhere; min-width: min(9em, 25vw); }
.sparsest .name:first-child { min-width: min(9em, 31vw); }
.sparsest .right { text-align: right; }
.sparsest td.right, .sparsest .whole { white-space: nowrap; }
.sparsest th.right { min-width: 5.5em; }
.sparsest .scroll { overflow-x: auto; }
.sparsest .soft { color: var(--soft); }
.sparsest .bar { display: inline-block; height: .7em; border-radius: 2px; background: var(--a); }
@media (max-width: 520px) { .sparsest .bar { display: none; } .sparsest th, .sparsest td { padding: .3em .45em; }
  .sparsest .many, .sparsest .many tbody { display: block; } .sparsest .many thead { display: none; }
  .sparsest .many tr { display: block; padding: .4em 0; border-bottom: 1px solid var(--line); }
  .sparsest .many td { display: flex; justify-content: space-between; gap: 1em; padding: .05em 0; border: 0;
    text-align: right; }
  .sparsest .many td:first-child { font-weight: 600; text-align: left; } .sparsest .many td:empty { display: none; }
  .sparsest .many td:not(:first-child)::before { content: attr(data-label); color: var(--soft); text-align: left;
    white-space: normal; overflow-wrap: anywhere; } }
.sparsest .chart { width: 100%; max-width: 34em; height: auto; display: block; }
.sparsest .chart text { fill: var(--soft); font-size: 13px; font-family: inherit; }
.sparsest .chart .axis { stroke: var(--line); stroke-width: 1; fill: none; }
.sparsest .chart .guide { stroke: var(--soft); stroke-width: 1; stroke-dasharray: 4 4; fill: none; }
.sparsest .chart path.mark { fill: none; stroke: currentColor; stroke-width: 2; stroke-linejoin: round; }
.sparsest .chart circle.mark { fill: currentColor; fill-opacity: .55; }
.sparsest .chart .a { color: var(--a); } .sparsest .chart .b { color: var(--b); }
.sparsest .chart .c { color: var(--c); } .sparsest .chart .d { color: var(--d); }
.sparsest .chart .e { color: var(--e); } .sparsest .chart .f { color: var(--f); }
.sparsest .chart .g { color: var(--g); }
.sparsest .chart text.mark { fill: currentColor; }
""")


def paragraph(text: str, strong: bool = False) -> Markup:
    """A paragraph of escaped text, in the soft colour or in strong letters."""
    return Markup("<p><strong>{}</strong></p>" if strong else '<p class="soft">{}</p>').format(text)


def fragment(*parts: Markup | str) -> str:
    """Parts with their style, for a notebook; plain text is escaped."""
    inside = Markup("\n").join(Markup("{}").format(part) for part in parts)
    return str(Markup('<style>{}</style>\n<div class="sparsest" style="padding: .5em">{}</div>').format(STYLE, inside))
