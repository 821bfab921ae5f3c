"""Find a choice of units that keeps all rules, by propagation or, if that is not enough, by a small integer program."""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array, Mask
from sparsest.core.structure.rules import Rules
from sparsest.core.structure.structured import StructuredSparsity

# Seconds for the integer program, which is easy unless budgets and overlapping limits are contrived.
_SECONDS = 10.0


def find_choice(rule: StructuredSparsity, forced: Mask, banned: Mask) -> tuple[int, ...] | None:
    """Units that keep the rule, with those forced and without those banned; None if there are none."""
    state = forced.astype(np.int8) - banned.astype(np.int8)
    state[rule.sizes == 0] = -1
    if not rule.rules.propagate(state, rule.most_units):
        return None
    if rule.keeps(state == 1):
        return tuple(np.flatnonzero(state == 1).tolist())
    return _by_program(rule, state == 1, state == -1)


def rows_of(rules: Rules) -> tuple[Array, Array]:
    """The rules apart from the number of units as rows ``A s ≤ β`` over the units."""
    rows: list[Array] = []
    right: list[float] = []

    def add(units: tuple[int, ...], sign: float, most: float) -> None:
        row = np.zeros(rules.n_units)
        row[list(units)] = sign
        rows.append(row)
        right.append(most)

    for limit in rules.limits:
        add(limit.units, 1.0, limit.most)
        if limit.least > 0:
            add(limit.units, -1.0, -limit.least)
    for one in rules.requires:
        for needed in [(g,) for g in one.needed] if one.all else [one.needed]:
            add(needed, -1.0, 0.0)
            rows[-1][one.unit] = 1.0
    for budget in rules.budgets:
        rows.append(np.array(budget.costs))
        right.append(budget.most)
    return np.array(rows).reshape(-1, rules.n_units), np.array(right)


def _by_program(rule: StructuredSparsity, forced: Mask, banned: Mask) -> tuple[int, ...] | None:
    """The smallest choice by an integer program."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    A, b = rows_of(rule.rules)
    size = rule.n_units
    constraints = [LinearConstraint(np.ones((1, size)), -np.inf, rule.most_units)]
    if b.size:
        constraints.append(LinearConstraint(A, -np.inf, b))
    found = milp(
        np.ones(size),
        integrality=np.ones(size),
        bounds=Bounds(forced.astype(float), 1.0 - banned),
        constraints=constraints,
        options={"time_limit": _SECONDS},
    )
    if found.x is None:
        return None
    chosen = np.asarray(found.x) > 0.5
    return tuple(np.flatnonzero(chosen).tolist()) if rule.keeps(chosen) else None
