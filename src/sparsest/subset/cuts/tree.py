"""Branch and bound over cuts: every region is bounded by a convex combination of the cuts.

    min_s max_i (c_i - q_i's) ≥ Σ_i μ_i c_i - gain(Σ_i μ_i q_i)      for all μ ≥ 0 with Σμ = 1

The best multipliers μ of a region are the dual values of a linear program, which HiGHS solves.  The bound is then
computed from μ by plain arithmetic, so its validity does not depend on the solver's tolerances.  If the solution s of
the linear program is integral, the cut of its support is added: there is one tree, with lazily added cuts.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsest.core.arrays import Array, Indices, Mask
from sparsest.core.problem import Problem
from sparsest.core.sparsity import Region
from sparsest.proofs.steps import Branch, Combination, Leaf, Step
from sparsest.runtime.faults import reach
from sparsest.subset.cuts.master import Master, master_of

State = NDArray[np.int8]

# Distance from 0 or 1 up to which an entry of s counts as integral.
_INTEGRAL = 1e-6
# Share of the largest multiplier below which multipliers are dropped: they do not improve the bound and lengthen the
# proof.
_SMALL_MULTIPLIER = 1e-9


class LinearProgram:
    """``min η + prices's`` over the cuts and the box of a region, divided by ``scale``."""

    def __init__(self, master: Master, scale: float) -> None:
        import highspy

        self.scale = max(scale, 1e-300)
        self.n_features = n_features = master.prices.size
        self.model = highspy.Highs()
        for name, value in (("output_flag", False), ("threads", 1), ("presolve", "off")):
            self.model.setOptionValue(name, value)
        self._infinity = highspy.kHighsInf
        self._optimal = highspy.HighsModelStatus.kOptimal
        # One call for all columns, because each call takes time proportional to the number of columns.
        self._index = np.arange(n_features, dtype=np.int32)
        self.model.addVars(n_features, np.zeros(n_features), np.ones(n_features))
        self.model.changeColsCost(n_features, self._index, master.prices / self.scale)
        self.model.addVar(-self._infinity, self._infinity)
        self.model.changeColCost(n_features, 1.0)
        for row in master.rows:
            used = np.flatnonzero(row.coefficients)
            low = -self._infinity if row.low == -np.inf else row.low
            self.model.addRow(low, row.high, used.size, used.astype(np.int32), row.coefficients[used])
        self._n_rows = len(master.rows)

    def add(self, constant: float, q: Array) -> None:
        """Add the cut ``η + q's ≥ constant``."""
        used = np.flatnonzero(q)
        index = np.append(used, self.n_features).astype(np.int32)
        self.model.addRow(
            constant / self.scale, self._infinity, index.size, index, np.append(q[used] / self.scale, 1.0)
        )

    def solve(self, state: State, seconds: float) -> tuple[Array, Array] | None:
        """Return the best s and the multipliers of the cuts for a region; None if the solver finds no optimum."""
        if reach("linear program", seconds):
            return None
        self.model.setOptionValue("time_limit", float(self.model.getRunTime() + max(seconds, 0.01)))
        low, high = (state == 1).astype(np.float64), (state >= 0).astype(np.float64)
        self.model.changeColsBounds(self.n_features, self._index, low, high)
        if not self._run():
            # The basis of another region may be singular here: start again without it.
            self.model.clearSolver()
            if not self._run():
                return None
        solution = self.model.getSolution()
        multipliers = np.maximum(np.asarray(solution.row_dual)[self._n_rows :], 0.0)
        return np.asarray(solution.col_value)[: self.n_features], multipliers

    def _run(self) -> bool:
        self.model.run()
        return bool(self.model.getModelStatus() == self._optimal) and not reach("simplex")


class _Weights(NamedTuple):
    """The indices of some cuts, and their multipliers, which prove the bound of a region."""

    cuts: Indices
    multipliers: Array


@dataclass(slots=True)
class _Node:
    """A region: its bound, the multipliers that prove it, and its children if it was split."""

    state: State
    bound: float
    proof: _Weights
    feature: int = 0
    children: tuple[_Node, _Node] | None = None


class CutTree:
    """The search over the survivors; ``separate`` fits a support and returns the constant and the gains of its cut."""

    def __init__(
        self,
        problem: Problem,
        survivors: Indices,
        forced: Mask,
        scale: float,
        separate: Callable[[Mask], tuple[float, Array]],
    ) -> None:
        self.problem, self.survivors, self.separate = problem, survivors, separate
        # k is at most the number of survivors.
        self.rule = problem.sparsity.among(survivors)
        self.program = LinearProgram(master_of(problem, survivors), scale)
        self.constants, self.gains = np.empty(0), np.empty((0, survivors.size))
        self._separated: set[bytes] = set()
        self._count = 0
        self.root = self._node(forced.astype(np.int8), -np.inf, _Weights(np.zeros(1, dtype=np.intp), np.ones(1)))
        self._open: list[tuple[float, int, _Node]] = []
        self.closed = np.inf

    def begin(self) -> None:
        """Open the root, bounded by the first cut."""
        self._improve(self.root, np.eye(1, self.constants.size)[0])
        self._push(self.root)

    def add(self, constant: float, q: Array) -> None:
        """Add a cut."""
        self.constants, self.gains = np.append(self.constants, constant), np.vstack([self.gains, q])
        self.program.add(constant, q)

    def _push(self, node: _Node) -> None:
        self._count += 1
        heapq.heappush(self._open, (node.bound, self._count, node))

    def lower_bound(self) -> float:
        """The smallest bound of all regions."""
        return min(self.closed, self._open[0][0] if self._open else np.inf)

    def is_finished(self) -> bool:
        """Whether no region is open."""
        return not self._open

    def step(self, cutoff: float, seconds: float) -> None:
        """Take the region with the lowest bound; close it, split it, or add the cut of its support."""
        node = self._open[0][2]
        if node.bound >= cutoff:
            self._close(node)
        else:
            self._process(node, cutoff, self.program.solve(node.state, seconds))
        # The region is removed last, so that it stays open if an interrupt comes.  It is still the first of the heap,
        # because new regions have no smaller bound and a larger count.
        heapq.heappop(self._open)

    def _process(self, node: _Node, cutoff: float, solved: tuple[Array, Array] | None) -> None:
        reach("cut node")
        free = np.flatnonzero(node.state == 0)
        if solved is None:
            self._process_without_solution(node, cutoff, free)
            return
        s, multipliers = solved
        self._improve(node, multipliers)
        distance = np.minimum(s[free], 1.0 - s[free])
        if node.bound >= cutoff:
            self._close(node)
        elif free.size and distance.max() > _INTEGRAL:
            self._split(node, int(free[distance.argmax()]))
        else:
            self._cut_off(node, s > 0.5, free)

    def _process_without_solution(self, node: _Node, cutoff: float, free: Indices) -> None:
        """Process a region without an LP solution: bound it by single cuts, and split it on the largest gain."""
        self._improve_by_single_cuts(node)
        if node.bound >= cutoff:
            self._close(node)
        elif free.size:
            gains = node.proof.multipliers @ self.gains[node.proof.cuts]
            self._split(node, int(free[gains[free].argmax()]))
        else:
            self._cut_off(node, node.state == 1, free)

    def _cut_off(self, node: _Node, chosen: Mask, free: Indices) -> None:
        """Add the cut of an integral support; split if it was added before, since rounding errors hide its effect."""
        key = np.packbits(chosen).tobytes()
        if key not in self._separated:
            self._separated.add(key)
            self.add(*self.separate(chosen))
            self._push(node)
        elif free.size:
            self._split(node, int(free[0]))
        else:
            # The cut of the only support is tight, but the linear program may miss it if gains are of very
            # different sizes.
            self._improve_by_single_cuts(node)
            self._close(node)

    def _improve_by_single_cuts(self, node: _Node) -> None:
        for single in np.eye(self.constants.size):
            self._improve(node, single)

    def _improve(self, node: _Node, multipliers: Array) -> None:
        """Use these multipliers if they prove a better bound."""
        used = np.flatnonzero(multipliers > _SMALL_MULTIPLIER * multipliers.max(initial=0.0))
        if not used.size:
            return
        weights = multipliers[used] / multipliers[used].sum()
        q = weights @ self.gains[used]
        gain = self.rule.gain(q, _region(node.state))
        bound = float(weights @ self.constants[used]) - gain
        if bound > node.bound:
            node.bound, node.proof = bound, _Weights(used, weights)

    def _split(self, node: _Node, feature: int) -> None:
        states = node.state.copy(), node.state.copy()
        states[0][feature], states[1][feature] = 1, -1
        inside, outside = (self._node(state, node.bound, node.proof) for state in states)
        node.feature, node.children = feature, (inside, outside)
        self._push(inside)
        self._push(outside)

    def _node(self, state: State, bound: float, proof: _Weights) -> _Node:
        """A new node, with the features forced out that the sparsity constraint excludes."""
        region = self.rule.propagate(_region(state))
        if region is None:
            return _Node(state, np.inf, proof)
        state[region.forced_in], state[region.forced_out] = 1, -1
        return _Node(state, bound, proof)

    def _close(self, node: _Node) -> None:
        self.closed = min(self.closed, node.bound)

    def steps(self, first_point: int) -> list[Step]:
        """The proof of the bound: a tree of branches and combinations of cuts; ``first_point`` is their first point."""
        steps: list[Step] = []
        stack = [self.root]
        while stack:
            node = stack.pop()
            if node.children is not None:
                steps.append(Branch(int(self.survivors[node.feature])))
                stack += [node.children[1], node.children[0]]
            elif node.proof.cuts.size == 1:
                steps.append(Leaf(first_point + int(node.proof.cuts[0])))
            else:
                steps.append(Combination(first_point + node.proof.cuts, node.proof.multipliers))
        return steps


def _region(state: NDArray[np.int8]) -> Region:
    """The region of a node among the survivors."""
    return Region(np.flatnonzero(state == 1), np.flatnonzero(state == -1), state.size)
