"""All supports within a given distance of the optimum, found by the same tree with a higher cutoff."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.designs import in_units_of_data
from sparsest.core.problem import Problem
from sparsest.results.result import Result
from sparsest.runtime.clock import Clock
from sparsest.runtime.events import Status
from sparsest.subset.claims import bound_of_others
from sparsest.subset.fits.support import SupportFit, fit_support
from sparsest.subset.tree.goal import Goal
from sparsest.subset.tree.importance import Importance, importance_of
from sparsest.subset.tree.method import Tree
from sparsest.subset.tree.search import Search


class NearOptimal(NamedTuple):
    """The result of :func:`sparsest.near_optimal`: the supports near the optimum, sorted by their objectives.

    Attributes
    ----------
    supports, objectives : the columns of each model, and its objective
    threshold : the largest objective that was looked for
    complete : whether a proof excludes all other supports with objectives up to ``threshold``
    status : how the search ended
    n_nodes, seconds : number of nodes and duration of the search
    coefs : the coefficients of each support, for the data as given
    deviations : standard deviations of all columns that occur in a support
    feature_names : names of all columns, or None

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_diabetes_quadratic()
    >>> result = sparsest.best_subset(data.X, data.y, k=3)
    >>> near = sparsest.near_optimal(result, data.X, data.y, within=0.02)
    >>> [support.tolist() for support in near.supports], near.complete
    ([[2, 3, 8], [2, 8, 36], [2, 6, 8]], True)
    """

    supports: list[Indices]
    objectives: list[float]
    threshold: float
    complete: bool
    status: Status
    n_nodes: int
    seconds: float
    coefs: list[Array]
    deviations: dict[int, float]
    feature_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        """One line with the number of supports, what is proved, and the range of objectives."""
        count, least = len(self.supports), min(self.objectives, default=np.nan)
        others = "all others are excluded" if self.complete else "others are not excluded"
        return (
            f"NearOptimal({self.status.name}, {count} support{'s' * (count != 1)} with objectives from {least:.6g} "
            f"to at most {self.threshold:.6g}, {others}, seconds={self.seconds:.3g})"
        )

    def importance(self) -> Importance:
        """The share of models that contain each feature, and the range of its coefficient.

        Returns
        -------
        Importance
            With ``to_frame()`` and ``summary()``; :class:`sparsest.plots.ImportanceDisplay` draws it.
        """
        return importance_of(self.supports, self.coefs, self.deviations, self.complete, self.feature_names)


@dataclass(frozen=True)
class NearOptimalSearch:
    """Enumerates the supports whose objective is at most ``(1 + within)`` times the incumbent's."""

    within: float = 0.01
    limit: int = 100
    tree: Tree = field(default_factory=Tree)

    def solve(self, problem: Problem, result: Result, clock: Clock | None = None) -> NearOptimal:
        """Search until every other support is excluded, or a limit is reached."""
        clock = Clock(self.tree.time_limit) if clock is None else clock
        with clock.listening():
            return self._solve(problem, result, clock)

    def _solve(self, problem: Problem, result: Result, clock: Clock) -> NearOptimal:
        goal = AllWithin(problem, clock, fit_support(problem, result.support), self.within, self.limit)
        search = Search(problem, goal, clock, self.tree.limits())
        try:
            status = search.run()
        except KeyboardInterrupt as error:
            clock.interrupt(error)
            status = Status.INTERRUPTED
        found = sorted(goal.found.values(), key=lambda found: found.primal)
        complete = status is Status.OPTIMAL and len(found) <= self.limit and self._is_complete(search, goal)
        kept = found[: self.limit]
        return NearOptimal(
            [one.support for one in kept],
            [one.primal for one in kept],
            goal.threshold,
            complete,
            status,
            search.n_nodes,
            clock.seconds(),
            [in_units_of_data(problem.design, one.support, one.w)[0] for one in kept],
            _deviations(problem, kept),
            result.feature_names,
        )

    @staticmethod
    def _is_complete(search: Search, goal: AllWithin) -> bool:
        """Whether the checker proves that every support that was not found is above the threshold."""
        proof = search.assemble()
        excepted = {tuple(fit.support.tolist()) for fit in goal.found.values()}
        return proof is not None and bound_of_others(search.problem, proof, excepted) > goal.threshold


def _deviations(problem: Problem, fits: list[SupportFit]) -> dict[int, float]:
    """Standard deviations of the columns in some supports, for the data as given."""
    used = np.unique(np.concatenate([np.empty(0, dtype=np.intp), *(fit.support for fit in fits)]))
    return dict(zip(used.tolist(), problem.data.deviations(used).tolist(), strict=True))


class AllWithin(Goal):
    """Keep every support up to a threshold instead of the best one."""

    exhaustive = True

    def __init__(self, problem: Problem, clock: Clock, fit: SupportFit, within: float, limit: int) -> None:
        self.problem, self.clock, self.limit = problem, clock, limit
        self._fit = fit
        self.threshold = fit.primal + within * abs(fit.primal)
        self.found: dict[bytes, SupportFit] = {}

    @property
    def fit(self) -> SupportFit:
        """The model of the result."""
        return self._fit

    @property
    def cutoff(self) -> float:
        """The threshold plus a small margin, so that supports exactly on the threshold are kept."""
        return max(self.threshold + 1e-9 * abs(self.threshold), float(np.nextafter(self.threshold, np.inf)))

    def rounded(self, support: Indices, polish: bool = False) -> None:
        """Do nothing: the tree visits every support below the cutoff."""

    def search_locally(self) -> None:
        """Do nothing: the best support is known."""

    def search_quickly(self) -> None:
        """Do nothing: the best support is known."""

    def reached(self, support: Indices) -> None:
        """Keep a support below the threshold, and stop the search when there are more than ``limit``."""
        fit = fit_support(self.problem, support)
        if fit.primal <= self.cutoff:
            self.found[support.tobytes()] = fit
        if len(self.found) > self.limit:
            self.clock.interrupted = True
