"""Paths of files in place of a matrix: opened by what their name ends with, and never loaded as a whole."""

import numpy as np
import pytest

from checks import best_subset
from core.designs.storages import matrix
from samples import sample
from sparsest import penalty_path
from sparsest.core.designs import Dense, Streamed, as_design, mapped
from sparsest.core.designs.files import OPENERS
from sparsest.runtime.sizes import resized


@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_npy_is_mapped(tmp_path, kind):
    np.save(tmp_path / "x.npy", matrix())
    small = as_design(kind(tmp_path / "x.npy"))
    assert isinstance(small, Dense) and mapped.is_mapped(small.array)
    with resized(large_matrix=1):
        assert isinstance(as_design(kind(tmp_path / "x.npy")), Streamed)


def test_functions_take_paths(tmp_path):
    X, y = sample("squared", 60, 7)
    np.save(tmp_path / "x.npy", X)
    result = best_subset(str(tmp_path / "x.npy"), y, k=2)
    assert result.certificate.verify(X, y) and result.certificate.verify(tmp_path / "x.npy", y)
    path = penalty_path(tmp_path / "x.npy", y, alphas=5)
    np.testing.assert_allclose(path.coefs.toarray(), penalty_path(X, y, alphas=5).coefs.toarray(), atol=1e-10)


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "x.npy").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="cannot be read: save it again with numpy"):
        as_design(tmp_path / "x.npy")
    with pytest.raises(ValueError, match="there is no file"):
        as_design(tmp_path / "y.npy")
    with pytest.raises(ValueError, match=r"or the path of a file that ends with \.npy.*, got 'data\.csv'"):
        as_design("data.csv")
    np.save(tmp_path / "x.npy", np.ones(3))
    with pytest.raises(ValueError, match="two dimensions"):
        as_design(tmp_path / "x.npy")


def test_every_ending_has_an_opener(tmp_path):
    for ending in OPENERS:
        with pytest.raises(ValueError, match="there is no file"):
            as_design(tmp_path / f"absent{ending}")
