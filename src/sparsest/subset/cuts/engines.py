"""External engines for cutting planes in one tree: SCIP with a constraint handler, Gurobi with lazy constraints."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsest.core.arrays import Mask
from sparsest.subset.cuts.master import Master

# A support is cut off if its objective exceeds the engine's value by more than this share of the incumbent's objective.
_VIOLATED = 1e-6
# The largest constant of a cut, as a multiple of the incumbent's objective: engines reject numbers above their
# infinity, which SCIP takes to be 1e20.
_LARGEST = 1e6

if TYPE_CHECKING:
    from sparsest.subset.cuts.method import _CutSearch


def _missing(package: str, extra: str) -> ValueError:
    return ValueError(f"this engine needs {package}: install it with pip install 'sparsest[{extra}]'")


def _scaled(constant: float, q: np.ndarray, scale: float) -> tuple[float, np.ndarray]:
    """The constant and the coefficients of ``η + q's ≥ constant``, divided by ``scale``, without very large numbers.

    Coefficients are limited to the constant, which gives an equivalent cut because η is nonnegative.  The constant is
    limited too: a support is excluded by a cut far above the incumbent as well as by one that is further above.
    """
    with np.errstate(over="ignore"):
        limited = float(min(np.divide(constant, scale), _LARGEST))
        return limited, np.minimum(q / scale, max(limited, 0.0))


def _is_violated(eta: float, constant: float, q: np.ndarray, chosen: Mask, scale: float) -> bool:
    """Whether an integral point is cut off."""
    limited, coefficients = _scaled(constant, q, scale)
    return bool(eta < limited - coefficients[chosen].sum() - _VIOLATED)


def _terms(coefficients: np.ndarray, variables: Any) -> list[Any]:
    """The terms of a linear expression, without those whose coefficient is 0."""
    return [float(coefficients[j]) * variables[j] for j in np.flatnonzero(coefficients).tolist()]


def run_scip(search: _CutSearch, until: float) -> None:
    """Run one SCIP tree that adds a cut at every violated integral point, until the clock shows ``until`` seconds."""
    try:
        from pyscipopt import Model, quicksum
    except ImportError as error:
        raise _missing("PySCIPOpt", "scip") from error
    master, scale = search.master(), search.scale
    model = Model()
    model.hideOutput()
    s = [model.addVar(vtype="B", lb=float(forced)) for forced in search.forced]
    eta = model.addVar(lb=0.0)
    for row in master.rows:
        total = quicksum(_terms(row.coefficients, s))
        model.addCons(total <= row.high)
        if row.low > -np.inf:
            model.addCons(total >= row.low)

    def cut(constant: float, q: np.ndarray) -> Any:
        limited, coefficients = _scaled(constant, q, scale)
        return quicksum([eta, *_terms(coefficients, s)]) >= limited

    for constant, q in search.cuts():
        model.addCons(cut(constant, q))
    model.includeConshdlr(
        _scip_handler(search, master, model, s, eta, cut), "cuts", "cuts for the objective of a support",
        chckpriority=-10, enfopriority=-10, needscons=False,
    )  # fmt: skip
    model.setObjective(eta + quicksum(_terms(master.prices / scale, s)), "minimize")
    model.setParam("limits/time", max(until - search.clock.seconds(), 0.01))
    model.setParam("limits/gap", 0.3 * search.settings.gap_tol)
    model.setParam("numerics/feastol", 1e-9)
    # Presolving may fix variables by dual arguments, which lazily added cuts invalidate.
    model.setParam("misc/allowstrongdualreds", False)
    model.setParam("misc/allowweakdualreds", False)
    model.optimize()
    # SCIP handles Ctrl-C itself.
    search.clock.interrupted |= model.getStatus() == "userinterrupt" and search.clock.left() > 0.0


def _scip_handler(
    search: _CutSearch, master: Master, model: Any, s: list[Any], eta: Any, cut: Callable[[float, np.ndarray], Any]
) -> Any:
    """The constraint handler that adds cuts to a model with the variables s and eta."""
    from pyscipopt import SCIP_RESULT, Conshdlr

    class Handler(Conshdlr):
        """Adds cuts at integral points."""

        def violated(self, solution: Any, add: bool) -> bool:
            if search.clock.expired():
                model.interruptSolve()
            chosen = np.array([model.getSolVal(solution, variable) > 0.5 for variable in s], dtype=bool)
            if not master.admits(chosen):
                return True  # a candidate of a heuristic that violates a row
            constant, q = search.separate(chosen)
            if not _is_violated(model.getSolVal(solution, eta), constant, q, chosen, search.scale):
                return False
            if add:
                model.addCons(cut(constant, q))
            return True

        def consenfolp(self, constraints: Any, n_useful: int, infeasible: bool) -> dict[str, Any]:
            return {"result": SCIP_RESULT.CONSADDED if self.violated(None, True) else SCIP_RESULT.FEASIBLE}

        def consenfops(self, constraints: Any, n_useful: int, infeasible: bool, objective: bool) -> dict[str, Any]:
            return self.consenfolp(constraints, n_useful, infeasible)

        def conscheck(self, constraints: Any, solution: Any, *checks: Any) -> dict[str, Any]:
            return {"result": SCIP_RESULT.INFEASIBLE if self.violated(solution, False) else SCIP_RESULT.FEASIBLE}

        def conslock(self, constraint: Any, lock: Any, n_positive: int, n_negative: int) -> None:
            for variable in (*s, eta):
                model.addVarLocks(variable, n_positive + n_negative, 0)

    return Handler()


def run_gurobi(search: _CutSearch, until: float) -> None:
    """Run one Gurobi tree with lazy constraints, until the clock shows ``until`` seconds."""
    try:
        import gurobipy
        from gurobipy import GRB, quicksum
    except ImportError as error:
        raise _missing("gurobipy", "gurobi") from error
    master, scale, n_features = search.master(), search.scale, int(search.forced.size)
    model = gurobipy.Model(env=gurobipy.Env(params={"OutputFlag": 0}))
    lower: Any = search.forced.astype(float).tolist()
    s = model.addVars(n_features, vtype=GRB.BINARY, lb=lower)
    eta = model.addVar(lb=0.0)
    model.setObjective(eta + quicksum(_terms(master.prices / scale, s)), GRB.MINIMIZE)
    for row in master.rows:
        total = quicksum(_terms(row.coefficients, s))
        model.addConstr(total <= row.high)
        if row.low > -np.inf:
            model.addConstr(total >= row.low)

    def cut(constant: float, q: np.ndarray) -> Any:
        limited, coefficients = _scaled(constant, q, scale)
        return eta + quicksum(_terms(coefficients, s)) >= limited

    def callback(model: Any, where: int) -> None:
        if where != GRB.Callback.MIPSOL:
            return
        values = model.cbGetSolution(s)
        chosen = np.array([values[j] > 0.5 for j in range(n_features)], dtype=bool)
        constant, q = search.separate(chosen)
        if _is_violated(model.cbGetSolution(eta), constant, q, chosen, scale):
            model.cbLazy(cut(constant, q))
        if search.clock.expired():
            model.terminate()

    for constant, q in search.cuts():
        model.addConstr(cut(constant, q))
    model.Params.LazyConstraints = 1
    model.Params.TimeLimit = max(until - search.clock.seconds(), 0.01)
    model.Params.MIPGap = 0.3 * search.settings.gap_tol
    model.Params.FeasibilityTol = 1e-9
    try:
        model.optimize(callback)
    except gurobipy.GurobiError as error:
        raise ValueError(f"Gurobi could not solve the master problem: {error}") from error
    # Gurobi handles Ctrl-C itself.
    search.clock.interrupted |= model.Status == GRB.INTERRUPTED and search.clock.left() > 0.0
