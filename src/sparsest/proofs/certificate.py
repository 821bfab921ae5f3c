"""Certificates: an incumbent, a lower bound, and its proof, which can be checked without the solver."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparsest.proofs import files
from sparsest.proofs.check import Proved, prove
from sparsest.proofs.columns import AllColumns
from sparsest.proofs.data import Data
from sparsest.proofs.fingerprint import Fingerprint
from sparsest.proofs.incumbent import Incumbent, objective_bounds, sizes_above
from sparsest.proofs.rounding import Indices
from sparsest.proofs.statement import Statement
from sparsest.proofs.steps import Proof

# The relative difference between the claimed and the recomputed objective that is accepted beyond rounding errors.
_OBJECTIVE_TOLERANCE = 1e-9


class Verdict(NamedTuple):
    """The outcome of a check; true if and only if the certificate is valid.

    Attributes
    ----------
    valid : whether the certificate proves what it claims, for these data and for the problem that was named
    reasons : what is wrong with it
    objective : upper bound of the incumbent's objective
    lower_bound : the proved lower bound for all admissible models
    problem : the problem of the certificate, in words
    fingerprint : the fingerprint of the data that it is for

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_diabetes_quadratic()
    >>> certificate = sparsest.best_subset(data.X, data.y, k=2).certificate
    >>> verdict = certificate.verify(data.X, data.y, k=3)
    >>> verdict.valid, verdict.reasons
    (False, ('the certificate is for k = 2, not 3',))
    """

    valid: bool
    reasons: tuple[str, ...]
    objective: float
    lower_bound: float
    problem: str
    fingerprint: str

    def __bool__(self) -> bool:
        """Whether the certificate holds."""
        return self.valid

    @property
    def gap(self) -> float:
        """The relative gap that was proved."""
        return relative_gap(self.objective, self.lower_bound)


def relative_gap(objective: float, lower_bound: float) -> float:
    """``(objective - lower_bound) / |objective|``, never negative; infinite if one of them is not finite."""
    if not (np.isfinite(objective) and lower_bound > -np.inf):
        return np.inf
    return max(0.0, objective - lower_bound) / max(abs(objective), float(np.finfo(float).tiny))


@dataclass(frozen=True, eq=False)
class Certificate:
    """A statement, an incumbent with its objective, a claimed lower bound, and the proof of that bound.

    Attributes
    ----------
    statement : the problem: loss, number or price of features, ridge, restrictions, and the fingerprint of the data
    incumbent : the model
    objective : its objective, as claimed
    lower_bound : the bound for all admissible models, as claimed
    proof : the steps from which the bound follows

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_diabetes_quadratic()
    >>> certificate = sparsest.best_subset(data.X, data.y, k=2).certificate
    >>> certificate.save("proof.bin")
    >>> sparsest.Certificate.load("proof.bin").verify(data.X, data.y, k=2).valid
    True
    """

    statement: Statement
    incumbent: Incumbent
    objective: float
    lower_bound: float
    proof: Proof

    @property
    def support(self) -> Indices:
        """The incumbent's features."""
        return self.incumbent.support

    @np.errstate(all="ignore")
    def verify(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        exposure: Any = None,
        exact: bool = False,
        **expected: Any,
    ) -> Verdict:
        """Recompute everything from the data; the verdict lists what is wrong.

        Parameters
        ----------
        X, y, sample_weight, offset, exposure : the data of the fit; all that was given to it must be given again
        exact : check in rational arithmetic instead of with bounds of rounding errors (needs python-flint)
        **expected : parts of the problem, such as ``k=5``, ``gamma=0.1`` or ``loss="squared"``, that the certificate
            must be about.  None requires that the problem has no such part, for example ``max_coef=None``,
            ``structure=None`` or ``lower=None``.  Parts that are not named are not checked; ``verdict.problem`` states
            them
        """
        reasons = self.statement.differences(expected)
        problem, named = self.statement.sentence(), self.statement.fingerprint
        try:
            data = Data.of(self.statement, X, y, sample_weight, offset, exposure)
            if (data.n, data.p) != (self.statement.n, self.statement.p):
                shape = (self.statement.n, self.statement.p)
                raise ValueError(f"the certificate is for data of shape {shape}, these have {(data.n, data.p)}")
            data.want(self.incumbent.support)
            found = Fingerprint(data.n, data.p)
            whole = AllColumns(data, found)
            proved = Proved(-np.inf, ()) if exact else prove(data, self.statement, self.proof, self.lower_bound, whole)
            # Read the columns now if the proof did not need them.
            whole.read()
        except ValueError as error:
            return Verdict(False, (*reasons, str(error)), np.nan, -np.inf, problem, named)
        if exact:
            from sparsest.proofs.exact import prove_exactly

            proved = prove_exactly(data, self.statement, self.proof)
        if found.text() != named:
            reasons.append(f"the certificate is for data with another fingerprint than {found.text()[:12]}")
        objective, complaints = self._check_incumbent(data)
        reasons += (*complaints, *proved.complaints)
        if not self.lower_bound <= proved.bound:
            reasons.append(f"the bound claimed is {self.lower_bound!r}, the proof gives {proved.bound!r}")
        bound = min(proved.bound, self.lower_bound)
        if not bound <= objective:
            reasons.append(f"the bound {bound!r} is above the objective {objective!r}")
        return Verdict(not reasons, tuple(reasons), objective, bound, problem, named)

    def _check_incumbent(self, data: Data) -> tuple[float, list[str]]:
        """An upper bound of the incumbent's objective, and a list of what is wrong with the incumbent."""
        reasons = self.incumbent.complaints(self.statement)
        if reasons:
            return np.nan, reasons
        most = self.statement.max_coef
        if most is not None:
            sizes = sizes_above(data, self.statement, self.incumbent.support, self.incumbent.coef)
            if not (sizes <= most).all():
                size = float(sizes.max())
                return np.nan, [f"the incumbent has a coefficient of size {size!r}, above max_coef = {most!r}"]
        low, high = objective_bounds(data, self.statement, self.incumbent)
        slack = _OBJECTIVE_TOLERANCE * abs(high)
        if not np.isfinite(high):
            reasons.append("the incumbent's objective is out of the range of floating-point numbers")
        elif not low - slack <= self.objective <= high + slack:
            reasons.append(f"the objective claimed is {self.objective!r}, recomputed {high!r}")
        return high, reasons

    def to_json(self) -> str:
        """Return the certificate as strict JSON, see :mod:`sparsest.proofs.files`."""
        return files.to_json(*self._parts())

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read what ``to_json`` wrote."""
        return cls(*files.from_json(text))

    def to_bytes(self) -> bytes:
        """Return the certificate in the binary form, which is smaller and faster for large proofs."""
        return files.to_bytes(*self._parts())

    @classmethod
    def from_bytes(cls, content: bytes) -> Certificate:
        """Read either form."""
        return cls(*files.from_bytes(content))

    def save(self, path: str | Path) -> None:
        """Write a file: JSON if its name ends in .json, else the binary form."""
        text = str(path).endswith(".json")
        Path(path).write_bytes(self.to_json().encode() if text else self.to_bytes())

    @classmethod
    def load(cls, path: str | Path) -> Certificate:
        """Read a file of either form."""
        return cls.from_bytes(Path(path).read_bytes())

    def _parts(self) -> tuple[Statement, Incumbent, float, float, Proof]:
        return self.statement, self.incumbent, self.objective, self.lower_bound, self.proof
