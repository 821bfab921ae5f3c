"""From what a search knows to a certificate that its own check accepts.

The objective is the one recomputed from the data.  The bound of a short proof is the one the check computes.  For a
long proof, whose check would take as long as the search, it is the search's own, less an allowance for rounding errors
that is far above those of either.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Thread
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from sparsest.arrays import Array, Indices
from sparsest.designs import Design, shift_and_scale, unstandardized
from sparsest.fingerprints import as_checker_reads
from sparsest.intercepts import best_intercept
from sparsest.losses import parameters_of
from sparsest.problem import Problem
from sparsest.proofs.certificate import Certificate
from sparsest.proofs.check import prove
from sparsest.proofs.data import Data, fingerprint
from sparsest.proofs.incumbent import Incumbent, objective_bounds, sizes_above
from sparsest.proofs.statement import Statement
from sparsest.proofs.steps import DualPoint, Leaf, Proof, RegressionTree
from sparsest.solvers.shared.support import SupportFit

_log = logging.getLogger("sparsest")
# Bounds of long proofs are lowered by this part of the objectives without features and of the incumbent.  Rounding
# errors of a check are about n·1e-16 of them, those of a search 10 to 100 times as large.
_ALLOWANCE = 1e-9
# The same for each multiple by which squares of columns exceed a split's diagonal: with 2000 × 1200 nearly dependent
# columns and a multiple of 1e5 the search was 5e-9 too high.
_ALLOWANCE_OF_SPLITS = 4e-13
# Operations of a check that are made at once, some hundredths of a second: entries of the data that it reads, and
# entries of its products.
_MOST_ENTRIES, _MOST_PRODUCTS, _MOST_LEAVES = 3e5, 5e8, 300


class Evidence:
    """The data as the checker reads them, and their fingerprint, which a thread computes meanwhile."""

    def __init__(self, data: Data, design: Design) -> None:
        self.data = data
        self._found: list[str] = []
        # Only the thread knows the design, which is forgotten together with what is known of it.
        self._thread = Thread(target=self._compute, args=(design.digests,), name="sparsest-fingerprint", daemon=True)
        self._thread.start()

    def _compute(self, *digests: Callable[..., Any]) -> None:
        self._found.append(fingerprint(self.data, *digests))

    def fingerprint(self) -> str:
        """The fingerprint of the data; computed here if the thread is gone, as in a forked process."""
        self._thread.join()
        if not self._found:
            self._compute()
        return self._found[0]


_known: WeakKeyDictionary[Design, Evidence] = WeakKeyDictionary()


def evidence(problem: Problem) -> Evidence:
    """Read the data as the checker does; asked for early, the fingerprint costs no time later."""
    found = _known.get(problem.design)
    if found is None:
        found = _known[problem.design] = Evidence(as_checker_reads(problem.data), unstandardized(problem.design))
    return found


def statement_of(problem: Problem) -> Statement:
    """The problem in the words of a certificate."""
    sparsity = problem.sparsity
    return Statement(
        n=problem.n,
        p=problem.p,
        loss=problem.data.stated_loss.name,
        parameters={name: float(value) for name, value in parameters_of(problem.data.stated_loss).items()},
        offset=problem.data.offset is not None,
        exposure=problem.data.exposure is not None,
        gamma=float(problem.gamma),
        k=sparsity.k,
        l0_penalty=sparsity.l0_penalty,
        max_coef=problem.max_coef,
        include=tuple(problem.include.tolist()),
        exclude=tuple(problem.exclude.tolist()),
        fit_intercept=problem.fit_intercept,
        standardize=problem.data.standardize,
        fingerprint=evidence(problem).fingerprint(),
    )


def incumbent_of(problem: Problem, fit: SupportFit) -> Incumbent:
    """A model for the data as given; its intercept is fitted anew about the means, where no digits are lost."""
    shift, scale = shift_and_scale(problem.design, fit.support)
    coef = fit.w / scale
    if problem.max_coef is not None:
        coef = _within_box(problem, fit.support, coef)
    if not problem.fit_intercept:
        return Incumbent(fit.support, coef, np.zeros(coef.size), 0.0, 0.0)
    data = evidence(problem).data
    margin = (data.raw(fit.support) - shift) @ coef + data.offset
    rest = best_intercept(
        problem.data.stated_loss, data.y, data.weights, margin, float(fit.b) + problem.data.y_offset - data.y_shift
    )
    return Incumbent(fit.support, coef, shift, float(data.y_shift), float(rest))


def _within_box(problem: Problem, support: Indices, coef: Array) -> Array:
    """Coefficients that the check finds inside the box, on any machine: those at its border become a little smaller."""
    assert problem.max_coef is not None
    sizes = sizes_above(evidence(problem).data, statement_of(problem), support, coef)
    # On columns as they are sizes are exact; else they are known to some roundings of sums over n observations.
    rounding = 16.0 * problem.n * float(np.finfo(float).eps) if problem.data.standardize else 0.0
    most = problem.max_coef * (1.0 - rounding)
    return np.where(sizes > most, coef * (most / np.where(sizes > 0.0, sizes, 1.0)), coef)


def allowance(null_value: float, bound: float, amplification: float = 1.0) -> float:
    """By how much the bound of a long proof is lowered; splits amplify rounding errors."""
    return (_ALLOWANCE + _ALLOWANCE_OF_SPLITS * amplification) * (abs(null_value) + abs(bound))


def _amplification(problem: Problem, proof: Proof) -> float:
    """How much larger the squares of columns are than what splits divide of them: gains are multiplied by it."""
    ratios = [(problem.column_norms[s.features] ** 2 / s.delta).max(initial=1.0) for s in proof.splits]
    return float(max(ratios, default=1.0))


def is_short(problem: Problem, proof: Proof) -> bool:
    """Whether a proof can be checked at once."""
    leaves = sum(step.entries.size // 2 for step in proof.steps if isinstance(step, RegressionTree))
    products = float(len(proof.points)) * problem.n * problem.p
    return problem.n * problem.p <= _MOST_ENTRIES and products <= _MOST_PRODUCTS and leaves <= _MOST_LEAVES


def single_leaf(alpha: NDArray[np.float64]) -> Proof:
    """The proof that consists of one dual point."""
    return Proof((Leaf(0),), (DualPoint(alpha),))


def settle(problem: Problem, proof: Proof | None, bound: float, null_value: float) -> tuple[Proof | None, float]:
    """Return what can be claimed: a short proof with the bound that its check finds, a long one with an allowance.

    A proof that its check refuses, as rounding may cause where columns are nearly dependent, is not used at all.
    """
    if proof is None or not is_short(problem, proof):
        amplification = 1.0 if proof is None else _amplification(problem, proof)
        return proof, bound - allowance(null_value, bound, amplification)
    proved = prove(evidence(problem).data, statement_of(problem), proof, bound)
    if proved.complaints:
        _log.debug("the check refuses a proof: %s", proved.complaints[0])
        return single_leaf(np.zeros(problem.n)), _floor(problem)
    return proof, proved.bound


def _floor(problem: Problem) -> float:
    """The price of the features forced in, which every proof gives, but for rounding."""
    return problem.sparsity.cost(problem.include.size) * (1.0 - 1e-15)


def certify(problem: Problem, fit: SupportFit, proof: Proof, bound: float) -> Certificate:
    """Build the certificate of a settled proof."""
    statement, incumbent = statement_of(problem), incumbent_of(problem, fit)
    _, objective = objective_bounds(evidence(problem).data, statement, incumbent)
    # Losses are not negative; a bound above the objective is rounding.
    bound = min(max(bound, _floor(problem)), objective)
    return Certificate(statement, incumbent, objective, float(bound), proof)
