"""From columns to features: identifiers, categories, missing values, and what is said about them."""

import json

import numpy as np
import pytest

from sparsest.tables import Encoding, ReadingOptions, read_table, read_with_encoding, readers

ROWS = """patient_id,age,sex,stage,visit,note,crp,w,outcome
p1,50,f,I,2021-01-01,fine,1.5,1,good
p2,61,m,II,2021-01-02,"tired, pale",NA,2,bad
p3,55,m,III,2021-01-03,well,2.5,1,bad
p4,47,f,I,2021-01-04,ill,0.5,1,good
p5,70,,II,2021-01-05,so so,3.5,1,good
p6,64,f,I,2021-01-06,better,4.5,1,bad
"""
LEFT_OUT = ("visit", "note")


@pytest.fixture(params=["pyarrow", "plain"])
def path(request, monkeypatch, tmp_path):
    if request.param == "plain":
        monkeypatch.setattr(readers, "find_spec", lambda name: None)
    (tmp_path / "data.csv").write_text(ROWS, encoding="utf-8")
    return tmp_path / "data.csv"


def read(path, **options):
    return read_table(str(path), ReadingOptions(**{"target": "outcome", "exclude": LEFT_OUT, **options}))


def test_columns_become_features(path):
    table = read(path, impute="median", beside={"sample_weight": "w"})
    assert table.names == ("age", "sex=m", "sex=missing", "stage=I", "stage=II", "stage=III", "crp")
    assert table.target.tolist() == ["good", "bad", "bad", "good", "good", "bad"]
    assert table.rows["sample_weight"].tolist() == [1, 2, 1, 1, 1, 1] and table.ids.tolist() == [
        f"p{i}" for i in range(1, 7)
    ]
    # Missing text is a separate level, and missing numbers are replaced by the median.
    assert table.matrix[4].tolist() == [70, 0, 1, 0, 1, 0, 3.5] and table.matrix[1, 6] == 2.5
    assert table.encoding.fill == {"age": 58.0, "sex": "", "stage": "I", "crp": 2.5}
    assert table.encoding.missing == {"sex": 1, "crp": 1}
    assert "column 'sex': 1 of 6 values were missing and are a separate level" in table.notes
    assert "column 'crp': 1 of 6 values were missing and became the median, 2.5" in table.notes
    assert table.row_numbers.tolist() == [2, 3, 4, 5, 6, 7]
    assert table.encoding.ids == ("patient_id",) and table.encoding.left_out == LEFT_OUT
    assert any("left out as names of the rows: 'patient_id'" in note for note in table.notes)


def test_mean_and_drop(path):
    assert read(path, impute="mean").encoding.fill["crp"] == 2.5
    dropped = read(path, impute="drop")
    assert dropped.ids.tolist() == ["p1", "p3", "p4", "p6"] and dropped.matrix.shape == (4, 7)
    assert any(note.startswith("2 of 6 rows were left out for missing values in ") for note in dropped.notes)
    with pytest.raises(ValueError, match="unknown --impute 'guess'; choose one of median, mean, median\\+indicator"):
        read(path, impute="guess")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"missing values in 1 column, up to 1 of 6 rows: 'crp'; fill them in with --impute median"),
        ({"exclude": ("note",)}, "column 'visit' holds dates or times|column 'visit' holds text, 6 different ones"),
        ({"exclude": ("visit",)}, "column 'note' holds text, 6 different values such as 'better': leave it out with"),
        ({"target": "risk"}, r"there is no column \(and no file\) 'risk' for the target; the columns are 'patient_id'"),
        ({"target": None}, "name the column to predict, or a file with it, by --target; the columns are"),
        ({"beside": {"sample_weight": "sex"}}, "the sample weight 'sex' must be numbers"),
        ({"beside": {"offset": "mass"}}, "there is no column 'mass' for the offset"),
        ({"exclude": ("mass",)}, "there is no column 'mass' for --id or --exclude"),
    ],
    ids=str,
)
def test_refused(path, options, message):
    with pytest.raises(ValueError, match=message):
        read(path, **options)


def test_an_encoding_reads_other_files_in_the_same_way(path):
    table = read(path, impute="median", beside={"sample_weight": "w"})
    kept = json.loads(json.dumps(table.encoding.to_json()))
    encoding = Encoding.from_json(kept)
    assert encoding == table.encoding
    again = read_with_encoding(str(path), encoding, table.names, len(table.names))
    np.testing.assert_array_equal(again.matrix, table.matrix)
    assert again.target.tolist() == table.target.tolist() and again.rows["sample_weight"].tolist() == [1, 2, 1, 1, 1, 1]
    other = path.with_name("new.csv")
    other.write_text("crp,stage,extra\n7,II,x\n,IV,x\n", encoding="utf-8")
    new = read_with_encoding(str(other), encoding, table.names, len(table.names), needed=[6, 4])
    assert new.matrix.toarray().tolist() == [[0, 0, 0, 0, 1, 0, 7], [0, 0, 0, 0, 0, 0, 2.5]]
    assert new.notes == ["column 'stage' has values that the fit did not have: 'IV'"]
    with pytest.raises(ValueError, match="the data have no column 'age', which the model needs"):
        read_with_encoding(str(other), encoding, table.names, len(table.names), needed=[0])
    other.write_text("crp,stage\nhigh,I\nlow,II\n", encoding="utf-8")
    with pytest.raises(ValueError, match="column 'crp' must hold numbers as in the fit, but holds texts"):
        read_with_encoding(str(other), encoding, table.names, len(table.names), needed=[6])
    plain = Encoding.from_json(kept | {"impute": None, "fill": {}})
    other.write_text("crp,stage\n,I\n2,II\n", encoding="utf-8")
    with pytest.raises(ValueError, match="missing values in columns that the model needs: 'crp'"):
        read_with_encoding(str(other), plain, table.names, len(table.names), needed=[6])


@pytest.mark.parametrize(
    "change",
    [
        {"target": 3},
        {"ids": "a"},
        {"categories": {"a": ["b"]}},
        {"impute": "guess"},
        {"fill": {"a": None}},
        {"indicators": {"a": 3}},
        {"missing": {"a": 1.5}},
        {"categorical": "a"},
        {"more": 1},
    ],
    ids=str,
)
def test_forged_encodings_are_refused(change):
    with pytest.raises(ValueError, match="the encoding of a table"):
        Encoding.from_json(Encoding().to_json() | change)


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return read_table(str(path), ReadingOptions())


def test_remarks(path):
    table = write(path, "a,b,c,d,y\n1,7,1,1,3\n2,7,2,0,4\n5,7,5,1,5\n")
    assert table.notes == [
        "1 column has the same value everywhere and cannot matter: 'b'",
        "1 column repeats an earlier one: 'c = a'",
    ]


def test_names(path):
    path.write_text("1,2,3\n4,5,6\n7,7,8\n", encoding="utf-8")
    table = read_table(str(path), ReadingOptions(target="x3"))
    assert table.names == ("x1", "x2") and "they are called x1, x2" in table.notes[0]
    twice = write(path, "a,a,a (2),y\n1,2,3,4\n2,3,5,5\n")
    assert twice.names == ("a", "a (3)", "a (2)") and "names that occur more than once got a number: 'a'" in twice.notes
    with pytest.raises(ValueError, match="two features would be called 's=a'"):
        write(path, "s,s=a,y\na,1,2\nb,2,3\nc,3,4\na,1,2\nb,2,3\nc,3,4\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,y\n1,2\n3,4\n<0.1,5\n7,9\n", "column 'a' holds numbers and text such as '<0.1'"),
        ("a,y\n1,2\ninf,4\n5,5\n", "infinite numbers in 'a'"),
        ("id,y\na,2\nb,4\n", "no column is left as a feature"),
        ("a,b,y\n1,NA,2\n2,3,NA\n", "missing values in 2 columns, up to 1 of 2 rows: 'b', 'y'"),
    ],
)
def test_columns_that_are_no_features(path, text, message):
    with pytest.raises(ValueError, match=message):
        write(path, text)


def test_rows_without_a_target_are_left_out_where_others_are_filled_in(path):
    path.write_text("a,b,y\n1,,2\n2,3,\n4,5,6\n3,1,1\n", encoding="utf-8")
    table = read_table(str(path), ReadingOptions(impute="median"))
    assert table.target.tolist() == [2, 6, 1] and table.matrix[0].tolist() == [1, 3]
    path.write_text("a,b,y\n1,,2\n2,3,\n", encoding="utf-8")
    with pytest.raises(ValueError, match="every row has missing values"):
        read_table(str(path), ReadingOptions(impute="drop"))


def test_missing_entries_of_matrices(tmp_path):
    X = np.array([[1.0, np.nan], [3.0, 4.0], [5.0, 8.0]])
    np.savez(tmp_path / "a.npz", X=X, y=np.array([1.0, 2.0, 4.0]))
    with pytest.raises(ValueError, match="missing values in 1 column, up to 1 of 3 rows: '1'"):
        read_table(str(tmp_path / "a.npz"), ReadingOptions())
    filled = read_table(str(tmp_path / "a.npz"), ReadingOptions(impute="mean"))
    assert filled.matrix.tolist() == [[1, 6], [3, 4], [5, 8]] and filled.encoding.fill == {"0": 3.0, "1": 6.0}
    assert read_table(str(tmp_path / "a.npz"), ReadingOptions(impute="drop")).matrix.tolist() == [[3, 4], [5, 8]]


def big(path, columns, n=60):
    """A file of n rows with these columns, each a function of the number of the row, and the target y."""
    made = {**columns, "y": lambda i: (i * 37 % 11) / 2}
    path.write_text("\n".join([",".join(made), *(",".join(str(f(i)) for f in made.values()) for i in range(n))]))
    return path


def noted(table, text):
    return any(text in note for note in table.notes)


def test_missing_text_may_become_the_most_frequent_one(path):
    table = read(path, impute="median", missing_text="frequent")
    assert table.names[1] == "sex=m" and table.matrix[4].tolist()[:3] == [70, 0, 0]
    assert table.encoding.fill["sex"] == "f"
    assert "column 'sex': 1 of 6 values were missing and became the most frequent text, 'f'" in table.notes
    with pytest.raises(ValueError, match="unknown --missing-text 'never'; choose one of level, frequent"):
        read(path, missing_text="never")


def test_missing_text_alone_is_no_error(path):
    big(path, {"a": lambda i: "" if i % 7 == 0 else "u" if i % 2 else "v", "b": lambda i: i % 9})
    table = read_table(str(path), ReadingOptions())
    assert table.names == ("a=v", "a=missing", "b")
    np.testing.assert_array_equal(table.matrix[:, 1], np.arange(60) % 7 == 0)
    again = read_with_encoding(str(path), table.encoding, table.names, 3, needed=[1])
    np.testing.assert_array_equal(again.matrix.toarray()[:, 1], np.arange(60) % 7 == 0)
    # A row that is missing is neither of the levels, also where only these are needed.
    other = read_with_encoding(str(path), table.encoding, table.names, 3, needed=[0]).matrix.toarray()
    np.testing.assert_array_equal(other[:, 0], table.matrix[:, 0])


def test_indicators(path):
    big(path, {"a": lambda i: "" if i % 5 == 0 else i % 7, "b": lambda i: i % 9})
    table = read_table(str(path), ReadingOptions(impute="median+indicator"))
    assert table.names == ("a", "a=missing", "b") and table.encoding.indicators == {"a": "a=missing"}
    gaps = np.arange(60) % 5 == 0
    np.testing.assert_array_equal(table.matrix[:, 1], gaps)
    known = (np.arange(60) % 7)[~gaps]
    assert (table.matrix[gaps, 0] == np.median(known)).all()
    encoding = Encoding.from_json(json.loads(json.dumps(table.encoding.to_json())))
    again = read_with_encoding(str(path), encoding, table.names, 3)
    np.testing.assert_array_equal(again.matrix, table.matrix)
    only = read_with_encoding(str(path), encoding, table.names, 3, needed=[1]).matrix.toarray()
    np.testing.assert_array_equal(only[:, 1], gaps)
    mean = read_table(str(path), ReadingOptions(impute="mean+indicator"))
    np.testing.assert_allclose(mean.matrix[gaps, 0], known.mean())


@pytest.mark.parametrize("impute", ["median", "drop"])
def test_columns_of_gaps_are_left_out(path, impute):
    big(path, {"a": lambda i: i % 7 if i % 5 == 0 else "", "b": lambda i: i % 9})
    table = read_table(str(path), ReadingOptions(impute=impute))
    assert table.names == ("b",) and table.matrix.shape == (60, 1) and table.encoding.left_out == ("a",)
    assert noted(table, "left out, because too many values are missing (--max-missing): 'a (80%)'")
    kept = read_table(str(path), ReadingOptions(impute=impute, max_missing=0.9))
    assert kept.names == ("a", "b") and kept.matrix.shape[0] == (12 if impute == "drop" else 60)
    with pytest.raises(ValueError, match="--max-missing must be a number"):
        read_table(str(path), ReadingOptions(max_missing=2.0))


def test_rare_levels_are_one_together(path):
    big(path, {"a": lambda i: "uvw"[i % 3] if i > 5 else f"rare{i}", "b": lambda i: i % 9})
    table = read_table(str(path), ReadingOptions())
    assert table.names == ("a=other", "a=u", "a=v", "a=w", "b")
    np.testing.assert_array_equal(table.matrix[:, 0], np.arange(60) < 6)
    assert noted(table, "levels of few rows were merged (--min-level): 'a=other (6 levels)'")
    again = read_with_encoding(str(path), table.encoding, table.names, 5, needed=[0]).matrix.toarray()
    np.testing.assert_array_equal(again[:, 0], table.matrix[:, 0])
    assert len(read_table(str(path), ReadingOptions(min_level=1)).names) == 10
    with pytest.raises(ValueError, match="--min-level must be a whole number >= 1"):
        read_table(str(path), ReadingOptions(min_level=0))


def test_features_of_few_rows_are_noted(path):
    big(path, {"a": lambda i: int(i == 7), "b": lambda i: "x" if i in (3, 50) else "w", "c": lambda i: i % 9})
    table = read_table(str(path), ReadingOptions())
    assert noted(table, "2 columns have the same value in all but a few rows") and noted(table, "'a (1)', 'b=x (2)'")
    assert not noted(read_table(str(path), ReadingOptions(min_level=1)), "in all but a few rows")


def test_identifiers_are_named_as_suspects(path):
    columns = {"Order": lambda i: i + 1, "PID": lambda i: 526301100 + i * 7919 % 1000, "size": lambda i: i * 31 % 17}
    big(path, columns)
    table = read_table(str(path), ReadingOptions())
    assert table.names == ("Order", "PID", "size")
    assert noted(table, "columns look like identifiers, distinct whole numbers: 'Order', 'PID'; leave them out")
    dropped = read_table(str(path), ReadingOptions(drop=("Order", "PID")))
    assert dropped.names == ("size",) and not noted(dropped, "identifiers")
    assert read_with_encoding(str(path), dropped.encoding, dropped.names, 1).matrix.shape == (60, 1)
    with pytest.raises(ValueError, match="there is no column 'mass' for --drop"):
        read_table(str(path), ReadingOptions(drop=("mass",)))


@pytest.mark.parametrize("place", ["appended", "beside", "scattered"])
def test_identifiers_of_repeated_rows_are_named_as_suspects(path, place):
    """A repeated row repeats its identifiers too; rows that share a number but differ elsewhere are no repetitions."""
    columns = {
        "Order": lambda i: i + 1, "PID": lambda i: 526301100 + i * 7919 % 1000, "size": lambda i: i * 31 % 17,
        "area": lambda i: 1000 + i * 7919 % 40 * 10, "kind": lambda i: "uvw"[i % 3],
    }  # fmt: skip
    big(path, columns)
    head, *rows = path.read_text().splitlines()
    if place == "appended":
        rows = [*rows, *rows[:7]]
    elif place == "beside":
        rows = [row for i, row in enumerate(rows) for _ in range(1 + (i % 6 == 0))]
    else:
        rows = [(rows + rows[:10])[i] for i in np.random.default_rng(0).permutation(70)]
    path.write_text("\n".join([head, *rows]))
    table = read_table(str(path), ReadingOptions())
    named = "'PID'" if place == "scattered" else "'Order', 'PID'"
    assert noted(table, f"identifier{'s' * (place != 'scattered')}, distinct whole numbers: {named}; leave")
    assert noted(table, "rows repeat an earlier one")
    # Visits of the same patients are not repeated rows, and their number is not one of a row.
    big(path, {"patient": lambda i: i * 5 // 6 + 1000, "size": lambda i: i * 31 % 17})
    assert not noted(read_table(str(path), ReadingOptions()), "identifier")


def test_codes_may_be_categories(path):
    big(path, {"class": lambda i: (20, 30, 160)[i % 3], "b": lambda i: i % 9})
    table = read_table(str(path), ReadingOptions(categorical=("class",)))
    assert table.names == ("class=160", "class=20", "class=30", "b")
    np.testing.assert_array_equal(table.matrix[:, 1], np.arange(60) % 3 == 0)
    again = read_with_encoding(str(path), Encoding.from_json(table.encoding.to_json()), table.names, 4, needed=[0])
    np.testing.assert_array_equal(again.matrix.toarray()[:, 0], np.arange(60) % 3 == 2)
    with pytest.raises(ValueError, match="there is no column 'mass' for --categorical"):
        read_table(str(path), ReadingOptions(categorical=("mass",)))


def test_codes_may_be_numbers_and_text(path):
    big(path, {"cylinders": lambda i: ("4", "6", "rotary")[i % 3], "b": lambda i: i % 9})
    with pytest.raises(ValueError, match="levels with --categorical 'cylinders'"):
        read_table(str(path), ReadingOptions())
    table = read_table(str(path), ReadingOptions(categorical=("cylinders",)))
    assert table.names == ("cylinders=4", "cylinders=6", "cylinders=rotary", "b")
    # A file for predictions may have numbers alone.
    big(path, {"cylinders": lambda i: ("4", "6")[i % 2], "b": lambda i: i % 9})
    again = read_with_encoding(str(path), Encoding.from_json(table.encoding.to_json()), table.names, 4)
    np.testing.assert_array_equal(again.matrix[:, 1], np.arange(60) % 2 == 1)


def test_many_distinct_whole_numbers_are_no_identifiers(path):
    genes = {f"g{j}": lambda i, j=j: 1000 + (i * 7919 + j) % 997 for j in range(11)}
    big(path, {"number": lambda i: i + 1, **genes})
    assert noted(
        read_table(str(path), ReadingOptions()), "a column looks like an identifier, distinct whole numbers: 'number'"
    )
    big(path, genes)
    assert not noted(read_table(str(path), ReadingOptions()), "identifier")


def test_labels_are_whole_where_rows_without_one_are_left_out(path):
    path.write_text("a,y\n" + "".join(f"{i % 5},{('', '0', '1')[i % 3]}\n" for i in range(30)))
    target = read_table(str(path), ReadingOptions(impute="drop")).target
    assert target.dtype.kind == "i" and target.tolist() == [0, 1] * 10


DATES = ["{:02d}.03.2021", "{}/12/2020", "2021-01-{:02d}", "{:02d}-11-1999", "2021-01-{:02d} 10:30"]


@pytest.mark.parametrize("form", DATES)
def test_dates_are_recognised(path, form):
    big(path, {"visit": lambda i: form.format(i % 20 + 1), "b": lambda i: i % 9})
    with pytest.raises(ValueError, match="column 'visit' holds dates or times"):
        read_table(str(path), ReadingOptions())


def test_repeated_rows_are_noted(path):
    big(path, {"a": lambda i: i % 50 * 3.5, "b": lambda i: i % 25})
    text = path.read_text().splitlines()
    path.write_text("\n".join([*text, *text[1:8]]))
    assert noted(read_table(str(path), ReadingOptions()), "7 of 67 rows repeat an earlier one in all columns")
    path.write_text("\n".join(text))
    assert not noted(read_table(str(path), ReadingOptions()), "repeat an earlier one in all")


@pytest.mark.parametrize(
    "leak",
    [
        lambda i: (i * 37 % 11) / 2 * 100 + 7,
        lambda i: 9 - (i * 37 % 11),
        lambda i: f"group{(i * 37 % 11)}",
        lambda i: ((i * 37 % 11) / 2) ** 3,
    ],
)
def test_features_that_determine_the_target_are_noted(path, leak):
    big(path, {"leak": leak, "b": lambda i: i % 9, "c": lambda i: i * 1.5 % 13})
    table = read_table(str(path), ReadingOptions(min_level=1))
    told = [note for note in table.notes if "the target follows from one feature alone" in note]
    assert len(told) == 1 and "'leak'" in told[0] and "'b'" not in told[0]


def test_rows_without_exposure(path):
    big(path, {"a": lambda i: i % 7, "time": lambda i: 0 if i in (3, 9) else 1.5})
    options = {"beside": {"exposure": "time"}}
    with pytest.raises(ValueError, match=r"the exposure 'time' must be above zero, got 0 in row 5 and 2 rows in all"):
        read_table(str(path), ReadingOptions(**options))
    table = read_table(str(path), ReadingOptions(**options, drop_zero_exposure=True))
    assert table.matrix.shape == (58, 1) and (table.rows["exposure"] == 1.5).all()
    assert noted(table, "2 of 60 rows were left out: exposure not above zero")
    assert table.row_numbers.tolist() == [i + 2 for i in range(60) if i not in (3, 9)]
