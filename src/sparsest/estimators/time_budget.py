"""A time budget that many fits share, such as those of a grid search."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.checks import number, whole_number
from sparsest.runtime.clock import Clock

# Time limit of a fit when the budget is used up: only the first heuristics run, and their best model is returned.
_LEAST = 1e-3


class TimeBudget:
    """A time budget that several fits share; give it to an estimator as ``time_limit``.

    Every fit may take an equal share of the remaining time, so fits that end early leave their time to the others.  All
    clones of the estimator share the budget, also in the processes that joblib starts on the same machine; the seconds
    of all processes are added.  Each fit after the first ``n_fits`` may take all of the remaining time.

    Parameters
    ----------
    seconds : time for all fits together, without the compilation of kernels
    n_fits : number of fits; for ``GridSearchCV`` the number of candidates times the number of folds, plus one refit

    Examples
    --------
    >>> import sparsest
    >>> from sklearn.model_selection import GridSearchCV
    >>> data = sparsest.datasets.load_diabetes_quadratic()
    >>> budget = sparsest.TimeBudget(60.0, n_fits=3 * 5 + 1)
    >>> model = sparsest.BestSubsetRegressor(time_limit=budget)
    >>> search = GridSearchCV(model, {"k": [2, 4, 6]}).fit(data.X, data.y)
    >>> budget.n_done, budget.spent < 60.0
    (16, True)
    """

    def __init__(self, seconds: float, n_fits: int) -> None:
        self.seconds = number(seconds, "seconds", above=0)
        self.n_fits = whole_number(n_fits, "n_fits", least=1)
        # A file, so that other processes can append to it: one number for each finished fit.
        self._file = str(Path(tempfile.gettempdir()) / f"sparsest-{uuid4().hex}.seconds")
        weakref.finalize(self, Path(self._file).unlink, missing_ok=True)

    @property
    def spent(self) -> float:
        """Seconds of the fits that are done."""
        return float(self._done().sum())

    @property
    def n_done(self) -> int:
        """Number of fits that are done."""
        return self._done().size

    @contextmanager
    def share(self) -> Iterator[float]:
        """Yield the seconds of the next fit, and record those that the context takes."""
        done = self._done()
        left = max(self.seconds - float(done.sum()), 0.0) / max(self.n_fits - done.size, 1)
        clock = Clock(np.inf)
        try:
            yield max(left, _LEAST)
        finally:
            # Bytes that one call appends are not interleaved with those of another process.
            to = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            try:
                os.write(to, np.float64(clock.seconds()).tobytes())
            finally:
                os.close(to)

    def _done(self) -> Array:
        """The seconds of each fit that is done."""
        try:
            return np.fromfile(self._file, dtype=np.float64)
        except FileNotFoundError:
            return np.empty(0)

    def __repr__(self) -> str:
        return f"TimeBudget({self.seconds:g}, n_fits={self.n_fits})"

    def __sklearn_clone__(self) -> TimeBudget:
        """Clones of an estimator share the budget."""
        return self

    def __deepcopy__(self, memo: Any) -> TimeBudget:
        return self


@contextmanager
def seconds_of(time_limit: Any) -> Iterator[Any]:
    """Yield the time limit of a fit: the given number, or its share of a budget."""
    if isinstance(time_limit, TimeBudget):
        with time_limit.share() as seconds:
            yield seconds
    else:
        yield time_limit
