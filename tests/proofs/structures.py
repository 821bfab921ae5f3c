"""Random structures, and what they admit by their definition; nothing here uses the checker's own rules."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.optimize import lsq_linear

from proofs.helpers import ExactSquares, fraction
from sparsest.proofs.steps import Branch, Combination, Fix, Leaf
from sparsest.proofs.structure import Rules

KINDS = ("units", "prices", "limits", "nested", "requires", "budgets")


def random_units(rng, p, wanted):
    """The unit of each of p columns; not all of the units are contiguous."""
    labels = rng.integers(max(p // 2, 1), size=p) if wanted else np.arange(p)
    order = {}
    return tuple(order.setdefault(int(label), len(order)) for label in labels)


def random_rules(rng, p, kinds=KINDS, admitted=()):
    """Rules of some kinds; the limits on both sides and the budgets admit a set of units."""
    units = random_units(rng, p, "units" in kinds)
    count = max(units) + 1
    chosen = {unit for unit in admitted if unit < count}

    def some(most=count):
        return tuple(rng.permutation(count)[: rng.integers(1, most + 1)].tolist())

    limits, requires, budgets = [], [], []
    if "limits" in kinds:
        for _ in range(rng.integers(1, 4)):
            units_of_limit = some()
            found = len(chosen & set(units_of_limit))
            least = int(rng.integers(found + 1)) if rng.random() < 0.5 else 0
            limits.append((units_of_limit, least, found + int(rng.integers(2))))
    if "nested" in kinds:
        order = rng.permutation(count).tolist()
        for size in sorted({int(rng.integers(1, count + 1)) for _ in range(3)}):
            found = len(chosen & set(order[:size]))
            limits.append((tuple(order[:size]), 0, found + int(rng.integers(2))))
    if "requires" in kinds:
        for _ in range(rng.integers(1, 4)):
            unit, *needed = rng.permutation(count)[: rng.integers(2, 4)].tolist()
            if needed and (unit not in chosen or chosen >= set(needed)):
                requires.append((unit, tuple(needed), bool(rng.random() < 0.5)))
    if "budgets" in kinds:
        costs = tuple(rng.choice([0.0, 0.1, 0.3, 1.0], count).tolist())
        budgets.append((costs, math.fsum(costs[unit] for unit in chosen) + float(rng.choice([0.0, 0.3, 0.6]))))
    prices = tuple(rng.choice([0.0, 0.1, 2.0, 7.5], count).tolist()) if "prices" in kinds else None
    return Rules(units if "units" in kinds else None, prices, tuple(limits), tuple(requires), tuple(budgets))


def units_by_definition(rules, p):
    return list(range(p)) if rules.units is None else list(rules.units)


def admits(statement, chosen):
    """Whether a set of units is a support by the definition, forced features included."""
    rules, unit_of = statement.structure, units_by_definition(statement.structure, statement.p)
    if not {unit_of[j] for j in statement.include} <= chosen or {unit_of[j] for j in statement.exclude} & chosen:
        return False
    if statement.k is not None and len(chosen) > statement.k:
        return False
    if any(not least <= len(chosen & set(units)) <= most for units, least, most in rules.limits):
        return False
    for unit, needed, every in rules.requires:
        if unit in chosen and not (chosen >= set(needed) if every else chosen & set(needed)):
            return False
    return all(math.fsum(costs[unit] for unit in chosen) <= most for costs, most in rules.budgets)


def supports(statement):
    """All admissible sets of units."""
    count = max(units_by_definition(statement.structure, statement.p)) + 1
    every = (set(choice) for size in range(count + 1) for choice in combinations(range(count), size))
    return [chosen for chosen in every if admits(statement, chosen)]


def price(statement, chosen):
    prices = statement.structure.prices
    return math.fsum(prices[unit] for unit in chosen) if prices else (statement.l0_penalty or 0.0) * len(chosen)


class BoundedSquares:
    """The least squared loss on a support with a ridge and limits of coefficients, by SciPy."""

    def __init__(self, statement, X, y, weights=None):
        s = self.statement = statement
        weights = np.ones(len(y)) if weights is None else weights
        root, share = np.sqrt(weights), weights / weights.sum()
        center = share if s.fit_intercept else np.zeros(len(y))
        self.A, self.z = root[:, None] * (X - center @ X), root * (y - center @ y)
        square = (self.A**2).sum(axis=0) / weights.sum()
        d = np.where(square > 0.0, square, 1.0) if s.standardize else np.ones(s.p)
        self.ridge = d / s.gamma
        box = np.full(s.p, np.inf) if s.max_coef is None else s.max_coef / np.sqrt(d)
        self.low = np.maximum(-box, -np.inf if s.lower is None else np.array(s.lower))
        self.high = np.minimum(box, np.inf if s.upper is None else np.array(s.upper))
        self._values = {(): 0.5 * float(self.z @ self.z)}

    def value(self, columns):
        """The optimum on some columns, without prices; each is computed once."""
        free = tuple(j for j in columns if self.low[j] < self.high[j])
        if free not in self._values:
            self._values[free] = self._least_squares(list(free))
        return self._values[free]

    def _least_squares(self, free):
        stacked = np.vstack([self.A[:, free], np.diag(np.sqrt(self.ridge[free]))])
        target, low, high = np.append(self.z, np.zeros(len(free))), self.low[free], self.high[free]
        w, *_ = np.linalg.lstsq(stacked, target, rcond=None)
        if (w < low).any() or (w > high).any():
            w = np.clip(lsq_linear(stacked, target, (low, high), method="bvls").x, low, high)
        return 0.5 * float(np.sum((stacked @ w - target) ** 2))

    def least(self, sets_of_units):
        """The smallest objective over some sets of units; infinite if there is none."""
        unit_of = units_by_definition(self.statement.structure or Rules(), self.statement.p)
        values = (
            self.value([j for j in range(self.statement.p) if unit_of[j] in chosen])
            + (price(self.statement, chosen) if self.statement.structure else self.statement.price * len(chosen))
            for chosen in sets_of_units
        )
        return min(values, default=np.inf)


def optimum(statement, X, y, weights=None):
    """The smallest objective of a problem with a structure; slightly above it if coefficients have limits."""
    if statement.lower is None and statement.upper is None and statement.max_coef is None:
        exact = ExactSquares(statement, X, y, weights)
        unit_of = units_by_definition(statement.structure, statement.p)
        return min(
            fraction(exact.value([j for j in range(statement.p) if unit_of[j] in chosen]))
            + exact_price(statement, chosen)
            for chosen in supports(statement)
        )
    squares = BoundedSquares(statement, X, y, weights)
    return squares.least(supports(statement)) * (1.0 + 1e-9) + 1e-12 * float(squares.z @ squares.z)


def exact_price(statement, chosen):
    prices = statement.structure.prices
    each = Fraction(statement.l0_penalty or 0.0)
    return sum((Fraction(prices[unit]) if prices else each for unit in chosen), Fraction(0))


def random_structured_steps(rng, n_points, n_prices, p, depth=4):
    """The steps of a random proof; also about units that the rules have decided."""
    number = None if rng.random() < 0.4 or not n_prices else int(rng.integers(n_prices))
    kind = rng.choice(["leaf", "branch", "fix", "combination"]) if depth else "leaf"
    if kind == "branch":
        sides = [random_structured_steps(rng, n_points, n_prices, p, depth - 1) for _ in range(2)]
        return [Branch(int(rng.integers(p))), *sides[0], *sides[1]]
    if kind == "fix":
        chosen = rng.permutation(p)[: rng.integers(1, p + 1)]
        cut = rng.integers(chosen.size + 1)
        fix = Fix(int(rng.integers(n_points)), chosen[:cut], chosen[cut:], number)
        return [fix, *random_structured_steps(rng, n_points, n_prices, p, depth - 1)]
    if kind == "combination":
        points = rng.integers(n_points, size=rng.integers(1, 4))
        return [Combination(points, rng.exponential(size=points.size))]
    return [Leaf(int(rng.integers(n_points)), number)]
