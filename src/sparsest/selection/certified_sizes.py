"""The problems of a certified choice: supports of at most K columns, for every number K that is admitted.

Criteria count columns.  Without groups that is the k of a problem.  Groups of one size are counted by k, too; where
sizes differ, a budget limits their columns.

**Prices beside the budget.**  Bounds know prices better than budgets, so where sizes differ a column has a price λ ≥ 0
during the search.  A proof of ``f(S) + λ|S| ≥ L`` for the supports of at most K columns is one of ``f(S) ≥ L - λK``:
the same steps prove it if λ is added to the price of the budget's row, so the certificate is about the problem without
a price.  Let T(K) be the objective at which a support of K columns is as good as the best one.  If T
is convex and no support is better than the best, ``f(S) ≥ T(|S|) ≥ T(K) + λ(K - |S|)`` for every λ up to
``T(K-1) - T(K)``: a size that has to be excluded can be excluded with such a price, too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sparsest.core.arrays import Indices
from sparsest.core.checks import whole_number
from sparsest.core.losses import Squared
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Sparsity, check_sparsity
from sparsest.core.structure.columns import column_limit, sums_of_sizes, within_columns
from sparsest.core.structure.structured import StructuredSparsity
from sparsest.proofs.statement import Statement
from sparsest.proofs.steps import Fix, Leaf, Proof, Regression, RowPrices, Step
from sparsest.results.result import Result
from sparsest.runtime.clock import Clock
from sparsest.runtime.events import Status
from sparsest.selection.criteria import Criterion
from sparsest.subset.enumeration import Enumeration
from sparsest.subset.fits.support import fit_support
from sparsest.subset.results import make_result

# The price of a column is a share of the price that is equivalent to the penalty of the criterion.  The first share is
# for sizes up to that of the best model, where a higher price excludes more.  The second one is for larger sizes, which
# have to be excluded although their supports include the best model.
_SHARE_BELOW, _SHARE_ABOVE = 0.9, 0.5


def admitted_sizes(ks: Any, problem: Problem, candidates: int) -> tuple[int, ...]:
    """The sizes in ``ks`` that are sums of sizes of groups, from the smallest admissible size on."""
    sparsity, root = problem.sparsity, problem.root
    least = problem.include.size
    if isinstance(sparsity, Sparsity):
        possible: tuple[int, ...] = tuple(range(least, candidates + 1))
    else:
        sizes = sparsity.sizes[sparsity.state_of(root) == 0]
        possible = sums_of_sizes(root.forced_in.size, sizes.tolist())
        # Rules may forbid all small supports: drop the sizes below the smallest one that has an admissible support.
        while problem_of_size(problem, possible[0], candidates) is None:
            possible = possible[1:]
    if ks is None:
        perfect = np.isinf(problem.gamma) and candidates > problem.n - 2
        largest = max(least, problem.n // 2) if perfect else candidates
        return _not_empty([k for k in possible if k <= max(largest, possible[0])], possible)
    if not np.iterable(ks):
        largest = whole_number(ks, "ks", least=least, or_else="a list of numbers of features")
        return _not_empty([k for k in possible if k <= largest], possible)
    entries = {whole_number(k, "every entry of ks", least=least, most=candidates) for k in ks}
    if not entries:
        raise ValueError("ks is empty: give at least one number of features")
    return _not_empty([k for k in possible if k in entries], possible)


def _not_empty(sizes: list[int], possible: tuple[int, ...]) -> tuple[int, ...]:
    if not sizes:
        raise ValueError(
            f"no admissible model has a number of columns in ks; ks counts the columns of groups, and the smallest "
            f"number that the structure admits is {possible[0]}"
        )
    return tuple(sizes)


def problem_of_size(problem: Problem, size: int, candidates: int) -> Problem | None:
    """The problem for supports of at most ``size`` columns; None if there are none."""
    if isinstance(problem.sparsity, Sparsity):
        return problem.with_sparsity(check_sparsity(size, None, problem.include.size, candidates))
    sparsity = within_columns(problem.sparsity, size, problem.include, problem.exclude)
    return None if sparsity is None else problem.with_sparsity(sparsity)


def stated_of_size(about: Statement, size: int) -> dict[str, Any]:
    """The parts that a certificate for at most ``size`` columns must state, given the statement of another size."""
    rules = about.structure
    if rules is None:
        return {"k": size, "structure": None}
    parts = {"units": rules.units, "limits": rules.limits, "requires": rules.requires, "prices": None}
    unit_of = rules.unit_of(about.p)
    sizes = np.bincount(unit_of)
    forced, banned = (np.isin(np.arange(sizes.size), unit_of[list(some)]) for some in (about.include, about.exclude))
    limit = column_limit(sizes, forced, banned, size)
    if limit.budget is None:
        return parts | {"k": limit.most_units, "budgets": rules.budgets}
    budgets = (*rules.budgets[:-1], tuple(limit.budget))
    return parts | {"k": limit.most_units, "budgets": budgets}


def price_of_a_column(criterion: Criterion, value: float, best: int, problem: Problem, size: int) -> float:
    """The price of a column in a search for at most ``size`` columns; zero if no budget limits them.

    ``value`` and ``best`` are the criterion and the size of the best model.
    """
    if not _counts_by_budget(problem) or size == 0:
        return 0.0
    share = _SHARE_BELOW if size <= best else _SHARE_ABOVE
    price = share * (criterion.losses_at(value, size - 1) - criterion.losses_at(value, size))
    return float(price) if np.isfinite(price) and price > 0.0 else 0.0


def _counts_by_budget(problem: Problem) -> bool:
    """Whether groups that may be chosen differ in size."""
    sparsity = problem.sparsity
    if isinstance(sparsity, Sparsity):
        return False
    forced, banned = sparsity.units_of(problem.include), sparsity.units_of(problem.exclude)
    return column_limit(sparsity.sizes, forced, banned, problem.p).budget is not None


def with_price(problem: Problem, price: float) -> Problem:
    """The problem with a price for each column."""
    sparsity = problem.sparsity
    assert isinstance(sparsity, StructuredSparsity)
    return problem.with_sparsity(replace(sparsity, prices=price * sparsity.sizes.astype(np.float64), l0_penalty=None))


def bounded_by_all(problem: Problem, support: Indices) -> Enumeration | None:
    """Least squares on all features, admissible or not, as the bound of a model; None for other losses."""
    if not isinstance(problem.loss, Squared):
        return None
    fit = fit_support(problem, support)
    return Enumeration(fit, Proof((Regression(),)), fit.primal)


def without_price(result: Result, problem: Problem, price: float, size: int, clock: Clock, gap_tol: float) -> Result:
    """The result for the problem without a price, from one with a price per column; the last budget is ``size``."""
    certificate = result.certificate
    fit = fit_support(problem, result.support)
    proof = None
    if certificate is not None:
        rules = certificate.statement.structure
        assert rules is not None
        proof = _with_row_price(certificate.proof, sum(1 for _ in rules.rows()) - 1, price)
    with clock.silenced():
        return make_result(
            problem, fit, proof, result.lower_bound - price * size, clock=clock.part(np.inf), gap_tol=gap_tol,
            otherwise=Status.HEURISTIC if result.status is Status.OPTIMAL else result.status, trace=result.trace,
            n_nodes=result.n_nodes,
        )  # fmt: skip


def _with_row_price(proof: Proof, row: int, price: float) -> Proof:
    """The proof with an additional price of a row in all of its leaves and fixings."""
    # The prices of steps that have none so far come first.
    known = (RowPrices(np.empty(0, dtype=np.intp), np.empty(0)), *proof.row_prices)

    def priced(step: Step) -> Step:
        if not isinstance(step, (Leaf, Fix)):
            return step
        return step._replace(row_prices=0 if step.row_prices is None else step.row_prices + 1)

    def added(prices: RowPrices) -> RowPrices:
        others = prices.rows != row
        more = price + float(prices.values[~others].sum())
        return RowPrices(np.append(prices.rows[others], row), np.append(prices.values[others], more))

    steps = tuple(priced(step) for step in proof.steps)
    return Proof(steps, proof.points, proof.splits, tuple(map(added, known)))
