"""From what a search knows to a certificate, whose bound is what the checker proves."""

from __future__ import annotations

import logging
from collections.abc import Sequence, Set
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices
from sparsest.core.designs import shift_and_scale
from sparsest.core.intercepts import best_intercept
from sparsest.core.losses import parameters_of
from sparsest.core.problem import Problem
from sparsest.proofs.certificate import Certificate
from sparsest.proofs.check import Proved, prove, prove_closed
from sparsest.proofs.columns import AllColumns, Columns
from sparsest.proofs.incumbent import Incumbent, objective_bounds, sizes_above
from sparsest.proofs.statement import Statement
from sparsest.proofs.steps import DualPoint, Fix, Leaf, Point, Proof
from sparsest.subset.fits.support import SupportFit

_log = logging.getLogger("sparsest")
# Claimed bounds are lowered by this many times the rounding errors of a check.  Another check may find a bound that is
# lower by twice its own error bounds, which may be up to √10 times as large because its norms are about another centre.
_CAUTION = 8.0
# A check with the sums of the solver's first pass is repeated with the checker's own, which are more accurate, where it
# leaves more than this part of the tolerance between the bound and that of the search.
_SHARE_OF_TOLERANCE = 0.02


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
        fingerprint=problem.data.evidence.fingerprint(),
    )


def incumbent_of(problem: Problem, fit: SupportFit) -> Incumbent:
    """A model for the data as given; its intercept is fitted again about the means, so that no digits are lost."""
    shift, scale = shift_and_scale(problem.design, fit.support)
    coef = fit.w / scale
    if problem.max_coef is not None:
        coef = _within_box(problem, fit.support, coef)
    if not problem.fit_intercept:
        return Incumbent(fit.support, coef, np.zeros(coef.size), 0.0, 0.0)
    data = problem.data.evidence.data
    margin = (data.raw(fit.support) - shift) @ coef + data.offset
    rest = best_intercept(
        problem.data.stated_loss, data.y, data.weights, margin, float(fit.b) + problem.data.y_offset - data.y_shift
    )
    return Incumbent(fit.support, coef, shift, float(data.y_shift), float(rest))


def _within_box(problem: Problem, support: Indices, coef: Array) -> Array:
    """Shrink coefficients at the border of the box a little, so that the check finds them inside on any machine."""
    assert problem.max_coef is not None
    sizes = sizes_above(problem.data.evidence.data, statement_of(problem), support, coef)
    # Sizes are exact unless columns are standardised; then they have the rounding errors of sums over n observations.
    rounding = 16.0 * problem.n * float(np.finfo(float).eps) if problem.data.standardize else 0.0
    most = problem.max_coef * (1.0 - rounding)
    return np.where(sizes > most, coef * (most / np.where(sizes > 0.0, sizes, 1.0)), coef)


def single_leaf(alpha: NDArray[np.float64]) -> Proof:
    """The proof that consists of one dual point."""
    return Proof((Leaf(0),), (DualPoint(alpha),))


class Settled(NamedTuple):
    """A proof, and the bound that the checker proves by it."""

    proof: Proof
    bound: float


def settle(problem: Problem, proof: Proof, bound: float, gap_tol: float, n_jobs: int | None = None) -> Settled:
    """Check the proof of a search, on ``n_jobs`` threads; replace a proof of no use by the trivial one.

    Rounding errors may make a proof useless if columns are nearly dependent.
    """
    statement, evidence = statement_of(problem), problem.data.evidence

    def check(columns: Columns) -> Proved:
        return prove(evidence.data, statement, proof, bound, columns, _CAUTION, threads=n_jobs)

    columns = evidence.columns()
    proved = check(columns)
    if bound - proved.bound > _SHARE_OF_TOLERANCE * gap_tol * abs(bound) and not isinstance(columns, AllColumns):
        proved = max(proved, check(AllColumns(evidence.data)), key=lambda found: found.bound)
    if proved.complaints:
        _log.debug("the check refuses a proof: %s", proved.complaints[0])
    if not proved.bound > trivial_bound(problem):
        return Settled(single_leaf(np.zeros(problem.n)), trivial_bound(problem))
    return Settled(proof, proved.bound)


def bound_of_others(problem: Problem, proof: Proof, excepted: Set[tuple[int, ...]]) -> float:
    """The bound that the checker proves for all supports except ``excepted``."""
    evidence = problem.data.evidence
    given = evidence.data, statement_of(problem), proof, np.inf, evidence.columns(), _CAUTION
    return prove(*given, excepted).bound


def closed_by(problem: Problem, fixes: Sequence[Fix], points: Sequence[Point]) -> float:
    """The bound that the checker proves for the supports that the fixings of the root close."""
    evidence = problem.data.evidence
    return prove_closed(evidence.data, statement_of(problem), fixes, points, evidence.columns(), _CAUTION)


def trivial_bound(problem: Problem) -> float:
    """The bound that needs no search: losses are not negative, and features forced in have their price."""
    return problem.sparsity.cost(problem.include.size) * (1.0 - 1e-15)


class Claim(NamedTuple):
    """The problem, a model for the data as given, and the objective that the checker finds for it."""

    statement: Statement
    incumbent: Incumbent
    objective: float

    def bound(self, bound: float) -> float:
        """The bound, cut off at the objective: above it is only rounding."""
        return float(min(bound, self.objective))

    def certificate(self, settled: Settled) -> Certificate:
        """The certificate of a settled proof."""
        return Certificate(*self, self.bound(settled.bound), settled.proof)


def claim(problem: Problem, fit: SupportFit) -> Claim:
    """State a model as the checker reads it."""
    statement, incumbent = statement_of(problem), incumbent_of(problem, fit)
    _, objective = objective_bounds(problem.data.evidence.data, statement, incumbent)
    return Claim(statement, incumbent, objective)
