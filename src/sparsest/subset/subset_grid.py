"""Best subsets for several numbers of features and ridges, each search starting from an earlier result."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsest.core.checks import as_array, number, shown, whole_number
from sparsest.core.data import Data
from sparsest.core.problem import Problem
from sparsest.core.ridge import gamma_grid
from sparsest.core.sparsity import Sparsity, check_sparsity
from sparsest.core.structure.posing import structure_with_k
from sparsest.core.structure.structured import StructuredSparsity
from sparsest.results.result import Result
from sparsest.runtime.clock import Clock
from sparsest.subset.doubling import unchanged


def check_ks(ks: Any) -> list[int]:
    """Numbers of features, as given."""
    try:
        entries = list(ks)
    except TypeError as error:
        raise ValueError(f"ks must be a list of numbers of features, got {shown(ks)}") from error
    if not entries:
        raise ValueError("ks is empty: give at least one number of features")
    return [whole_number(k, "every entry of ks", least=0) for k in entries]


def check_gammas(gammas: Any, data: Data, k: int) -> list[float]:
    """The γs of a grid: as given, one number, or those that ``"auto"`` stands for."""
    if isinstance(gammas, str) and gammas == "auto":
        return gamma_grid(data, k).tolist()
    given = as_array(gammas, "gammas")
    if given.ndim > 1 or given.size == 0 or given.dtype.kind not in "fiu":
        raise ValueError(f"gammas must be 'auto', a number or a list of numbers, got {shown(gammas)}")
    return [
        number(value, "every entry of gammas", above=0, finite=False, or_else="'auto'")
        for value in np.atleast_1d(given)
    ]


def with_k(problem: Problem, k: int) -> Sparsity | StructuredSparsity:
    """The rule of a problem for another k; a ValueError if no support keeps it."""
    if isinstance(problem.sparsity, Sparsity):
        return check_sparsity(k, None, problem.include.size, problem.p - problem.exclude.size)
    return structure_with_k(problem.sparsity, k, problem.include, problem.exclude)


def solve_grid(
    solver: Any, problem: Problem, ks: list[int], gammas: list[float], start: Any, clock: Clock, doubled: bool
) -> dict[tuple[float, int], Result]:
    """Solve for rising γ and rising k; each search starts from the result of the previous γ or k.

    Parameters
    ----------
    clock : the clock of the call; every model has the solver's time limit, and the first one counts earlier seconds too
    doubled : whether to stop after the first γ that changes nothing
    """
    rules = {k: with_k(problem, k) for k in ks}
    found: dict[tuple[float, int], Result] = {}
    before: float | None = None
    finished = 0.0
    with clock.listening():
        for gamma in gammas:
            for k in ks:
                start = start if before is None else found[before, k]
                one = problem.with_gamma(gamma).with_sparsity(rules[k])
                # A callback stops one model, Ctrl-C all of them.
                of_model = Clock(solver.time_limit, clock.callback, spent=clock.seconds() - finished)
                of_model.interrupted = clock.interrupted
                start = found[gamma, k] = solver.solve(one, start, of_model)
                finished = clock.seconds()
            if doubled and before is not None:
                pairs = [(found[before, k], found[gamma, k]) for k in ks]
                if all(unchanged(one.support, one.coef, other.support, other.coef) for one, other in pairs):
                    break
            before = gamma
    return found
