"""Distribution of regions to threads, several regions per job."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from sparsest.subset.tree.bounder import Bounder, NodeOutcome, Request

Job = Future[list[NodeOutcome]]


def submit(pool: ThreadPoolExecutor, bounder: Bounder, requests: Sequence[Request], cutoff: float) -> list[Job]:
    """Submit regions in jobs of the bounder's batch size, but in at least two jobs if there are two or more regions."""
    size = min(bounder.batch_size, (len(requests) + 1) // 2) or 1
    return [
        pool.submit(bounder.solve, requests[begin : begin + size], cutoff) for begin in range(0, len(requests), size)
    ]


def collect(jobs: Sequence[Job]) -> Iterator[NodeOutcome | None]:
    """Yield the outcomes in the order of the regions; if a job fails, warn, yield None and stop."""
    for job in jobs:
        error = job.exception()
        if error is not None:
            warnings.warn(
                f"the search ended early because of {error!r}; the result has the best model and bound found so far",
                RuntimeWarning,
                stacklevel=2,
            )
            yield None
            return
        yield from job.result()
