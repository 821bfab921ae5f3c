"""Advice on which method to use, from the size, correlation and noise of the data and the aim of the user.

The rules are those of Bertsimas, Pauphilet and Van Parys (2020), "Sparse Regression: Scalable Algorithms and Empirical
Performance", Statistical Science 35.  Cases that the paper does not cover follow our own benchmarks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sparsest.core.checks import as_array, as_numbers, word
from sparsest.core.data import Data, encode_labels, make_data
from sparsest.core.designs import unstandardized
from sparsest.core.problem import pose
from sparsest.core.ridge import default_gamma
from sparsest.subset.relaxation.method import Relaxation

AIMS = ("prediction", "few_false_features", "proof")
PAPER = "Bertsimas, Pauphilet and Van Parys (2020)"

# The paper's regimes: SNR of 6 is low noise, 1 medium, 0.05 high; ρ of 0.2 is low correlation, 0.7 high.
_HIGH_NOISE, _LOW_NOISE, _HIGH_CORRELATION = 0.25, 2.5, 0.6
# The signal-to-noise ratio is estimated with this many features, at most n divided by the second number, and folds.
_FEATURES, _PART_OF_ROWS, _FOLDS = 10, 10, 3
# Number of sampled columns whose largest correlations are computed.
_SAMPLED_COLUMNS = 40
# Up to this many entries and features, an exact search of all features is proposed first.
_EXACT_ENTRIES, _EXACT_FEATURES = 1e8, 20_000
# Least-squares bounds prove models without a ridge if n ≥ 4p and p is at most the second number.
_TALL, _FEW_FEATURES = 4, 60
# A target is treated as counts if its mean is below this and it contains a zero.  Counts whose
# variance is more than three times the mean get the negative binomial loss.
_SMALL_COUNTS, _MUCH_SPREAD = 20.0, 3.0
# Number of features that screening keeps.
_KEPT = 500


class Facts(NamedTuple):
    """Facts about the data on which the advice is based."""

    n: int
    p: int
    classification: bool
    correlation: float
    snr: float
    loss: str = "squared"
    n_events: int | None = None

    @property
    def about_the_target(self) -> str:
        """How the target was interpreted, as a sentence; empty for continuous amounts."""
        if self.n_events is not None:
            few = f": enough for {self.events // 10} features at 10 such rows for each" if self.events < 100 else ""
            few = ": fewer than the 10 that a single feature needs" if self.events < 10 else few
            return f"  The target has two classes, the rarer one in {self.n_events} of {self.n} rows{few}."
        if self.loss in ("poisson", "negative_binomial"):
            spread = ", more spread out than Poisson's" if self.loss == "negative_binomial" else ""
            return f"  The target was treated as counts{spread}; give loss='squared' to treat it as amounts."
        return "" if self.loss == "squared" else "  The target was treated as totals proportional to the exposure."

    @property
    def events(self) -> int:
        """Number of rows that limits the number of features: the rows of the rarer class, or all rows."""
        return self.n if self.n_events is None else self.n_events

    def opening(self) -> str:
        """The facts as the beginning of a sentence."""
        noise = "high" if self.snr < _HIGH_NOISE else "low" if self.snr >= _LOW_NOISE else "medium"
        return (
            f"With n = {self.n}, p = {self.p}, correlations up to {self.correlation:.2f} for a typical feature and "
            f"{noise} noise (a signal-to-noise ratio of about {self.snr:.2g} on held-out rows)"
        )


@dataclass(frozen=True)
class Advice:
    """A recommended method, with reasons and sources.

    Attributes
    ----------
    method : the public name to call or to fit, such as "best_subset" or "StabilitySelection"
    settings : its arguments other than the data
    why : the reasons, in a few sentences
    sources : where each rule that was applied comes from
    facts : the facts about the data on which the advice is based

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_toeplitz(n=200, p=50, k=3, snr=5.0, rng=0)
    >>> sparsest.advise(data.X, data.y, aim="prediction").method
    'BestSubsetRegressorCV'
    """

    method: str
    settings: dict[str, Any]
    why: str
    sources: tuple[str, ...]
    facts: Facts

    def __str__(self) -> str:
        """The call, the reasons and their sources."""
        arguments = "".join(f", {name}={value!r}" for name, value in self.settings.items())
        return "\n".join([f"{self.method}(X, y{arguments})", self.why, *(f"- {source}" for source in self.sources)])


class _Rule(NamedTuple):
    method: str
    settings: dict[str, Any]
    reason: str
    and_then: str
    sources: tuple[str, ...]


def advise(X: Any, y: Any, aim: str = "prediction", *, exposure: Any = None) -> Advice:
    """Recommend a method and its settings, with reasons.

    Parameters
    ----------
    X : matrix, sparse matrix or data frame of shape (n, p)
    y : n responses, or labels of two classes; small nonnegative integers are treated as counts
    exposure : n numbers above zero that counts or totals are proportional to
    aim : "prediction" of new responses, "few_false_features" among those chosen, or "proof" that no better model exists

    Returns
    -------
    Advice
        The public name to use, its settings, the reasons, and the sources of the rules.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_toeplitz(n=200, p=50, k=3, snr=5.0, rng=0)
    >>> advice = sparsest.advise(data.X, data.y, aim="proof")
    >>> advice.method, advice.settings
    ('best_subset', {'k': 10, 'gamma': inf})
    """
    rule_of = {"prediction": _prediction, "few_false_features": _few_false_features, "proof": _proof}
    chosen = rule_of[word(aim, "aim", words=AIMS)]
    facts = facts_of(X, y, exposure)
    rule = chosen(facts)
    usual = "logistic" if facts.classification and not rule.method[0].islower() else "squared"
    loss = {} if facts.loss == usual or rule.method == "StabilitySelection" else {"loss": facts.loss}
    why = f"{facts.opening()}, {rule.reason}.  {rule.and_then}.{facts.about_the_target}"
    return Advice(rule.method, {**loss, **rule.settings}, why, rule.sources, facts)


def facts_of(X: Any, y: Any, exposure: Any = None) -> Facts:
    """Measure size, correlation and noise; guess from y and the exposure whether y holds classes, counts or amounts."""
    classification = exposure is None and _has_two_values(y)
    loss = "logistic" if classification else _loss_of_numbers(y, exposure is not None)
    data = make_data(X, y, loss=loss, standardize=True, exposure=exposure)
    positive = int((data.response > 0.0).sum())
    n_events = min(positive, data.n - positive) if classification else None
    return Facts(data.n, data.p, classification, _typical_correlation(data), _signal_to_noise(data), loss, n_events)


def _loss_of_numbers(y: Any, exposed: bool) -> str:
    """The loss for a numeric target: one for counts, gamma or Tweedie for totals with an exposure, else squared."""
    target = np.ravel(as_numbers(as_array(y, "y"), "y"))
    if not (target.size and np.isfinite(target).all() and (target >= 0.0).all() and target.any()):
        return "squared"
    whole, mean = bool((target == np.round(target)).all()), float(target.mean())
    if not exposed and not (whole and target.min() == 0.0 and mean < _SMALL_COUNTS):
        return "squared"
    if whole:
        return "negative_binomial" if float(target.var()) > _MUCH_SPREAD * mean else "poisson"
    return "gamma" if target.min() > 0.0 else "tweedie"


def _has_two_values(y: Any) -> bool:
    try:
        encode_labels(y)
    except ValueError:
        return False
    return True


def _typical_correlation(data: Data) -> float:
    """The median over sampled columns of their largest absolute correlation with another column."""
    alive = np.flatnonzero(data.column_norms > 0.0)
    if alive.size < 2:
        return 0.0
    some = np.random.default_rng(0).permutation(alive)[:_SAMPLED_COLUMNS]
    products = np.abs(data.design.tdot(data.weights[:, None] * data.design.columns(some), alive)) / data.weights.sum()
    products[np.searchsorted(alive, some), np.arange(some.size)] = 0.0
    return float(np.median(np.minimum(products.max(axis=0), 1.0)))


def _signal_to_noise(data: Data) -> float:
    """``PVE / (1 - PVE)`` of a sparse model; PVE is the proportion of the loss that it explains on held-out rows."""
    k = min(_FEATURES, max(1, data.n // _PART_OF_ROWS), data.p)
    order = np.random.default_rng(0).permutation(data.n)
    matrix, left, null = unstandardized(data.design), 0.0, 0.0
    for fold in range(_FOLDS):
        test, train = np.sort(order[fold::_FOLDS]), np.sort(np.delete(order, np.s_[fold::_FOLDS]))
        part = data.rows(train)
        model = Relaxation(polish=False).solve(pose(part, k, gamma=default_gamma(part)))
        margin = matrix.rows(test).dot(model.coef) + model.intercept
        constant = part.intercept_for(np.zeros(part.n)) + part.y_offset
        weights, y, loss = data.weights[test], data.response[test], data.stated_loss
        added = np.broadcast_to(data.added, data.n)[test]
        left += float(weights @ loss.value(y, margin + added))
        null += float(weights @ loss.value(y, constant + added))
    explained = 1.0 - left / null if null > 0.0 else 0.0
    return float(np.clip(explained, 0.0, 0.999) / (1.0 - np.clip(explained, 0.0, 0.999)))


def _prediction(facts: Facts) -> _Rule:
    kind = "Classifier" if facts.classification else "Regressor"
    if facts.snr < _HIGH_NOISE:
        return _Rule(
            f"Penalized{kind}CV",
            {"penalty": "elastic_net"},
            "shrinkage matters more than the choice of features, and l1 penalties compete with other methods",
            "The elastic net keeps correlated features together, and cross-validation sets its strength",
            (f"{PAPER}, Summary and guidelines, 5th point: Lasso and elastic net are a robustness story",),
        )
    return _Rule(
        f"BestSubset{kind}CV",
        {},
        "a cardinality constraint with a ridge predicts best, because it combines sparsity with shrinkage",
        "Both k and the ridge are chosen by cross-validation",
        (
            f"{PAPER}, synthetic regression: prediction goes with accuracy, the exact formulation performing best",
            f"{PAPER}, Conclusion: the best approaches combine a convex and a non-convex component",
        ),
    )


def _few_false_features(facts: Facts) -> _Rule:
    if facts.snr < _HIGH_NOISE:
        return _Rule(
            "StabilitySelection",
            {"max_false": 1.0},
            "one fit cannot tell true features from noise: keep those that are chosen in most halves of the data",
            "The bound on the number kept by chance holds at every noise level",
            (
                "Meinshausen and Bühlmann (2010), theorem 1; Shah and Samworth (2013), theorems 1 and 2",
                f"{PAPER}, Summary and guidelines, 2nd point: cardinality constraints have the fewest false features",
            ),
        )
    misled = " and correlation misleads it" if facts.correlation >= _HIGH_CORRELATION else ""
    return _Rule(
        "certified_choice",
        {"criterion": "ebic", "ks": min(50, max(1, facts.n // 5))},
        f"a cardinality constraint finds true features and few others, where Lasso finds many false ones{misled}",
        "EBIC accounts for the number of candidates, which avoids chance findings, and its choice of k is proved",
        (
            f"{PAPER}, Summary and guidelines, 2nd point, and Conclusion: exact solutions have the fewest false ones",
            f"{PAPER}, table of advantages: Lasso's false detection is sensitive to noise, its accuracy to correlation",
            "Chen and Chen (2008): EBIC is consistent also where p grows with n",
        ),
    )


def _proof(facts: Facts) -> _Rule:
    k = min(_FEATURES, max(1, facts.events // _PART_OF_ROWS), facts.p)
    if facts.loss == "squared" and facts.n >= _TALL * facts.p and facts.p <= _FEW_FEATURES:
        return _Rule(
            "best_subset",
            {"k": k, "gamma": np.inf},
            "least squares bounds prove the best subset itself, without a ridge",
            "Leaps and bounds need seconds for tens of features",
            ("Furnival and Wilson (1974), leaps and bounds; our benchmarks/exact.py",),
        )
    settings: dict[str, Any] = {"k": k, "gamma": "auto", "time_limit": 300.0}
    time = f"{PAPER}, appendix on computational time: a small γ is solved fast, a large one may take long"
    if facts.p <= _EXACT_FEATURES and facts.n * facts.p <= _EXACT_ENTRIES:
        return _Rule(
            "best_subset",
            settings,
            "branch and bound with a ridge proves the model; a stronger ridge makes it faster",
            "If the time runs out first, the gap tells how far the model may be from the best one",
            (time,),
        )
    return _Rule(
        "best_subset",
        {**settings, "screen": _KEPT},
        "the relaxation screens first and branch and bound solves for what it keeps",
        "The result says whether screening was safe, and then its certificate is a proof for all features",
        (time, f"{PAPER}, Summary and guidelines, 4th point: screen first, then use the expensive method"),
    )
