"""Instances of the fuzz of large problems: data with 3e5 to 1e7 entries, ordinary ones and awkward ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from fuzz_instances import (
    LOSSES,
    NEEDS_RIDGE,
    draw_parameter,
    draw_weights,
    limited_response,
    make_constant,
    make_means,
    make_scales,
    size_of,
)
from fuzz_losses import DIFFERENCES, LOGARITHMIC

ENTRIES = 3e5, 1e7
METHODS = ("tree", "cuts", "relaxation", "subgradient", "local")
TYPES = ("float64", "float32", "int8", "uint8", "int16", "int32", "int64", "bool")
# How the library is used: one call, and everything else that returns certificates or relies on them.
USES = ("single", "path", "choice", "near", "screen", "twice")
SHARES_OF_USES = (0.74, 0.06, 0.05, 0.05, 0.05, 0.05)
# Losses with information criteria, and those without a smooth form for a Lasso path.
LIKELIHOODS = ("squared", "logistic", "poisson", "negative_binomial")
PIECEWISE_LINEAR = ("hinge", "epsilon_insensitive", "quantile")


@dataclass(frozen=True, eq=False)
class LargeInstance:
    """Data as a user would give them, and the settings of the calls.

    Attributes
    ----------
    rows : those of ``sample_weight``, ``offset`` and ``exposure`` that are given
    problem : settings that state the problem
    search : settings of the search for its solution
    stop_after : the number of events after which a callback interrupts the search; None without a callback
    use : one of ``USES``, with the settings ``extra``
    planted : the columns that the response depends on
    """

    seed: int
    X: object
    y: np.ndarray
    rows: dict
    problem: dict
    search: dict
    stop_after: int | None
    use: str
    extra: dict
    planted: tuple[int, ...]
    traits: tuple[str, ...]

    @property
    def impossible(self):
        """Whether the method is documented not to work without a ridge or a box."""
        unbounded = self.problem["gamma"] == float("inf") and "max_coef" not in self.problem
        return unbounded and self.search["method"] in NEEDS_RIDGE and self.use != "choice"

    def columns(self, support):
        """Some columns, dense and in their own type."""
        part = self.X[:, np.asarray(support, dtype=np.intp)]
        return part.toarray() if sp.issparse(part) else np.asarray(part)


def make_large_instance(seed, loss=None, method=None, use=None, entries=ENTRIES, seconds=3.0):
    """Return the instance of a seed.

    Parameters
    ----------
    loss, method, use : drawn if not given
    entries : the smallest and the largest number of entries of X
    seconds : the longest time limit
    """
    rng = np.random.default_rng([seed, 24])
    drawn = str(rng.choice(LOSSES)), str(rng.choice(METHODS, p=[0.4, 0.2, 0.15, 0.1, 0.15]))
    loss, method = loss or drawn[0], method or drawn[1]
    use = use or _use(rng, loss)
    ordinary, traits = bool(rng.random() < 0.3), list[str]()
    n, p = _shape(rng, entries)
    planted = rng.choice(p, min(p, int(rng.integers(1, 9))), replace=False)
    dense = _matrix(rng, n, p, planted, ordinary, traits)
    weights = draw_weights(rng, n, traits)
    y = _response(rng, dense, planted, loss, weights, ordinary, traits)
    problem = {"loss": loss, "fit_intercept": bool(rng.random() < 0.75), "standardize": bool(rng.random() < 0.7)}
    if use == "twice":
        problem |= {"fit_intercept": bool(rng.random() < 0.2), "standardize": bool(rng.random() < 0.2)}
    # The defaults are as honest as any other value.
    problem |= draw_parameter(rng, loss, y) if rng.random() < 0.6 else {}
    problem |= _forced(rng, p, planted, traits)
    problem |= _sparsity(rng, p, y, problem)
    problem |= _box(rng, dense, y, problem, traits)
    problem |= _signs(seed, traits)
    problem["gamma"] = _gamma(rng, dense, problem, method, weights)
    search, stop_after = _search(rng, method, seconds, traits)
    extra = _extra(rng, use, problem)
    # A path and a choice have no price of features, and a choice no box.
    never = {"path": ("l0_penalty",), "choice": ("l0_penalty", "max_coef")}.get(use, ())
    problem = {name: value for name, value in problem.items() if name not in never}
    rows = {"sample_weight": weights} if weights is not None else {}
    rows |= _added(rng, loss, y, traits)
    X = _stored(rng, dense, traits)
    return LargeInstance(
        seed, X, y, rows, problem, search, stop_after, use, extra, tuple(np.sort(planted).tolist()), tuple(traits)
    )


def other_response(instance):
    """A second response for the same X, of another order and size as far as the loss admits it."""
    y = np.random.default_rng([instance.seed, 25]).permutation(instance.y)
    return 0.1 * y if instance.problem["loss"] in DIFFERENCES else y


def _use(rng, loss):
    use = str(rng.choice(USES, p=SHARES_OF_USES))
    return "single" if use == "choice" and loss not in LIKELIHOODS else use


def _shape(rng, entries):
    """Wide, tall and square shapes, their sizes spread evenly on a logarithmic scale."""
    total = 10.0 ** rng.uniform(*np.log10(entries))
    kind = str(rng.choice(["wide", "tall", "square"]))
    ratio = 10.0 ** (rng.uniform(1.0, 3.0) * {"wide": 1.0, "tall": -1.0, "square": rng.uniform(-0.2, 0.2)}[kind])
    p = max(15, int(np.sqrt(total * ratio)))
    n = max(30, int(np.ceil(total / p)))
    return n, max(p, int(np.ceil(entries[0] / n)))


def _matrix(rng, n, p, planted, ordinary, traits):
    """Return X, dense, in its type."""
    dtype = str(rng.choice(TYPES, p=[0.5, 0.2, 0.07, 0.03, 0.05, 0.05, 0.05, 0.05]))
    traits.append(dtype)
    X = rng.standard_normal((n, p), dtype=np.float32 if dtype == "float32" else np.float64)
    X += (rng.choice([0.0, 0.5, 3.0]) * rng.standard_normal((n, 1))).astype(X.dtype)
    if rng.random() < 0.25:
        traits.append("zeros")
        X *= rng.random((n, p), dtype=np.float32) < 10.0 ** rng.uniform(-2.0, -0.3)
    if dtype not in ("float64", "float32"):
        return _whole_numbers(rng, X, dtype, planted, ordinary, traits)
    if not ordinary:
        for hazard in (_equal_columns, _near_columns, _near_columns):
            if rng.random() < 0.25:
                hazard(rng, X, traits, planted)
        for hazard in (make_constant, make_scales, make_means if dtype == "float64" else _small_means):
            if rng.random() < 0.25:
                hazard(rng, X, traits)
    return X


def _whole_numbers(rng, X, dtype, planted, ordinary, traits):
    """Counts, levels or flags, of some types with large means."""
    if dtype == "bool":
        return rng.choice([0.0, 1.0]) < X
    np.rint(X * rng.choice([1.0, 10.0]), out=X)
    if not ordinary and rng.random() < 0.5:
        _equal_columns(rng, X, traits, planted)
    if dtype in ("int32", "int64") and rng.random() < 0.4:
        traits.append("means")
        X += np.rint(10.0 ** rng.uniform(0.0, 8.0, X.shape[1]))
    limits = np.iinfo(dtype)
    return np.clip(X, limits.min, limits.max).astype(dtype)


def _equal_columns(rng, X, traits, planted):
    """Some columns become copies of planted ones, or of others."""
    traits.append("equal columns")
    for source, target in _pairs(rng, X.shape[1], planted):
        X[:, target] = X[:, source]


def _near_columns(rng, X, traits, planted):
    """The same with relative differences of 1e-16 to 1e-4."""
    traits.append("near columns")
    for source, target in _pairs(rng, X.shape[1], planted):
        X[:, target] = X[:, source] * (1.0 + 10.0 ** rng.uniform(-16, -4) * rng.standard_normal(len(X)))


def _pairs(rng, p, planted):
    sources = rng.choice(planted, int(rng.integers(1, planted.size + 1)), replace=False)
    targets = rng.choice(np.setdiff1d(np.arange(p), planted), min(sources.size, p - planted.size), replace=False)
    return list(zip(sources, targets, strict=False))


def _small_means(rng, X, traits):
    """Means that leave digits to single precision."""
    traits.append("means")
    spread = np.abs(X).max(axis=0)
    X += (rng.choice([-1.0, 1.0], X.shape[1]) * spread * 10.0 ** rng.uniform(0, 5, X.shape[1])).astype(X.dtype)


def _response(rng, X, planted, loss, weights, ordinary, traits):
    """Signal and noise; for classes 0 and 1 or -1 and 1, with both of them among the rows that count."""
    n = len(X)
    columns = X[:, planted].astype(np.float64)
    columns -= columns.mean(axis=0)
    spread = columns.std(axis=0)
    signal = columns @ (rng.choice([-1.0, 1.0], planted.size) / np.where(spread > 0.0, spread, 1.0))
    y = signal + rng.choice([0.05, 0.3, 1.0, 2.0]) * max(float(signal.std()), 1e-3) * rng.standard_normal(n)
    counted = np.flatnonzero(np.ones(n) if weights is None else weights)
    if loss not in DIFFERENCES:
        return limited_response(rng, loss, y, counted, ordinary, traits)
    if not ordinary and rng.random() < 0.2:
        traits.append("y scaled")
        y = y * 10.0 ** rng.uniform(-8, 8)
    if not ordinary and rng.random() < 0.35:
        traits.append("y offset")
        y = y + size_of(y) * 10.0 ** rng.uniform(0, 12)
    elif rng.random() < 0.3:
        traits.append("y mean")
        y = y + 10.0 * float(y.std())
    return y


def _forced(rng, p, planted, traits):
    """A few columns forced in, and some forced out, planted ones among both."""
    if rng.random() < 0.7:
        return {"include": (), "exclude": ()}
    traits.append("forced")
    few = rng.choice(p, int(rng.integers(0, 4)), replace=False)
    others = rng.choice(p, int(rng.integers(0, max(2, p // 20))), replace=False)
    outside = np.setdiff1d(np.concatenate([others, planted[:1]]), few)
    return {"include": tuple(np.sort(few).tolist()), "exclude": tuple(outside.tolist())}


def _sparsity(rng, p, y, problem):
    """Return k, a price, or both; the price is a part of what a model without features costs."""
    least = len(problem["include"])
    most = p - len(problem["exclude"])
    k = {"k": int(np.clip(rng.choice([1, 2, 3, 5, 8, 12, 25]), least, most))}
    kind = rng.random()
    if kind < 0.65:
        return k
    loss, spread = problem["loss"], float(np.std(y)) or 1.0
    unit = spread ** (2 if "squared" in loss or loss == "huber" else 1) if loss in DIFFERENCES else 1.0
    price = {"l0_penalty": float(10.0 ** rng.uniform(-3.0, -0.5) * 0.5 * unit * len(y))}
    return price | k if kind < 0.85 else price


def _box(rng, X, y, problem, traits):
    """A limit of coefficients for some, about as large as they are or smaller."""
    if rng.random() < 0.75:
        return {}
    traits.append("box")
    some = X[:, : min(X.shape[1], 50)].astype(np.float64)
    spread = float(np.median(some.std(axis=0))) or 1.0
    unit = (float(np.std(y)) or 1.0 if problem["loss"] in DIFFERENCES else 1.0) / (
        1.0 if problem["standardize"] else spread
    )
    return {"max_coef": float(unit * 10.0 ** rng.uniform(-1.5, 0.5))}


def _signs(seed, traits):
    """The sign that coefficients must have, for some instances; uses its own random numbers."""
    rng = np.random.default_rng([seed, 26])
    if rng.random() < 0.8:
        return {}
    traits.append("signs")
    return {"lower": 0.0} if rng.random() < 0.7 else {"upper": 0.0}


def _gamma(rng, X, problem, method, weights):
    """The default, none, or γ in units of what the columns weigh."""
    draw = rng.random()
    if draw < 0.4:
        return "auto"
    possible = method not in NEEDS_RIDGE or "max_coef" in problem
    if draw < (0.52 if possible else 0.41):
        return float("inf")
    omega = np.ones(len(X)) if weights is None else weights
    some = X[:, rng.choice(X.shape[1], min(X.shape[1], 50), replace=False)].astype(np.float64)
    mean = omega @ some / omega.sum() if problem["fit_intercept"] else 0.0
    typical = omega.sum() if problem["standardize"] else float(np.median(omega @ (some - mean) ** 2))
    unit = 1.0 / typical if typical > 0.0 else 1.0
    return float(unit * 10.0 ** rng.uniform(-3, 3))


def _added(rng, loss, y, traits):
    """An offset for some, and an exposure for some counts."""
    added = {}
    if rng.random() < 0.15:
        traits.append("offset")
        size = size_of(y) * rng.choice([0.3, 1e3]) if loss in DIFFERENCES else 0.3
        added["offset"] = size * rng.standard_normal(len(y))
    if loss in LOGARITHMIC and rng.random() < 0.25:
        traits.append("exposure")
        added["exposure"] = np.exp(0.5 * rng.standard_normal(len(y)))
    return added


def _search(rng, method, seconds, traits):
    """Settings of the search, and after how many events a callback stops it: limits that strike early are frequent."""
    search = {"method": method, "gap_tol": float(rng.choice([1e-4, 1e-2, 1e-6, 0.0], p=[0.6, 0.2, 0.15, 0.05]))}
    early = rng.random() < 0.35
    search["time_limit"] = float(10.0 ** rng.uniform(-2.0, 0.0)) if early else seconds
    search["time_limit"] = min(search["time_limit"], seconds)
    if early:
        traits.append("early limit")
    if method in ("tree", "cuts") and rng.random() < 0.15:
        search["node_limit"] = int(10.0 ** rng.uniform(0.0, 2.0))
        traits.append("node limit")
    if method == "tree" and rng.random() < 0.5:
        search["n_jobs"] = int(rng.integers(1, 3))
    if method == "cuts" and rng.random() < 0.25:
        search["engine"] = "scip"
    stop_after = int(rng.integers(1, 6)) if rng.random() < 0.12 else None
    if stop_after is not None:
        traits.append("interrupted")
    return search, stop_after


def _extra(rng, use, problem):
    """What a use needs beside the problem."""
    k = problem.get("k", 3 + len(problem["include"]))
    if use == "path":
        return {"ks": sorted({max(len(problem["include"]), k // 2), k})}
    if use == "choice":
        return {"criterion": str(rng.choice(["bic", "ebic", "aic"])), "ks": k}
    if use == "near":
        return {"within": float(rng.choice([0.001, 0.01, 0.05])), "limit": int(rng.choice([5, 50]))}
    if use == "screen":
        by = "relaxation" if problem["loss"] in PIECEWISE_LINEAR else str(rng.choice(["relaxation", "path"]))
        return {"screen": k + int(rng.choice([5, 50, 300])), "screen_by": by}
    return {}


def _stored(rng, dense, traits):
    layout = str(rng.choice(["C", "Fortran", "CSC"], p=[0.4, 0.35, 0.25]))
    if "zeros" in traits and rng.random() < 0.5:
        layout = "CSC"
    traits.append(layout)
    if layout == "CSC":
        return sp.csc_array(dense)
    return np.asfortranarray(dense) if layout == "Fortran" else np.ascontiguousarray(dense)
