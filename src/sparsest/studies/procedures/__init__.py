"""What is done with a data set: models of every size wanted, tuned on the validation rows, each as one row.

A row has the method, the number of features asked for (``k``) and found (``n_selected``), true and false ones (``tf``,
``ff``) where the truth is known, the errors on validation and test rows (mean squared error, or 1 - AUC), and for a
best subset its gap, status, whether the relaxation was tight, and whether the checker accepted its proof.  Times are
seconds of the processor: what else the machine does hardly changes them.

A new method is one file here: a tuple ``PROCEDURES`` of named procedures, and the module's name in the list below.
"""

from __future__ import annotations

from sparsest.studies.procedures import external, penalised, single_fits, subsets
from sparsest.studies.procedures.base import Plan, Procedure, base_gamma, error_of

PROCEDURES: dict[str, Procedure] = {
    name: procedure for module in (subsets, penalised, external, single_fits) for name, procedure in module.PROCEDURES
}

__all__ = ["PROCEDURES", "Plan", "Procedure", "base_gamma", "error_of"]
