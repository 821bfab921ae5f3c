"""Paths of penalised fits over a falling penalty strength.

    min_{w,b}  (1/Σω) Σ_i ω_i ℓ(y_i, x_i'w + b) + Σ_j φ(w_j; λ f_j)

over the columns of the design, standardised or not, with f the penalty factors.  Convex penalties stop at a duality gap
relative to the loss of the constant model, the others at the largest violation of the stationarity conditions relative
to λ.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.core.arrays import Array
from sparsest.core.data import Data
from sparsest.core.designs import PassStopped, shift_and_scale, stopping, unstandardized
from sparsest.core.penalties import Penalty
from sparsest.core.strengths import put_within
from sparsest.paths.features import FeatureRules
from sparsest.paths.path_result import PathResult, Stop
from sparsest.paths.review import improve
from sparsest.paths.task import Task, make_task
from sparsest.paths.walk import Fit, Walk
from sparsest.paths.walks import make_walk
from sparsest.runtime.clock import Clock
from sparsest.runtime.threads import single_threaded

# The smallest alpha of an automatic grid as a share of the largest, with fewer observations than features and
# otherwise: glmnet's choice.
_SMALLEST_SHARES = 1e-2, 1e-4
# The same for penalties that are rescaled by the curvature of the loss: ncvreg's choice.
_SMALLEST_RESCALED_SHARES = 5e-2, 1e-3
# Default tolerances in the same two cases.  Objectives are then no worse than those of glmnet and adelie at their
# defaults: relative errors of up to 1.6e-4 where theirs are 3e-4 to 8e-4, and of 5e-7 where theirs are 6e-7 to 1e-5.
_WIDE_TOL, _TALL_TOL = 2e-3, 1e-5
# Concave penalties stop at violations, which are then no larger than those of pycasso: 3e-2 to 1e-1, and 3e-2 to 5e-2.
# A fifth of the first takes 1.6 times as long and leads to other local minima whose objectives are equal on average:
# mean differences of -0.4 to 0.6 % on four paths.  With the second, objectives are off by 1e-9 in the median and 1e-4
# at most, on six paths; a tenth of it takes 1.1 to 1.6 times as long.
_WIDE_CONCAVE_TOL, _TALL_CONCAVE_TOL = 1e-2, 1e-3
# Range of alphas, relative to the smallest one with an empty model.  Models of larger alphas are empty, too, and below
# the second number the penalty is lost in the rounding of the loss.
_LARGEST_ALPHA, _SMALLEST_ALPHA = 2.0, 1e-30
# Alphas on the way to the first one that the user gives fall by this factor at most; those of ncvreg's grids by 0.93.
_STEP_OF_LEAD = 0.9
# Bisection between two alphas ends when their relative difference is below this.
_NEAREST_ALPHAS = 1e-6


@dataclass(frozen=True, eq=False)
class PathSolver:
    """Settings of a path.

    Attributes
    ----------
    penalty : φ.
    alphas : the alphas in decreasing order, or how many to choose.
    max_features : a solution with this many nonzero coefficients is the last.
    n_features : the last solution has at most this many features, and exactly as many where the path has such a one.
    tol : precision of each solution, see :func:`sparsest.penalty_path`.
    max_iter : sweeps for each alpha.
    time_limit : seconds after which no further alpha is begun.
    with_lasso : whether a concave penalty's solutions are also compared with those to which the Lasso leads; never for
        data that is read on demand, because each start would take several passes.
    """

    penalty: Penalty
    alphas: Array | int = 100
    max_features: int | None = None
    n_features: int | None = None
    tol: float = 1e-5
    max_iter: int = 10_000
    time_limit: float = np.inf
    with_lasso: bool = True

    def solve(self, data: Data, rules: FeatureRules, clock: Clock | None = None) -> PathResult:
        """Return the solutions for all alphas; ``clock`` is that of the call, by default a new one."""
        clock = Clock(self.time_limit) if clock is None else clock
        unit = rules.usual_factor
        task = make_task(data, self.penalty, replace(rules, factor=rules.factor / unit), self.tol, self.max_iter)
        # The matrices of a working set are small: threads of BLAS would cost more than they bring.
        with clock.listening(), single_threaded():
            walk = make_walk(task)
            alphas = _alpha_grid(self.alphas, walk.alpha_max / unit, task).copy()
            solved_for = _within_reach(alphas, unit, walk.alpha_max)
            before = self._before(solved_for[0], walk.alpha_max)
            steps = np.concatenate([before, solved_for])
            fits: list[Fit] = []
            # A pass over data on disk or on a cluster may take long: it ends early too, once there is a solution.
            with stopping(unstandardized(task.view), lambda: bool(fits) and clock.expired()):
                stopped = self._ended(walk, steps, fits, clock)
                if self.n_features is None:
                    most = walk.outside.size if self.max_features is None else self.max_features
                    with suppress(PassStopped):
                        in_memory = unstandardized(task.view).reading is None
                        improve(walk, steps, fits, most, clock, self.with_lasso and in_memory)
        # An alpha may have been replaced to reach ``n_features``.
        alphas = np.where(steps[before.size :] == solved_for, alphas, steps[before.size :] / unit)
        path = _collect(task, alphas, fits, before.size, walk.null_intercept, stopped, clock.seconds())
        if rules.lower is not None and rules.upper is not None:
            # The conversion to units of the data rounds.
            rows = path.coefs.indices
            path.coefs.data[:] = put_within(path.coefs.data, rules.lower[rows], rules.upper[rows])
        return path

    def _before(self, first: float, alpha_max: float) -> Array:
        """Larger alphas that lead to the first one: which minimum of a concave penalty is found depends on the way.

        From the empty model directly it would also depend on rounding errors.
        """
        limited = self.max_features is not None or self.n_features is not None
        if self.penalty.convex or limited or not 0.0 < first < _STEP_OF_LEAD * alpha_max:
            return np.empty(0)
        count = int(np.ceil(np.log(first / alpha_max) / np.log(_STEP_OF_LEAD)))
        return np.geomspace(alpha_max, first, count + 1)[:-1]

    def _ended(self, walk: Walk, alphas: Array, fits: list[Fit], clock: Clock) -> Stop:
        """Append the solutions for the alphas in order; returns why the path ended."""
        try:
            return self._follow(walk, alphas, fits, clock)
        except PassStopped:
            return _early(clock)

    def _follow(self, walk: Walk, alphas: Array, fits: list[Fit], clock: Clock) -> Stop:
        # Alphas that the user gives are solved even if the fit is perfect; concave penalties may have no minimum there.
        may_saturate = isinstance(self.alphas, int) or not self.penalty.convex
        counts = [] if self.max_features is None else [self.max_features]
        counts += [] if self.n_features is None else [self.n_features + 1]
        most = min([walk.outside.size + 1, *counts])
        while len(fits) < alphas.size:
            expired = clock.expired()
            if fits and expired:
                return _early(clock)
            # However short the time, the first alpha is solved.
            ahead = alphas[:1] if expired else alphas[len(fits) :]
            for fit in walk.follow(ahead, most, may_saturate):
                if self.n_features is not None and fit.w.size > self.n_features:
                    self._look_for(self.n_features, walk, alphas, fits, clock)
                    return Stop.N_FEATURES
                ends = fit.saturated and may_saturate
                # Where classes are separated or the fit is perfect, a concave penalty may have no minimum: a point that
                # has not converged is not a solution then.
                if ends and not self.penalty.convex and fit.kkt > self.tol:
                    return Stop.SATURATED
                if self.max_features is None or fit.w.size <= self.max_features:
                    fits.append(fit)
                    if self._tell(clock, fit, len(fits), alphas.size):
                        return Stop.INTERRUPTED
                if self.max_features is not None and fit.w.size >= self.max_features:
                    return Stop.MAX_FEATURES
                if ends:
                    return Stop.SATURATED
        return Stop.COMPLETE

    @staticmethod
    def _tell(clock: Clock, fit: Fit, n_done: int, n_alphas: int) -> bool:
        """Tell of a solution; whether the callback ends the path."""
        before = clock.interrupted
        clock.solved(n_done, n_alphas, fit.w.size)
        return clock.interrupted and not before

    def _look_for(self, k: int, walk: Walk, alphas: Array, fits: list[Fit], clock: Clock) -> None:
        """Bisect between the last alpha and the next, which has too many features, for a solution with k features."""
        n_solved = len(fits)
        low, high = float(alphas[n_solved]), float(alphas[n_solved - 1]) if fits else walk.alpha_max
        most = fits[-1].w.size if fits else -1
        while most < k and high > low * (1.0 + _NEAREST_ALPHAS) and not clock.expired():
            middle = float(np.sqrt(low * high))
            fit = walk.advance(middle)
            if fit.w.size > k:
                low = middle
            else:
                high = alphas[n_solved] = middle
                most, fits[n_solved:] = fit.w.size, [fit]


def _early(clock: Clock) -> Stop:
    return Stop.INTERRUPTED if clock.interrupted else Stop.TIME_LIMIT


def default_tol(shape: tuple[int, int], convex: bool) -> float:
    """The default tolerance."""
    if shape[0] < shape[1]:
        return _WIDE_TOL if convex else _WIDE_CONCAVE_TOL
    return _TALL_TOL if convex else _TALL_CONCAVE_TOL


def _within_reach(alphas: Array, unit: float, alpha_max: float) -> Array:
    """The alphas times the unit, limited to the range in which different alphas have different solutions."""
    top = alpha_max if alpha_max > 0.0 else 1.0
    with np.errstate(over="ignore", under="ignore"):
        return np.clip(alphas * unit, _SMALLEST_ALPHA * top, _LARGEST_ALPHA * top)


def _alpha_grid(alphas: Array | int, alpha_max: float, task: Task) -> Array:
    """The given alphas, or an automatic grid, in decreasing order."""
    if not isinstance(alphas, int):
        return alphas
    # A constant response has the empty model for every alpha, so any scale is right.
    top = alpha_max if alpha_max > 0.0 else 1.0
    wide, tall = _SMALLEST_RESCALED_SHARES if task.rescaled else _SMALLEST_SHARES
    share = wide if task.view.shape[0] < task.view.shape[1] else tall
    return np.geomspace(top, top * share, alphas)


def _collect(
    task: Task, alphas: Array, fits: list[Fit], n_before: int, null_intercept: float, stopped: Stop, seconds: float
) -> PathResult:
    """Turn solutions of the view into coefficients for the data; the last stands in for those that are missing.

    The first ``n_before`` solutions are for alphas that led to the first one of the path.
    """
    models = [(fit.features, fit.w, fit.b) for fit in fits]
    filler = models[-1] if models else (np.empty(0, dtype=np.intp), np.empty(0), null_intercept)
    models, fits = models[n_before:], fits[n_before:]
    m, n_solved, convex = alphas.size, len(fits), task.penalty.convex
    models += [filler] * (m - n_solved)
    counts = np.array([index.size for index, _, _ in models], dtype=np.int_)
    rows = np.concatenate([index for index, _, _ in models])
    shift, scale = shift_and_scale(task.view, rows)
    entries = np.concatenate([w for _, w, _ in models]) / scale
    constants: Array = -np.bincount(np.repeat(np.arange(m), counts), shift * entries, m).astype(np.float64)
    coefs = sp.csc_array((entries, rows, np.append(0, counts.cumsum())), shape=(task.view.shape[1], m))
    # Two passes in linear time, which order the rows: sorting them took a tenth of a sparse path.
    coefs = coefs.tocsr().tocsc()
    nothing_known = np.full(m - n_solved, np.inf)
    gaps = np.append([fit.gap for fit in fits if fit.gap is not None], nothing_known)
    violations = np.append([fit.kkt for fit in fits], nothing_known)
    return PathResult(
        alphas=alphas,
        coefs=coefs,
        intercepts=np.array([b for _, _, b in models]) + constants + task.y_offset,
        n_nonzero=counts,
        solved=np.arange(m) < n_solved,
        converged=(gaps if convex else violations) <= task.tol,
        dual_gaps=gaps if convex else None,
        kkt_violations=violations,
        locally_convex=None if convex else _filled([fit.locally_convex for fit in fits], m).astype(bool),
        n_iter=_filled([fit.n_sweeps for fit in fits], m),
        stopped=stopped,
        seconds=seconds,
        rescaled=task.rescaled,
    )


def _filled(values: list[int] | list[bool], m: int) -> NDArray[np.int_]:
    """The values, filled up with zeros to m entries."""
    out = np.zeros(m, dtype=np.int_)
    out[: len(values)] = values
    return out
