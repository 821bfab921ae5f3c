"""What the tests of proofs share: small problems, certificates built by hand, and the optimum in exact arithmetic.

Nothing here uses the solvers, nor the checker's own exact arithmetic.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import flint
import numpy as np
from scipy.optimize import lsq_linear

from sparsest.proofs import Certificate
from sparsest.proofs.check import prove
from sparsest.proofs.data import Data
from sparsest.proofs.exact import prove_exactly
from sparsest.proofs.fingerprint import fingerprint
from sparsest.proofs.incumbent import Incumbent, objective_bounds
from sparsest.proofs.losses import RULES
from sparsest.proofs.rounding import growth
from sparsest.proofs.statement import Statement
from sparsest.proofs.steps import Branch, Combination, Fix, Leaf

LOSSES = tuple(RULES)
DEFAULTS = {
    "loss": "squared",
    "offset": False,
    "exposure": False,
    "gamma": 0.3,
    "include": (),
    "exclude": (),
    "fit_intercept": True,
    "standardize": False,
}
PARAMETERS = {"epsilon": 0.1, "delta": 0.7, "quantile": 0.3, "theta": 2.5}


def rule_of(loss, **given):
    """A loss with parameters by name, or with those above."""
    return RULES[loss](**{name: given.get(name, PARAMETERS[name]) for name in RULES[loss].parameters()})


def suited(loss, y):
    """Any numbers as responses of a loss."""
    kind = RULES[loss]
    if kind.classification:
        return np.where(y > 0, 1.0, -1.0)
    return np.abs(y) + (0.05 if kind.positive else 0.0) if kind.log_link else y


def indices(*features):
    return np.array(features, dtype=np.intp)


def sample(n, p, seed=0, loss="squared"):
    """Columns of different sizes and means, and a response that depends on some of them."""
    rng = np.random.default_rng([seed, n, p])
    X = (rng.standard_normal((n, p)) + 0.5 * rng.standard_normal((n, 1))) * rng.uniform(0.5, 2.0, p)
    y = X[:, : max(1, p // 2)].sum(axis=1) + rng.standard_normal(n)
    X += rng.standard_normal(p)
    if RULES[loss].log_link:
        y = np.exp(0.3 * y)
        return X, y if RULES[loss].positive else np.floor(y)
    if not RULES[loss].classification:
        return X, y + 0.5
    y = np.where(y > np.median(y), 1.0, -1.0)
    y[:2] = -1.0, 1.0
    return X, y


def sample_weights(n, seed=0):
    return np.random.default_rng([seed, n, 1]).uniform(0.5, 2.0, n)


def statement_of(X, y, weights=None, **settings):
    """The statement of a problem; one of k and l0_penalty has to be among the settings.

    ``offset`` and ``exposure`` are those of the data, where they have such.
    """
    asked = {"k": None, "l0_penalty": None, "max_coef": None, **DEFAULTS, **settings}
    rule = rule_of(asked["loss"], **{name: asked.pop(name) for name in PARAMETERS if name in asked})
    added = {name: asked.pop(name) for name in ("offset", "exposure")}
    given = {name: value for name, value in added.items() if value is not False}
    data = Data(X, y, weights, rule, asked["fit_intercept"], asked["standardize"], **given)
    flags = {name: name in given for name in added}
    return Statement(n=data.n, p=data.p, fingerprint=fingerprint(data), parameters=asdict(rule), **flags, **asked)


def bounds_of(statement, proof, X, y, weights=None, **added):
    """The rigorous and the exact bound of a proof, with the complaints of either."""
    data = Data.of(statement, X, y, weights, **added)
    return prove(data, statement, proof), prove_exactly(data, statement, proof)


def certificate_of(X, y, proof, weights=None, support=None, lower_bound=None, **settings):
    """A certificate with the best model on a support (by default the forced features), and the bound of its proof."""
    statement = statement_of(X, y, weights, **settings)
    data = Data.of(statement, X, y, weights)
    support = indices(*(statement.include if support is None else support))
    incumbent = model_on(data, statement, support)
    _, objective = objective_bounds(data, statement, incumbent)
    if lower_bound is None:
        lower_bound = min(prove(data, statement, proof).bound, objective)
    return Certificate(statement, incumbent, objective, lower_bound, proof)


def model_on(data, statement, support):
    """Least squares on a support; for other losses coefficients of zero, which are a model too."""
    raw = data.raw(support)
    if statement.loss != "squared":
        return Incumbent(support, np.zeros(support.size), np.zeros(support.size), 0.0)
    total = data.weights.sum()
    center = data.weights @ raw / total if statement.fit_intercept else np.zeros(support.size)
    mean = float(data.weights @ data.response / total) if statement.fit_intercept else 0.0
    X, y = raw - center, data.response - mean
    square = data.weights @ X**2 / total
    d = np.where(square > 0.0, square, 1.0) if statement.standardize else np.ones(support.size)
    M = X.T @ (data.weights[:, None] * X) + np.diag(d / statement.gamma)
    w = np.linalg.lstsq(M, X.T @ (data.weights * y), rcond=None)[0] if support.size else np.empty(0)
    return Incumbent(support, w, center, mean)


def rational(value):
    return flint.fmpq(*float(value).as_integer_ratio())


def fraction(value):
    """A rational of flint as one of the standard library, which compares with floating-point numbers."""
    return Fraction(int(value.p), int(value.q))


class ExactSquares:
    """The squared loss in rational arithmetic, from the data as given."""

    def __init__(self, statement, X, y, weights=None):
        weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
        kept = np.flatnonzero(weights)
        self.statement = statement
        self.weights = [rational(w) for w in weights[kept]]
        self.total = sum(self.weights, flint.fmpq(0))
        self.y = self.centred([rational(v) for v in np.asarray(y, dtype=float)[kept]])
        self.columns = [self.centred([rational(v) for v in x[kept]]) for x in np.asarray(X, dtype=float).T]
        self.ridge = [self._ridge(x) for x in self.columns]

    def centred(self, v):
        if not self.statement.fit_intercept:
            return v
        mean = self.inner(v, [1] * len(v)) / self.total
        return [x - mean for x in v]

    def inner(self, a, b):
        return sum((w * x * z for w, x, z in zip(self.weights, a, b, strict=True)), flint.fmpq(0))

    def _ridge(self, x):
        if np.isinf(self.statement.gamma):
            return flint.fmpq(0)
        d = self.inner(x, x) / self.total if self.statement.standardize and any(x) else flint.fmpq(1)
        return d / rational(self.statement.gamma)

    @cached_property
    def products(self):
        """The inner products of all columns and, as the last of them, the response."""
        lines = [*self.columns, self.y]
        shape = len(lines), len(self.y)
        plain = flint.fmpq_mat(*shape, [v for line in lines for v in line])
        weighted = flint.fmpq_mat(*shape, [w * v for line in lines for w, v in zip(self.weights, line, strict=True)])
        found = (plain * weighted.transpose()).entries()
        return [found[i : i + len(lines)] for i in range(0, len(found), len(lines))]

    def equations(self, support):
        """The matrix and the right side of the normal equations of a support, and half the square of the response."""
        M = [[self.products[i][j] for j in support] for i in support]
        for i, j in enumerate(support):
            M[i][i] += self.ridge[j]
        return M, [self.products[i][-1] for i in support], self.products[-1][-1] / 2

    def value(self, support):
        """The least objective on a support, without the price of its features."""
        M, b, value = self.equations(support)
        for i in range(len(support)):
            if M[i][i] == 0:
                continue
            value -= b[i] * b[i] / (2 * M[i][i])
            for r in range(i + 1, len(support)):
                t = M[r][i] / M[i][i]
                b[r] -= t * b[i]
                M[r] = [x - t * z for x, z in zip(M[r], M[i], strict=True)]
        return value

    def optimum(self):
        """The least objective of all admissible supports, as a fraction."""
        s = self.statement
        free = [j for j in range(s.p) if j not in s.include and j not in s.exclude]
        most = len(free) if s.k is None else min(s.k - len(s.include), len(free))
        # Without a price more features are never worse.
        sizes = range(most + 1) if s.k is None else (most,)
        price = rational(s.price)
        values = (
            self.value([*s.include, *choice]) + price * (len(choice) + len(s.include))
            for size in sizes
            for choice in combinations(free, size)
        )
        return fraction(min(values))


def optimum_of(statement, X, y, weights=None):
    if statement.max_coef is not None:
        return boxed_optimum(statement, X, y, weights)
    return ExactSquares(statement, X, y, weights).optimum()


def boxed_optimum(statement, X, y, weights=None):
    """The least objective of the squared loss with coefficients in a box, by SciPy; what rounding may hide is added."""
    s = statement
    weights = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    root = np.sqrt(weights)
    center = weights / weights.sum() if s.fit_intercept else np.zeros(len(y))
    A, z = root[:, None] * (X - center @ X), root * (y - center @ y)
    square = (A**2).sum(axis=0) / weights.sum()
    d = np.where(square > 0.0, square, 1.0) if s.standardize else np.ones(s.p)
    free = [j for j in range(s.p) if j not in s.include and j not in s.exclude]
    most = len(free) if s.k is None else min(s.k - len(s.include), len(free))
    best = np.inf
    for size in range(most + 1):
        for choice in combinations(free, size):
            chosen = [*s.include, *choice]
            stacked = np.vstack([A[:, chosen], np.diag(np.sqrt(d[chosen] / s.gamma))])
            value = 0.5 * float(z @ z)
            if chosen:
                box = s.max_coef / np.sqrt(d[chosen])
                target = np.append(z, np.zeros(len(chosen)))
                # In units of the box, which may be far from those of the columns.
                w = box * lsq_linear(stacked * box, target, (-1.0, 1.0), method="bvls").x
                value = 0.5 * float(np.sum((stacked @ w - target) ** 2))
            best = min(best, value + s.price * len(chosen))
    return best * (1.0 + 1e-9) + 1e-12 * float(z @ z)


def random_steps(rng, n_points, free, depth=4):
    """The steps of a random proof of a region with these free features."""
    kind = rng.choice(["leaf", "branch", "fix", "combination"]) if len(free) and depth else "leaf"
    if kind == "branch":
        j, *rest = rng.permutation(free).tolist()
        return [
            Branch(j),
            *random_steps(rng, n_points, rest, depth - 1),
            *random_steps(rng, n_points, rest, depth - 1),
        ]
    if kind == "fix":
        order = rng.permutation(free)
        chosen = order[: rng.integers(1, order.size + 1)]
        cut = rng.integers(chosen.size + 1)
        fix = Fix(int(rng.integers(n_points)), chosen[:cut], chosen[cut:])
        return [fix, *random_steps(rng, n_points, order[chosen.size :].tolist(), depth - 1)]
    if kind == "combination":
        points = rng.integers(n_points, size=rng.integers(1, 4))
        return [Combination(points, rng.exponential(size=points.size))]
    return [Leaf(int(rng.integers(n_points)))]


def with_statement(certificate, **changes):
    return replace(certificate, statement=replace(certificate.statement, **changes))


def with_proof(certificate, **changes):
    return replace(certificate, proof=certificate.proof._replace(**changes))


def assert_enclosing(columns, X, weights, alpha):
    """Variances and products of columns, as fractions, are within the bounds that are known of them."""
    # Products first: the pass that finds them finds the bounds too.
    products, bounds, data = columns.products(alpha), columns.bounds, columns.data
    omega = [Fraction(v) for v in weights.tolist()]
    for j, column in enumerate(np.asarray(X, dtype=np.float64).T):
        factor = Fraction(2) ** -int(bounds.exponents[j])
        x = [Fraction(v) for v in column.tolist()]
        constant = len(set(x)) == 1 if data.fit_intercept else not any(x)
        mean = sum(w * v for w, v in zip(omega, x, strict=True)) / sum(omega) if data.fit_intercept else 0
        variance = sum(w * (v - mean) ** 2 for w, v in zip(omega, x, strict=True)) / sum(omega) * factor**2
        exact = Fraction(1) if constant else variance if data.scaled else factor**2
        assert Fraction(bounds.ridge_low[j]) <= exact
        assert np.isinf(bounds.ridge_high[j]) or exact <= Fraction(bounds.ridge_high[j])
        for a, product in zip(alpha.T, products[:, j], strict=True):
            dual = [Fraction(v) for v in a.tolist()]
            truth = sum(u * v for u, v in zip(dual, x, strict=True)) * factor
            size = sum(v * v / w for v, w in zip(dual, omega, strict=True))
            error = Fraction(growth(data.n + 8)) ** 2 * Fraction(bounds.weighted_norms[j]) ** 2 * size
            assert (Fraction(float(product)) - truth) ** 2 <= error + Fraction(1, 2**2000)
