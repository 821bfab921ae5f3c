"""The oracle of the fuzz for coefficients with limits: models that exist, found by SciPy and evaluated in 70 digits.

No lower bound can be above the objective of a model whose coefficients keep their limits, and no model that is called
optimal can be worse than another by more than the tolerance.  Models are sought in float64 on centred columns in units
of their spread; piecewise linear losses are smoothed less and less.  How good they are decides only how much is found.
"""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
from scipy.optimize import minimize

from fuzz_losses import DIFFERENCES, Pieces
from fuzz_oracle import GEOMETRY_DIGITS, objective_of

# The largest number of supports that are tried, and of the best ones that are evaluated in 70 digits.
SUPPORTS, EVALUATED = 60, 3
OPTIONS = {"ftol": 1e-15, "maxiter": 300}
# Widths of the zone in which a kink is smoothed, as parts of the largest response.
WIDTHS = (1e-1, 1e-3, 1e-5, 1e-7)
# Coefficients stay so far inside, relatively, that rounding cannot bring them out.
INSIDE = 1.0 - 1e-12


class BoxOracle:
    """Values of models of a question; ``best`` is the lowest objective known of any."""

    def __init__(self, question):
        self.question = question
        supports = question.supports()
        if len(supports) > SUPPORTS:
            chosen = np.random.default_rng(0).choice(len(supports), SUPPORTS, replace=False)
            supports = [supports[i] for i in chosen]
        models = {support: self._model(support) for support in supports}
        best = sorted(supports, key=lambda support: models[support][0])[:EVALUATED]
        self.best = min(self._objective(support, *models[support][1:]) for support in best)

    def bracket(self, support):
        """No number is known to be below what a support can reach; above is the objective of a model of it."""
        return -np.inf, self._objective(support, *self._model(support)[1:])

    def _objective(self, support, w, intercept):
        coef = np.zeros(self.question.X.shape[1])
        coef[list(support)] = w
        return objective_of(self.question, support, coef, intercept)[0]

    def _model(self, support):
        """A value in float64, and the coefficients and the intercept of a model within the limits."""
        question, support = self.question, list(support)
        centre = question.fit_intercept * (question.weights @ question.X) / question.weights.sum()
        columns = (question.X - centre)[:, support]
        spread = np.abs(columns).max(axis=0, initial=0.0)
        spread[spread == 0.0] = 1.0
        factors = question.rounded_factors[support]
        box = np.inf if question.max_coef is None else INSIDE * question.max_coef / np.sqrt(factors)
        low, high = (side[support] for side in question.limits)
        low, high = np.maximum(low, -box), np.minimum(high, box)
        shifts = question.fit_intercept and question.loss in DIFFERENCES
        y_centre = float(np.median(question.y)) if shifts else 0.0
        value, t, b = self._minimise(
            columns / spread, question.y - y_centre, (low * spread, high * spread), factors / spread**2
        )
        w = np.clip(t / spread, low, high)
        with localcontext(prec=GEOMETRY_DIGITS):
            moved = sum((Decimal(a) * Decimal(c) for a, c in zip(w, centre[support], strict=True)), Decimal(0))
            intercept = Decimal(b) + Decimal(y_centre) - moved
        return value + question.price(support), w, intercept

    def _minimise(self, A, y, limits, factors):
        question = self.question
        pieces = Pieces(question.loss, y, question.parameter)
        size = float(np.abs(y).max()) or 1.0
        x = np.zeros(A.shape[1] + question.fit_intercept)
        bounds = [*zip(*limits, strict=True), *[(None, None)] * question.fit_intercept]
        reached = float(question.weights @ pieces.value(pieces.arguments(0.0 * y)).sum(axis=-1))
        if not x.size:
            return reached, x, 0.0
        for width in WIDTHS if pieces.kind == "plus" else (0.0,):

            def value(x, width=width * size):
                w, b = x[: A.shape[1]], x[A.shape[1] :].sum()
                z = pieces.arguments(A @ w + b)
                if pieces.kind == "plus":
                    inner = np.clip(z, 0.0, width)
                    losses, slopes = inner * (z - 0.5 * inner) / width, inner / width
                else:
                    losses, slopes = pieces.value(z), pieces.slopes(z)[0]
                alpha = question.weights * -(slopes * pieces.s).sum(axis=-1)
                ridge = factors * w / question.gamma
                fit = float(question.weights @ losses.sum(axis=-1))
                return fit + 0.5 * float(ridge @ w), np.append(
                    A.T @ alpha + ridge, [alpha.sum()] * question.fit_intercept
                )

            with np.errstate(all="ignore"):
                found = minimize(value, x, jac=True, method="L-BFGS-B", bounds=bounds, options=OPTIONS)
            if np.isfinite(found.x).all():
                x, reached = found.x, float(found.fun)
        return reached, x[: A.shape[1]], float(x[A.shape[1] :].sum())


def outside(question, coef):
    """The features whose coefficients leave their limits, decided in 70 digits."""
    low, high = question.limits
    beyond = set(np.flatnonzero((coef < low) | (coef > high)).tolist())
    if question.max_coef is not None:
        with localcontext(prec=GEOMETRY_DIGITS):
            most = Decimal(question.max_coef) ** 2
            sizes = [d * Decimal(float(w)) ** 2 for d, w in zip(question.ridge_factors, coef, strict=True)]
            beyond |= {j for j, size in enumerate(sizes) if size > most}
    return sorted(beyond)
