"""Tuning constants of the search: they change its speed and memory, never the validity of what it proves."""

from __future__ import annotations

from typing import NamedTuple


class Tuning(NamedTuple):
    """When the diagonal of bounds is adapted, and how much is computed at a time or in advance.

    Attributes
    ----------
    adapt_first, adapt_first_per_survivor : number of nodes before the diagonal is adapted first, as a constant and per
        survivor (the larger counts): preparation takes O(n²) operations per survivor.
    adapt_levels : number of levels of the tree between adaptations; larger values gave weaker bounds, smaller ones took
        more time.
    adapt_trial : number of nodes with adapted bounds before the first decision whether adapting continues.
    full_gram : largest number of survivors for which the complete Gram matrix is computed.
    gram_columns : number of columns of the Gram matrix that are computed at a time, if that many are likely to be used.
    column_operations : columns of the Gram matrix are not computed in advance if that takes more operations; products
        with all features then read the data, for several nodes at a time.
    passes_per_column : a block of the Gram matrix is replaced by complete columns once this many products per stored
        feature have been computed: each takes about as long as a column.
    reference_operations : if the Gram matrix of a node with a smooth loss would take more operations, its first steps
        use a matrix that all nodes share.  This halves the time of nodes with n = p = 4000, but would take 14 % more
        with n = p = 500.
    reference_features : smallest number of features in that matrix.
    packed_bytes : bytes of columns that are copied between checks of the clock.
    largest_copy : columns of more bytes are not copied if they are stored as they are used: a copy takes as long as two
        passes over them.
    leaps_slice : number of nodes of leaps and bounds between checks of the clock, at most 20000; they take some
        hundredths of a second.
    leaps_features : largest number of surviving features for which leaps and bounds is tried.
    first_price_steps, price_steps : number of steps of the prices of rows of a structure in the first node, and in each
        other one.
    last_features : largest number of features for which all choices are tried, at most 3.
    report_seconds : seconds between two events of type Bound.
    """

    adapt_first: int = 512
    adapt_first_per_survivor: float = 0.8
    adapt_levels: int = 5
    adapt_trial: int = 32
    full_gram: int = 1500
    gram_columns: int = 16
    column_operations: float = 2e11
    passes_per_column: int = 2
    reference_operations: float = 3e7
    reference_features: int = 400
    packed_bytes: int = 1 << 24
    largest_copy: float = 2.5e8
    leaps_slice: int = 20_000
    leaps_features: int = 128
    first_price_steps: int = 30
    price_steps: int = 1
    last_features: int = 3
    report_seconds: float = 0.05


DEFAULT_TUNING = Tuning()
