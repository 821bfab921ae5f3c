"""What procedures share: errors, rows, γ's beginning, and times of the processor."""

import time

import numpy as np
import pytest

from sparsest.studies.procedures.base import base_gamma, error_of, row_of, timed, timed_row
from sparsest.studies.samples import Rows
from studies.procedures.samples import sample_of


def test_errors():
    rows = Rows(np.zeros((4, 1)), np.array([1.0, 1.0, -1.0, -1.0]))
    assert error_of("regression", rows, np.zeros(4)) == 1.0
    assert error_of("classification", rows, np.array([2.0, 0.5, 1.0, 0.0])) == pytest.approx(0.25)


def test_a_row_counts_true_and_false_features():
    sample = sample_of()
    coef = np.zeros(12)
    coef[[sample.support[0], *np.setdiff1d(np.arange(12), sample.support)[:2]]] = 1.0
    row = row_of("mine", 3, sample, coef, 0.0, gamma=2.0)
    assert (row["n_selected"], row["tf"], row["ff"], row["gamma"]) == (3, 1, 2, 2.0)
    assert row["test"] == pytest.approx(np.mean((sample.test.y - sample.test.X @ coef) ** 2))


def test_where_the_doubling_begins():
    sample = sample_of()
    longest = max(np.linalg.norm(x) ** 2 for x in sample.train.X)
    assert base_gamma(sample, 3) == pytest.approx(12 / (3 * 60 * longest))


def test_time_is_that_of_the_processor_and_short_fits_are_repeated():
    calls = []

    def nap():
        calls.append(1)
        time.sleep(0.05)
        return "done"

    found, seconds, elapsed = timed(nap)
    # Sleeping takes no time of the processor.
    assert found == "done" and len(calls) == 3 and 0.0 <= seconds < 0.05 <= elapsed
    assert timed_row("mine", 4, seconds) == {"method": "mine timed", "k": 4, "seconds": seconds}
