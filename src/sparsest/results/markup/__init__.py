"""HTML and SVG from plain values, for reports and notebooks: tables, charts and their style."""

from sparsest.results.markup.charts import Series, chart, paths_chart, scores_chart
from sparsest.results.markup.style import STYLE, fragment, paragraph
from sparsest.results.markup.tables import bar, table

__all__ = ["STYLE", "Series", "bar", "chart", "fragment", "paragraph", "paths_chart", "scores_chart", "table"]
