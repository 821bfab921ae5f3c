"""Every format gives the same table, for every reader and compression; other files are refused."""

import csv
import gzip
import io
from pathlib import Path

import bed_reader
import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.io
import scipy.sparse as sp
from pyarrow import feather, parquet
from sklearn.datasets import dump_svmlight_file

from injecting import OnCall
from sparsest.runtime.faults import injected
from sparsest.runtime.sizes import resized
from sparsest.tables import ReadingOptions, opening, read_table, read_with_encoding, readers
from sparsest.tables.dialect import find_dialect

N, P = 30, 4
NAMES = ("age", "bmi", "crp", "dose")


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((N, P)), 3)
    X[rng.random((N, P)) < 0.3] = 0.0
    return pd.DataFrame(X, columns=list(NAMES)).assign(y=np.round(rng.standard_normal(N), 3))


@pytest.fixture(params=["pyarrow", "plain"])
def reader(request, monkeypatch):
    """Text files are read with pyarrow, and where that is not installed without it."""
    if request.param == "plain":
        monkeypatch.setattr(readers, "find_spec", lambda name: None)


def same(table, frame, names=NAMES):
    X = table.matrix.toarray() if sp.issparse(table.matrix) else table.matrix
    np.testing.assert_array_equal(X, frame[list(NAMES)].to_numpy())
    np.testing.assert_array_equal(table.target, frame["y"].to_numpy())
    assert table.names == names


TEXTS = {
    "comma": lambda f: f.to_csv(index=False).encode(),
    "tab": lambda f: f.to_csv(index=False, sep="\t").encode(),
    "semicolon and decimal comma": lambda f: f.to_csv(index=False, sep=";", decimal=",").encode(),
    "gzip": lambda f: gzip.compress(f.to_csv(index=False).encode()),
    "byte order mark": lambda f: f.to_csv(index=False).encode("utf-8-sig"),
    "UTF-16": lambda f: f.to_csv(index=False).encode("utf-16"),
    "carriage returns": lambda f: f.to_csv(index=False, lineterminator="\r\n").encode(),
    "quotes": lambda f: f.to_csv(index=False, quoting=1).encode(),
    "row names": lambda f: f.to_csv().encode(),
    "row names as R writes them": lambda f: f.to_csv().encode().removeprefix(b","),
}


@pytest.mark.parametrize("text", TEXTS)
def test_text(frame, tmp_path, reader, text):
    (tmp_path / "data").write_bytes(TEXTS[text](frame))
    same(read_table(str(tmp_path / "data"), ReadingOptions()), frame)


def test_zstd(frame, tmp_path):
    plain = tmp_path / "data.csv.zst"
    with pa.OSFile(str(plain), "wb") as file, pa.CompressedOutputStream(file, "zstd") as stream:
        stream.write(frame.to_csv(index=False).encode())
    same(read_table(str(plain), ReadingOptions()), frame)


def test_standard_input(frame, monkeypatch, reader):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEXTS["gzip"](frame))))
    same(read_table("-", ReadingOptions()), frame)


def write_annotated(path, frame, form):
    """An AnnData file, by its specification."""
    X = frame[list(NAMES)].to_numpy()
    with h5py.File(path, "w") as file:
        if form == "dense":
            file["X"] = X
        else:
            stored = sp.csr_array(X) if form == "csr" else sp.csc_array(X)
            group = file.create_group("X")
            group.attrs["encoding-type"], group.attrs["shape"] = f"{form}_matrix", X.shape
            group["data"], group["indices"], group["indptr"] = stored.data, stored.indices, stored.indptr
        var, obs = file.create_group("var"), file.create_group("obs")
        var.attrs["_index"] = obs.attrs["_index"] = "_index"
        var["_index"], obs["_index"] = list(NAMES), [f"cell {i}" for i in range(N)]
        obs["y"] = frame["y"].to_numpy()
        obs.attrs["column-order"] = ["y", "kind"]
        kind = obs.create_group("kind")
        kind["codes"], kind["categories"] = np.arange(N, dtype=np.int8) % 2, ["tumour", "normal"]


def write_libsvm(path, frame):
    dump_svmlight_file(frame[list(NAMES)].to_numpy(), frame["y"], str(path), zero_based=False)


def write_folder(path, frame):
    path.mkdir()
    np.savez(path / "data.npz", X=frame[list(NAMES)].to_numpy(), y=frame["y"], feature_names=NAMES)


FILES = {
    "parquet": (lambda path, f: parquet.write_table(pa.Table.from_pandas(f), path), NAMES, None),
    "feather": (lambda path, f: feather.write_feather(f, path), NAMES, None),
    "npz": (lambda path, f: np.savez(path, X=f[list(NAMES)], y=f["y"], feature_names=NAMES), NAMES, None),
    "npy": (lambda path, f: np.save(path, f.to_numpy()), None, "4"),
    "mtx": (lambda path, f: scipy.io.mmwrite(path, sp.coo_array(f.to_numpy())), None, "4"),
    "dense mtx": (lambda path, f: scipy.io.mmwrite(path, f.to_numpy()), None, "4"),
    "svmlight": (write_libsvm, ("1", "2", "3", "4"), None),
    "dense h5ad": (lambda path, f: write_annotated(path, f, "dense"), NAMES, "y"),
    "csr h5ad": (lambda path, f: write_annotated(path, f, "csr"), NAMES, "y"),
    "csc h5ad": (lambda path, f: write_annotated(path, f, "csc"), NAMES, "y"),
    "folder": (write_folder, NAMES, None),
}


@pytest.mark.parametrize("form", FILES)
def test_files(frame, tmp_path, form):
    write, names, target = FILES[form]
    path = tmp_path / "data.npz" if form == "npz" else tmp_path / "data.npy" if form == "npy" else tmp_path / "data.mtx"
    write(path, frame)
    table = read_table(str(path), ReadingOptions(target=target))
    same(table, frame, names)
    again = read_with_encoding(str(path), table.encoding, table.names, P)
    same(again, frame, names)
    part = read_with_encoding(str(path), table.encoding, table.names, P, needed=[2, 0])
    wanted = frame[list(NAMES)].to_numpy() * [1.0, 0.0, 1.0, 0.0]
    np.testing.assert_array_equal(part.matrix.toarray(), wanted)


def test_a_target_in_a_file_of_its_own(frame, tmp_path):
    np.save(tmp_path / "X.npy", frame[list(NAMES)].to_numpy())
    np.save(tmp_path / "y.npy", frame["y"].to_numpy())
    frame[["y"]].to_csv(tmp_path / "y.csv")
    scipy.io.mmwrite(tmp_path / "y.mtx", frame[["y"]].to_numpy())
    for name in ("y.npy", "y.csv", "y.mtx"):
        same(read_table(str(tmp_path / "X.npy"), ReadingOptions(target=str(tmp_path / name))), frame, None)
    frame[["y"]][1:].to_csv(tmp_path / "y.csv", index=False)
    with pytest.raises(ValueError, match=r"the data have 30 rows, but the target in .* has 29"):
        read_table(str(tmp_path / "X.npy"), ReadingOptions(target=str(tmp_path / "y.csv")))


@pytest.mark.parametrize("missing", [False, True])
def test_genotypes_as_bed_reader_writes_them(tmp_path, missing):
    rng = np.random.default_rng(1)
    copies = rng.integers(0, 3, (11, 5)).astype(np.float32)
    if missing:
        copies[3, 1] = np.nan
    properties = {"sid": [f"rs{j}" for j in range(5)], "pheno": [str(i % 2 + 1) for i in range(11)]}
    bed_reader.to_bed(tmp_path / "g.bed", copies, properties=properties)
    table = read_table(str(tmp_path / "g.bed"), ReadingOptions(impute="drop"))
    keep = np.isfinite(copies).all(axis=1)
    np.testing.assert_array_equal(table.matrix, copies[keep])
    assert table.names == tuple(properties["sid"]) and table.matrix.dtype == (np.float32 if missing else np.int8)
    assert table.target.tolist() == [i % 2 + 1 for i in np.flatnonzero(keep)]
    (tmp_path / "g.fam").unlink()
    with pytest.raises(ValueError, match=r"there is no file .*g\.fam, which is needed to read the genotypes"):
        read_table(str(tmp_path / "g.bed"), ReadingOptions())


def test_types_are_kept(tmp_path):
    small = pd.DataFrame({"a": np.arange(6, dtype=np.int8), "b": np.arange(6, dtype=np.int8) % 2, "y": np.arange(6.0)})
    small.to_parquet(tmp_path / "a.parquet")
    assert read_table(str(tmp_path / "a.parquet"), ReadingOptions()).matrix.dtype == np.int8
    small.astype(np.float32).to_feather(tmp_path / "a.feather")
    assert read_table(str(tmp_path / "a.feather"), ReadingOptions()).matrix.dtype == np.float32
    small.assign(a=np.arange(6)).to_parquet(tmp_path / "a.parquet")
    assert read_table(str(tmp_path / "a.parquet"), ReadingOptions()).matrix.dtype == np.float64


def test_whole_numbers_beyond_double_precision(tmp_path):
    huge = np.arange(6, dtype=np.uint64) * np.uint64(3) + np.uint64(2**60)
    message = r"column 'b' holds whole numbers .* that double precision cannot represent"
    pd.DataFrame({"a": huge % np.uint64(7), "b": huge, "y": np.arange(6.0)}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=message):
        read_table(str(tmp_path / "a.parquet"), ReadingOptions())
    with pytest.raises(ValueError, match=message):
        read_table(str(tmp_path / "a.parquet"), ReadingOptions(beside={"sample_weight": "b"}))


@resized(text_bytes=256, text_rows=10)
def test_later_entries_may_be_of_another_kind(tmp_path, reader):
    """Readers tell the type of a column from its first entries."""
    rows = [f"{i},{'NA' if i < 90 else i},{0 if i < 90 else 'yes'},{i},{i % 7}" for i in range(100)]
    rows[95] = "1.5,1,no,2,3"
    (tmp_path / "a.csv").write_text("\n".join(["whole,late,word,z,y", *rows]))
    with pytest.raises(ValueError, match="missing values in 1 column, up to 90 of 100 rows: 'late'"):
        read_table(str(tmp_path / "a.csv"), ReadingOptions())
    table = read_table(str(tmp_path / "a.csv"), ReadingOptions(exclude=("late",), impute="drop", max_missing=1.0))
    assert table.names == ("whole", "late", "word=0", "word=no", "word=yes", "z") and table.matrix.shape == (10, 6)
    assert table.matrix[5].tolist() == [1.5, 1.0, 0.0, 1.0, 0.0, 2.0]


@resized(text_bytes=256)
@pytest.mark.parametrize("decimal", ".,")
def test_many_columns_of_another_kind_cost_a_few_passes(tmp_path, decimal):
    """Each needed a separate pass."""
    passes = OnCall(0, None)
    late = ["0"] * 41 + ["low"] * 20 + ["high"] * 20
    rows = [";".join([str(i / 4).replace(".", decimal), *[late[i]] * 40, str(i)]) for i in range(81)]
    (tmp_path / "a.csv").write_text("\n".join([";".join(["x", *(f"c{j}" for j in range(40)), "y"]), *rows]))
    with injected("pass over text", passes):
        table = read_table(str(tmp_path / "a.csv"), ReadingOptions())
    assert table.names == ("x", *(f"c{j}={level}" for j in range(40) for level in ("0", "high", "low")))
    np.testing.assert_array_equal(table.matrix[:, 0], np.arange(81) / 4)
    assert passes.calls == 5


@pytest.mark.parametrize("separator", ",\t;")
@pytest.mark.parametrize("compress", [lambda content: content, gzip.compress], ids=["plain", "gzip"])
def test_lines_of_megabytes(tmp_path, separator, compress, reader):
    """Python's CSV reader takes no field above 131,072 characters, which a line without its separator is."""
    names = [f"ENSG{j:07d}.{'long' * 20}" for j in range(20_000)]
    rows = ["label", *names, "y"], ["a", *["1.5"] * 20_000, "1"]
    rows += ["b", *["0"] * 20_000, "2"], ["b", *["2"] * 20_000, "4"]
    text = "\n".join(separator.join(row) for row in rows)
    (tmp_path / "wide").write_bytes(compress(text.encode()))
    table = read_table(str(tmp_path / "wide"), ReadingOptions())
    assert table.names == ("label=b", *names) and table.matrix.shape == (3, 20_001)
    np.testing.assert_array_equal(table.matrix[:, [0, 1, -1]], [[0, 1.5, 1.5], [1, 0, 0], [1, 2, 2]])
    assert table.target.tolist() == [1, 2, 4]


def test_a_header_of_a_million_columns():
    """It is longer than the part of the file from which the format is detected."""
    names = [f"x{j}" for j in range(1_000_000)]
    opened = opening._look("standard input", None, (",".join(names) + "\n" + ",".join(["1"] * 1_000_000)).encode())
    assert find_dialect(opened.head, "standard input").names == tuple(names)


def test_a_long_field(tmp_path, reader):
    note = "word " * 40_000
    (tmp_path / "a.csv").write_text(f'x,note,y\n1,"{note}",2\n2,b,3\n4,b,3\n')
    assert read_table(str(tmp_path / "a.csv"), ReadingOptions(exclude=("note",))).names == ("x",)
    assert csv.field_size_limit() == 131_072


@resized(head_bytes=3 << 20)
def test_a_line_that_never_ends():
    with pytest.raises(ValueError, match="has a first line of more than 3 MB: is it a table"):
        opening._look("standard input", None, b"word " * 1_000_000)


BAD = {
    "empty": (b"", "is empty"),
    "image": (b"\x89PNG\r\n\x1a\n" + bytes(50), "is an image: give a CSV"),
    "binary": (bytes(range(256)) * 10, "is a binary file of an unknown format: give a CSV"),
    "only a header": (b"a,b,y\n", "has no rows"),
    "ragged": (b"a,b,y\n1,2,3\n1,2\n4,5,6\n", "cannot be read as a table"),
    "cut gzip": (gzip.compress(b"a,y\n" + b"1,2\n" * 1000)[:-20], "damaged|cannot be read"),
    "cut parquet": (b"PAR1" + bytes(20), "cannot be read"),
    "cut feather": (b"ARROW1" + bytes(20), "cannot be read"),
    "cut npy": (b"\x93NUMPY\x01\x00", "cannot be read"),
    "cut npz": (b"PK\x03\x04", "cannot be read"),
    "cut hdf": (b"\x89HDF\r\n\x1a\n" + bytes(20), "is not a readable AnnData file"),
    "bad market": (
        b"%%MatrixMarket matrix coordinate real general\n2 2 1\n3 3 1.0\n",
        "is not a readable Matrix Market",
    ),
    "a dense market of any size": (b"%%MatrixMarket matrix array real general\n1000000000 1000000000\n1\n", "states"),
    "a short dense market": (b"%%MatrixMarket matrix array real general\n9000 9000\n1\n2\n", "is too short for"),
    "a short symmetric market": (b"%%MatrixMarket matrix array real symmetric\n90000 90000\n1\n", "is too short for"),
    "a sparse market of any size": (
        b"%%MatrixMarket matrix coordinate real general\n1000000000 1000000000 1\n1 1 1\n",
        "states 1000000000 rows and 1000000000 columns, but only 1 entries",
    ),
    "a short sparse market": (
        b"%%MatrixMarket matrix coordinate real general\n1000 1000 9000000000\n1 1 1\n",
        "is too short for",
    ),
    "a market of a negative size": (b"%%MatrixMarket matrix array real general\n-5 3\n1\n", "is not a readable Matrix"),
    "svmlight with a column of any number": (b"1 1:2 2:3\n1 1000000000:2\n", "only 3 entries"),
    "a line without an end": (b"a" * 3_000_000, "has no rows|cannot be read as a table"),
    "bad svmlight": (b"1 1:2 2:3\n1 x:2\n", "is not a readable svmlight"),
    "bed alone": (b"\x6c\x1b\x01\x00", "there is no file"),
    "old bed": (b"\x6c\x1b\x00\x00", "is stored by sample"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_no_data_file(tmp_path, kind, reader):
    content, message = BAD[kind]
    (tmp_path / "data.bed").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_table(str(tmp_path / "data.bed"), ReadingOptions(target="y" if b"y" in content else None))


def test_no_file():
    with pytest.raises(FileNotFoundError, match="there is no file or folder nowhere"):
        read_table("nowhere", ReadingOptions())


def test_columns_of_another_svmlight_file_are_known_by_their_numbers(tmp_path):
    """A file has only the entries that are not zero: the first and the last column may be missing in another one."""
    (tmp_path / "fit.svm").write_text("1 0:5 2:7\n2 1:6 3:1\n3 0:2 3:4\n")
    (tmp_path / "new.svm").write_text("1 2:3\n2 1:9\n")
    table = read_table(str(tmp_path / "fit.svm"), ReadingOptions())
    assert table.names == ("0", "1", "2", "3")
    again = read_with_encoding(str(tmp_path / "new.svm"), table.encoding, table.names, 4, needed=[0, 1, 2, 3])
    np.testing.assert_array_equal(again.matrix.toarray(), [[0.0, 0.0, 3.0, 0.0], [0.0, 9.0, 0.0, 0.0]])


WRITTEN = sorted((Path(__file__).parent / "files").glob("anndata-*.h5ad.gz"))


@pytest.mark.parametrize("file", WRITTEN, ids=lambda file: file.name.removesuffix(".h5ad.gz"))
def test_files_that_anndata_has_written(file):
    """Of several versions of it, with a layer beside X; before 0.8 the words of categories stood elsewhere."""
    table = read_table(str(file), ReadingOptions(target="y"))
    X = table.matrix.toarray() if sp.issparse(table.matrix) else table.matrix
    np.testing.assert_array_equal(X, [[1, 0, 2], [0, 3, 0], [4, 0, 0.5], [0, 0, 6]])
    assert sp.issparse(table.matrix) == ("-dense" not in file.name) and X.dtype == np.float32
    assert table.names == ("gα", "g2", "g3") and table.target.tolist() == [1, 2, 3, 4]
    assert table.ids.tolist() == ["cell0", "cell1", "cell2", "cell3"]
    labels = read_table(str(file), ReadingOptions(target="grp", impute="drop"))
    assert labels.target.tolist() == ["b", "a", "a"] and labels.matrix.shape == (3, 3)
    if "0.12" in file.name:
        columns = {column.name: column for column in readers.read_source(str(file)).columns}
        np.testing.assert_array_equal(columns["count"].load(), [1, np.nan, 3, 4])
        np.testing.assert_array_equal(columns["dose"].load(), [1.5, 2.5, np.nan, 1.5])
        codes, levels = columns["word"].load()
        assert codes.tolist() == [0, -1, 1, 0] and levels == ("u", "w")


def test_all_files_of_anndata_are_there():
    assert len(WRITTEN) == 6
