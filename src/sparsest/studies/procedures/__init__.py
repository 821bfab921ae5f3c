"""Procedures: fit models of every requested size to a data set, tune them on validation rows, return one row for each.

A row has the method, the requested (``k``) and the selected number of features (``n_selected``), the numbers of true
and false features (``tf``, ``ff``) if the truth is known, and the errors on validation and test rows (mean squared
error or 1 - AUC).  A best subset also has its gap and status, whether the relaxation was tight, and whether the checker
accepted the proof.  Times are CPU seconds, which hardly depend on the load of the machine.

To add a method, write a module with a tuple ``PROCEDURES`` of named procedures and add the module to the list below.
"""

from __future__ import annotations

from sparsest.studies.procedures import external, penalised, single_fits, subsets
from sparsest.studies.procedures.base import Plan, Procedure, base_gamma, error_of

PROCEDURES: dict[str, Procedure] = {
    name: procedure for module in (subsets, penalised, external, single_fits) for name, procedure in module.PROCEDURES
}

__all__ = ["PROCEDURES", "Plan", "Procedure", "base_gamma", "error_of"]
