"""Fault injection for tests: Ctrl-C, a lack of memory or time, or a solver without an answer, at a named point.

Library code calls ``reach`` at such a point.  The call does nothing unless a test has injected an action there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# What an action at each point receives, and what a true return value means.
POINTS = {
    "clock": "a search asks whether its time is up; true: it is",
    "data": "data of this shape are about to be centred and scaled",
    "fingerprint": "a thread is about to compute the fingerprint of data; true: it ends without one",
    "columns": "the tree copies some columns",
    "set up": "the tree sets up the bounds of its nodes",
    "relax": "a kernel is about to improve a relaxation of the squared loss",
    "dual value": "a kernel is about to bound a relaxation of a piecewise linear loss",
    "tighten": "a kernel is about to bound a node and to fix features",
    "nodes": "a thread is about to relax nodes",
    "node bounded": "the search is about to store the bound of a node",
    "node split": "the search is about to split a node",
    "fit": "a model is about to be fitted on one support",
    "linear program": "receives the seconds left; true: there is no answer",
    "simplex": "HiGHS has run; true: it has failed",
    "cut node": "the search over cuts is about to close or split a node",
    "result": "a result is about to be built",
    "turn": "receives the ridge that was chosen for a support; true: another choice",
    "walk": "a penalty path goes on to its next alphas",
    "review": "receives whether a path is reviewed with starts from the Lasso",
    "fold": "the grid of a fold is about to be fitted",
    "price": "receives a size that is about to be searched; true: the price of a column in this search",
    "event": "the command line receives this event",
    "table": "a data file is about to be read",
    "pass over text": "a text file is about to be read from its beginning",
    "shipped table": "receives a file of scikit-learn's; true: it is not where it usually is",
    "report": "a report is about to compare other supports",
}

_actions: dict[str, Callable[..., Any]] = {}


def reach(point: str, *given: Any) -> Any:
    """Run the action injected at a point and return its value; None if there is no action."""
    action = _actions.get(point)
    return None if action is None else action(*given)


@contextmanager
def injected(point: str, action: Callable[..., Any]) -> Iterator[None]:
    """Run an action whenever a point is reached, in any thread of this process."""
    if point not in POINTS:
        raise ValueError(f"unknown point {point!r}; the points are {', '.join(POINTS)}")
    before = _actions.get(point)
    _actions[point] = action
    try:
        yield
    finally:
        _actions.pop(point)
        if before is not None:
            _actions[point] = before
