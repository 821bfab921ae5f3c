"""The loss of Tweedie regression of power 1.5 in the checker."""

from __future__ import annotations

import numpy as np

from sparsest.proofs.enclosures import Number, above, rational, root
from sparsest.proofs.losses.base import LossRule, safe_log
from sparsest.proofs.rounding import UNIT, Array


class Tweedie(LossRule):
    """``2e^{u/2} + 2ye^{-u/2} - 4√y`` with y ≥ 0."""

    log_link = True

    def project(self, y: Array, alpha: Array, weights: Array) -> Array:
        return np.where(y > 0.0, alpha, np.maximum(alpha, 0.0))

    def conjugate(self, y: Array, alpha: Array, weights: Array) -> tuple[Array, Array]:
        # With a = α/ω it is ω times the maximum of 2a log t - 2t - 2y/t + 4√y, at the positive root of t² - at - y.  An
        # error of the root has an effect of second order.
        a = alpha / weights
        large = 0.5 * (np.abs(a) + np.sqrt(a * a + 4.0 * y))
        small = np.where(large > 0.0, y / np.where(large > 0.0, large, 1.0), 0.0)
        t = np.where(a >= 0.0, large, small)
        gain = a * safe_log(t)
        terms = 2.0 * (gain - large - small) + 4.0 * np.sqrt(y)
        # If squares or quotients underflow, nothing is proved.
        usable = (a == 0.0) | ((np.maximum(np.abs(a), np.sqrt(y)) > 1e-140) & (t > 1e-290))
        sizes = 2.0 * (np.abs(gain) + np.abs(a) + large + small) + 4.0 * np.sqrt(y)
        return weights * terms, weights * np.where(usable, sizes, np.inf)

    def value(self, y: Array, margin: Array, error: Array) -> tuple[Array, Array]:
        up, down = np.exp(0.25 * margin), np.sqrt(y) * np.exp(-0.25 * margin)
        difference, off = up - down, 16.0 * UNIT * (up + down)
        # ½e² times a curvature that grows by at most e^{e/2} within the error.
        bend = 0.26 * (up * up + down * down) * np.exp(0.5 * error)
        slope = np.abs(up * up - down * down) + 32.0 * UNIT * (up * up + down * down)
        rounding = 4.0 * np.abs(difference) * off + 2.0 * off * off + 8.0 * UNIT * difference * difference
        return 2.0 * difference * difference, slope * error + bend * error * error + rounding

    def derivative(self, y: Array, margin: Array) -> tuple[Array, Array]:
        half = np.minimum(np.maximum(0.5 * margin, -350.0), 350.0)
        up, down = np.exp(half), y * np.exp(-half)
        return up - down, 0.5 * (up + down)

    def contains(self, y: Number, alpha: Number, weight: Number) -> bool:
        return bool(y > 0 or alpha >= 0)

    def exact_conjugate(self, y: Number, alpha: Number, weight: Number) -> Number:
        a = alpha / weight
        if a == 0:
            return rational(0.0)

        def enclose() -> object:
            large = (abs(a) + root(a * a + 4 * y)) / 2
            t = large if a > 0 else y / large
            return 2 * (a * t.log() - large - y / large) + 4 * root(y)

        return weight * above(enclose)
