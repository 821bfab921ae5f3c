"""Data of studies: rows of one truth, scaled by what the training rows say, the same for every procedure."""

import numpy as np
import pytest

from sparsest.studies.samples import Source, draw

TOEPLITZ = Source("toeplitz", p=30, k=3, snr=4.0, rho=0.5, n_validation=50, n_test=60)


@pytest.mark.parametrize("source", [TOEPLITZ, Source("hard", p=30, k=3, snr=4.0, n_validation=50, n_test=60)])
def test_all_rows_have_one_truth(source):
    sample = draw(source, 200, np.random.default_rng(0))
    assert [part.X.shape for part in sample[:3]] == [(200, 30), (50, 30), (60, 30)]
    np.testing.assert_allclose((sample.train.X**2).mean(axis=0), 1.0)
    fitted = np.linalg.lstsq(sample.train.X[:, sample.support], sample.train.y, rcond=None)[0]
    for part in (sample.validation, sample.test):
        left = part.y - part.X[:, sample.support] @ fitted
        # With this ratio of signal to noise a fifth of the variance is noise.
        assert left.var() < 0.35 * part.y.var()


def test_single_precision_has_the_same_data():
    double, single = (
        draw(Source("toeplitz", p=10, k=2, snr=4.0, dtype=dtype), 30, np.random.default_rng(0))
        for dtype in ("float64", "float32")
    )
    assert single.train.X.dtype == np.float32 and single.train.X.flags.f_contiguous
    np.testing.assert_allclose(single.test.X, double.test.X, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(single.support, double.support)


def test_classes_and_seeds():
    source = Source("toeplitz", "classification", p=10, k=2, snr=4.0, n_validation=20, n_test=20)
    one, same, other = (draw(source, 30, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert set(np.unique(one.train.y)) == {-1.0, 1.0}
    np.testing.assert_array_equal(one.train.X, same.train.X)
    assert not np.array_equal(one.train.X, other.train.X)


def write_folder(folder):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 8)) + 5.0
    X[:, 3] = 1.0
    (folder / "made").mkdir()
    np.savez(folder / "made" / "data.npz", X=X, y=np.array(["a", "b", "c", "a"] * 25))
    return str(folder)


def test_real_rows_are_centred_by_the_training_rows(tmp_path):
    folder = write_folder(tmp_path)
    sample = draw(Source("real-x", k=3, snr=2.0, folder="made"), 0, np.random.default_rng(0), folder)
    # The constant column is gone.
    assert sample.train.X.shape == (64, 7) and sample.validation.y.size == 21 and sample.test.y.size == 15
    np.testing.assert_allclose(sample.train.X.mean(axis=0), 0.0, atol=1e-12)
    assert sample.fit_intercept and sample.support.size == 3
    chosen = draw(
        Source("real", "classification", folder="made", classes=("a", "b")), 0, np.random.default_rng(0), folder
    )
    assert sum(part.y.size for part in chosen[:3]) == 75 and chosen.support is None
    assert set(np.unique(chosen.train.y)) == {-1.0, 1.0}


@pytest.mark.parametrize("folder", [None, "/there/is/none"])
def test_without_real_data_it_says_what_to_do(folder):
    with pytest.raises(ValueError, match="SPARSEST_DATA"):
        draw(Source("real", folder="made"), 0, np.random.default_rng(0), folder)
