"""Checks of arguments: each returns the value in its proper type, or raises an error that says what is expected."""

from datetime import date
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from sparsest.core import checks
from sparsest.core.designs import as_design


class Unprintable:
    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\n  b", "'a\\n b'"),
        (np.eye(2), "array([[1., 0.], [0., 1.]])"),
        (Unprintable(), "a value of type Unprintable"),
        (10**5000, "a value of type int"),
    ],
    ids=["lines", "array", "unprintable", "digits"],
)
def test_values_in_messages(value, text):
    assert checks.shown(value) == text
    long = checks.shown(list(range(100)))
    assert len(long) == 60 and long.endswith("…")


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2.0), np.int8(2), np.array(2.0), Fraction(2)], ids=repr)
def test_numbers(value):
    found = checks.number(value, "x", least=2, most=2)
    assert type(found) is float and found == 2.0


@pytest.mark.parametrize(
    ("value", "limits", "message"),
    [
        (0, {"above": 0}, "x must be a finite number > 0, got 0"),
        (-1, {"least": 0}, "x must be a finite number >= 0, got -1"),
        (1, {"above": 0, "below": 1}, "x must be a number > 0 and < 1, got 1"),
        (2, {"most": 1, "or_else": "'auto'"}, "x must be a number <= 1 or 'auto', got 2"),
        (np.inf, {"above": 0}, "x must be a finite number > 0, got inf"),
        (-np.inf, {"above": 0, "finite": False}, "x must be a number > 0 or inf, got -inf"),
        *((bad, {"above": 0}, "x must be a finite number > 0") for bad in ("1", None, True, 1j, np.nan, [1.0])),
        *((bad, {"above": 0}, "x must be a finite number > 0") for bad in (10**400, np.ma.masked, np.array([1.0]))),
    ],
    ids=repr,
)
def test_what_is_no_number(value, limits, message):
    with pytest.raises(ValueError) as caught:
        checks.number(value, "x", **limits)
    assert str(caught.value).startswith(message)


def test_infinity_where_it_is_allowed():
    assert checks.number(np.inf, "x", above=0, finite=False) == np.inf


@pytest.mark.parametrize("value", [3, np.int16(3), np.array(3)], ids=repr)
def test_whole_numbers(value):
    found = checks.whole_number(value, "k", least=3, most=3)
    assert type(found) is int and found == 3


@pytest.mark.parametrize("value", [2, 4, 3.0, "3", True, None, np.float64(3), np.ma.masked, np.array([3, 3])], ids=repr)
def test_what_is_no_whole_number(value):
    with pytest.raises(ValueError, match=r"^k must be a whole number >= 3 and <= 3 or None, got "):
        checks.whole_number(value, "k", least=3, most=3, or_else="None")
    with pytest.raises(ValueError, match=r"^k must be a whole number, got 'x'$"):
        checks.whole_number("x", "k")


def test_flags_words_instances_and_functions():
    assert checks.flag(np.True_, "f") is True and checks.flag(False, "f") is False
    assert checks.word("a", "w", words=("a", "b")) == "a"
    assert checks.instance(3, "n", kind=int) == 3
    assert checks.function(len, "f") is len
    for call, message in (
        (lambda: checks.flag(1, "f"), "f must be True or False, got 1"),
        (lambda: checks.flag("false", "f"), "f must be True or False, got 'false'"),
        (lambda: checks.word("c", "w", words=("a", "b")), "unknown w 'c'; choose one of a, b"),
        (lambda: checks.word(["a"], "w", words=("a",)), r"unknown w \['a'\]; choose one of a"),
        (lambda: checks.instance("3", "n", kind=int, or_else="None"), "n must be a int or None, got '3'"),
        (lambda: checks.function(3, "f"), "f must be a function, got 3"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_optional_checks():
    check = checks.optional(checks.whole_number, least=1)
    assert check(None, "k") is None and check(2, "k") == 2
    with pytest.raises(ValueError, match="k must be a whole number >= 1 or None, got 0"):
        check(0, "k")


@pytest.mark.parametrize("values", [[1, 2], (1, 2), {1, 2}, pd.Series([1, 2]), pl.Series([1, 2])], ids=repr)
def test_arrays(values):
    assert checks.as_array(values, "y").tolist() == [1, 2]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0], [1.0, 2.0]], "y cannot be read as an array: its rows may have different lengths"),
        (np.ma.masked_array([1.0, 2.0], [False, True]), "y has masked entries: fill them in or drop them first"),
        (pl.DataFrame({"a": [1], "t": [date(2020, 1, 1)]}), "y must hold real numbers"),
    ],
    ids=["ragged", "masked", "dates"],
)
def test_what_is_no_array(values, message):
    with pytest.raises(ValueError, match=message):
        checks.as_array(values, "y")
    assert checks.as_array(np.ma.masked_array([1.0], [False]), "y").tolist() == [1.0]


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint64, bool, object])
def test_arrays_of_numbers(dtype):
    found = checks.as_numbers(np.array([0, 1], dtype=dtype), "y")
    assert found.dtype == np.float64 and found.tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    "entry", ["1", b"1", 1j, np.datetime64("2020-01-01"), np.timedelta64(3, "D"), {}, 10**400], ids=repr
)
@pytest.mark.parametrize("among", [False, True], ids=["alone", "among numbers"])
def test_arrays_of_no_numbers(entry, among):
    values = np.array([1.0, entry], dtype=object) if among else np.array([entry])
    with pytest.raises(ValueError, match="y must hold real numbers: encode text, categories and dates"):
        checks.as_numbers(values, "y")


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
@pytest.mark.parametrize("read", [as_design, lambda X: checks.check_entries(X, "X")], ids=["design", "fit"])
def test_columns_of_a_frame_that_hold_no_numbers_are_named(frame, read):
    columns = {"age": [1.0, 2.0], "sex": ["m", "f"], "old": [True, False], "site": ["1", "2"]}
    with pytest.raises(ValueError, match=r"X must hold real numbers, but 'sex', 'site' do not: encode"):
        read(frame(columns))
    with pytest.raises(ValueError, match=r"X must hold real numbers, but 'sex' does not: encode"):
        read(frame({name: columns[name] for name in ("age", "sex")}))
    with pytest.raises(ValueError, match=r"but 't0', 't1', 't2', 't3', 't4', … do not"):
        read(frame({f"t{i}": ["a"] for i in range(9)}))


def test_entries_that_scikit_learn_would_take():
    for bad in (
        [["1", "2"]],
        [[np.datetime64("NaT"), None]],
        np.array([["a"]], dtype="S1"),
        np.ones((1, 1), dtype="datetime64[D]"),
        [[10**400]],
    ):
        with pytest.raises(ValueError, match="X must hold real numbers"):
            checks.check_entries(bad, "X")
    with pytest.raises(ValueError, match="X must be a matrix with two dimensions, got 3"):
        checks.check_entries(3, "X")
    broken = sp.csr_array(np.eye(2))
    broken.indices[0] = 7
    with pytest.raises(ValueError, match="X is a broken sparse matrix"):
        checks.check_entries(broken, "X")
    # For objects that are not numbers scikit-learn raises a TypeError.
    checks.check_entries([[{}]], "X")


def test_columns_by_number_and_by_name():
    assert checks.column_numbers([2, 0], "include", 3).tolist() == [2, 0]
    assert checks.column_numbers((), "include", 3).dtype == np.intp
    names = ("a", "b", "b")
    assert checks.by_number(["a", 2], "include", names) == [0, 2]
    assert checks.by_number("a", "include", names) == "a" and checks.by_number(3, "include", None) == 3
    assert checks.check_names(np.array(["a", "b"]), "feature_names", 2) == ("a", "b")
    assert checks.column_names(pd.DataFrame({"a": [1], "b": [2]})) == ("a", "b")
    assert checks.column_names(pd.DataFrame({"a": [1], 2: [2]})) is checks.column_names(np.eye(2)) is None
    for call, message in (
        (lambda: checks.column_numbers([3], "include", 3), r"include must hold column numbers from 0 to 2, got \[3\]"),
        (lambda: checks.column_numbers([-1], "include", 3), "include must hold column numbers from 0 to 2"),
        (lambda: checks.column_numbers([0.0], "include", 3), "include must be a list of column numbers or names"),
        (lambda: checks.column_numbers([[0]], "include", 3), "include must be a list of column numbers or names"),
        (lambda: checks.by_number(["c"], "include", names), "include names the column 'c', which X does not have"),
        (lambda: checks.by_number(["b"], "include", names), "include names the column 'b', which X has 2 times"),
        (lambda: checks.by_number(["a"], "include", None), "must be a list of column numbers where X has no names"),
        (lambda: checks.check_names(["a"], "names", 2), "names must be a list of 2 texts, one for each column or None"),
        (lambda: checks.check_names([1, 2], "names", 2), "names must be a list of 2 texts"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


FORMATS = ("csc", "csr", "bsr", "coo", "lil", "dia", "dok")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (2, 2)], ids=str)
def test_sound_sparse_matrices(form, shape):
    X = sp.coo_array(np.arange(float(np.prod(shape))).reshape(shape)).asformat(form)
    checks.check_sparse(X, "X")
    checks.check_sparse(sp.coo_array(shape).asformat(form), "X")


def _changed(form, **parts):
    X = sp.coo_array(np.arange(1.0, 13.0).reshape(3, 4)).asformat(form)
    for name, change in parts.items():
        setattr(X, name, change(getattr(X, name)))
    return X


def _with_entry(place, value):
    def change(array):
        array = array.copy()
        array[place] = value
        return array

    return change


BROKEN = {
    "CSC row beyond the last": (lambda: _changed("csc", indices=_with_entry(0, 3)), "indices outside 0 to 2"),
    "CSR column beyond the last": (lambda: _changed("csr", indices=_with_entry(0, 4)), "indices outside 0 to 3"),
    "CSR negative column": (lambda: _changed("csr", indices=_with_entry(5, -1)), "indices outside"),
    "BSR block beyond the last": (lambda: _changed("bsr", indices=_with_entry(0, 9)), "indices outside"),
    "pointers that fall": (lambda: _changed("csr", indptr=_with_entry(1, 9)), "indptr does not rise"),
    "pointers beyond the entries": (lambda: _changed("csr", indptr=_with_entry(3, 13)), "indptr does not rise"),
    "pointers that begin late": (lambda: _changed("csc", indptr=_with_entry(0, 1)), "indptr does not rise"),
    "too few pointers": (lambda: _changed("csr", indptr=lambda a: a[:-1]), "wrong lengths"),
    "too few indices": (lambda: _changed("csc", indices=lambda a: a[:-1]), "wrong lengths"),
    "fractional indices": (lambda: _changed("csr", indices=lambda a: a + 0.5), "not whole numbers"),
    "a block of entries": (lambda: _changed("csr", data=lambda a: a.reshape(3, 4)), "its entries have the shape"),
    "lists of one row less": (lambda: _changed("lil", rows=lambda a: a[:-1]), "wrong number of rows"),
    "a list too short": (lambda: _changed("lil", data=_with_entry(0, [1.0])), "do not fit its entries"),
    "a list beyond the last": (lambda: _changed("lil", rows=_with_entry(0, [0, 1, 2, 4])), "indices outside 0 to 3"),
    "diagonals without offsets": (lambda: _changed("dia", offsets=lambda a: a[:-1]), "offsets do not fit"),
    "COO row beyond the last": (
        lambda: _changed("coo", coords=lambda c: (_with_entry(0, 3)(c[0]), c[1])), "indices outside 0 to 2",
    ),
    "COO of one row less": (lambda: _changed("coo", coords=lambda c: (c[0][:-1], c[1])), "do not fit its entries"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_sparse_matrices(name):
    make, complaint = BROKEN[name]
    with pytest.raises(ValueError, match=f"X is a broken sparse matrix, .*{complaint}.*: rebuild it"):
        checks.check_sparse(make(), "X")


def test_sparse_matrices_of_no_numbers():
    with pytest.raises(ValueError, match="X must hold real numbers, got a sparse matrix of type complex128"):
        checks.check_sparse(sp.csc_array(np.eye(2, dtype=complex)), "X")
