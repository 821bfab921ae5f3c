"""Events that a search sends to its callback, and how it ended."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from sparsest.runtime.duration import duration


class Status(Enum):
    """How a search ended; the value is a sentence for the user.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.load_diabetes_quadratic()
    >>> sparsest.best_subset(data.X, data.y, k=2).status is sparsest.Status.OPTIMAL
    True
    >>> sparsest.Status.OPTIMAL.value
    'proved optimal within the gap tolerance'
    """

    OPTIMAL = "proved optimal within the gap tolerance"
    TIME_LIMIT = "stopped at the time limit; the gap is what is not yet proved"
    NODE_LIMIT = "stopped at the node or memory limit; the gap is what is not yet proved"
    INTERRUPTED = "interrupted; the gap is what is not yet proved"
    HEURISTIC = "a good solution; the gap is what one dual bound leaves open"

    def __reduce__(self) -> tuple[type, tuple[str]]:
        """Restore a member from its value; unlike pickle, skops does not support enumerations."""
        return type(self), (self.value,)


class Root(NamedTuple):
    """The root bound is known."""

    seconds: float
    lower_bound: float
    n_free: int


class Incumbent(NamedTuple):
    """A better solution was found."""

    seconds: float
    objective: float
    support: tuple[int, ...]


class Bound(NamedTuple):
    """The lower bound or the number of nodes has moved."""

    seconds: float
    lower_bound: float
    objective: float
    n_nodes: int


class Done(NamedTuple):
    """The search has ended."""

    seconds: float
    lower_bound: float
    objective: float
    status: Status


class NotTried(NamedTuple):
    """Trying all choices of features would prove the optimum but take too long, so the search continues without it.

    ``estimated_seconds`` and ``estimated_bytes`` are what it would take; 0 bytes if memory does not matter.
    """

    seconds: float
    estimated_seconds: float
    estimated_bytes: float

    def __str__(self) -> str:
        """The estimate as a clause without a full stop."""
        memory = f" and {self.estimated_bytes / 1e9:.2g} GB" if self.estimated_bytes else ""
        return f"trying all choices of features would take about {duration(self.estimated_seconds)}{memory}"


class Fold(NamedTuple):
    """A fold of a cross-validation is done."""

    seconds: float
    n_done: int
    n_folds: int


class Repetition(NamedTuple):
    """A repetition of a whole selection, on resampled or on split rows, is done."""

    seconds: float
    n_done: int
    n_repetitions: int


class Alpha(NamedTuple):
    """An alpha of a path of penalties is solved."""

    seconds: float
    n_done: int
    n_alphas: int
    n_features: int


class Pass(NamedTuple):
    """Another block of data that are read on demand was read; ``passes`` and ``n_bytes`` are those of the whole call.

    A part of the data counts as its share of a pass.
    """

    seconds: float
    passes: float
    n_bytes: int


Event = Root | Incumbent | Bound | Done | NotTried | Fold | Repetition | Alpha | Pass
