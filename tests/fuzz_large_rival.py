"""Models of large problems, measured and fitted without the library: none may cost less than a claimed bound."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from fuzz_losses import CLASSIFICATION, DIFFERENCES, LOGARITHMIC, Pieces

# Parameters of losses where they are not given.
DEFAULTS = {
    "epsilon_insensitive": ("epsilon", 0.1),
    "squared_epsilon_insensitive": ("epsilon", 0.1),
    "huber": ("delta", 1.35),
    "quantile": ("quantile", 0.5),
    "negative_binomial": ("theta", 1.0),
}
WIDE = np.longdouble
MOST_STEPS = 300


class Measure:
    """The objective of models on few columns, in extended precision.

    Parameters
    ----------
    instance : data and problem
    y : the response, which may be another than the instance's
    gamma : the ridge, as a number
    """

    def __init__(self, instance, y, gamma):
        self.instance, self.problem, self.gamma = instance, instance.problem, gamma
        weights = instance.rows.get("sample_weight")
        self.kept = slice(None) if weights is None else np.flatnonzero(weights)
        self.weights = (np.ones(len(y)) if weights is None else weights)[self.kept].astype(WIDE)
        self.total = self.weights.sum()
        self.loss = self.problem["loss"]
        target = np.where(y == y.max(), 1.0, -1.0) if self.loss in CLASSIFICATION else y
        self.y = target[self.kept].astype(WIDE)
        self.added = np.zeros(self.y.size, dtype=WIDE)
        if "offset" in instance.rows:
            self.added += instance.rows["offset"][self.kept]
        if "exposure" in instance.rows:
            self.added += np.log(instance.rows["exposure"][self.kept].astype(WIDE))
        name, usual = DEFAULTS.get(self.loss, (None, 0.0))
        self.parameter = WIDE(self.problem.get(name, usual))
        self.price = self.problem.get("l0_penalty", 0.0)

    def columns(self, support):
        """Columns about a point near their means if there is an intercept, that point, and the ridge's factors."""
        raw = self.instance.columns(support)[self.kept].astype(WIDE)
        centre = np.zeros(raw.shape[1], dtype=WIDE)
        if self.problem["fit_intercept"] and raw.shape[1]:
            centre = raw[0] + self.weights @ (raw - raw[0]) / self.total
        about = raw - centre
        squares = self.weights @ about**2 / self.total
        factors = np.where(squares > 0.0, squares, 1.0) if self.problem["standardize"] else np.ones_like(squares)
        return about, centre, factors

    def objective(self, support, coef, constant):
        """The objective of ``x'coef + constant``, with what rounding of these numbers may have changed of it."""
        about, centre, factors = self.columns(support)
        coef = coef.astype(WIDE)
        margin = about @ coef + (centre @ coef + WIDE(constant)) + self.added
        value = self._losses(self.y, margin) + self.price * len(support)
        if np.isfinite(self.gamma):
            value += (factors @ coef**2) / (2.0 * WIDE(self.gamma))
        terms = np.abs(about) @ np.abs(coef) + np.abs(centre) @ np.abs(coef) + abs(constant) + np.abs(self.added)
        moved = (coef.size + 4) * WIDE(2.0**-52) * (terms + np.abs(self.y) * (self.loss in DIFFERENCES))
        pieces = Pieces(self.loss, self.y, self.parameter)
        if pieces.lipschitz:
            return float(value), float(self.weights @ moved)
        z = pieces.arguments(margin)
        first, second = (np.abs(part).max(axis=1) for part in pieces.slopes(z))
        bent = np.maximum(second, 1.0) * moved**2 + 2.0**-46 * pieces.sizes(z).sum(axis=1)
        return float(value), float(self.weights @ (first * moved + bent))

    def _losses(self, y, margin):
        pieces = Pieces(self.loss, y, self.parameter)
        return self.weights @ pieces.value(pieces.arguments(margin)).sum(axis=1)

    def fitted(self, support):
        """The objective of a model on these columns, which is fitted by a general method and measured afterwards."""
        about, _, factors = self.columns(support)
        scale = np.sqrt(self.weights @ about**2 / self.total)
        scale[scale == 0.0] = 1.0
        # Responses of losses of differences, offset included, are taken about their middle.
        shift, y = WIDE(0.0), self.y
        added = self.added
        if self.loss in DIFFERENCES:
            y, added = self.y - self.added, np.zeros_like(self.added)
            shift = np.median(y) if self.problem["fit_intercept"] else WIDE(0.0)
            y = y - shift
        limits = self.limits(support)
        w, b = self._fit((about / scale).astype(float), y, added, (factors / scale**2).astype(float), scale, limits)
        margin = about @ (w / scale) + b + added
        value = self._losses(y, margin) + self.price * len(support)
        if np.isfinite(self.gamma):
            value += (factors @ (w / scale) ** 2) / (2.0 * WIDE(self.gamma))
        return float(value)

    def limits(self, support):
        """The limits of coefficients, each 0 or infinite, so that they do not depend on units."""
        sides = self.problem.get("lower", -np.inf), self.problem.get("upper", np.inf)
        return [np.broadcast_to(side, self.instance.X.shape[1])[np.asarray(support, dtype=np.intp)] for side in sides]

    def _fit(self, A, y, added, factors, scale, limits):
        """Coefficients of columns of mean square 1, and the constant beside them."""
        pieces, omega = Pieces(self.loss, y.astype(float), float(self.parameter)), self.weights.astype(float)
        added, with_constant, m = added.astype(float), self.problem["fit_intercept"], A.shape[1]
        size = max(float(np.std(y.astype(float))), 1e-300) if self.loss in DIFFERENCES else 1.0
        unit = max(float(self._losses(y, self.added * 0.0)), 1e-300)

        def value(x):
            w, b = x[:m] * size, x[m] * size * with_constant
            z = pieces.arguments(A @ w + b + added)
            slope = omega * (-(pieces.s * pieces.slopes(z)[0]).sum(axis=1))
            ridge = factors * w / self.gamma
            total = omega @ pieces.value(z).sum(axis=1) + 0.5 * (w @ ridge)
            return total / unit, size * np.append(A.T @ slope + ridge, with_constant * slope.sum()) / unit

        most = self.problem.get("max_coef", np.inf) * (1.0 - 1e-9) / size
        if not self.problem["standardize"]:
            most = most * scale.astype(float)
        most = np.broadcast_to(most, m)
        bounds = [*zip(np.maximum(-most, limits[0]), np.minimum(most, limits[1]), strict=True), (None, None)]
        start = np.zeros(m + 1)
        if self.loss in LOGARITHMIC and with_constant:
            start[m] = np.log(float(self.weights @ y / (self.weights @ np.exp(added.astype(WIDE)))))
        # Threads that wait for each other take most of the time of so small matrices.
        with np.errstate(all="ignore"), threadpool_limits(1, user_api="blas"):
            found = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": MOST_STEPS})
        x = found.x if np.isfinite(found.x).all() else start
        return x[:m].astype(WIDE) * size, WIDE(x[m]) * size * with_constant

    def sizes(self, support, coef):
        """What ``max_coef`` limits."""
        _, _, factors = self.columns(support)
        return (np.sqrt(factors) * np.abs(coef)).astype(float)


def rivals(measure, result_support):
    """Admissible supports that a user might try: the planted one, the largest correlations, and the result's own."""
    problem, p = measure.problem, measure.instance.X.shape[1]
    must, never = set(problem["include"]), set(problem["exclude"])
    room = problem.get("k", len(must) + 8) - len(must)
    for wanted in (measure.instance.planted, _correlated(measure, room + len(must) + len(never) + 8), result_support):
        free = [int(j) for j in wanted if j not in must and j not in never and j < p]
        yield tuple(sorted([*must, *free[:room]]))


def _correlated(measure, count):
    """Columns in order of their products with the response, on their own scales."""
    X, kept = measure.instance.X, measure.kept
    if not isinstance(X, np.ndarray) or X.shape[1] > 5000:
        return ()
    y = (measure.y - measure.added).astype(float)
    r = np.zeros(X.shape[0])
    r[kept] = measure.weights.astype(float) * (y - float(measure.weights @ y.astype(WIDE) / measure.total))
    products, spread = np.abs(r @ X), X.std(axis=0, dtype=np.float64)
    score = np.where(spread > 0.0, products / np.where(spread > 0.0, spread, 1.0), 0.0)
    return np.argsort(-score, kind="stable")[:count]
