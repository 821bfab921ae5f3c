"""Which features enter and stay in a working set."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Indices, Mask
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Sparsity
from sparsest.core.structure.structured import StructuredSparsity
from sparsest.subset.relaxation.kernels.entering import pick_working_set, sigma_of_gains, threshold_of
from sparsest.subset.relaxation.nested import multipliers_of
from sparsest.subset.relaxation.solution import Relaxed


class Entering(NamedTuple):
    """The rule by which features enter and stay in a working set.

    Attributes
    ----------
    share : features enter if their gain exceeds this share of the threshold.
    kept_share : features of the last working set stay, even with zero coefficients, if their gain exceeds this share
        of the threshold.
    least, growth : the largest number of features that enter in a round is the largest of ``least``, ``growth`` times
        the number of features that stay, and, without a price per feature, twice the budget.
    """

    share: float
    kept_share: float
    least: int
    growth: float

    def features(self, problem: Problem, best: Relaxed) -> Indices:
        """The next working set."""
        region, sparsity = best.region, problem.sparsity
        if not isinstance(sparsity, Sparsity):
            return self._units(problem, sparsity, best)
        state, alive = region.state, region.alive
        budget, w = sparsity.budget(region), best.coefficients()
        work, chosen = np.empty(alive.size), np.empty(alive.size, dtype=np.int64)
        sigma = best.sigma
        if problem.bounds.exist and sigma > 0.0:
            sigma = sigma_of_gains(best.q, w, state, alive, budget, sparsity.price, work)
        threshold = threshold_of(sigma)
        stays = (state == 1) | (w != 0.0)
        if best.sigma > 0.0:
            stays[best.features] |= best.q[best.features] > self.kept_share * threshold
        most = self._most(problem, sparsity.price > 0.0, budget, stays)
        return chosen[: pick_working_set(best.q, stays, alive, self.share * threshold, most, work, chosen)]

    def _units(self, problem: Problem, rule: StructuredSparsity, best: Relaxed) -> Indices:
        """The columns of the next working set of whole units.

        A unit has coefficients in the solution of the relaxation if its gain exceeds its price plus the largest
        multiplier of the nested sets that contain it.
        """
        state, gains = rule.state_of(best.region), rule.worth(best.q) + rule.prices
        threshold = rule.prices if best.levels is None else multipliers_of(rule, best.levels)
        stays = (state == 1) | rule.units_of(best.features[best.w != 0.0])
        if best.levels is not None and self.kept_share < np.inf:
            stays |= rule.units_of(best.features) & (gains > self.kept_share * threshold)
        stays &= state >= 0
        enters = np.flatnonzero((state == 0) & ~stays & (gains > self.share * threshold))
        most = self._most(problem, rule.priced, rule.budget(best.region), stays)
        if enters.size > most:
            excess = gains[enters] - threshold[enters]
            enters = enters[np.argpartition(-excess, most - 1)[:most]] if most else enters[:0]
        stays[enters] = True
        return rule.columns_of(stays)

    def _most(self, problem: Problem, priced: bool, budget: int, stays: Mask) -> int:
        """The largest number of features, or units, that enter."""
        if budget <= 0:
            return 0
        ahead = 0 if priced else 2 * min(budget, problem.n)
        return max(self.least, ahead, int(self.growth * np.count_nonzero(stays)))
