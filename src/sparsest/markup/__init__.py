"""HTML and SVG from plain values, for reports and notebooks: tables, charts and their style; nothing of models."""

from sparsest.markup.charts import Series, chart
from sparsest.markup.style import STYLE, fragment
from sparsest.markup.tables import bar, table

__all__ = ["STYLE", "Series", "bar", "chart", "fragment", "table"]
