"""Standard errors, tests and intervals of the coefficients of chosen features, from a refit without shrinkage.

With the rows ``z`` of the chosen columns, weights ω and losses ℓ at the refit, the covariance of the coefficients is

- ``nonrobust``: ``φ (Σ ω E[ℓ''] zz')⁻¹``.  φ is 1 for the logistic, Poisson and negative binomial losses (whose theta
  is taken as known), and Pearson's ``Σ ω ℓ'²/E[ℓ''] / (n - m)`` for the squared, gamma and Tweedie losses: for the
  squared loss the residual variance;
- ``HC0``: ``H⁻¹ (Σ ω²ℓ'² zz') H⁻¹`` with ``H = Σ ωℓ'' zz'`` (Huber 1967, White 1980), which needs no model of the
  variance and holds for every smooth loss; ``HC1`` multiplies it by ``n/(n - m)``, ``HC2`` and ``HC3`` divide ``ℓ'²``
  by ``1 - h`` and ``(1 - h)²`` with the leverages ``h = ω ℓ'' z'H⁻¹z`` (MacKinnon and White 1985).

All results are conditional on the features.  If the same rows were used to select them, p-values are too small and
intervals too narrow, more so with more candidates: :func:`sparsest.bootstrap` shows how stable the selection is, and
:func:`sparsest.multi_split` gives p-values that hold after selection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as la
from scipy import stats

from sparsest.core.arrays import Array
from sparsest.core.checks import flag, number, optional, word
from sparsest.core.leverages import squared_lengths
from sparsest.core.losses import Loss
from sparsest.results.plain_tables import Summarised, data_frame, text_table, wrapped
from sparsest.results.refits import NoRefit, Refit, refit

COVARIANCES = ("nonrobust", "HC0", "HC1", "HC2", "HC3")
WEIGHTS = ("precision", "frequency")
INTERCEPT = "(intercept)"
SAME_ROWS = (
    "Conditional on the chosen features: they were chosen on the same rows, so p-values are too small and intervals "
    "too narrow. sparsest.bootstrap and sparsest.multi_split take the choice into account."
)
# Pearson's statistic over its degrees of freedom from which a note says that standard errors are too small.
_OVERDISPERSED = 2.0
OTHER_ROWS = "Conditional on the chosen features. They were chosen on other rows, so p-values and intervals are valid."


@dataclass(frozen=True, eq=False)
class Inference(Summarised):
    """The result of :meth:`sparsest.Result.inference`: one entry for each chosen feature, and the intercept last.

    Attributes
    ----------
    names : the names of the features, and "(intercept)" if there is one
    model : coefficients of the model, which a ridge may have shrunk
    coef : coefficients of the refit without shrinkage; the following fields are about these
    per_deviation : ``coef`` times the standard deviation of its feature; NaN for the intercept
    standard_error, statistic, p_value : the standard errors, and the tests of each coefficient being zero
    lower, upper : the ends of the confidence intervals
    covariance : the covariance matrix of ``coef``
    confidence : the level of the intervals
    cov_type : "nonrobust" or "HC0" to "HC3"
    distribution : the distribution of the statistics, "t" or "z"
    degrees_of_freedom : observations (or the sum of their frequencies) less coefficients
    dispersion : the factor φ of the variance; NaN for robust covariances of losses without a model of the response
    same_rows : whether the features were selected on the same rows
    overdispersion : for counts, Pearson's statistic over its degrees of freedom, about 1 if the loss fits their
        variance; NaN for other losses, and for robust covariances, which do not need it

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_diabetes_quadratic()
    >>> result = sparsest.best_subset(data.X, data.y, k=2, feature_names=data.feature_names)
    >>> found = result.inference(data.X, data.y)
    >>> found.names, found.coef.round(1).tolist()
    (('bmi', 's5', '(intercept)'), [32.1, 29.3, 152.1])
    >>> found.lower.round(1).tolist(), found.upper.round(1).tolist()
    ([26.2, 23.3, 146.8], [38.0, 35.2, 157.4])
    """

    names: tuple[str, ...]
    model: Array
    coef: Array
    per_deviation: Array
    standard_error: Array
    statistic: Array
    p_value: Array
    lower: Array
    upper: Array
    covariance: Array
    confidence: float
    cov_type: str
    distribution: str
    degrees_of_freedom: float
    dispersion: float
    same_rows: bool
    overdispersion: float = np.nan

    @property
    def order(self) -> list[int]:
        """Entries with the largest effects per standard deviation first, and the intercept last."""
        size = np.where(np.isnan(self.per_deviation), -1.0, np.abs(self.per_deviation))
        return [int(j) for j in np.argsort(-size, kind="stable")]

    @property
    def note(self) -> str:
        """What the results are conditional on, and whether counts vary more than their loss assumes."""
        condition = SAME_ROWS if self.same_rows else OTHER_ROWS
        return " ".join([condition, *overdispersion_note(self.overdispersion)])

    def to_frame(self) -> Any:
        """A pandas data frame with a row for each coefficient, the largest effects per standard deviation first."""
        columns = ("per_deviation", "model", "coef", "standard_error", "statistic", "p_value", "lower", "upper")
        order = self.order
        return data_frame(
            {name: getattr(self, name)[order] for name in columns}, [self.names[j] for j in order], "feature"
        )

    def summary(self, width: int = 80) -> str:
        """A table as text, the largest effects per standard deviation first, and what its numbers are conditional on.

        Parameters
        ----------
        width : the largest number of characters of a line
        """
        letter = self.distribution
        interval = f"{100 * self.confidence:g} % interval"
        heads = ["feature", "per SD", "model", "refit", "SE", letter, "p", interval]
        rows = []
        for j in self.order:
            effect = "" if np.isnan(self.per_deviation[j]) else f"{self.per_deviation[j]:.4g}"
            values = [f"{x[j]:.4g}" for x in (self.model, self.coef, self.standard_error)]
            interval = f"{self.lower[j]:.4g} … {self.upper[j]:.4g}"
            rows.append(
                [self.names[j], effect, *values, f"{self.statistic[j]:.2f}", p_value_text(self.p_value[j]), interval]
            )
        error = "" if self.cov_type == "nonrobust" else f"{self.cov_type} standard errors, "
        free = f", {self.degrees_of_freedom:g} degrees of freedom" if letter == "t" else ""
        title = f"Coefficients without shrinkage ({error}{letter} statistics{free})"
        return "\n".join([*wrapped([title], width), *text_table(heads, rows, width), *wrapped([self.note], width)])


def p_value_text(p: float) -> str:
    """A p-value with two digits."""
    return "< 1e-16" if p < 1e-16 else f"{p:.2g}"


def infer(
    columns: Array,
    y: Any,
    names: Sequence[str],
    *,
    loss: Loss,
    fit_intercept: bool = True,
    model: Array | None = None,
    cov_type: str | None = None,
    confidence: float = 0.95,
    use_t: bool | None = None,
    weights: str = "precision",
    same_rows: bool = True,
    **given: Any,
) -> Inference:
    """Refit columns without shrinkage, and compute standard errors, tests and intervals.

    Parameters
    ----------
    columns : n × m, the chosen features
    names : the names of the columns
    model : coefficients of the model, the intercept last; by default those of the refit
    cov_type, confidence, use_t, weights : see :meth:`sparsest.Result.inference`
    same_rows : whether the features were selected on these rows
    **given : ``sample_weight``, ``offset`` and ``exposure``
    """
    kind = _kind_of_covariance(cov_type, loss)
    level = number(confidence, "confidence", above=0, below=1)
    frequency = word(weights, "weights", words=WEIGHTS) == "frequency"
    fit = refit(columns, y, names, loss=loss, fit_intercept=fit_intercept, **given)
    free = (float(fit.data.weights.sum()) if frequency else fit.data.n) - fit.rows.shape[1]
    if free <= 0.0:
        raise ValueError("weights taken as frequencies leave no degrees of freedom: give weights='precision'")
    dispersion = _dispersion(fit, free)
    inner = dispersion * _inverse(fit, fit.expected_curvature) if kind == "nonrobust" else _robust(fit, kind, frequency)
    covariance = fit.to_data @ inner @ fit.to_data.T
    # Among losses with a dispersion, only the squared loss has a quadratic conjugate.
    normal = kind == "nonrobust" and loss.conjugate_is_quadratic
    student = normal if use_t is None else flag(use_t, "use_t")
    intercept = (INTERCEPT,) if fit_intercept else ()
    return Inference(
        names=(*names, *intercept),
        model=fit.coef if model is None else model,
        coef=fit.coef,
        per_deviation=fit.coef * np.append(fit.data.deviations(np.arange(len(names))), [np.nan] * len(intercept)),
        **_tests(fit.coef, covariance, stats.t(free) if student else stats.norm(), level),
        covariance=covariance,
        confidence=level,
        cov_type=kind,
        distribution="t" if student else "z",
        degrees_of_freedom=float(free),
        dispersion=dispersion,
        same_rows=same_rows,
        overdispersion=_pearson(fit, free)
        if loss.log_link and loss.dispersion == "one" and kind == "nonrobust"
        else np.nan,
    )


def overdispersion_note(ratio: float) -> list[str]:
    """What it means if counts vary ``ratio`` times as much as their loss assumes; nothing if that is not much."""
    if not ratio > _OVERDISPERSED:
        return []
    return [
        f"The counts vary {ratio:.2g} times as much as the loss assumes, so the standard errors are too small: give "
        "cov_type='HC3', or fit loss='negative_binomial' with a suitable theta."
    ]


def _kind_of_covariance(cov_type: Any, loss: Loss) -> str:
    """The covariance that was asked for, or the usual one of the loss; ValueError if the loss does not have it."""
    kind = optional(_covariance)(cov_type, "cov_type") or ("HC0" if loss.dispersion is None else "nonrobust")
    if kind == "nonrobust" and loss.dispersion is None:
        raise ValueError(
            f"the {loss.name} loss has no model of the response's variance: use cov_type 'HC0', 'HC1', 'HC2' or 'HC3'"
        )
    return kind


def _tests(coef: Array, covariance: Array, law: Any, level: float) -> dict[str, Array]:
    """Standard errors, statistics, p-values and ends of intervals, by the distribution of the statistics."""
    error = np.sqrt(np.diag(covariance))
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.where(error > 0.0, coef / error, np.sign(coef) * np.inf)
    reach = law.ppf(0.5 + 0.5 * level) * error
    return {
        "standard_error": error,
        "statistic": statistic,
        "p_value": 2.0 * law.sf(np.abs(statistic)),
        "lower": coef - reach,
        "upper": coef + reach,
    }


def _covariance(value: Any, name: str, or_else: str = "") -> str:
    return word(value, name, words=COVARIANCES)


def _dispersion(fit: Refit, free: float) -> float:
    """The factor of the variance: 1, Pearson's statistic over its degrees of freedom, or NaN without a model."""
    kind = fit.data.loss.dispersion
    if kind != "estimated":
        return 1.0 if kind == "one" else np.nan
    return _pearson(fit, free)


def _pearson(fit: Refit, free: float) -> float:
    """Pearson's statistic over its degrees of freedom."""
    assert fit.expected_curvature is not None
    return float(fit.data.weights @ (fit.slope**2 / fit.expected_curvature)) / free


def _inverse(fit: Refit, curvature: Any) -> Array:
    """``(Σ ωc zz')⁻¹`` by an orthogonal factorisation, for accuracy."""
    root = la.qr(np.sqrt(fit.data.weights * curvature)[:, None] * fit.rows, mode="r")[0][: fit.rows.shape[1]]
    try:
        inverse = la.solve_triangular(root, np.eye(root.shape[0]))
    except la.LinAlgError as error:
        raise NoRefit(
            "the loss is linear for too many observations at the refit, so standard errors do not exist: use "
            "sparsest.bootstrap"
        ) from error
    return np.asarray(inverse @ inverse.T)


def _robust(fit: Refit, kind: str, frequency: bool) -> Array:
    """The sandwich of Huber and White in the coordinates of the rows."""
    weights, (n, m) = fit.data.weights, fit.rows.shape
    bread = _inverse(fit, fit.curvature)
    # A frequency counts equal observations, each with its own score.
    score = (weights if frequency else weights**2) * fit.slope**2
    total = float(weights.sum()) if frequency else n
    if kind == "HC1":
        score = score * total / (total - m)
    elif kind in ("HC2", "HC3"):
        curvature = weights * fit.curvature
        leverage = (fit.curvature if frequency else curvature) * squared_lengths(fit.rows, curvature, 0.0, False)
        # An observation with leverage 1 is always fitted perfectly.
        score = score / np.maximum(1.0 - leverage, 1e-10) ** (1 if kind == "HC2" else 2)
    return np.asarray(bread @ (fit.rows.T @ (score[:, None] * fit.rows)) @ bread)
