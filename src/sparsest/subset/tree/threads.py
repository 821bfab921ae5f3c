"""Regions that several threads relax, some in each job."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from sparsest.subset.tree.bounder import Bounder, NodeOutcome, Request

Job = Future[list[NodeOutcome]]


def submit(pool: ThreadPoolExecutor, bounder: Bounder, requests: Sequence[Request], cutoff: float) -> list[Job]:
    """Let threads relax regions: as many in a job as are best solved together, but never all in one."""
    size = min(bounder.together, (len(requests) + 1) // 2) or 1
    return [
        pool.submit(bounder.solve, requests[begin : begin + size], cutoff) for begin in range(0, len(requests), size)
    ]


def collect(jobs: Sequence[Job]) -> Iterator[NodeOutcome | None]:
    """What relaxing the regions gave, in their order; a None, with a warning, ends it where that has failed."""
    for job in jobs:
        error = job.exception()
        if error is not None:
            warnings.warn(
                f"the search ended early by {error!r}; the result is the best model so far with the bound proved",
                RuntimeWarning,
                stacklevel=2,
            )
            yield None
            return
        yield from job.result()
