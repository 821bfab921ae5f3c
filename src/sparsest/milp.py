"""The master problem of the cutting planes, solved by HiGHS.

    min_{s,η} η + price·Σs    s.t.  η ≥ constant_i - q_i's for every cut,  Σs ≤ k,  s binary

It is used to search (``engine="highs"``) and to check certificates of any engine, whose cuts are recomputed from
their dual points.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# What a solver's tolerances may add to its bound, relative to the objective; a check allows a tenth of it.
MILP_MARGIN = 1e-6
# Seconds between looks at the clock, and that HiGHS gets to end after it was told to.
_LOOK, _GRACE = 0.05, 0.2


class MilpSolution(NamedTuple):
    """A solver's best support and its bound."""

    chosen: Mask
    bound: float
    finished: bool


class Master:
    """A growing mixed-integer linear program, divided by ``scale`` so that tolerances mean something."""

    def __init__(self, n_features: int, forced: Mask, k: int | None, price: float, scale: float) -> None:
        import highspy

        self.scale = max(scale, 1e-300)
        self.n_features = n_features
        self.model = highspy.Highs()
        for name, value in (
            ("output_flag", False),
            ("mip_rel_gap", 1e-7),
            ("mip_abs_gap", 1e-9),
            ("mip_feasibility_tolerance", 1e-9),
            ("primal_feasibility_tolerance", 1e-9),
        ):
            self.model.setOptionValue(name, value)
        # One call for all columns: each call takes time in proportion to the columns there are.
        index = np.arange(n_features, dtype=np.int32)
        self.model.addVars(n_features, forced.astype(float), np.ones(n_features))
        self.model.changeColsCost(n_features, index, np.full(n_features, price / self.scale))
        self.model.changeColsIntegrality(n_features, index, np.full(n_features, highspy.HighsVarType.kInteger))
        self.model.addVar(0.0, highspy.kHighsInf)
        self.model.changeColCost(n_features, 1.0)
        if k is not None:
            self.model.addRow(-highspy.kHighsInf, float(k), n_features, index, np.ones(n_features))
        self._infinity = highspy.kHighsInf

    def add(self, constant: float, q: Array) -> None:
        """Add the cut ``η + q's ≥ constant``."""
        used = np.flatnonzero(q)
        index = np.append(used, self.n_features).astype(np.int32)
        values = np.append(q[used] / self.scale, 1.0)
        self.model.addRow(constant / self.scale, self._infinity, index.size, index, values)

    def solve(
        self, seconds: float, start: Mask | None = None, expired: Callable[[], bool] = lambda: False
    ) -> MilpSolution:
        """Solve; the bound is valid also when time runs out, or when ``expired``, asked now and then, says so.

        HiGHS does not look at the clock for minutes where there are many features: it runs in a thread of its own,
        which is left behind then, and the master problem cannot be used again.
        """
        import highspy

        bounds, stop, ended = [-np.inf], Event(), Event()

        def look(kind: Any, message: str, found: Any, wish: Any, data: Any) -> None:
            bounds.append(found.mip_dual_bound)
            wish.user_interrupt = stop.is_set()

        def run() -> None:
            self.model.run()
            ended.set()

        self.model.setCallback(look, None)
        self.model.startCallback(highspy.cb.HighsCallbackType.kCallbackMipInterrupt)
        self.model.setOptionValue("time_limit", float(self.model.getRunTime() + max(seconds, 0.0)))
        if start is not None:
            solution = highspy.HighsSolution()
            solution.col_value = [*start.astype(float).tolist(), 1e30]
            self.model.setSolution(solution)
        Thread(target=run, daemon=True).start()
        while not ended.wait(_LOOK) and not stop.is_set():
            if expired():
                stop.set()
        if not ended.wait(_GRACE):
            return MilpSolution(np.zeros(self.n_features, dtype=bool), max(bounds) * self.scale, False)
        status = self.model.getModelStatus()
        bound = float(self.model.getInfo().mip_dual_bound) * self.scale
        values = np.asarray(self.model.getSolution().col_value)
        chosen = values[: self.n_features] > 0.5 if values.size else np.zeros(self.n_features, dtype=bool)
        finished = status == highspy.HighsModelStatus.kOptimal
        return MilpSolution(chosen, bound if np.isfinite(bound) else -np.inf, finished)
