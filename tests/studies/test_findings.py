"""Findings are judged by differences on the same data sets and their standard errors."""

import numpy as np
import pytest

from sparsest.studies.findings import (
    Judgement,
    about_equal,
    between,
    grows,
    grows_less,
    hardly_varies,
    larger,
    largest,
    ordered,
    rises,
    smaller_in,
    smallest,
)
from sparsest.studies.views import Point


def view(rows):
    return [Point(*row) for row in rows]


def rows_of(**methods):
    return [("panel", name, 1.0, i, y) for name, values in methods.items() for i, y in enumerate(values)]


NOISE = 0.01 * np.random.default_rng(0).standard_normal(10)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (1.0 + NOISE, 0.9 + NOISE[::-1], Judgement.CONFIRMED),
        (0.9 + NOISE, 1.0 + NOISE[::-1], Judgement.NOT_CONFIRMED),
        (1.0 + NOISE, 1.0 + NOISE[::-1], Judgement.UNDECIDED),
        ([1.0], [0.5], Judgement.UNDECIDED),
    ],
)
def test_larger(first, second, expected):
    verdict = larger("", view, "a", "b").judge(rows_of(a=first, b=second))
    assert verdict.judgement is expected and f"over {len(first)} pairs" in verdict.figures


def test_pairs_are_of_the_same_data_set():
    """Data sets differ by far more than the methods do: only pairs see it."""
    level = np.arange(10.0)
    verdict = larger("", view, "a", "b").judge(rows_of(a=level + 0.1 + NOISE, b=level))
    assert verdict.judgement is Judgement.CONFIRMED
    # What has no partner does not count.
    assert "over 9 pairs" in larger("", view, "a", "b").judge(rows_of(a=level, b=level[:9])).figures


def test_about_equal():
    finding = about_equal("", view, "a", "b", 0.05)
    for shift, expected in ((0.0, Judgement.CONFIRMED), (0.2, Judgement.NOT_CONFIRMED), (0.05, Judgement.UNDECIDED)):
        assert finding.judge(rows_of(a=shift + NOISE, b=NOISE[::-1])).judgement is expected


def test_between_and_ordered():
    rows = rows_of(a=0.9 + NOISE, b=0.5 + NOISE, c=0.1 + NOISE)
    assert between("", view, ("a",), 0.8, 1.0).judge(rows).judgement is Judgement.CONFIRMED
    assert between("", view, ("a", "b"), 0.8, 1.0).judge(rows).judgement is Judgement.NOT_CONFIRMED
    assert between("", view, ("b",), 0.501, 1.0).judge(rows).judgement is Judgement.UNDECIDED
    noisy = rows_of(a=0.9 + NOISE, b=0.5 + NOISE[::-1], c=0.1 + NOISE)
    assert ordered("", view, ("a", "b", "c")).judge(noisy).judgement is Judgement.CONFIRMED
    assert ordered("", view, ("b", "a", "c")).judge(noisy).judgement is Judgement.NOT_CONFIRMED


def test_growth_is_the_slope_of_logarithms():
    rows = [("panel", "a", x, i, 3.0 * x**2 * (1 + 0.01 * i)) for x in (1.0, 2.0, 4.0) for i in range(3)]
    assert grows("", view, "a", least=1.9, most=2.1).judge(rows).judgement is Judgement.CONFIRMED
    assert grows("", view, "a", least=2.5).judge(rows).judgement is Judgement.NOT_CONFIRMED


def test_several_methods_against_several():
    rows = rows_of(a=0.9 + NOISE, b=0.8 + NOISE[::-1], c=0.1 + NOISE)
    assert largest("", view, ("a", "b"), ("c",)).judge(rows).judgement is Judgement.CONFIRMED
    assert largest("", view, ("b",), ("a", "c")).judge(rows).judgement is Judgement.NOT_CONFIRMED
    verdict = smallest("", view, ("c",), ("a", "b")).judge(rows)
    assert verdict.judgement is Judgement.CONFIRMED and verdict.figures.count("less") == 2


def test_the_largest_x_of_every_panel_counts_where_asked():
    rows = [("panel", "a", x, i, y) for x, y in ((1.0, 0.1), (2.0, 0.9)) for i in range(3)]
    assert between("", view, ("a",), 0.8, 1.0, largest_x=True).judge(rows).judgement is Judgement.CONFIRMED
    assert between("", view, ("a",), 0.8, 1.0, x=lambda x: x < 2.0).judge(rows).judgement is Judgement.NOT_CONFIRMED
    assert "a 0.5" in between("", view, ("a",), 0.8, 1.0).judge(rows).figures
    assert rises("", view, ("a",)).judge(rows).judgement is Judgement.CONFIRMED
    falling = [(panel, method, -x, i, y) for panel, method, x, i, y in rows]
    assert rises("", view, ("a",)).judge(falling).judgement is Judgement.NOT_CONFIRMED


def test_panels_against_others():
    rows = [(panel, "a", 1.0, i, level + NOISE[i]) for panel, level in (("high", 0.1), ("low", 0.5)) for i in range(5)]
    assert smaller_in("", view, "a", "high", "low").judge(rows).judgement is Judgement.CONFIRMED
    assert smaller_in("", view, "a", "low", "high").judge(rows).judgement is Judgement.NOT_CONFIRMED


def test_growth_of_two_methods_and_none():
    rows = [("panel", name, x, i, x**power * (1 + 0.01 * i)) for name, power in (("a", 1.0), ("b", 2.0))
            for x in (1.0, 2.0, 4.0) for i in range(3)]  # fmt: skip
    assert grows_less("", view, "a", "b").judge(rows).judgement is Judgement.CONFIRMED
    assert grows_less("", view, "b", "a").judge(rows).judgement is Judgement.NOT_CONFIRMED
    assert hardly_varies("", view, "a", most=5.0).judge(rows).judgement is Judgement.CONFIRMED
    assert hardly_varies("", view, "b", most=5.0).judge(rows).judgement is Judgement.NOT_CONFIRMED


def test_without_results_nothing_is_decided():
    for finding in (
        larger("", view, "a", "b"),
        about_equal("", view, "a", "b", 1.0),
        between("", view, ("a",), 0, 1),
        ordered("", view, ("a", "b")),
        grows("", view, "a", least=0),
        grows_less("", view, "a", "b"),
        hardly_varies("", view, "a", most=2.0),
        largest("", view, ("a",), ("b",)),
        smallest("", view, ("a",), ("b",)),
        rises("", view, ("a",)),
        smaller_in("", view, "a", "low", "high"),
    ):
        assert finding.judge([]).judgement is Judgement.UNDECIDED
