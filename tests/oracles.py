"""The oracles: reference values that do not rely on the solvers under test.

``support_value`` fits one support with cvxpy and Clarabel, ``scikit_learn_value`` with scikit-learn where it has the
loss.  ``support_values`` fits all supports with the library's own ``fit_support``, which ``test_support`` has proved
against the former two; the best over all of them is what ``enumerate_best`` returns.
"""

from __future__ import annotations

import warnings
from functools import cache
from itertools import chain, combinations

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, TweedieRegressor
from sklearn.svm import SVC, SVR

from samples import sample, sample_weights
from sparsest.core.problem import make_problem
from sparsest.subset.fits.support import fit_support

EPSILON, DELTA, QUANTILE, THETA = 0.1, 1.35, 0.5, 1.0
# Losses whose conic programs have exponential cones.
EXPONENTIAL = ("logistic", "poisson", "gamma", "negative_binomial", "tweedie")


def loss_value(loss, y, u):
    """``ℓ(y, u)`` with the default parameters, written out once more, independently of the library."""
    r = np.abs(y - u)
    return {
        "squared": lambda: 0.5 * (y - u) ** 2,
        "logistic": lambda: np.logaddexp(0.0, -y * u),
        "hinge": lambda: np.maximum(0.0, 1.0 - y * u),
        "squared_hinge": lambda: 0.5 * np.maximum(0.0, 1.0 - y * u) ** 2,
        "epsilon_insensitive": lambda: np.maximum(0.0, r - EPSILON),
        "squared_epsilon_insensitive": lambda: 0.5 * np.maximum(0.0, r - EPSILON) ** 2,
        "huber": lambda: np.where(r <= DELTA, 0.5 * r**2, DELTA * r - 0.5 * DELTA**2),
        "quantile": lambda: np.where(y > u, QUANTILE, 1.0 - QUANTILE) * r,
        "poisson": lambda: np.exp(u) - y * u - y + xlogy(y, y),
        "gamma": lambda: y * np.exp(-u) + u - np.log(y) - 1.0,
        "negative_binomial": lambda: (
            (y + THETA) * (np.logaddexp(np.log(THETA), u) - np.log(y + THETA)) - y * u + xlogy(y, y)
        ),
        "tweedie": lambda: 2.0 * np.exp(u / 2.0) + 2.0 * y * np.exp(-u / 2.0) - 4.0 * np.sqrt(y),
    }[loss]()


def objective(loss, X, y, w, b, gamma, weights=None):
    """``Σ ωℓ(y, Xw + b) + ‖w‖²/(2γ)``."""
    weights = np.ones(len(y)) if weights is None else weights
    return float(weights @ loss_value(loss, y, X @ w + b) + 0.5 / gamma * (w @ w))


def _cvxpy_losses(loss, y, u):
    """The losses of a conic program, up to a constant where the link is logarithmic."""
    return {
        "squared": lambda: 0.5 * cp.square(y - u),
        "logistic": lambda: cp.logistic(-cp.multiply(y, u)),
        "hinge": lambda: cp.pos(1.0 - cp.multiply(y, u)),
        "squared_hinge": lambda: 0.5 * cp.square(cp.pos(1.0 - cp.multiply(y, u))),
        "epsilon_insensitive": lambda: cp.pos(cp.abs(y - u) - EPSILON),
        "squared_epsilon_insensitive": lambda: 0.5 * cp.square(cp.pos(cp.abs(y - u) - EPSILON)),
        "huber": lambda: 0.5 * cp.huber(y - u, DELTA),
        "quantile": lambda: QUANTILE * cp.pos(y - u) + (1.0 - QUANTILE) * cp.pos(u - y),
        "poisson": lambda: cp.exp(u) - cp.multiply(y, u),
        "gamma": lambda: cp.multiply(y, cp.exp(-u)) + u,
        "negative_binomial": lambda: cp.multiply(y + THETA, cp.logistic(u - np.log(THETA))) - cp.multiply(y, u),
        "tweedie": lambda: 2.0 * cp.exp(u / 2.0) + 2.0 * cp.multiply(y, cp.exp(-u / 2.0)),
    }[loss]()


def precise(value, constraints=(), tolerance=1e-10):
    """The least value of a cvxpy expression; its variables then hold where it is attained."""
    problem = cp.Problem(cp.Minimize(value), list(constraints))
    problem.solve(solver=cp.CLARABEL, **{f"tol_{name}": tolerance for name in ("gap_abs", "gap_rel", "feas")})
    return float(problem.value)


def _within(w, s, max_coef, bounds):
    """The limits of coefficients: ``|w| ≤ max_coef s`` and ``lower s ≤ w ≤ upper s``."""
    limits = [] if max_coef is None else [cp.abs(w) <= max_coef * s]
    lower, upper = ((), ()) if bounds is None else bounds
    limits += [w[j] >= limit * s[j] for j, limit in enumerate(lower) if np.isfinite(limit)]
    return limits + [w[j] <= limit * s[j] for j, limit in enumerate(upper) if np.isfinite(limit)]


def support_value(loss, X, y, gamma, fit_intercept, weights=None, max_coef=None, bounds=None):
    """The least objective on the columns X, by an interior-point solver of conic programs."""
    n, m = X.shape
    weights = np.ones(n) if weights is None else weights
    w, b = cp.Variable(m) if m else None, cp.Variable()
    u = (X @ w if m else np.zeros(n)) + (b if fit_intercept else 0.0 * b)
    terms = weights @ _cvxpy_losses(loss, y, u)
    ridge = 0.5 / gamma * cp.sum_squares(w) if m and np.isfinite(gamma) else 0.0
    # Exponential cones cannot be solved as precisely as quadratic ones.
    limits = ([] if fit_intercept else [b == 0.0]) + (_within(w, np.ones(m), max_coef, bounds) if m else [])
    precise(terms + ridge, limits, 1e-8 if loss in EXPONENTIAL else 1e-11)
    coef = w.value if m else np.zeros(0)
    return objective(loss, X, y, coef, float(b.value) if fit_intercept else 0.0, gamma, weights)


def conic_values(loss, X, y, gamma, fit_intercept, chosen, weights=None, max_coef=None, bounds=None):
    """``support_value`` of each of many supports, as one conic program that falls apart into theirs.

    There must be a ridge or limits on both sides: without, one support that has no best model would spoil the others.
    If the solver fails, it solves the programs one by one.
    """
    try:
        with warnings.catch_warnings():
            # That a solution may be inaccurate.
            warnings.simplefilter("error", UserWarning)
            return _together(loss, X, y, gamma, fit_intercept, chosen, weights, max_coef, bounds)
    except (cp.SolverError, UserWarning):
        values = {}
        for support in chosen:
            columns = list(support)
            sides = None if bounds is None else [np.asarray(side)[columns] for side in bounds]
            values[support] = support_value(loss, X[:, columns], y, gamma, fit_intercept, weights, max_coef, sides)
        return values


def _together(loss, X, y, gamma, fit_intercept, chosen, weights, max_coef, bounds):
    n, count = X.shape[0], len(chosen)
    features, ends = [j for support in chosen for j in support], np.cumsum([0, *map(len, chosen)])
    w, b = cp.Variable(ends[-1]), cp.Variable(count)
    blocks = sp.block_diag([X[:, list(support)] for support in chosen], format="csr")
    weights = np.ones(n) if weights is None else weights
    u = blocks @ w + (np.repeat(np.eye(count), n, axis=0) @ b if fit_intercept else 0.0)
    total = np.tile(weights, count) @ _cvxpy_losses(loss, np.tile(y, count), u)
    ridge = 0.5 / gamma * cp.sum_squares(w) if np.isfinite(gamma) else 0.0
    limits = [] if max_coef is None else [cp.abs(w) <= max_coef]
    for side, sign in () if bounds is None else zip(bounds, (1.0, -1.0), strict=True):
        limit = np.asarray(side)[features]
        finite = np.flatnonzero(np.isfinite(limit))
        limits += [sign * w[finite] >= sign * limit[finite]] if finite.size else []
    precise(total + ridge, limits, 1e-8 if loss in EXPONENTIAL else 1e-11)
    constants = b.value if fit_intercept else np.zeros(count)
    return {
        support: objective(loss, X[:, list(support)], y, w.value[begin:end], float(constant), gamma, weights)
        for support, begin, end, constant in zip(chosen, ends[:-1], ends[1:], constants, strict=True)
    }


def relaxation_value(
    loss, X, y, gamma, fit_intercept, weights=None, k=None, l0_penalty=None, include=(), exclude=(), max_coef=None,
    bounds=None,
):  # fmt: skip
    """The value of the Boolean relaxation, by an interior-point solver of conic programs."""
    n, p = X.shape
    weights = np.ones(n) if weights is None else weights
    w, b, s = cp.Variable(p), cp.Variable(), cp.Variable(p)
    limits = [s >= 0, s <= 1] + [s[j] == 1 for j in include] + [s[j] == 0 for j in exclude]
    limits += [w[j] == 0 for j in exclude] + ([] if fit_intercept else [b == 0])
    if k is not None:
        limits.append(cp.sum(s) <= k)
    limits += _within(w, s, max_coef, bounds)
    bent = range(p) if np.isfinite(gamma) else ()
    ridge = sum(cp.quad_over_lin(w[j], s[j]) for j in bent if j not in exclude)
    terms = weights @ _cvxpy_losses(loss, y, X @ w + b) + 0.5 / gamma * ridge + (l0_penalty or 0.0) * cp.sum(s)
    value, u = precise(terms, limits, 1e-9), X @ w.value + b.value
    constant = loss_value(loss, y, u) - _cvxpy_losses(loss, y, u).value
    return value + float(weights @ constant)


def scikit_learn_value(loss, X, y, gamma, fit_intercept, weights=None):
    """The least objective on the columns X, by the scikit-learn estimator of that loss; None if there is none."""
    if loss == "squared":
        exact = LinearRegression() if np.isinf(gamma) else Ridge(alpha=1.0 / gamma, solver="svd")
        model = exact.set_params(fit_intercept=fit_intercept)
    elif loss == "logistic":
        model = LogisticRegression(
            C=gamma, solver="newton-cholesky", tol=1e-12, max_iter=1000, fit_intercept=fit_intercept
        )
    elif loss == "hinge" and fit_intercept and np.isfinite(gamma):
        model = SVC(kernel="linear", C=gamma, tol=1e-9)
    elif loss == "epsilon_insensitive" and fit_intercept and np.isfinite(gamma):
        model = SVR(kernel="linear", C=gamma, epsilon=EPSILON, tol=1e-9)
    elif loss in ("poisson", "gamma", "tweedie") and np.isfinite(gamma):
        power = {"poisson": 1, "gamma": 2, "tweedie": 1.5}[loss]
        total = len(y) if weights is None else weights.sum()
        model = TweedieRegressor(
            power=power, alpha=1.0 / (gamma * total), link="log", solver="newton-cholesky", tol=1e-10, max_iter=1000,
            fit_intercept=fit_intercept,
        )  # fmt: skip
    else:
        return None
    model.fit(X, y, sample_weight=weights)
    return objective(loss, X, y, np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]), gamma, weights)


def supports(p, k=None):
    """All subsets of p features, or those of at most k."""
    return chain.from_iterable(combinations(range(p), size) for size in range((p if k is None else k) + 1))


def support_values(problem, most=None):
    """``c(s)`` for every support, or those of at most a number of features, without the price of its features."""
    values = {}
    for support in supports(problem.p, most):
        values[support] = fit_support(problem, np.array(support, dtype=np.intp)).primal
        values[support] -= problem.sparsity.cost(np.array(support, dtype=np.intp))
    return values


def squared_values(X, y, gamma, weights=None):
    """``c(s)`` of the squared loss with an intercept for every support, by the normal equations of all of one size."""
    weights = np.ones(len(y)) if weights is None else weights
    root, share = np.sqrt(weights), weights / weights.sum()
    A, r = root[:, None] * (X - share @ X), root * (y - share @ y)
    G, c = A.T @ A + np.eye(X.shape[1]) / gamma, A.T @ r
    values = {}
    for size in range(X.shape[1] + 1):
        chosen = np.array(list(combinations(range(X.shape[1]), size)), dtype=np.intp)
        blocks, right = G[chosen[:, :, None], chosen[:, None, :]], c[chosen][:, :, None]
        saved = (right * np.linalg.solve(blocks, right)).sum(axis=(1, 2))
        values |= zip(map(tuple, chosen.tolist()), (0.5 * (r @ r - saved)).tolist(), strict=True)
    return values


@cache
def sample_values(loss, n, p, seed, gamma, fit_intercept, weighted, max_coef=None):
    """``support_values`` of a sample, computed once however many problems of it are asked about."""
    X, y = sample(loss, n, p, seed)
    weights = sample_weights(weighted, n, seed)
    settings = {"gamma": gamma, "loss": loss, "fit_intercept": fit_intercept, "max_coef": max_coef}
    return support_values(make_problem(X, y, p, sample_weight=weights, **settings))


def best_of(values, k=None, l0_penalty=None, include=(), exclude=()):
    """The smallest objective among the admissible supports, and its support."""

    def admissible(support):
        return set(include) <= set(support) and not set(exclude) & set(support) and (k is None or len(support) <= k)

    priced = {s: v + (l0_penalty or 0.0) * len(s) for s, v in values.items() if admissible(s)}
    best = min(priced, key=priced.__getitem__)
    return priced[best], best


def enumerate_best(X, y, k=None, *, l0_penalty=None, include=(), exclude=(), **settings):
    """The optimum of a best-subset problem by trying every support."""
    problem = make_problem(X, y, X.shape[1], **settings)
    return best_of(support_values(problem, k), k, l0_penalty, include, exclude)
