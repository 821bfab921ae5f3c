"""The warning about a search that ended without the proof it was meant to find."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from math import isinf

from sparsest.results.result import Result
from sparsest.runtime.events import NotTried, Status

# Methods that search until the model is proved; the others do not promise a proof.
_PROVING = ("tree", "cuts")
_ADVICE = {
    Status.TIME_LIMIT: "give it more time (time_limit), or make the problem easier (a smaller gamma or k)",
    Status.NODE_LIMIT: "raise node_limit or max_memory, or make the problem easier (a smaller gamma or k)",
    Status.HEURISTIC: "rounding errors leave no more to prove; set gap_tol to at least this gap",
}
_NO_RIDGE = (
    "without a ridge (gamma=inf) nothing could be proved about this model. A proof needs the squared loss with more "
    "observations than features and an imperfect fit, limits of all coefficients, or few enough supports to try them "
    "all; give a finite gamma, or max_coef"
)


def warn_if_short(results: Sequence[Result], method: str) -> None:
    """Warn once if a search ended without its proof, unless the user interrupted it."""
    short = [result for result in results if result.status in _ADVICE]
    if method not in _PROVING or not short:
        return
    worst = max(short, key=lambda result: result.gap)
    where = "" if len(results) == 1 else f"k = {worst.statement.k}, the worst of {len(short)} of {len(results)}: "
    warnings.warn(where + _message(worst), convergence_warning(), stacklevel=level_of_the_user())


def _message(result: Result) -> str:
    if isinf(result.statement.gamma) and result.lower_bound <= _floor(result):
        return _NO_RIDGE + _estimate(result)
    if result.status is Status.HEURISTIC and result.screening is not None and not result.screening.safe:
        left = result.screening.n_not_excluded
        return f"screening was heuristic: {left} of the dropped features may be in a better model; raise screen"
    ended = result.status.value.partition(";")[0] if result.status is not Status.HEURISTIC else "the search is complete"
    return f"{ended}, with a gap of {result.gap:.2g} left to prove: {_ADVICE[result.status]}{_estimate(result)}"


def _estimate(result: Result) -> str:
    """How long trying all choices of features would take, if a search has estimated that."""
    found = result.trace.get("last features")
    return f"; {NotTried(0.0, found['estimated_seconds'], found['bytes'])}" if found else ""


def _floor(result: Result) -> float:
    """The bound that holds without a search: losses are nonnegative, and forced features have their price."""
    return (result.statement.l0_penalty or 0.0) * len(result.statement.include)


def convergence_warning() -> type[UserWarning]:
    """Scikit-learn's ConvergenceWarning, or its base class UserWarning where scikit-learn is not loaded.

    Code that names the class in a filter has already imported scikit-learn.  Importing it here would take a second.
    """
    if "sklearn" not in sys.modules:
        return UserWarning
    from sklearn.exceptions import ConvergenceWarning

    category: type[UserWarning] = ConvergenceWarning
    return category


def level_of_the_user() -> int:
    """The ``stacklevel`` at which a warning points to the call from outside the package."""
    level, frame = 0, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "sparsest":
        level, frame = level + 1, frame.f_back
    return level + 1
