"""From columns to features: identifiers, categories, missing values, and what is said about them."""

import json

import numpy as np
import pytest

from sparsest.tables import Encoding, Wishes, read_again, read_table, readers

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


def read(path, **wishes):
    return read_table(str(path), Wishes(**{"target": "outcome", "exclude": LEFT_OUT, **wishes}))


def test_columns_become_features(path):
    table = read(path, impute="median", beside={"sample_weight": "w"})
    assert table.names == ("age", "sex=m", "stage=I", "stage=II", "stage=III", "crp")
    assert table.target.tolist() == ["good", "bad", "bad", "good", "good", "bad"]
    assert table.rows["sample_weight"].tolist() == [1, 2, 1, 1, 1, 1] and table.ids.tolist() == [
        f"p{i}" for i in range(1, 7)
    ]
    # The most frequent level and the median take the places of what is missing.
    assert table.matrix[4].tolist() == [70, 0, 0, 1, 0, 3.5] and table.matrix[1, 5] == 2.5
    assert table.encoding.fill == {"age": 58.0, "sex": "f", "stage": "I", "crp": 2.5}
    assert table.encoding.ids == ("patient_id",) and table.encoding.left_out == LEFT_OUT
    assert any("left out as names of the rows: 'patient_id'" in note for note in table.notes)


def test_mean_and_drop(path):
    assert read(path, impute="mean").encoding.fill["crp"] == 2.5
    dropped = read(path, impute="drop")
    assert dropped.ids.tolist() == ["p1", "p3", "p4", "p6"] and dropped.matrix.shape == (4, 7)
    assert "2 of 6 rows were left out for missing values" in dropped.notes
    with pytest.raises(ValueError, match="unknown --impute 'guess'; choose one of median, mean, drop"):
        read(path, impute="guess")


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({}, r"missing values in 2 columns, up to 1 of 6 rows: 'sex', 'crp'; fill them in with --impute median"),
        ({"exclude": ("note",)}, "column 'visit' holds dates or times|column 'visit' holds text, 6 different ones"),
        ({"exclude": ("visit",)}, "column 'note' holds text, 6 different ones such as 'better': leave it out with"),
        ({"target": "risk"}, r"there is no column \(and no file\) 'risk' for the target; the columns are 'patient_id'"),
        ({"target": None}, "name the column to predict, or a file of its own, with --target; the columns are"),
        ({"beside": {"sample_weight": "sex"}}, "the sample weight 'sex' must be numbers"),
        ({"beside": {"offset": "mass"}}, "there is no column 'mass' for the offset"),
        ({"exclude": ("mass",)}, "there is no column 'mass' for --id or --exclude"),
    ],
    ids=str,
)
def test_refused(path, wishes, message):
    with pytest.raises(ValueError, match=message):
        read(path, **wishes)


def test_an_encoding_reads_other_files_in_the_same_way(path):
    table = read(path, impute="median", beside={"sample_weight": "w"})
    kept = json.loads(json.dumps(table.encoding.to_json()))
    encoding = Encoding.from_json(kept)
    assert encoding == table.encoding
    again = read_again(str(path), encoding, table.names, len(table.names))
    np.testing.assert_array_equal(again.matrix, table.matrix)
    assert again.target.tolist() == table.target.tolist() and again.rows["sample_weight"].tolist() == [1, 2, 1, 1, 1, 1]
    other = path.with_name("new.csv")
    other.write_text("crp,stage,extra\n7,II,x\n,IV,x\n", encoding="utf-8")
    new = read_again(str(other), encoding, table.names, len(table.names), needed=[5, 3])
    assert new.matrix.toarray().tolist() == [[0, 0, 0, 1, 0, 7], [0, 0, 0, 0, 0, 2.5]]
    assert new.notes == ["column 'stage' has values that the fit did not have: 'IV'"]
    with pytest.raises(ValueError, match="the data have no column 'age', which the model needs"):
        read_again(str(other), encoding, table.names, len(table.names), needed=[0])
    other.write_text("crp,stage\nhigh,I\nlow,II\n", encoding="utf-8")
    with pytest.raises(ValueError, match="column 'crp' should hold numbers as in the fit, but holds texts"):
        read_again(str(other), encoding, table.names, len(table.names), needed=[5])
    plain = Encoding.from_json(kept | {"impute": None, "fill": {}})
    other.write_text("crp,stage\n,I\n2,II\n", encoding="utf-8")
    with pytest.raises(ValueError, match="missing values in columns that the model needs: 'crp'"):
        read_again(str(other), plain, table.names, len(table.names), needed=[5])


@pytest.mark.parametrize(
    "change",
    [
        {"target": 3},
        {"ids": "a"},
        {"categories": {"a": ["b"]}},
        {"impute": "guess"},
        {"fill": {"a": None}},
        {"more": 1},
    ],
    ids=str,
)
def test_forged_encodings_are_refused(change):
    with pytest.raises(ValueError, match="the encoding of a table"):
        Encoding.from_json(Encoding().to_json() | change)


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return read_table(str(path), Wishes())


def test_remarks(path):
    table = write(path, "a,b,c,d,y\n1,7,1,1,3\n2,7,2,0,4\n5,7,5,1,5\n")
    assert table.notes == [
        "1 column has the same value everywhere and cannot matter: 'b'",
        "1 column repeats an earlier one: 'c = a'",
    ]


def test_names(path):
    path.write_text("1,2,3\n4,5,6\n7,7,8\n", encoding="utf-8")
    table = read_table(str(path), Wishes(target="x3"))
    assert table.names == ("x1", "x2") and "they are called x1, x2" in table.notes[0]
    twice = write(path, "a,a,a (2),y\n1,2,3,4\n2,3,5,5\n")
    assert twice.names == ("a", "a (3)", "a (2)") and "names that occur more than once got a number: 'a'" in twice.notes
    with pytest.raises(ValueError, match="two features would be called 's=a'"):
        write(path, "s,s=a,y\na,1,2\nb,2,3\nc,3,4\na,1,2\nb,2,3\nc,3,4\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,y\n1,2\n3,4\n<0.1,5\n7,9\n", "column 'a' holds numbers, but also text such as '<0.1'"),
        ("a,y\n1,2\ninf,4\n5,5\n", "infinite numbers in 'a'"),
        ("id,y\na,2\nb,4\n", "no column is left to be a feature"),
        ("a,b,y\n1,NA,2\n2,3,NA\n", "missing values in 2 columns, up to 1 of 2 rows: 'b', 'y'"),
    ],
)
def test_columns_that_are_no_features(path, text, message):
    with pytest.raises(ValueError, match=message):
        write(path, text)


def test_rows_without_a_target_are_left_out_where_others_are_filled_in(path):
    path.write_text("a,b,y\n1,,2\n2,3,\n4,5,6\n3,1,1\n", encoding="utf-8")
    table = read_table(str(path), Wishes(impute="median"))
    assert table.target.tolist() == [2, 6, 1] and table.matrix[0].tolist() == [1, 3]
    path.write_text("a,b,y\n1,,2\n2,3,\n", encoding="utf-8")
    with pytest.raises(ValueError, match="every row has missing values"):
        read_table(str(path), Wishes(impute="drop"))


def test_missing_entries_of_matrices(tmp_path):
    X = np.array([[1.0, np.nan], [3.0, 4.0], [5.0, 8.0]])
    np.savez(tmp_path / "a.npz", X=X, y=np.array([1.0, 2.0, 4.0]))
    with pytest.raises(ValueError, match="missing values in 1 column, up to 1 of 3 rows: '1'"):
        read_table(str(tmp_path / "a.npz"), Wishes())
    filled = read_table(str(tmp_path / "a.npz"), Wishes(impute="mean"))
    assert filled.matrix.tolist() == [[1, 6], [3, 4], [5, 8]] and filled.encoding.fill == {"0": 3.0, "1": 6.0}
    assert read_table(str(tmp_path / "a.npz"), Wishes(impute="drop")).matrix.tolist() == [[3, 4], [5, 8]]
