"""Charts: what is drawn, escaped, and left out."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from sparsest.markup import Series, bar, chart, fragment, table


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
