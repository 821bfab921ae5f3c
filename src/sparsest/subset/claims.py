"""Certificates for the results of a search; their bound is the one that the checker proves."""

from __future__ import annotations

import logging
from collections.abc import Sequence, Set
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices
from sparsest.core.designs import shift_and_scale
from sparsest.core.intercepts import best_intercept
from sparsest.core.losses import parameters_of
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Sparsity
from sparsest.core.structure.feasibility import find_choice
from sparsest.core.structure.rules import Budget, Limit, Requirement, Rules
from sparsest.core.structure.structured import StructuredSparsity
from sparsest.proofs.certificate import Certificate
from sparsest.proofs.check import Proved, prove, prove_closed
from sparsest.proofs.columns import AllColumns, Columns
from sparsest.proofs.incumbent import Incumbent, objective_bounds, sizes_above
from sparsest.proofs.statement import Statement
from sparsest.proofs.steps import DualPoint, Fix, Leaf, Point, Proof
from sparsest.proofs.structure import Rules as StatedRules
from sparsest.subset.fits.support import SupportFit

_log = logging.getLogger("sparsest")
# Multiple of the check's rounding errors by which claimed bounds are lowered.  A later check may find a bound that is
# lower by twice its own error bounds, which may be up to √10 times as large because its norms refer to another centre.
_CAUTION = 8.0
# A check with the sums of the solver's first pass is repeated with the checker's own sums, which are more accurate, if
# its bound is below that of the search by more than this share of the tolerance.
_SHARE_OF_TOLERANCE = 0.02


def statement_of(problem: Problem) -> Statement:
    """The statement of the problem for a certificate."""
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
        lower=_stated(problem.lower),
        upper=_stated(problem.upper),
        include=tuple(problem.include.tolist()),
        exclude=tuple(problem.exclude.tolist()),
        fit_intercept=problem.fit_intercept,
        standardize=problem.data.standardize,
        fingerprint=problem.data.evidence.fingerprint(),
        structure=None if isinstance(sparsity, Sparsity) else _stated_rules(sparsity),
    )


def _stated(limits: Array | None) -> tuple[float, ...] | None:
    """Limits of coefficients as a statement has them: None if none is finite."""
    return None if limits is None or np.isinf(limits).all() else tuple(limits.tolist())


def _stated_rules(sparsity: StructuredSparsity) -> StatedRules:
    """The structure of a problem for a certificate."""
    rules = sparsity.rules
    grouped = sparsity.n_units < sparsity.units.size
    return StatedRules(
        units=tuple(sparsity.units.tolist()) if grouped else None,
        prices=tuple(sparsity.prices.tolist()) if sparsity.priced and sparsity.l0_penalty is None else None,
        limits=tuple((limit.units, limit.least, limit.most) for limit in rules.limits),
        requires=tuple((one.unit, one.needed, one.all) for one in rules.requires),
        budgets=tuple((budget.costs, budget.most) for budget in rules.budgets),
    )


def restored(statement: Statement) -> StructuredSparsity | None:
    """The structure of a statement as the rule of a problem; None if it has none."""
    found = statement.structure
    if found is None:
        return None
    units = np.arange(statement.p) if found.units is None else np.array(found.units, dtype=np.int64)
    count = int(units.max()) + 1
    rules = Rules(
        count,
        tuple(Limit(*limit) for limit in found.limits),
        tuple(Requirement(*one) for one in found.requires),
        tuple(Budget(*budget) for budget in found.budgets),
    )
    prices = np.full(count, statement.price) if found.prices is None else np.array(found.prices)
    rule = StructuredSparsity(statement.k, prices, units, rules, statement.l0_penalty)
    forced = (rule.units_of(np.array(some, dtype=np.intp)) for some in (statement.include, statement.exclude))
    first = find_choice(rule, *forced)
    if first is None:
        raise ValueError("no support keeps the structure of the statement")
    return replace(rule, first=first)


def incumbent_of(problem: Problem, fit: SupportFit) -> Incumbent:
    """The model for the data as given; its intercept is refitted for centred columns, so that no digits are lost."""
    shift, scale = shift_and_scale(problem.design, fit.support)
    coef = fit.w / scale
    if problem.lower is not None:
        coef = np.maximum(coef, problem.lower[fit.support])
    if problem.upper is not None:
        coef = np.minimum(coef, problem.upper[fit.support])
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
    """Shrink coefficients at the limits of the box slightly, so that a check on any machine finds them inside."""
    assert problem.max_coef is not None
    sizes = sizes_above(problem.data.evidence.data, statement_of(problem), support, coef)
    # Sizes are exact unless columns are standardised; then they have rounding errors of sums over n observations.
    rounding = 16.0 * problem.n * float(np.finfo(float).eps) if problem.data.standardize else 0.0
    most = problem.max_coef * (1.0 - rounding)
    return np.where(sizes > most, coef * (most / np.where(sizes > 0.0, sizes, 1.0)), coef)


def single_leaf(alpha: NDArray[np.float64]) -> Proof:
    """The proof that consists of one dual point."""
    return Proof((Leaf(0),), (DualPoint(alpha),))


class CheckedProof(NamedTuple):
    """A proof, and the bound that the checker proves with it."""

    proof: Proof
    bound: float


def check_proof(
    problem: Problem, proof: Proof, bound: float, gap_tol: float, n_jobs: int | None = None
) -> CheckedProof:
    """Check the proof of a search on ``n_jobs`` threads; replace it by the trivial proof unless it proves more.

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
        _log.debug("the checker rejects a proof: %s", proved.complaints[0])
    if not proved.bound > trivial_bound(problem):
        return CheckedProof(single_leaf(np.zeros(problem.n)), trivial_bound(problem))
    return CheckedProof(proof, proved.bound)


def bound_of_others(problem: Problem, proof: Proof, excepted: Set[tuple[int, ...]]) -> float:
    """The bound that the checker proves for all supports except ``excepted``."""
    evidence = problem.data.evidence
    given = evidence.data, statement_of(problem), proof, np.inf, evidence.columns(), _CAUTION
    return prove(*given, excepted).bound


def closed_by(problem: Problem, fixes: Sequence[Fix], points: Sequence[Point]) -> float:
    """The bound that the checker proves for the supports excluded by the root's fixings."""
    evidence = problem.data.evidence
    return prove_closed(evidence.data, statement_of(problem), fixes, points, evidence.columns(), _CAUTION)


def trivial_bound(problem: Problem) -> float:
    """The bound that needs no search: losses are nonnegative, and each forced feature costs its price."""
    return problem.sparsity.cost(problem.root.forced_in) * (1.0 - 1e-15)


class Claim(NamedTuple):
    """The problem, a model for the data as given, and the objective that the checker finds for it."""

    statement: Statement
    incumbent: Incumbent
    objective: float

    def bound(self, bound: float) -> float:
        """The bound, limited to the objective; a larger one is due to rounding errors."""
        return float(min(bound, self.objective))

    def certificate(self, checked: CheckedProof) -> Certificate:
        """The certificate of a checked proof."""
        return Certificate(*self, self.bound(checked.bound), checked.proof)


def claim(problem: Problem, fit: SupportFit) -> Claim:
    """State a model as the checker reads it."""
    statement, incumbent = statement_of(problem), incumbent_of(problem, fit)
    _, objective = objective_bounds(problem.data.evidence.data, statement, incumbent)
    return Claim(statement, incumbent, objective)
