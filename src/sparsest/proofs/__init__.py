"""Proofs: their format, and a checker that shares nothing with the solvers but the data.

``PROOFS.md`` in this folder states what each kind of step proves and why.
"""

from __future__ import annotations

from sparsest.proofs.certificate import Certificate, Verdict, relative_gap

__all__ = ["Certificate", "Verdict", "relative_gap"]
