"""Charts: what is drawn, escaped, and left out."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from sparsest.results.markup import Series, bar, chart, fragment, scores_chart, table


@pytest.mark.parametrize("kind", ["line", "step", "dots"])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
def test_marks_stay_within_the_picture(kind, scale):
    x, y = np.arange(1.0, 30.0) * scale, np.random.default_rng(0).standard_normal(29) * scale
    y[3] = np.nan
    drawn = chart([Series(x, y, "a <b>", kind)], "x & x", "y", log_x=True, level=0.0, upright=3.0 * scale)
    picture = ElementTree.fromstring(str(drawn))
    assert "a <b>" in "".join(picture.itertext()) and "nan" not in drawn
    numbers = [float(n) for d in re.findall(r' d="([^"]*)"', str(drawn)) for n in re.findall(r"-?\d+\.?\d*", d)]
    assert all(-5 <= number <= 445 for number in numbers)
    if kind == "dots":
        assert len(re.findall("<circle", str(drawn))) == 28


def test_nothing_one_point_and_very_many():
    assert "Nothing to draw" in chart([], "x", "y") and "Nothing to draw" in chart([Series([np.nan], [1.0])], "x", "y")
    ElementTree.fromstring(str(chart([Series([0.0], [0.0], "", "dots")], "x", "y", diagonal=True)))
    many = np.arange(10_000.0)
    assert len(re.findall("<circle", str(chart([Series(many, many, "", "dots")], "x", "y")))) == 1500


def test_texts_are_escaped():
    shown = fragment(table(["<h>"], [["<td>"], [bar(0.5)]]), "<p>")
    assert "&lt;h&gt;" in shown and "&lt;td&gt;" in shown and "&lt;p&gt;" in shown and '<span class="bar"' in shown


def places(drawn):
    """The texts below the chart with their places."""
    shape = r'<text x="([\d.]+)" y="261" text-anchor="middle">([^<]+)</text>'
    return [(float(x), text) for x, text in re.findall(shape, str(drawn))]


@pytest.mark.parametrize("end", [0.0025, 1.0, 119.9, 9.8e4, 3e9])
def test_no_tick_is_cut(end):
    x = np.linspace(0.0, end, 5)
    for log_x in (False, True):
        found = places(chart([Series(x + 0.01 * end, x)], "x", "y", log_x=log_x))
        assert len(found) >= 2
        assert all(3.5 * len(text) <= place <= 440 - 3.5 * len(text) for place, text in found)


@pytest.mark.parametrize(("scale", "power"), [(1.0, ""), (1e15, " × 10¹⁵"), (1e-7, " × 10⁻⁷")])
def test_large_and_small_numbers_leave_out_their_power(scale, power):
    drawn = str(chart([Series([1.0, 2.0], [4.1 * scale, 4.4 * scale])], "x", "misfit"))
    assert f">misfit{power}<" in drawn and ">4.2<" in drawn and "e+" not in drawn


def test_long_labels_are_shortened():
    assert "…" in str(chart([Series([1.0, 2.0], [1.0, 2.0])], "x" * 200, "y"))


def test_lines_of_errors_have_one_colour():
    drawn = str(scores_chart([1, 2], [0.1, 0.2], [0.1, 0.1], "x", 1))
    assert drawn.count('<path class="mark b"') == 2 and drawn.count('<path class="mark a"') == 1


def test_names_break_between_words_and_short_ones_nowhere():
    shown = str(
        table(["name", "other"], [["average_number_of_<b>", "long_but_no_name_at_all"], ["max_depth, CAtBat", ""]])
    )
    assert "average_<wbr>number_<wbr>of_&lt;b&gt;" in shown
    assert "long_but_no_name_at_all" in shown and "max_depth, CAtBat" in shown
