"""Tables as text fit their width; frames have the rows in order."""

import sys

import pytest

from sparsest.results.plain_tables import data_frame, shortened, text_table


def test_columns_are_aligned():
    lines = text_table(["name", "a", "bb"], [["x", "1", "22"], ["longer", "333", "4"]])
    assert lines == ["  name      a  bb", "  x         1  22", "  longer  333   4"]


def test_columns_that_do_not_fit_follow_below():
    heads, row = ["name", *(f"column {j}" for j in range(8))], ["x" * 60, *("1234567" for _ in range(8))]
    lines = text_table(heads, [row], width=60)
    assert max(map(len, lines)) <= 60 and lines.count("") == 2
    assert all(any(head in line for line in lines) for head in heads)
    assert sum(line.count("1234567") for line in lines) == 8


def test_long_names_keep_both_ends():
    assert shortened("abcdefghij", 7) == "abc…hij" and shortened("abc", 7) == "abc"


def test_frames(monkeypatch):
    frame = data_frame({"a": [1, 2]}, ["x", "y"], "feature")
    assert frame.loc["y", "a"] == 2 and frame.index.name == "feature"
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="a data frame needs pandas: pip install pandas"):
        data_frame({}, [], "feature")
