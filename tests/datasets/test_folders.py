"""Data of a folder, and what is said of folders that hold none."""

import numpy as np
import pytest
from scipy import sparse

from sparsest.datasets import load_folder


def test_folder_with_a_dense_design(tmp_path):
    X, y = np.arange(6, dtype=np.int8).reshape(3, 2), np.array(["a", "b", "a"])
    np.savez(tmp_path / "data.npz", X=X, y=y, feature_names=np.array(["u", "v"]), extra=np.ones(2))
    data = load_folder(str(tmp_path))
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    assert data.X.dtype == np.int8 and list(data.feature_names) == ["u", "v"]
    assert data.coef is None and data.support is None and data.target_names is None


def test_folder_with_a_sparse_design(tmp_path):
    X = sparse.csc_array(np.diag([1.0, 2.0, 3.0]))
    np.savez(tmp_path / "data.npz", y=np.arange(3.0))
    sparse.save_npz(tmp_path / "X.npz", X)
    data = load_folder(tmp_path)
    assert sparse.issparse(data.X) and data.feature_names is None and data.sample_weight is None
    np.testing.assert_array_equal(data.X.toarray(), X.toarray())


def test_folder_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no data folder"):
        load_folder(tmp_path / "absent")
    with pytest.raises(FileNotFoundError, match=r"has no file data\.npz"):
        load_folder(tmp_path)
    np.savez(tmp_path / "data.npz", X=np.ones((2, 2)))
    with pytest.raises(ValueError, match="has no array y"):
        load_folder(tmp_path)
    np.savez(tmp_path / "data.npz", y=np.ones(2))
    with pytest.raises(FileNotFoundError, match="neither an array X"):
        load_folder(tmp_path)
    np.savez(tmp_path / "data.npz", X=np.ones((2, 2)), y=np.ones(3))
    with pytest.raises(ValueError, match="do not fit together"):
        load_folder(tmp_path)
    np.savez(tmp_path / "data.npz", X=np.ones((2, 2)), y=np.ones(2), feature_names=np.array(["a"]))
    with pytest.raises(ValueError, match="2 features but feature_names of shape"):
        load_folder(tmp_path)
    np.savez(tmp_path / "data.npz", X=np.ones((2, 2)), y=np.ones(2), sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="2 observations but sample_weight of shape"):
        load_folder(tmp_path)


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "shape", "kind"),
    [
        ("movie_reviews", (2000, 18408), "U"),
        ("wheat_dart", (599, 1279), "f"),
        ("ma_golub", (72, 7129), "U"),
        ("madelon", (2600, 500), "i"),
    ],
)
def test_shared_folders(shared_data, name, shape, kind):
    data = load_folder(shared_data / name)
    assert data.X.shape == shape and data.y.shape == shape[:1]
    assert data.y.dtype.kind == kind
    assert sparse.issparse(data.X) == (name == "movie_reviews")
