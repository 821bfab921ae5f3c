"""Tables of Arrow: columns of numbers are read by name, in the shortest type that holds all of them."""

import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import dataset, feather, parquet

from checks import best_subset
from core.designs.storages import NAMES, N, matrix
from design_contract import DesignContract
from samples import sample
from sparsest.core.designs import Dense, Streamed, as_design
from sparsest.runtime.sizes import resized


def table(X, names=NAMES):
    return pa.table({name: column for name, column in zip(names, X.T, strict=True)})


def write_parquet(path, X):
    parquet.write_table(table(X), path / "x.parquet", row_group_size=3)
    return path / "x.parquet"


def write_feather(path, X):
    feather.write_feather(table(X), path / "x.feather", compression="uncompressed", chunksize=3)
    return path / "x.feather"


def write_folder(path, X):
    dataset.write_dataset(table(X), path / "x.parquet", format="parquet", max_rows_per_file=3, max_rows_per_group=3)
    return path / "x.parquet"


KINDS = {
    "table": lambda path, X: table(X),
    "Parquet": write_parquet,
    "Parquet file": lambda path, X: parquet.ParquetFile(write_parquet(path, X)),
    "dataset": lambda path, X: dataset.dataset(write_parquet(path, X)),
    "folder": write_folder,
    "Feather": write_feather,
}


class TestArrow(DesignContract):
    @pytest.fixture(params=KINDS)
    def pair(self, request, tmp_path):
        with resized(large_matrix=1):
            design = as_design(KINDS[request.param](tmp_path, matrix()))
        assert isinstance(design, Streamed) and list(design.names) == NAMES
        return Streamed(design.source, block_bytes=8 * N * 2, copy_bytes=0), matrix()


def test_searches(tmp_path):
    X, y = sample("squared", 60, 7)
    path = write_parquet(tmp_path, X)
    result = best_subset(str(path), y, k=2)
    assert result.names == [NAMES[j] for j in result.support] and result.certificate.verify(X, y)


def test_small_tables_are_converted():
    assert isinstance(as_design(table(matrix())), Dense)


@pytest.mark.parametrize(
    "types, expected",
    [
        ((pa.int8(), pa.bool_(), pa.float32()), np.float32),
        ((pa.uint16(), pa.int16(), pa.int8()), np.float32),
        ((pa.float32(), pa.int32(), pa.int8()), np.float64),
        ((pa.decimal128(21, 2), pa.int64(), pa.float64()), np.float64),
    ],
)
def test_types(tmp_path, types, expected):
    columns = [pa.array([0, 1, None, 1, 1]).cast(kind) for kind in types]
    parquet.write_table(pa.table(dict(zip("abc", columns, strict=True))), tmp_path / "x.parquet")
    source = as_design(tmp_path / "x.parquet").source
    block = source.read(0, 3)
    assert block.dtype == expected
    assert np.array_equal(block, np.tile(np.array([0, 1, np.nan, 1, 1])[:, None], 3), equal_nan=True)
    with pytest.raises(ValueError, match="NaN or infinity: impute or drop"):
        as_design(tmp_path / "x.parquet").survey(np.ones(5))


def test_columns_that_are_no_numbers(tmp_path):
    parquet.write_table(pa.table({"a": [1.0], "who": ["me"]}), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"columns that are not numeric \('who'\): leave them out"):
        as_design(tmp_path / "x.parquet")
    parquet.write_table(pa.table({"a": [2**60, 1]}), tmp_path / "y.parquet")
    with pytest.raises(ValueError, match="double precision cannot represent"):
        as_design(tmp_path / "y.parquet").survey(np.ones(2))


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_other_files(tmp_path, ending, monkeypatch):
    (tmp_path / f"x{ending}").write_bytes(b"nothing at all")
    with pytest.raises(ValueError, match="cannot be read as"):
        as_design(tmp_path / f"x{ending}")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"need pyarrow: pip install 'sparsest\[io\]'"):
        as_design(tmp_path / f"x{ending}")
