"""What a model is and what is proved of it, in words for people who are no statisticians."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal

from sparsest.proofs.statement import Statement

_DIGITS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
# Shares below this are not told apart.
_SMALLEST_SHARE = 1e-6
_NAMES = ((10**12, "million million"), (10**9, "billion"), (10**6, "million"))


def percent_above(share: float) -> str:
    """A share in per cent with two digits, rounded up: what is claimed is never less than what holds."""
    if not math.isfinite(share):
        return "∞ %"
    least = Decimal(max(share, _SMALLEST_SHARE)) * 100
    digit = Decimal(1).scaleb(least.adjusted() - 1)
    return f"{least.quantize(digit, rounding=ROUND_CEILING).normalize():f} %"


def choices(statement: Statement) -> str:
    """How many sets of features a problem has, in words."""
    free = statement.p - len(statement.include) - len(statement.exclude)
    if statement.k is None:
        return large(2**free) if free < 1000 else f"2{str(free).translate(_DIGITS)}"
    left = min(statement.k - len(statement.include), free)
    return large(sum(math.comb(free, i) for i in range(left + 1)))


def large(count: int) -> str:
    """A whole number as people say it."""
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
        return "any number of features (each at a price)"
    return f"up to {statement.k} feature{'' if statement.k == 1 else 's'}"


def proof_sentence(statement: Statement, status: str, gap: float) -> str:
    """What is proved, as one says it to a physician.

    Parameters
    ----------
    status : the name of a :class:`sparsest.result.Status`
    gap : relative distance between objective and lower bound
    """
    which = features_in_words(statement)
    if not gap < 1.0:
        return f"Nothing is proved about how much better another choice of {which} could fit."
    bound = f"No other choice of {which} can fit better than this one by more than {percent_above(gap)}."
    if status == "OPTIMAL":
        return f"{bound} This is proved, not estimated: {choices(statement)} possible choices were taken into account."
    why = {
        "TIME_LIMIT": "The search was stopped by its time limit",
        "NODE_LIMIT": "The search was stopped by its limit of nodes or memory",
        "INTERRUPTED": "The search was interrupted",
    }.get(status, "Not all other choices were excluded")
    return f"{bound} {why}, so a choice that is better by less than that may exist; none was found."


def asked_sentence(statement: Statement, target: str, labels: tuple[str, str] | None) -> str:
    """What was asked, in a sentence."""
    few = "Which" if statement.k is None else f"Which {statement.k} (or fewer)"
    of = f"{statement.p:,} feature{'' if statement.p == 1 else 's'}"
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
    box = "" if statement.max_coef is None else f" No coefficient may be larger than {statement.max_coef:g} in size"
    if box:
        box += ", for columns of mean square 1." if statement.standardize else "."
    return f"Fit is measured by {loss}, summed over all observations{ridge}{price}; less is better.{box}"
