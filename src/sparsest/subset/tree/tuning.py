"""Numbers that trade one kind of a search's work for another; what is proved does not depend on them."""

from __future__ import annotations

from typing import NamedTuple


class Tuning(NamedTuple):
    """When bounds are adapted, and how much is computed at a time or ahead.

    Attributes
    ----------
    adapt_first, adapt_first_per_survivor : bounds are adapted first after so many nodes, and so many for each survivor:
        preparing costs n² a survivor.
    adapt_levels : a region's bound is adapted anew so many levels below the last time; less often lost bounds, more
        often time.
    adapt_trial : adapting goes on without proof of its worth for so many regions.
    full_gram : up to so many survivors the Gram matrix is computed as a whole.
    gram_columns : columns of the Gram matrix that are computed at a time, if so many are likely to be used.
    packed_bytes : bytes of columns that are copied between looks at the clock.
    leaps_slice : nodes of leaps and bounds between looks at the clock, some hundredths of a second; no more than
        20000 count.
    leaps_features : leaps and bounds is tried with at most this many surviving features.
    last_features : all choices of at most this many features, and never more than 3, are tried.
    report_seconds : seconds between two events of type Bound.
    """

    adapt_first: int = 512
    adapt_first_per_survivor: float = 0.8
    adapt_levels: int = 5
    adapt_trial: int = 32
    full_gram: int = 1500
    gram_columns: int = 16
    packed_bytes: int = 1 << 24
    leaps_slice: int = 20_000
    leaps_features: int = 128
    last_features: int = 3
    report_seconds: float = 0.05


USUAL = Tuning()
