"""Instances of the fuzz: small best-subset problems, ordinary ones and those with data that numbers dislike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from fuzz_losses import CLASSIFICATION, DIFFERENCES, LOGARITHMIC, REGRESSION
from fuzz_oracle import Question
from fuzz_structure import draw_structure
from sparsest.subset.tree.tuning import Tuning

MAX_ROWS, MAX_COLUMNS = 40, 10
NEEDS_RIDGE = ("cuts", "relaxation", "subgradient")
LAYOUTS = ("C", "Fortran", "strided", "CSC")
TIME_LIMIT = 5.0
LOSSES = (*REGRESSION, *CLASSIFICATION)
# The squared loss has most ways to be solved.
SHARES = [0.3 if loss == "squared" else 0.7 / (len(LOSSES) - 1) for loss in LOSSES]


@dataclass(frozen=True, eq=False)
class Instance:
    """Data as a user would give them, the settings of ``best_subset``, and the same as the oracle's question."""

    seed: int
    X: object
    y: np.ndarray
    sample_weight: np.ndarray | None
    settings: dict
    question: Question
    traits: tuple[str, ...]

    @property
    def gamma_class(self):
        """Whether the ridge is absent, of the data's own size, or an extreme one."""
        if np.isinf(self.question.gamma):
            return "no ridge"
        return "extreme ridge" if "extreme ridge" in self.traits else "usual ridge"

    @property
    def impossible(self):
        """Whether the method is documented not to work without a ridge or bounds on both sides."""
        question = self.question
        open_ended = [not np.isfinite(high - low) for low, high in zip(*question.limits, strict=True)]
        unbounded = question.max_coef is None and any(
            endless for j, endless in enumerate(open_ended) if j not in question.exclude
        )
        return np.isinf(question.gamma) and unbounded and self.settings["method"] in NEEDS_RIDGE

    def storages(self):
        """The same numbers in every other layout."""
        dense = self.X.toarray() if sp.issparse(self.X) else np.asarray(self.X)
        yield "C", np.ascontiguousarray(dense)
        yield "Fortran", np.asfortranarray(dense)
        if dense.dtype == np.float64:
            yield "CSC", sp.csc_array(dense)


def make_instance(seed, losses=LOSSES, shares=SHARES):
    """Return the instance of a seed, with one of these losses."""
    rng = np.random.default_rng(seed)
    loss = str(rng.choice(losses, p=shares))
    n = 3 + int((MAX_ROWS - 2) * rng.beta(1.0, 1.3))
    p = 1 + int(MAX_COLUMNS * rng.beta(1.2, 1.6))
    ordinary = rng.random() < 0.3
    dtype = str(rng.choice(["float64", "float32", "int8"], p=[0.7, 0.15, 0.15]))
    traits: list[str] = ["ordinary"] if ordinary else []
    dense = _columns(rng, n, p, dtype, ordinary, traits)
    weights = draw_weights(rng, n, traits)
    counted = np.flatnonzero(np.ones(n) if weights is None else weights)
    values = dense.astype(np.float64)
    y = _response(rng, values, loss, counted, ordinary, traits)
    settings = {
        "loss": loss,
        "fit_intercept": bool(rng.random() < 0.7),
        "standardize": bool(rng.random() < 0.5),
        "method": str(
            rng.choice(["tree", "cuts", "relaxation", "subgradient", "local"], p=[0.6, 0.13, 0.09, 0.09, 0.09])
        ),
        "gap_tol": float(rng.choice([1e-4, 1e-6, 0.0], p=[0.7, 0.2, 0.1])),
        "time_limit": TIME_LIMIT,
        **_forced(rng, p),
    }
    parameter = draw_parameter(rng, loss, y)
    settings |= parameter
    settings["gamma"] = _gamma(rng, values, settings, weights, ordinary, traits)
    settings |= _sparsity(rng, loss, p, y, settings)
    settings |= _box(seed, values, y, settings, traits)
    settings |= _limits(seed, values, y, settings, traits)
    if settings["method"] == "cuts" and rng.random() < 0.2:
        settings["engine"] = "scip"
    settings |= _tuning(seed, settings, traits)
    structure, rules = draw_structure(seed, p, settings, traits)
    kept = {key: value for key, value in settings.items() if key in Question.__dataclass_fields__}
    settings |= structure
    label = np.where(y > 0, 1.0, -1.0) if loss in CLASSIFICATION else y
    omega = np.ones(n) if weights is None else weights
    question = Question(
        values[counted],
        label[counted],
        omega[counted],
        parameter=next(iter(parameter.values()), 0.0),
        rules=rules,
        **kept,
    )
    return Instance(seed, _stored(rng, dense, traits), y, weights, settings, question, tuple(traits))


def draw_parameter(rng, loss, y):
    """The parameter of the loss by its name, or nothing."""
    if "epsilon" in loss:
        return {"epsilon": float(rng.choice([0.0, 0.03, 0.3])) * size_of(y)}
    choices = {"huber": (0.03, 0.3, 3.0), "quantile": (0.5, 0.1, 0.99), "negative_binomial": (1e-2, 1.0, 30.0)}
    if loss not in choices:
        return {}
    value = float(rng.choice(choices[loss]))
    name = {"huber": "delta", "quantile": "quantile", "negative_binomial": "theta"}[loss]
    return {name: value * size_of(y) if loss == "huber" else value}


def _columns(rng, n, p, dtype, ordinary, traits):
    """Return the matrix, dense, in its type."""
    traits.append(dtype)
    X = rng.standard_normal((n, p)) + rng.choice([0.0, 0.7, 3.0]) * rng.standard_normal((n, 1))
    if rng.random() < 0.15:
        traits.append("zeros")
        X *= rng.random((n, p)) < 0.3
    if dtype == "int8":
        X = np.clip(np.rint(X * rng.choice([1.0, 20.0])), -127, 127)
    if not ordinary:
        hazards = [_duplicate, _total, _one_hot, make_constant]
        if dtype != "int8":
            hazards += [_near_duplicate, _near_duplicate, make_scales, make_means]
        for hazard in hazards:
            if rng.random() < 0.22:
                hazard(rng, X, traits)
    if dtype == "int8":
        X = np.clip(X, -128, 127)
    return X.astype(dtype)


def _pair(rng, p):
    """Two different columns, or the same one twice where there is no other."""
    return (0, 0) if p == 1 else tuple(rng.choice(p, 2, replace=False))


def _duplicate(rng, X, traits):
    traits.append("duplicate")
    i, j = _pair(rng, X.shape[1])
    X[:, j] = X[:, i]


def _near_duplicate(rng, X, traits):
    traits.append("near duplicate")
    i, j = _pair(rng, X.shape[1])
    X[:, j] = X[:, i] * (1.0 + 10.0 ** rng.uniform(-16, -6) * rng.standard_normal(len(X)))


def _total(rng, X, traits):
    traits.append("total")
    X[:, 0] = X[:, 1 : int(rng.integers(2, X.shape[1] + 1))].sum(axis=1) if X.shape[1] > 1 else X[:, 0]


def _one_hot(rng, X, traits):
    traits.append("one-hot")
    levels = int(rng.integers(1, X.shape[1] + 1))
    X[:, :levels] = np.eye(levels)[rng.integers(levels, size=len(X))]


def make_constant(rng, X, traits):
    traits.append("constant")
    X[:, rng.integers(X.shape[1])] = rng.choice([0.0, 0.0, 1.0, 0.1, -7.0])


def make_scales(rng, X, traits):
    traits.append("scales")
    X *= 10.0 ** rng.uniform(-8, 8, X.shape[1])


def make_means(rng, X, traits):
    traits.append("means")
    spread = np.abs(X).max(axis=0)
    X += rng.choice([-1.0, 1.0], X.shape[1]) * spread * 10.0 ** rng.uniform(0, 12, X.shape[1])


def draw_weights(rng, n, traits):
    kind = str(rng.choice(["none", "usual", "some zero", "extreme"], p=[0.6, 0.2, 0.1, 0.1]))
    if kind == "none":
        return None
    traits.append(f"weights {kind}")
    if kind == "extreme":
        return 10.0 ** rng.uniform(-6, 6, n)
    weights = rng.uniform(0.5, 2.0, n)
    if kind == "some zero":
        weights[2:] *= rng.random(n - 2) < 0.7
    return weights


def _response(rng, X, loss, counted, ordinary, traits):
    """Return y: signal and noise, or a perfect fit; for classes, 0 and 1 or -1 and 1, with both of them counted."""
    n, p = X.shape
    centred = X - X.mean(axis=0)
    spread = np.abs(centred).max(axis=0)
    w = rng.standard_normal(p) * (rng.random(p) < 0.5) / np.where(spread > 0, spread, 1.0)
    if p > 1 and not ordinary and rng.random() < 0.3:
        traits.append("y along a difference")
        i, j = _pair(rng, p)
        apart = np.abs(centred[:, i] - centred[:, j]).max()
        w[[i, j]] = np.array([1.0, -1.0]) / (apart if apart > 0 else 1.0)
    signal = centred @ w
    perfect = not ordinary and rng.random() < 0.15
    if perfect:
        traits.append("perfect fit")
    y = signal + (0.0 if perfect else rng.choice([0.1, 1.0])) * max(size_of(signal), 1e-3) * rng.standard_normal(n)
    if loss not in DIFFERENCES:
        return limited_response(rng, loss, y, counted, ordinary, traits)
    if not ordinary and rng.random() < 0.3:
        traits.append("y scaled")
        y *= 10.0 ** rng.uniform(-8, 8)
    if not ordinary and rng.random() < 0.3:
        traits.append("y offset")
        y += size_of(y) * 10.0 ** rng.uniform(0, 12)
    return y


def limited_response(rng, loss, y, counted, ordinary, traits):
    """Two labels, counts or costs, for the losses that do not take every y."""
    if loss in LOGARITHMIC:
        return _not_negative(rng, loss, y, counted, ordinary, traits)
    positive = y > np.median(y[counted])
    if positive[counted].all() or not positive[counted].any():
        positive[counted] = np.arange(counted.size) % 2 == 0
    return np.where(positive, 1.0, rng.choice([0.0, -1.0]))


def _not_negative(rng, loss, y, counted, ordinary, traits):
    """Means e^u whose logarithms follow a signal, rounded to counts or positive; not all of those that count zero."""
    apart = (y - y.mean()) / size_of(y)
    u = float(rng.choice([0.3, 1.0])) * apart + float(rng.choice([0.0, 1.0]))
    if not ordinary and rng.random() < 0.4:
        traits.append("wide means")
        u = 2.0 + 6.0 * apart
    means = np.exp(u)
    if loss == "gamma":
        return means
    counts = rng.poisson(means).astype(float) if rng.random() < 0.7 else np.round(means)
    counts[counted[0]] = max(counts[counted[0]], 1.0)
    return counts


def size_of(y):
    """The largest distance from the mean; 1 if there is none."""
    return float(np.abs(y - y.mean()).max()) or 1.0


def _forced(rng, p):
    if rng.random() < 0.75:
        return {"include": (), "exclude": ()}
    role = rng.choice(3, p, p=[0.6, 0.2, 0.2])
    return {name: tuple(np.flatnonzero(role == i + 1).tolist()) for i, name in enumerate(("include", "exclude"))}


def _gamma(rng, X, settings, weights, ordinary, traits):
    """Return γ in units of what the columns weigh; infinite for some."""
    draw = rng.random()
    if draw < (0.35 if settings["loss"] == "squared" and settings["method"] not in NEEDS_RIDGE else 0.2):
        return float("inf")
    omega = np.ones(len(X)) if weights is None else weights
    mean = omega @ X / omega.sum() if settings["fit_intercept"] else 0.0
    squares = omega @ (X - mean) ** 2
    typical = omega.sum() if settings["standardize"] else float(np.median(squares))
    unit = 1.0 / typical if typical > 0 else 1.0
    if ordinary or draw < 0.6:
        return float(unit * 10.0 ** rng.uniform(-1, 2))
    traits.append("extreme ridge")
    return float(unit * 10.0 ** rng.uniform(-6, 12))


def _sparsity(rng, loss, p, y, settings):
    """Return k, a price, or both; the price is a part of what a model without features costs, or zero."""
    least, most = len(settings["include"]), p - len(settings["exclude"])
    limit = {"k": int(rng.integers(least, most + 1))}
    kind = rng.random()
    if kind < 0.5:
        return limit
    null = {"squared": 0.5, "squared_epsilon_insensitive": 0.5}.get(loss, 1.0)
    unit = 1.0 if loss not in DIFFERENCES else size_of(y) ** (2 if "squared" in loss or loss == "huber" else 1)
    price = 0.0 if rng.random() < 0.05 else 10.0 ** rng.uniform(-5, 0)
    priced = {"l0_penalty": float(price * null * unit * len(y))}
    return priced | limit if kind < 0.65 else priced


def _box(seed, X, y, settings, traits):
    """Return a limit of coefficients, near their size or smaller, for some instances; uses its own random numbers."""
    rng = np.random.default_rng([seed, 1])
    if rng.random() < 0.75:
        return {}
    traits.append("box")
    spread = float(np.median(X.std(axis=0))) or 1.0
    unit = (size_of(y) if settings["loss"] in DIFFERENCES else 1.0) / (1.0 if settings["standardize"] else spread)
    return {"max_coef": float(unit * 10.0 ** rng.uniform(-2, 0.5))}


def _limits(seed, X, y, settings, traits):
    """Return limits of single coefficients for some instances: signs, one side, both, zeros; has its own generator.

    Instances that once failed keep their numbers, and have no limits.
    """
    rng = np.random.default_rng([seed, 4])
    if rng.random() < 0.75:
        return {}
    traits.append("limits")
    p = X.shape[1]
    spread = X.std(axis=0)
    unit = (size_of(y) if settings["loss"] in DIFFERENCES else 1.0) / np.where(spread > 0.0, spread, 1.0)
    sizes = np.clip(unit * 10.0 ** rng.uniform(-2.0, 0.5, (2, p)), 1e-140, 1e140)
    kind = str(rng.choice(["positive", "signs", "one side", "both sides", "all kinds"]))
    if kind == "positive":
        return {"lower": (0.0,) * p}
    if kind == "signs":
        up = rng.random(p) < 0.5
        return {"lower": tuple(np.where(up, 0.0, -np.inf).tolist()), "upper": tuple(np.where(up, np.inf, 0.0).tolist())}
    if kind == "one side":
        return {"upper": tuple(sizes[0].tolist())}
    if kind == "all kinds":
        draw = rng.random((2, p))
        sizes = np.where(draw < 0.3, 0.0, np.where(draw < 0.6, np.inf, sizes))
    return {"lower": tuple((-sizes[0]).tolist()), "upper": tuple(sizes[1].tolist())}


def _tuning(seed, settings, traits):
    """Return options with which few features are tried instead of searched for, for some; by numbers of its own."""
    rng = np.random.default_rng([seed, 5])
    if settings["method"] != "tree" or settings["loss"] != "squared" or rng.random() < 0.7:
        return {}
    traits.append("tried")
    return {"options": {"tuning": Tuning(leaps_features=0)}}


def _stored(rng, dense, traits):
    layout = LAYOUTS[int(rng.integers(len(LAYOUTS)))]
    traits.append(layout)
    if layout == "CSC":
        return sp.csc_array(dense)
    if layout == "strided":
        wide = np.zeros((2 * dense.shape[0], 3 * dense.shape[1]), dtype=dense.dtype)
        wide[::2, ::3] = dense
        return wide[::2, ::3]
    return np.asfortranarray(dense) if layout == "Fortran" else np.ascontiguousarray(dense)
