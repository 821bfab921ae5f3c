"""Sentences about what is proved: they never claim more than holds."""

import numpy as np
import pytest

from checks import best_subset
from samples import sample
from sparsest.wording import asked_sentence, choices, large, measure_sentence, percent_above, proof_sentence


@pytest.mark.parametrize(
    ("share", "text"),
    # The floating-point number 1e-4 is a little more than one hundredth of a per cent, and 2^-14 is what it is.
    [
        (1e-4, "0.011 %"),
        (2.0**-14, "0.0062 %"),
        (0.000123, "0.013 %"),
        (0.0, "0.0001 %"),
        (0.25, "25 %"),
        (0.251, "26 %"),
        (np.inf, "∞ %"),
    ],
)
def test_percentages_are_rounded_up(share, text):
    assert percent_above(share) == text


@pytest.mark.parametrize("share", np.random.default_rng(0).uniform(1e-6, 1.0, 20).tolist())
def test_percentages_are_never_less_than_the_share(share):
    assert share <= float(percent_above(share).split()[0]) / 100 <= 1.11 * share


@pytest.mark.parametrize(
    ("count", "text"),
    [(93, "93"), (12345, "12,345"), (4426165368, "about 4.43 billion"), (7 * 10**20, "about 7 × 10²⁰")],
)
def test_large_numbers(count, text):
    assert large(count) == text


def test_sentences():
    X, y = sample("squared", 30, 5)
    about = best_subset(X, y, 2, gamma=0.3, include=[0]).statement
    assert choices(about) == "5" and "Which 2 (or fewer) of 5 features predict “y” best" in asked_sentence(
        about, "y", None
    )
    assert "by more than 25 %. This is proved" in proof_sentence(about, "OPTIMAL", 0.25)
    assert "stopped by its time limit" in proof_sentence(about, "TIME_LIMIT", 0.1)
    assert proof_sentence(about, "HEURISTIC", np.inf).startswith("Nothing is proved")
    assert "squared distance" in measure_sentence(about) and "gamma = 0.3" in measure_sentence(about)
