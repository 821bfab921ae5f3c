"""Figures of the benchmarks are drawn from tables, and tables that are absent are left out."""

import runpy

from docs.pages import ROOT

TABLES = """
| n × p | Lasso | MCP: pycasso |
|---|---|---|
| 1000 × 5000 | 0.76 adelie | 0.39 |
| 500 × 20000 | 0.25 glmnet | |

| p, k | i = 0 | 1 |
|---|---|---|
| 2000, 20 | 0.45 | 0.48 |
| 20000, 20 | 0.48 | |

| | 200 random: best | mean |
|---|---|---|
| tree | 99.5 % | 0 |
| abess | 40 % | 5 |
"""


def test_figures(tmp_path):
    figures = runpy.run_path(str(ROOT / "docs" / "source" / "benchmark_figures.py"))
    assert figures["table_below"](TABLES, "n × p")[1] == ["1000 × 5000", "0.76 adelie", "0.39"]
    readme = tmp_path / "README.md"
    readme.write_text(TABLES, encoding="utf-8")
    figures["write"](readme, tmp_path / "drawn")
    assert {path.name for path in (tmp_path / "drawn").iterdir()} == {
        "paths.png",
        "exact.png",
        "incumbents.png",
        "figures.txt",
    }
    readme.write_text("no table", encoding="utf-8")
    figures["write"](readme, tmp_path / "none")
    assert (tmp_path / "none" / "figures.txt").read_text(encoding="utf-8") == ""
