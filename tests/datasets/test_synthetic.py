"""Synthetic designs: the signal, the noise and the correlations that they promise, in any type and block size."""

import math
import tracemalloc

import numpy as np
import pytest

from datasets.helpers import rms
from sparsest.datasets import Dataset, make_hard, make_toeplitz

MAKERS = pytest.mark.parametrize("make", [make_toeplitz, make_hard])


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
