"""Run the same function many times in parallel, with progress; an interruption keeps the finished calls."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from sparsest.results.advice import level_of_the_user
from sparsest.runtime.clock import Callback, Clock
from sparsest.runtime.events import Event, Repetition
from sparsest.runtime.progress import Listener, watching


def collect(
    calls: Iterable[Any], n_jobs: int | None, callback: Callback | None, event: Callable[[float, int], Event]
) -> list[Any]:
    """Run calls made by joblib's ``delayed``, and return their results in order.

    The first Ctrl-C, or a callback that returns True, stops with the results so far.  If there are none yet,
    KeyboardInterrupt is raised.

    Parameters
    ----------
    n_jobs : number of parallel calls, with joblib's conventions and its backend
    callback : called with an event after every call
    event : makes the event from the seconds so far and the number of finished calls
    """
    clock = Clock(np.inf, callback)
    found: list[Any] = []
    work = Parallel(n_jobs=n_jobs, return_as="generator")(calls)
    with clock.listening():
        try:
            for one in work:
                # A call that was running when the user asked to stop may be incomplete.
                if clock.expired():
                    break
                found.append(one)
                clock.tell(event(clock.seconds(), len(found)))
                if clock.expired():
                    break
        except KeyboardInterrupt:
            if not found:
                raise
        finally:
            with warnings.catch_warnings():
                # The caller warns of calls that were left out.
                warnings.simplefilter("ignore", UserWarning)
                work.close()
    if not found:
        raise KeyboardInterrupt
    return found


def repeat(
    work: Callable[..., Any],
    draws: Sequence[tuple[Any, ...]],
    name: str,
    *,
    title: str,
    n_jobs: int | None,
    callback: Listener | None,
    verbose: bool,
) -> list[Any]:
    """Run a function for each random draw, with progress; warn of missing repetitions and proofs, and ends of grids.

    Parameters
    ----------
    work : called with the entries of a draw; its result has the fields ``unproved`` and ``at_an_end``
    name : the name of the repetitions, in the plural
    title : the title of the progress line
    n_jobs, callback : see :func:`collect`; the events are ``Repetition``
    verbose : whether to show the progress
    """
    with watching(verbose, callback, title) as listener:
        calls = (delayed(work)(*draw) for draw in draws)
        found = collect(calls, n_jobs, listener, lambda seconds, n_done: Repetition(seconds, n_done, len(draws)))
    warn_if_incomplete(len(found), len(draws), name, sum(one.unproved for one in found))
    if ends := [one.at_an_end for one in found if one.at_an_end]:
        warnings.warn(f"in {len(ends)} of {len(found)} {name}: {ends[0]}", UserWarning, stacklevel=level_of_the_user())
    return found


def warn_if_incomplete(n_done: int, n_wanted: int, what: str, n_unproved: int) -> None:
    """Warn if repetitions were left out, and if searches ended without a proof.

    Parameters
    ----------
    what : the name of the repetitions, in the plural
    n_unproved : number of repetitions with such a search
    """
    from sklearn.exceptions import ConvergenceWarning

    said = [f"interrupted after {n_done} of {n_wanted} {what}: the result uses only these"] * (n_done < n_wanted)
    if n_unproved:
        said.append(
            f"in {n_unproved} of {n_done} {what} the search ended without a proof: give the estimator more time "
            "(time_limit), or a method that needs none (method='relaxation')"
        )
    for sentence in said:
        warnings.warn(sentence, ConvergenceWarning, stacklevel=level_of_the_user())
