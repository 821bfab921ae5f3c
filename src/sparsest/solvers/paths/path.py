"""Paths of penalised fits over a falling penalty strength.

    min_{w,b}  (1/Σω) Σ_i ω_i ℓ(y_i, x_i'w + b) + Σ_j φ(w_j; α f_j)

over columns standardised to mean square 1 (``standardize``), with f the penalty factors.  Each α starts from the
last one: the sequential strong rule names candidates, a working set is minimised, candidates and then all
features are checked against the optimality conditions, and violators join the set until there are none.

Convex penalties stop at a duality gap, relative to the loss of the constant model: with ``θ = ω ℓ'(y, Xw + b)``
and a scale ``s`` that makes ``sθ`` feasible, ``D = -Σ ω ℓ*(y, sθ/ω) - Σ_j φ*(s X_j'θ; α f_j)``.  The others stop at
the largest violation of the stationarity conditions, relative to α.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sparsest.arrays import Array, Indices
from sparsest.checks import as_array, as_numbers, number, optional, whole_number
from sparsest.data import make_data
from sparsest.designs import Design, in_units_of_data
from sparsest.losses import Loss
from sparsest.penalties import ConvexPenalty, Penalty, make_penalty
from sparsest.solvers.paths.descent import Effort, WorkingSet
from sparsest.solvers.paths.gradients import Gradients
from sparsest.solvers.shared.clock import Clock
from sparsest.solvers.shared.threads import single_threaded

_LOOSE = 1e-2  # share of α to which a working set is minimised while it still grows
_ROUGH = Effort(sweeps=30, reluctance=10.0)  # for that
_FINE = Effort(sweeps=2)
_ROUNDS = 200
_BRINK = 0.04  # features within this share of α come along with violators: most would be needed soon
_HASTE = 3.0  # how much faster than the strong rule says gradients may move under concave penalties
_STRIDE = 0.75  # a larger drop of α is walked in steps whose solutions are not reported
_MOST_ALPHAS = 10**6  # more models than anybody looks at: a slip, such as the seed given as their number
_MOST_STRIDES = 100  # as far as that goes: such steps reach 3e-13 of any α
_SATURATED = 1e-3  # automatic and non-convex paths end where less than this share of the null loss is left


@dataclass(frozen=True, eq=False)
class PathResult:
    """One solution per penalty strength.

    Attributes
    ----------
    alphas : ndarray of shape (m,), falling.
    coefs : csc_array of shape (p, m), on the scale of the data as given.
    intercepts : ndarray of shape (m,).
    n_nonzero : ndarray of int, nonzero coefficients per alpha.
    dual_gaps : relative duality gap per alpha, or None for the penalties that have none (MCP, SCAD).
    kkt_violations : largest violation of the optimality conditions per alpha, relative to alpha.
    locally_convex : for MCP and SCAD, whether the objective is strictly convex in the nonzero coefficients around
        the solution whatever side of the penalty's kinks they are on; None for the others.
    converged : whether the gap (or violation) of each alpha reached ``tol``.
    n_iter : sweeps of coordinate descent per alpha, with those of the steps that lead to it.
    stopped : "complete", "max_features", "saturated", "time_limit" or "interrupted" (by Ctrl-C).
    seconds : wall time of the whole path.
    """

    alphas: Array
    coefs: Any
    intercepts: Array
    n_nonzero: NDArray[np.int_]
    dual_gaps: Array | None
    kkt_violations: Array
    locally_convex: NDArray[np.bool_] | None
    converged: NDArray[np.bool_]
    n_iter: NDArray[np.int_]
    stopped: str
    seconds: float


@dataclass(frozen=True, eq=False)
class _Fit:
    """The solution for one alpha, on the scale of the view."""

    index: Indices
    w: Array
    b: float
    gap: float
    kkt: float
    convex: bool
    saturated: bool
    n_sweeps: int


@dataclass(frozen=True, eq=False)
class _Task:
    """What does not change along a path; ``usable`` marks the columns that are not constant."""

    view: Design
    y: Array
    y_offset: float
    weights: Array
    loss: Loss
    penalty: Penalty
    fit_intercept: bool
    factor: Array
    usable: NDArray[np.bool_]
    norms: Array
    tol: float
    max_iter: int


class _Walk:
    """The state of a path: the working set, and what is known of the gradient ``X'θ`` of all features."""

    def __init__(self, task: _Task) -> None:
        self.task = task
        self.set = WorkingSet(task.view, task.y, task.weights, task.loss, task.penalty, task.fit_intercept)
        self.null_loss = self.set.loss_value()
        self.gradients = Gradients(task.view, task.norms, task.weights, self.set.theta)
        self.outside = task.usable.copy()
        free = np.flatnonzero(task.usable & (task.factor == 0.0))
        if free.size:
            self._add(free)
            self.set.allowance = task.max_iter
            largest = max(np.abs(self.gradients.value).max(), 1e-300)
            self.set.minimise(np.zeros(free.size), 1e-10 * largest, _FINE)
            self.gradients = Gradients(task.view, task.norms, task.weights, self.set.theta)
        self.alpha = self.alpha_max
        self.checked = free[:0]

    @property
    def alpha_max(self) -> float:
        """The smallest alpha at which all penalised features are zero, seen from the start."""
        slope = self.task.penalty.threshold(self.task.factor)
        open_ = self.task.usable & (slope > 0.0)
        return float((np.abs(self.gradients.value[open_]) / slope[open_]).max(initial=0.0))

    def _add(self, index: Indices) -> None:
        self.set.add(index)
        self.outside[index] = False

    def advance(self, alpha: float) -> _Fit:
        """Solve for the next alpha."""
        before, n_steps = self.set.n_sweeps, 1
        self.set.allowance = before + self.task.max_iter
        if alpha < self.alpha:
            n_steps = min(int(np.ceil(np.log(alpha / self.alpha) / np.log(_STRIDE))), _MOST_STRIDES)
        for passing in self.alpha * (alpha / max(self.alpha, 1e-300)) ** (np.arange(1, n_steps) / n_steps):
            self._solve(passing, _LOOSE * passing)
            self.alpha = passing
        fit = self._certified(alpha)
        self.alpha = alpha
        return _Fit(
            index=self.set.index,
            w=self.set.w.copy(),
            b=self.set.b,
            gap=fit[0],
            kkt=fit[1] / alpha,
            convex=fit[0] == fit[0] or self._locally_convex(),
            saturated=self.set.loss_value() < _SATURATED * self.null_loss or (fit[0] != fit[0] and self.set.separated),
            n_sweeps=self.set.n_sweeps - before,
        )

    def _certified(self, alpha: float) -> tuple[float, float]:
        """Solve until the duality gap (NaN if there is none) or the violation is small enough."""
        task = self.task
        if not task.penalty.convex:
            return np.nan, self._solve(alpha, task.tol * alpha)
        # The gap is about the violation times 2‖w‖₁, or its square times the number of active features over twice the
        # penalty's curvature; where that guess was too kind, ask for more.
        kindness, curvature = 0.4, float(task.penalty.second_derivative(1.0, alpha))
        for _ in range(5):
            w, allowed = self.set.w, kindness * task.tol * self.null_loss
            size, n_active = float(np.abs(w).sum()), int(np.count_nonzero(w))
            by_size = allowed / max(size, 1e-300)
            by_curvature = float(np.sqrt(2.0 * allowed * curvature / max(n_active, 1)))
            goal = min(max(by_size, by_curvature), _LOOSE * alpha, task.tol ** (2 / 3) * alpha)
            kkt = self._solve(alpha, max(goal, 1e-15 * self.alpha))
            gap = self._gap(alpha)
            if gap <= task.tol or self.set.exhausted:
                break
            kindness *= 0.3 * max(task.tol / gap, 1e-3)
        return gap, kkt

    def _solve(self, alpha: float, fine: float) -> float:
        """Minimise at this alpha until no feature violates by more than ``fine``; returns the violation."""
        task = self.task
        lam = alpha * task.factor
        limit = task.penalty.threshold(lam)
        candidates = self._candidates(alpha)
        pruned = self.set.prune(task.factor[self.set.index] == 0.0)
        self.outside[pruned] = True
        goal = loose = max(fine, _LOOSE * alpha)
        effort = _ROUGH._replace(predict=True)
        worst, excess, self.checked = np.inf, np.empty(0), candidates[:0]
        for _ in range(_ROUNDS):
            self.set.minimise(lam[self.set.index], goal, effort)
            effort = _ROUGH if goal > fine else _FINE
            candidates = candidates[self.outside[candidates]]
            if candidates.size:
                excess = np.abs(self.gradients.at(candidates, self.set.theta)) - limit[candidates]
                violated = float(excess.max()) > goal
                self._admit(candidates, excess, -_BRINK * alpha if violated else goal)
                if violated:
                    continue
            if goal > fine and task.penalty.convex:
                goal, effort = fine, _FINE
                continue
            self.set.verify()
            worst = self.set.violation(lam[self.set.index])
            self.checked = self.gradients.renew(self.set.theta, limit, self.outside)
            excess = np.abs(self.gradients.value[self.checked]) - limit[self.checked]
            admitted = self._admit(self.checked, excess, goal)
            if (goal <= fine and not admitted) or self.set.exhausted:
                break
            # Concave penalties often break the strong rule: check all features before the set is made precise.
            goal, effort = (loose, _ROUGH) if admitted else (fine, _FINE)
        return max(worst, float(excess.max(initial=0.0)))

    def _candidates(self, alpha: float) -> Indices:
        """The sequential strong rule: a gradient moves about as fast as alpha, faster under concave penalties."""
        penalty = self.task.penalty
        speed = 1.0 if penalty.convex else _HASTE / max(1.0 - penalty.concavity_bound, 0.1)
        reach = alpha - speed * max(self.alpha - alpha, 0.0)
        bar = penalty.threshold(max(reach, 0.0) * self.task.factor)
        return np.flatnonzero(self.outside & (self.gradients.guess >= bar))

    def _admit(self, names: Indices, excess: Array, tol: float) -> bool:
        """Take the worst violators into the working set; whether there were any."""
        violators = np.flatnonzero(excess > tol)
        if violators.size == 0:
            return False
        most = max(64, self.set.index.size)
        if violators.size > most:
            violators = violators[np.argpartition(-excess[violators], most)[:most]]
        self._add(names[violators])
        return True

    def _gap(self, alpha: float) -> float:
        """The relative duality gap; unpenalised directions enter by their first-order error.

        Features left unchecked are within their limits: they neither bind the dual point nor cost anything there.
        """
        task, fit = self.task, self.set
        inside = fit.grad()
        lam, w = alpha * task.factor[fit.index], fit.w
        free = lam == 0.0
        primal = fit.loss_value() + float(task.penalty.value(w, lam).sum())
        grad = np.concatenate([inside[~free], self.gradients.value[self.checked]])
        bounds = np.concatenate([lam[~free], alpha * task.factor[self.checked]])
        ratio = float((np.abs(grad) / task.penalty.threshold(bounds)).max(initial=0.0))
        scales = {1.0 / max(1.0, ratio), 1.0}
        dual = max(self._dual(s, bounds, grad) for s in scales)
        slack = float(np.abs(inside[free] * w[free]).sum()) + abs(fit.theta.sum() * fit.b)
        return max(primal - dual + slack, 0.0) / max(self.null_loss, 1e-300)

    def _dual(self, scale: float, lam: Array, grad: Array) -> float:
        task, theta = self.task, self.set.theta
        assert isinstance(task.penalty, ConvexPenalty)
        fit = float(task.weights @ task.loss.conjugate(task.y, scale * theta / task.weights))
        # The scale was chosen to make this feasible: rounding must not turn it into infinity.
        feasible = scale * grad * (1.0 - 1e-15)
        return -fit - float(task.penalty.conjugate(feasible, lam).sum())

    def _locally_convex(self) -> bool:
        kappa = np.where(self.task.factor[self.set.index] > 0.0, self.task.penalty.concavity_bound, 0.0)
        return self.set.convex_beyond(kappa)


def penalty_path(
    X: Any,
    y: Any,
    penalty: str | Penalty = "l1",
    *,
    loss: str | Loss = "squared",
    alphas: int | Any = 100,
    l1_ratio: float = 1.0,
    concavity: float | None = None,
    max_features: int | None = None,
    fit_intercept: bool = True,
    standardize: bool = True,
    sample_weight: Any = None,
    penalty_factor: Any = None,
    tol: float = 1e-5,
    max_iter: int = 10_000,
    time_limit: float = np.inf,
) -> PathResult:
    """Fit a path of l1, elastic-net, MCP or SCAD penalised models.

    Parameters
    ----------
    X : matrix, sparse matrix or data frame of shape (n, p).
    y : targets, or two labels for a classification loss.
    penalty : {"l1", "elastic_net", "mcp", "scad"}
    loss : a smooth loss: {"squared", "logistic", "squared_hinge", "squared_epsilon_insensitive"}
    alphas : how many, log-spaced from the smallest alpha with an empty model to 1e-2 (n < p) or 1e-4 of it; or the
        alphas themselves, in any order.  Automatic paths end where the fit is perfect; those of MCP and SCAD always do,
        and also where the classes are separated: no minimiser is finite there.
    l1_ratio : share of the l1 part in the elastic net, in (0, 1].
    concavity : the g of MCP (default 3) or SCAD (default 3.7).
    max_features : stop when a solution has this many nonzero coefficients; none with more is returned.
    fit_intercept : whether to fit a constant, which is never penalised.
    standardize : whether the penalty acts on columns scaled to mean square 1; coefficients are returned for the
        data as given in either case.
    sample_weight : weights of the observations; a weight of 2 equals a duplicated row.
    penalty_factor : factor of alpha for every feature, used as it is; 0 means never penalised.
    tol : duality gap relative to the loss of the constant model; for MCP and SCAD violation relative to alpha.
        Objectives are more precise than that: in our benchmarks the default leaves relative errors below 1e-7.
    max_iter : sweeps of coordinate descent for each alpha, at most; ``converged`` tells where they were too few.
    time_limit : seconds after which no further alpha is begun; Ctrl-C does the same

    Returns
    -------
    PathResult
    """
    start = perf_counter()
    most_features = optional(whole_number, least=0)(max_features, "max_features")
    count, given = _check_alphas(alphas)
    task = _make_task(
        X, y, make_penalty(penalty, l1_ratio, concavity), loss, fit_intercept, standardize, sample_weight,
        penalty_factor, number(tol, "tol", above=0, below=1), whole_number(max_iter, "max_iter", least=1),
    )  # fmt: skip
    clock = Clock(number(time_limit, "time_limit", above=0, finite=False))
    # The matrices of a working set are small.
    with clock.listening(), single_threaded():
        walk = _Walk(task)
        grid = _alpha_grid(count, walk.alpha_max, task.view.shape) if given is None else given
        fits: list[_Fit] = []
        stopped = "complete"
        for alpha in grid:
            if fits and clock.expired():
                stopped = "interrupted" if clock.interrupted else "time_limit"
                break
            fit = walk.advance(float(alpha))
            n_nonzero = np.count_nonzero(fit.w)
            if most_features is not None and n_nonzero >= most_features:
                stopped = "max_features"
                if n_nonzero > most_features:
                    break
            fits.append(fit)
            if stopped == "complete" and (given is None or not task.penalty.convex) and fit.saturated:
                stopped = "saturated"
            if stopped != "complete":
                break
    return _collect(task, grid[: len(fits)], fits, stopped, start)


def _check_alphas(alphas: Any) -> tuple[int, Array | None]:
    """How many alphas are wanted, and which, in falling order, if they were given."""
    array = as_array(alphas, "alphas")
    if array.ndim == 0:
        return whole_number(alphas, "alphas", least=1, most=_MOST_ALPHAS, or_else="an array of alphas"), None
    given = as_numbers(array, "alphas")
    if given.ndim != 1 or given.size == 0 or not np.isfinite(given).all() or not (given > 0.0).all():
        raise ValueError("alphas must be a whole number or a one-dimensional array of finite numbers > 0")
    return given.size, np.sort(given)[::-1]


def _make_task(
    X: Any,
    y: Any,
    penalty: Penalty,
    loss: str | Loss,
    fit_intercept: bool,
    standardize: bool,
    sample_weight: Any,
    penalty_factor: Any,
    tol: float,
    max_iter: int,
) -> _Task:
    """Check the data and wrap the design; one pass over X finds means, scales and constant columns."""
    data = make_data(X, y, loss=loss, fit_intercept=fit_intercept, standardize=standardize, sample_weight=sample_weight)
    if not np.isfinite(data.loss.smoothness):
        raise ValueError(f"paths need a smooth loss, and {data.loss.name!r} has kinks: use its squared form")
    total = data.weights.sum()
    norms = data.column_norms / np.sqrt(total)
    factor = _check_factor(penalty_factor, data.p)
    return _Task(
        data.design, data.y, data.y_offset, data.weights / total, data.loss, penalty, data.fit_intercept, factor,
        norms > 0.0, norms, tol, max_iter,
    )  # fmt: skip


def _check_factor(penalty_factor: Any, p: int) -> Array:
    if penalty_factor is None:
        return np.ones(p)
    factor = as_numbers(as_array(penalty_factor, "penalty_factor"), "penalty_factor")
    if factor.shape != (p,):
        raise ValueError(f"penalty_factor must have {p} entries, got shape {factor.shape}")
    if not np.isfinite(factor).all() or (factor < 0).any():
        raise ValueError("penalty_factor must be finite and not negative")
    return factor


def _alpha_grid(count: int, alpha_max: float, shape: tuple[int, int]) -> Array:
    """As many alphas in falling order."""
    # A constant response has the empty model for every alpha: any scale will do.
    top = alpha_max if alpha_max > 0.0 else 1.0
    return np.geomspace(top, top * (1e-2 if shape[0] < shape[1] else 1e-4), count)


def _collect(task: _Task, alphas: Array, fits: list[_Fit], stopped: str, start: float) -> PathResult:
    """Turn solutions of the view into coefficients for the data as given."""
    p, m = task.view.shape[1], len(fits)
    columns, rows, intercepts = [], [], np.zeros(m)
    for i, fit in enumerate(fits):
        kept = np.flatnonzero(fit.w)
        order = kept[np.argsort(fit.index[kept])]
        rows.append(fit.index[order])
        coef, constant = in_units_of_data(task.view, rows[-1], fit.w[order])
        columns.append(coef)
        intercepts[i] = fit.b + constant + task.y_offset
    counts = np.array([r.size for r in rows], dtype=np.int_)
    stored = (np.concatenate([*columns, []]), np.concatenate([*rows, []]).astype(np.intp), np.r_[0, counts.cumsum()])
    gaps, kkt = np.array([fit.gap for fit in fits]), np.array([fit.kkt for fit in fits])
    convex = task.penalty.convex
    return PathResult(
        alphas=alphas,
        coefs=sp.csc_array(stored, shape=(p, m)),
        intercepts=intercepts,
        n_nonzero=counts,
        dual_gaps=gaps if convex else None,
        kkt_violations=kkt,
        locally_convex=None if convex else np.array([fit.convex for fit in fits], dtype=bool),
        converged=(gaps if convex else kkt) <= task.tol,
        n_iter=np.array([fit.n_sweeps for fit in fits], dtype=np.int_),
        stopped=stopped,
        seconds=perf_counter() - start,
    )
