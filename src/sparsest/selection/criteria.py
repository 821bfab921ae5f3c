"""Information criteria: AIC, AICc, BIC, EBIC, GIC and mBIC of any model.

With L the likelihood, N the sum of the weights (which count as repetitions), d the degrees of freedom, s the number of
chosen features and p that of the candidates, before any screening:

========  ==============================================  =========================================================
``aic``   ``-2 log L + 2d``                               Akaike (1974)
``aicc``  ``aic + 2d(d+1)/(N-d-1)``                       Hurvich and Tsai (1989)
``bic``   ``-2 log L + d log N``                          Schwarz (1978)
``ebic``  ``bic + 2ξ log C(p, s)``                        Chen and Chen (2008)
``gic``   ``-2 log L + d log(log N) log p``               Fan and Tang (2013)
``mbic``  ``bic + 2s log max(p/4 - 1, 1)``                Bogdan, Ghosh and Doerge (2004), 4 features expected
========  ==============================================  =========================================================

Degrees of freedom include the intercept and, for the squared loss, the noise variance unless it is given, so that AIC
and BIC of least squares equal those of R.  The features of a model with a ridge count by the trace of its hat matrix.
Those of a path count by their number: this is unbiased for the Lasso (Zou, Hastie and Tibshirani 2007), an upper bound
for the elastic net, and customary for MCP and SCAD.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, lgamma, log, pi
from typing import Any

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.checks import number, optional, shown, whole_number, word
from sparsest.core.data import make_data
from sparsest.core.designs import unstandardized
from sparsest.paths.path_result import PathResult
from sparsest.results.result import Result
from sparsest.subset.fits.influence import influence
from sparsest.subset.fits.support import fit_support
from sparsest.subset.task import problem_of

# Losses whose sum is the negative log-likelihood up to a constant.
_LIKELIHOODS = ("logistic", "poisson", "negative_binomial")
_GAUSSIAN = "squared"
# A relative bound of the rounding errors of the logarithm, sums and products below.
_ROUNDING = 1e-14


def _log_binomial(p: int, s: int) -> float:
    return lgamma(p + 1) - lgamma(s + 1) - lgamma(p - s + 1) if 0 <= s <= p else inf


# The terms added to -2 log L, for d degrees of freedom, s features, N observations, p candidates and ξ.
_PENALTIES: dict[str, Callable[[float, int, float, int, float], float]] = {
    "aic": lambda d, s, n, p, xi: 2.0 * d,
    "aicc": lambda d, s, n, p, xi: 2.0 * d * n / (n - d - 1.0) if n > d + 1.0 else inf,
    "bic": lambda d, s, n, p, xi: d * log(n),
    "ebic": lambda d, s, n, p, xi: d * log(n) + 2.0 * xi * _log_binomial(p, s),
    "gic": lambda d, s, n, p, xi: d * log(log(n)) * log(p),
    "mbic": lambda d, s, n, p, xi: d * log(n) + 2.0 * s * log(max(p / 4.0 - 1.0, 1.0)),
}
CRITERIA = tuple(_PENALTIES)


@dataclass(frozen=True)
class Criterion:
    """A criterion for models of one data set; it increases with the sum of losses.

    Attributes
    ----------
    name : one of ``CRITERIA``
    loss : the name of the loss
    n : the sum of the weights
    p : the number of candidates
    fit_intercept : whether models have an intercept
    noise_variance : known variance of the noise (squared loss); None if it is estimated for each model
    xi : the ξ of EBIC, between 0 (BIC) and 1
    """

    name: str
    loss: str
    n: float
    p: int
    fit_intercept: bool
    noise_variance: float | None = None
    xi: float = 1.0

    def __post_init__(self) -> None:
        """Raise ValueError for unknown criteria and for losses without a likelihood."""
        word(self.name, "criterion", words=CRITERIA)
        optional(number, above=0)(self.noise_variance, "noise_variance")
        number(self.xi, "xi", least=0, most=1)
        if self.loss != _GAUSSIAN and self.loss not in _LIKELIHOODS:
            raise ValueError(
                f"the {self.loss} loss has no likelihood, so it has no information criteria: choose by "
                f"cross-validation, or give loss {_GAUSSIAN!r} or 'logistic'"
            )
        if self.loss != _GAUSSIAN and self.noise_variance is not None:
            raise ValueError(f"noise_variance is for the squared loss, not for the {self.loss} loss")
        if self.name == "gic" and self.n < 3.0:
            raise ValueError(f"GIC needs at least 3 observations, got {self.n:g}")

    @property
    def n_nuisance(self) -> int:
        """Degrees of freedom of the intercept and the noise variance."""
        return int(self.fit_intercept) + int(self.loss == _GAUSSIAN and self.noise_variance is None)

    def minus_twice_log_likelihood(self, losses: float) -> float:
        """``-2 log L`` of a model with this sum of losses; for the squared loss at the estimated or given variance.

        It increases with the sum of losses, and is -inf for a perfect fit if the variance is estimated.
        """
        if self.loss != _GAUSSIAN:
            return 2.0 * losses
        if self.noise_variance is not None:
            return 2.0 * losses / self.noise_variance + self.n * log(2.0 * pi * self.noise_variance)
        return self.n * (log(4.0 * pi * losses / self.n) + 1.0) if losses > 0.0 else -inf

    def losses_at(self, value: float, size: int) -> float:
        """The sum of losses at which a model of this size has this value; each feature is one degree of freedom."""
        rest = value - self.penalty(size, size + self.n_nuisance)
        if self.loss != _GAUSSIAN:
            return 0.5 * rest
        if self.noise_variance is not None:
            return 0.5 * self.noise_variance * (rest - self.n * log(2.0 * pi * self.noise_variance))
        return self.n / (4.0 * pi) * float(np.exp(min(rest / self.n - 1.0, 700.0)))

    def penalty(self, size: int, degrees_of_freedom: float) -> float:
        """The penalty that is added to ``-2 log L``."""
        return _PENALTIES[self.name](degrees_of_freedom, size, self.n, self.p, self.xi)

    def value(self, losses: float, size: int, degrees_of_freedom: float | None = None) -> float:
        """The criterion of a model with this sum of losses; by default every feature is one degree of freedom."""
        d = size + self.n_nuisance if degrees_of_freedom is None else degrees_of_freedom
        penalty = self.penalty(size, d)
        return inf if penalty == inf else self.minus_twice_log_likelihood(losses) + penalty

    def rounding(self, losses: float, size: int) -> float:
        """An upper bound of the rounding error of a value."""
        fit, penalty = self.minus_twice_log_likelihood(losses), self.penalty(size, size + self.n_nuisance)
        return _ROUNDING * (abs(fit) + abs(penalty) + self.n) if np.isfinite(fit) and np.isfinite(penalty) else 0.0


def information_criterion(
    model: Result | PathResult | Sequence[Result],
    X: Any,
    y: Any,
    criterion: str = "bic",
    *,
    sample_weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
    noise_variance: float | None = None,
    xi: float = 1.0,
    n_candidates: int | None = None,
) -> float | Array:
    """The information criterion of a model, or of every model of a path or a list; smaller is better.

    Parameters
    ----------
    model : what :func:`sparsest.best_subset`, ``best_subset_path`` or :func:`sparsest.penalty_path` returned
    X, y, sample_weight, offset, exposure : the data of the fit; weights count as repetitions of observations
    criterion : "aic", "aicc", "bic", "ebic", "gic" or "mbic"; see :mod:`sparsest.selection.criteria`
    noise_variance : variance of the noise, if it is known (squared loss)
    xi : the ξ of EBIC, between 0 (BIC) and 1
    n_candidates : number of candidates; by default the columns of X that are not excluded.  If you have screened
        features yourself, give the number before screening

    Returns
    -------
    float, or ndarray with an entry for each alpha of a path or each model of a list
        Losses are computed with the shrunk coefficients; shrinkage reduces the degrees of freedom.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_diabetes_quadratic()
    >>> models = sparsest.best_subset_path(data.X, data.y, [1, 2, 3])
    >>> sparsest.information_criterion(models, data.X, data.y, "bic").round(1).tolist()
    [4927.7, 4847.0, 4834.9]
    """
    settings = {"name": criterion, "noise_variance": noise_variance, "xi": xi}
    rows = {"sample_weight": sample_weight, "offset": offset, "exposure": exposure}
    if isinstance(model, Result):
        return _of_result(model, X, y, rows, n_candidates, settings)
    if isinstance(model, PathResult):
        return _of_path(model, X, y, rows, n_candidates, settings)
    if isinstance(model, (list, tuple)) and model and all(isinstance(one, Result) for one in model):
        return np.array([_of_result(one, X, y, rows, n_candidates, settings) for one in model])
    raise ValueError(f"model must be a Result, a list of them or a PathResult, got {shown(model)}")


def _of_result(model: Result, X: Any, y: Any, rows: dict[str, Any], candidates: Any, settings: dict[str, Any]) -> float:
    problem = problem_of(model, X, y, **rows)
    allowed = problem.p - problem.exclude.size
    chosen = Criterion(
        loss=problem.loss.name,
        n=float(problem.weights.sum()),
        p=_check_candidates(candidates, allowed, model.support.size),
        fit_intercept=problem.fit_intercept,
        **settings,
    )
    fit = fit_support(problem, model.support)
    margin = problem.design.columns(fit.support) @ fit.w + fit.b
    losses = float(problem.weights @ problem.loss.value(problem.y, margin))
    d = influence(problem, fit).degrees_of_freedom - int(problem.fit_intercept) + chosen.n_nuisance
    return chosen.value(losses, model.support.size, d)


def _of_path(
    path: PathResult, X: Any, y: Any, rows: dict[str, Any], candidates: Any, settings: dict[str, Any]
) -> Array:
    data = make_data(X, y, loss=path.loss, fit_intercept=path.fit_intercept, **rows)
    chosen = Criterion(
        loss=path.loss.name,
        n=float(data.weights.sum()),
        p=_check_candidates(candidates, data.p, int(path.n_nonzero.max())),
        fit_intercept=path.fit_intercept,
        **settings,
    )
    used = np.unique(path.coefs.indices)
    margins = unstandardized(data.design).dot(path.coefs[used].toarray(), used) + path.intercepts
    added = np.broadcast_to(data.added, data.n)[:, None]
    losses = data.weights @ data.stated_loss.value(data.response[:, None], margins + added)
    return np.array([chosen.value(float(t), int(s)) for t, s in zip(losses, path.n_nonzero, strict=True)])


def _check_candidates(given: Any, allowed: int, used: int) -> int:
    return allowed if given is None else whole_number(given, "n_candidates", least=max(used, 1))
