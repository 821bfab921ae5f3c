import math
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from sparsest import datasets
from sparsest.datasets import (
    Dataset,
    load_breast_cancer,
    load_diabetes_quadratic,
    load_folder,
    make_hard,
    make_toeplitz,
)

MAKERS = pytest.mark.parametrize("make", [make_toeplitz, make_hard])


def rms(X):
    return np.sqrt(np.mean(np.asarray(X, dtype=np.float64) ** 2, axis=0))


@MAKERS
@pytest.mark.parametrize("snr", [0.05, 1.0, 6.0])
@pytest.mark.parametrize("scale", [True, False])
def test_signal_to_noise_ratio_is_exact(make, snr, scale):
    data = make(40, 30, 5, snr=snr, rng=0, scale=scale)
    signal = data.X @ data.coef
    assert np.linalg.norm(signal) / np.linalg.norm(data.y - signal) == pytest.approx(math.sqrt(snr), rel=1e-12)


@MAKERS
def test_noise_is_not_the_signal_in_disguise(make):
    data = make(20_000, 6, 3, snr=1.0, rng=1)
    signal = data.X @ data.coef
    assert abs(np.corrcoef(signal, data.y - signal)[0, 1]) < 5 / math.sqrt(20_000)


@MAKERS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_shapes_types_and_order(make, dtype, task):
    data = make(13, 21, 4, task=task, rng=2, dtype=dtype)
    assert isinstance(data, Dataset)
    assert data.X.shape == (13, 21) and data.y.shape == (13,) and data.coef.shape == (21,)
    assert data.X.dtype == data.y.dtype == data.coef.dtype == dtype
    assert data.X.flags.f_contiguous
    assert data.support.shape == (4,)
    assert data.feature_names is None and data.target_names is None
    np.testing.assert_array_equal(data.support, np.flatnonzero(data.coef))
    np.testing.assert_allclose(rms(data.X), 1, rtol=1e-6 if dtype == np.float32 else 1e-12)


@MAKERS
def test_scaling_changes_only_the_scale(make):
    raw, scaled = make(30, 20, 4, rng=3, scale=False), make(30, 20, 4, rng=3)
    np.testing.assert_array_equal(raw.y, scaled.y)
    np.testing.assert_array_equal(raw.support, scaled.support)
    np.testing.assert_allclose(raw.X / rms(raw.X), scaled.X, rtol=1e-12)
    np.testing.assert_allclose(raw.coef * rms(raw.X), scaled.coef, rtol=1e-12)
    np.testing.assert_allclose(raw.X @ raw.coef, scaled.X @ scaled.coef, rtol=1e-10)


@MAKERS
def test_a_seed_means_the_same_data(make):
    first, second = make(15, 12, 3, rng=4), make(15, 12, 3, rng=np.random.default_rng(4))
    for a, b in zip(first[:4], second[:4], strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(first.y, make(15, 12, 3, rng=5).y)
    assert not np.array_equal(make(15, 12, 3).y, make(15, 12, 3).y)


@MAKERS
def test_a_generator_moves_on(make):
    generator = np.random.default_rng(6)
    assert not np.array_equal(make(15, 12, 3, rng=generator).X, make(15, 12, 3, rng=generator).X)


@MAKERS
def test_float32_rounds_the_float64_data(make):
    single, double = make(15, 12, 3, rng=7, dtype=np.float32), make(15, 12, 3, rng=7)
    np.testing.assert_array_equal(single.X, double.X.astype(np.float32))
    np.testing.assert_array_equal(single.y, double.y.astype(np.float32))
    np.testing.assert_array_equal(single.support, double.support)


@MAKERS
@pytest.mark.parametrize("entries", [1, 20, 70])
def test_block_size_does_not_matter(make, entries):
    whole, blocked = make(10, 25, 8, rng=8), make(10, 25, 8, rng=8, block_entries=entries)
    np.testing.assert_allclose(blocked.X, whole.X, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(blocked.y, whole.y, rtol=1e-10)


@MAKERS
def test_classification_takes_the_sign_of_the_regression(make):
    labels = make(200, 20, 4, rng=9, task="classification")
    numbers = make(200, 20, 4, rng=9)
    assert set(np.unique(labels.y)) == {-1.0, 1.0}
    np.testing.assert_array_equal(labels.y, np.sign(numbers.y))
    np.testing.assert_array_equal(labels.X, numbers.X)


@MAKERS
def test_memory_stays_near_one_design(make):
    make(10, 10, 2, rng=0)
    tracemalloc.start()
    try:
        data = make(100, 60_000, 10, rng=10)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * data.X.nbytes


@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.2, 0.7])
@pytest.mark.parametrize("scale", [True, False])
def test_toeplitz_correlation(rho, scale):
    n, p = 20_000, 7
    X = make_toeplitz(n, p, 2, rho=rho, rng=11, scale=scale).X
    lag = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    # The entries of an empirical covariance have standard deviations of at most √(2/n).
    np.testing.assert_allclose(X.T @ X / n, rho**lag, atol=5 * math.sqrt(2 / n))
    assert np.all(np.abs(X.mean(axis=0)) < 5 / math.sqrt(n))


def test_toeplitz_correlation_survives_block_borders():
    n = 20_000
    X = make_toeplitz(n, 8, 2, rho=0.7, rng=12, block_entries=3 * n).X
    neighbours = [X[:, j] @ X[:, j + 1] / n for j in range(7)]
    np.testing.assert_allclose(neighbours, 0.7, atol=5 * math.sqrt(2 / n))


def test_toeplitz_coefficients_are_signs_at_random_places():
    supports, signs = [], []
    for seed in range(200):
        data = make_toeplitz(3, 10, 4, rng=seed, scale=False)
        assert set(np.abs(data.coef[data.support])) == {1.0}
        assert data.support.size == 4 and np.all(np.diff(data.support) > 0)
        supports.extend(data.support)
        signs.extend(data.coef[data.support])
    frequencies = np.bincount(supports, minlength=10) / 200
    assert np.all(np.abs(frequencies - 0.4) < 5 * math.sqrt(0.4 * 0.6 / 200))
    assert abs(np.mean(signs)) < 5 / math.sqrt(800)


def test_toeplitz_allows_every_feature_and_a_single_row():
    data = make_toeplitz(1, 3, 3, rng=13)
    np.testing.assert_array_equal(data.support, [0, 1, 2])
    np.testing.assert_allclose(np.abs(data.X), 1)
    assert np.all(np.isfinite(data.y))


@pytest.mark.parametrize("k", [2, 4, 9])
def test_hard_covariance(k):
    n, p = 20_000, k + 4
    X = make_hard(n, p, k, rng=14, scale=False).X
    theta = (1 / k + 1 / math.sqrt(k)) / 2
    expected = np.eye(p)
    expected[k, :k] = expected[:k, k] = theta
    np.testing.assert_allclose(X.T @ X / n, expected, atol=5 * math.sqrt(2 / n))


def test_hard_coefficients():
    data = make_hard(20, 12, 4, rng=15, scale=False)
    np.testing.assert_array_equal(data.support, np.arange(4))
    np.testing.assert_allclose(data.coef, np.r_[np.full(4, 0.5), np.zeros(8)])


def test_hard_decoy_beats_each_true_feature():
    data = make_hard(20_000, 8, 4, rng=16)
    assert np.argmax(np.abs(data.X.T @ data.y)) == 4


@MAKERS
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, "n must be a whole number >= 1, got 0"),
        ({"p": 0}, "p must be a whole number >= 1, got 0"),
        ({"k": 9}, "k must be a whole number >= 1 and <= 8, got 9"),
        ({"k": 0}, "k must be a whole number >= 1 and <= 8, got 0"),
        ({"snr": 0.0}, "snr must be a finite number > 0"),
        ({"snr": -1.0}, "snr must be a finite number > 0"),
        ({"snr": math.nan}, "snr must be a finite number > 0"),
        ({"snr": math.inf}, "snr must be a finite number > 0"),
        ({"task": "ranking"}, "unknown task 'ranking'; choose one of regression, classification"),
        ({"dtype": np.int64}, "dtype must be float32 or float64, got <class .*int64"),
    ],
)
def test_bad_arguments(make, change, message):
    with pytest.raises(ValueError, match=message):
        make(**({"n": 5, "p": 8, "k": 2, "rng": 0} | change))


@pytest.mark.parametrize("rho", [-1.0, 1.0, 1.5, math.nan])
def test_toeplitz_rejects_rho(rho):
    with pytest.raises(ValueError, match="rho must be a number > -1 and < 1"):
        make_toeplitz(5, 8, 2, rho=rho)


@pytest.mark.parametrize("k", [1, 8])
def test_hard_rejects_k(k):
    with pytest.raises(ValueError, match="k must be at least 2 and less than p = 8"):
        make_hard(5, 8, k)


def test_diabetes_columns():
    data = load_diabetes_quadratic()
    names = list(data.feature_names)
    assert data.X.shape == (442, 64) and data.X.flags.f_contiguous
    assert len(set(names)) == 64
    assert {"bmi", "bmi^2", "bmi:bp"} <= set(names) and "sex^2" not in names
    assert sum(":" in name for name in names) == 45 and sum("^" in name for name in names) == 9
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(rms(data.X), 1, rtol=1e-12)
    assert data.y.mean() == pytest.approx(152.133, abs=1e-3)
    product = data.X[:, names.index("bmi")] * data.X[:, names.index("bp")]
    assert np.corrcoef(product, data.X[:, names.index("bmi:bp")])[0, 1] == pytest.approx(1)


@pytest.mark.shared_data
def test_diabetes_agrees_with_the_published_columns(shared_data):
    ours, published = load_diabetes_quadratic(), load_folder(shared_data / "diabetes64")
    aliases = {"bp": "map", "s1": "tc", "s2": "ldl", "s3": "hdl", "s4": "tch", "s5": "ltg", "s6": "glu"}
    names = [name.replace("^", ":^") for name in ours.feature_names]
    renamed = [":".join(aliases.get(part, part) for part in name.split(":")).replace(":^", "^") for name in names]
    assert renamed == list(published.feature_names)
    # Two of the published main effects were rounded before they were scaled.
    np.testing.assert_allclose(ours.X, published.X / rms(published.X), atol=2e-3)
    np.testing.assert_array_equal(ours.y, published.y)


def test_breast_cancer():
    data = load_breast_cancer()
    assert data.X.shape == (569, 30) and data.X.dtype == np.float64 and data.X.flags.f_contiguous
    assert data.feature_names.shape == (30,)
    assert list(data.target_names) == ["malignant", "benign"]
    np.testing.assert_array_equal(np.bincount(data.y), [212, 357])
    assert data.coef is None and data.support is None


@pytest.mark.parametrize("load", [load_diabetes_quadratic, load_breast_cancer])
def test_the_tables_are_those_of_the_loaders_of_scikit_learn(load, monkeypatch):
    data = load()
    monkeypatch.setattr(datasets, "_table", lambda file, **layout: None)
    again = load()
    np.testing.assert_allclose(data.X, again.X, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(data.y, again.y)


def test_names_are_those_of_scikit_learn():
    from sklearn import datasets as peer

    assert list(load_diabetes_quadratic().feature_names[:10]) == list(peer.load_diabetes().feature_names)
    assert list(load_breast_cancer().feature_names) == list(peer.load_breast_cancer().feature_names)
    assert list(load_breast_cancer().target_names) == list(peer.load_breast_cancer().target_names)


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
