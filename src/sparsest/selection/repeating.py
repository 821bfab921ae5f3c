"""The same work many times in parallel, with progress, and without losing what is done when it is interrupted."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from joblib import Parallel

from sparsest.results.advice import level_of_the_user
from sparsest.runtime.clock import Callback, Clock
from sparsest.runtime.events import Event


def collect(
    calls: Iterable[Any], n_jobs: int | None, told: Callback | None, event: Callable[[float, int], Event]
) -> list[Any]:
    """Run calls that joblib's ``delayed`` has made, and return what they return, in order.

    The first Ctrl-C, or a callback that returns True, ends it with what is done; where nothing is done yet,
    KeyboardInterrupt is raised.

    Parameters
    ----------
    n_jobs : calls at a time, by joblib's conventions and its backend
    told : hears of every call that is done
    event : from seconds and the number of calls that are done to what is told
    """
    clock = Clock(np.inf, told)
    found: list[Any] = []
    work = Parallel(n_jobs=n_jobs, return_as="generator")(calls)
    with clock.listening():
        try:
            for one in work:
                # A call during which somebody asked to stop may have been cut short.
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
                # That calls were left out is told by whoever asked for them.
                warnings.simplefilter("ignore", UserWarning)
                work.close()
    if not found:
        raise KeyboardInterrupt
    return found


def warn_of_the_rest(n_done: int, n_wanted: int, what: str, n_unproved: int) -> None:
    """Warn once of what was left out, and of searches that ended without their proof.

    Parameters
    ----------
    what : what was repeated, in the plural
    n_unproved : how many of the repetitions had such a search
    """
    from sklearn.exceptions import ConvergenceWarning

    said = [f"interrupted after {n_done} of {n_wanted} {what}: the result rests on these"] * (n_done < n_wanted)
    if n_unproved:
        said.append(
            f"in {n_unproved} of {n_done} {what} the search ended without a proof: give the estimator more time "
            "(time_limit), or a method that needs none (method='relaxation')"
        )
    for sentence in said:
        warnings.warn(sentence, ConvergenceWarning, stacklevel=level_of_the_user())
