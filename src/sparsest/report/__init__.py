"""Reports: one HTML file that explains a model and defends it, without anything from the network.

===============  ==============================================================
``page``         the page of a model, and that of a path
``answer``       the chosen features and what each adds
``alternatives`` other choices that fit nearly as well
``stability``    what a bootstrap of the selection found
``checks``       correlations, held-out predictions, influential rows
``figures``      the charts
===============  ==============================================================
"""

from sparsest.report.page import Curve, model_report, path_report

__all__ = ["Curve", "model_report", "path_report"]
