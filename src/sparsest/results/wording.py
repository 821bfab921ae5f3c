"""Sentences that describe a model and its proof for readers who are not statisticians."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import NamedTuple

from sparsest.core.arrays import Indices
from sparsest.core.losses import LOSSES
from sparsest.proofs.statement import Statement

_DIGITS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
# Smaller shares are not distinguished.
_SMALLEST_SHARE = 1e-6
# A difference in percentage points that held-out scores would not show.
_HARDLY = 1.0
_NAMES = ((10**12, "million million"), (10**9, "billion"), (10**6, "million"))


def percent_above(share: float) -> str:
    """A share in per cent with two digits, rounded up so that the claim stays true."""
    if not math.isfinite(share):
        return "∞ %"
    least = Decimal(max(share, _SMALLEST_SHARE)) * 100
    digit = Decimal(1).scaleb(least.adjusted() - 1)
    return f"{least.quantize(digit, rounding=ROUND_CEILING).normalize():f} %"


def choices(statement: Statement) -> str:
    """The number of supports of a problem in words; rules of a structure are not counted."""
    forced, banned = (len(statement.units_of(columns)) for columns in (statement.include, statement.exclude))
    free = _n_units(statement) - forced - banned
    if statement.k is None:
        return large(2**free) if free < 1000 else f"2{str(free).translate(_DIGITS)}"
    left = min(statement.k - forced, free)
    return large(sum(math.comb(free, i) for i in range(left + 1)))


def _n_units(statement: Statement) -> int:
    return statement.p if statement.structure is None else statement.structure.count(statement.p)


def _counted(statement: Statement, count: int) -> str:
    """A number of features, or of groups if columns are grouped."""
    grouped = statement.structure is not None and statement.structure.units is not None
    return f"{count:,} {'group' if grouped else 'feature'}{'' if count == 1 else 's'}"


def _has_rules(statement: Statement) -> bool:
    """Whether rules exclude some sets of features."""
    rules = statement.structure
    return rules is not None and bool(rules.limits or rules.requires or rules.budgets)


def large(count: int) -> str:
    """A whole number in words."""
    if count < 10**6:
        return f"{count:,}"
    if count >= 10**15:
        exponent = len(str(count)) - 1
        return f"about {int(str(count)[0])} × 10{str(exponent).translate(_DIGITS)}"
    size, name = next((size, name) for size, name in _NAMES if count >= size)
    return f"about {count / size:.3g} {name}"


def features_in_words(statement: Statement) -> str:
    """How many features a model may have."""
    if statement.k is None:
        return "any number of features" + (" (each at a price)" if _has_price(statement) else "")
    return f"up to {_counted(statement, statement.k)}"


def _has_price(statement: Statement) -> bool:
    prices = None if statement.structure is None else statement.structure.prices
    return statement.l0_penalty is not None or prices is not None


def proof_sentence(statement: Statement, status: str, gap: float) -> str:
    """What is proved, in words for a physician.

    Parameters
    ----------
    status : the name of a :class:`sparsest.results.result.Status`
    gap : relative distance between objective and lower bound
    """
    which = features_in_words(statement)
    if not gap < 1.0:
        return f"Nothing is proved about how much better another choice of {which} could fit."
    bound = f"No other choice of {which} can fit better than this one by more than {percent_above(gap)}."
    if status == "OPTIMAL":
        which = f"the admissible ones of {choices(statement)}" if _has_rules(statement) else choices(statement)
        return f"{bound} This is proved, not estimated: {which} possible choices were taken into account."
    why = {
        "TIME_LIMIT": "The search was stopped by its time limit",
        "NODE_LIMIT": "The search was stopped by its limit of nodes or memory",
        "INTERRUPTED": "The search was interrupted",
    }.get(status, "Not all other choices were excluded")
    return f"{bound} {why}, so a choice that is better by less than that may exist; none was found."


class Shares(NamedTuple):
    """The share of the null model's loss that this model explains, and a bound for any model of its size."""

    own: float
    largest: float
    size: int


def shares_of(
    statement: Statement, objective: float, lower_bound: float, null_loss: float | None, support: Indices
) -> Shares | None:
    """Objective and lower bound as shares of the loss of the model without features; None without such a loss.

    With N the null model's loss, the objective of a model of m features is its loss L, plus the ridge's penalty R ≥ 0,
    plus the price λ0 m.  The share that is explained is ``1 - (L + R)/N``.  Every admissible model has
    ``L + R + λ0 m ≥ lower bound``, so none of this size (or, without a price, of any admissible size) explains more
    than ``1 - (lower bound - λ0 m)/N``.  If prices differ, the m largest ones take the place of λ0 m.

    Without a ridge R is 0, and this bounds R² itself, or the share of the deviance.  With a ridge it does not: a model
    fitted without the penalty may have a smaller loss than the bound of ``L + R``, so the penalty counts as not
    explained in both numbers.

    Parameters
    ----------
    null_loss : the loss of the model without features
    support : the columns of the model
    """
    if null_loss is None or statement.k == 0 or not (null_loss > 0.0 and math.isfinite(objective)):
        return None
    size, price = len(statement.units_of(support)), statement.price_of(support)
    prices = None if statement.structure is None else statement.structure.prices
    dearest = price if prices is None else math.fsum(sorted(prices, reverse=True)[:size])
    own = 1.0 - (objective - price) / null_loss
    # Losses are nonnegative, so the share is at most 1.
    return Shares(own, max(1.0 - max(lower_bound - dearest, 0.0) / null_loss, own), size)


def explained_sentence(statement: Statement, shares: Shares) -> str:
    """How much this model explains, and how much any other could at most."""
    counted = "" if math.isinf(statement.gamma) else ", with the penalty on large coefficients counted as not explained"
    size = _counted(statement, shares.size) if _has_price(statement) else features_in_words(statement)
    which = f"choice of {size}"
    restricted = any(limit is not None for limit in (statement.max_coef, statement.lower, statement.upper))
    if statement.include or statement.exclude or restricted or _has_rules(statement):
        which = f"admissible {which}"
    own = f"This model explains {_percent(shares.own, ROUND_FLOOR)} {_whole(statement)}{counted}"
    if shares.largest >= 1.0:
        return f"{own}; there is no proof of how much another {which} could explain."
    return f"{own}; no other {which} explains more than {_percent(shares.largest, ROUND_CEILING)}."


def _whole(statement: Statement) -> str:
    """What the shares refer to: the loss of the model without features, by its usual name."""
    loss = LOSSES[statement.loss]
    if loss.dispersion is None:
        return f"of the {statement.loss.replace('_', ' ')} loss that a model without features has"
    # Among losses with a dispersion, only the squared loss has a quadratic conjugate.
    if not loss.conjugate_is_quadratic:
        return "of the null deviance"
    if not statement.fit_intercept:
        return "of the sum of squares"
    return f"of the variance{' (R²)' if math.isinf(statement.gamma) else ''}"


def advice_sentence(statement: Statement, status: str, shares: Shares) -> str:
    """Advice on the difference between what this model explains and what another could."""
    if status == "OPTIMAL":
        return "A longer search cannot improve the fit noticeably; held-out data tell whether the model predicts well."
    if shares.largest >= 1.0:
        return "For a proof, use a stronger ridge (a smaller gamma), a limit of coefficients (max_coef) or a smaller k."
    left = 100.0 * (shares.largest - shares.own)
    points = f"{_rounded(left, ROUND_CEILING)} percentage points"
    if left <= _HARDLY:
        return f"A longer search could gain at most {points}, which hardly matters for predictions."
    return (
        f"Another choice could be better by up to {points}: search longer (method 'tree' with a larger time_limit), or "
        "use a stronger ridge (a smaller gamma) or a smaller k, which make proofs easier."
    )


def _percent(share: float, rounding: str) -> str:
    """A share in per cent, with at least one decimal and enough to distinguish it from 100 %."""
    return f"{_rounded(100.0 * max(share, 0.0), rounding)} %"


def _rounded(percent: float, rounding: str) -> str:
    distance = min(percent, 100.0 - percent)
    places = 1 if distance >= 1.0 or distance <= 0.0 else min(1 - math.floor(math.log10(distance)), 6)
    return f"{Decimal(percent).quantize(Decimal(1).scaleb(-places), rounding=rounding):f}"


def asked_sentence(statement: Statement, target: str, labels: tuple[str, str] | None) -> str:
    """The question that the model answers."""
    few = "Which" if statement.k is None else f"Which {statement.k} (or fewer)"
    of = _counted(statement, _n_units(statement))
    aim = f"“{target}”" if labels is None else f"whether “{target}” is “{labels[1]}” rather than “{labels[0]}”"
    return f"{few} of {of} predict {aim} best, judged by {statement.n:,} observations?"


def measure_sentence(statement: Statement) -> str:
    """What "fit" means."""
    loss = {
        "squared": "the squared distance between prediction and observation",
        "logistic": "how surprising the observed outcomes are under the predicted probabilities (logistic loss)",
    }.get(statement.loss, f"the {statement.loss.replace('_', ' ')} loss")
    penalty = f", plus a penalty on large coefficients (gamma = {statement.gamma:.4g})"
    ridge = "" if math.isinf(statement.gamma) else penalty
    price = "" if statement.l0_penalty is None else f", plus a price of {statement.l0_penalty:g} for each feature"
    if statement.structure is not None and statement.structure.prices is not None:
        price = ", plus the prices of the features"
    box = "" if statement.max_coef is None else f" No coefficient may exceed {statement.max_coef:g} in absolute value"
    if box:
        box += ", for columns of mean square 1." if statement.standardize else "."
    box += _limits_sentence(statement)
    return f"Fit is measured by {loss}, summed over all observations{ridge}{price}; smaller is better.{box}"


def _limits_sentence(statement: Statement) -> str:
    """The limits of single coefficients, after a space; empty if there are none."""
    lower, upper = statement.lower, statement.upper
    if lower is None and upper is None:
        return ""
    if upper is None and not any(lower or ()):
        return " No coefficient may be negative."
    if lower is None and not any(upper or ()):
        return " No coefficient may be positive."
    sides = lower or (-math.inf,) * statement.p, upper or (math.inf,) * statement.p
    limited = sum(math.isfinite(low) or math.isfinite(high) for low, high in zip(*sides, strict=True))
    return f" Coefficients of {limited} column{'' if limited == 1 else 's'} must keep given limits."
