import numpy as np
import pytest

from sparsest.metrics import (
    accuracy,
    false_discovery_rate,
    false_features,
    precision,
    recall,
    support_of,
    true_features,
)

METRICS = [accuracy, false_discovery_rate, false_features, precision, recall, true_features]


def mask(indices, p=10):
    result = np.zeros(p, dtype=bool)
    result[list(indices)] = True
    return result


@pytest.mark.parametrize(
    ("selected", "truth", "tf", "ff", "a", "fdr"),
    [
        ([1, 2, 3], [1, 2, 3], 3, 0, 1.0, 0.0),
        ([3, 1, 2], [2, 3, 1], 3, 0, 1.0, 0.0),
        ([1, 2, 7, 9], [1, 2, 3], 2, 2, 2 / 3, 0.5),
        ([0, 4], [1, 2, 3, 5], 0, 2, 0.0, 1.0),
        ([], [1, 2], 0, 0, 0.0, 0.0),
        (range(10), [4], 1, 9, 1.0, 0.9),
    ],
)
@pytest.mark.parametrize("form", ["indices", "masks", "mask and indices", "indices and mask"])
def test_values(selected, truth, tf, ff, a, fdr, form):
    if form in ("masks", "mask and indices"):
        selected = mask(selected)
    if form in ("masks", "indices and mask"):
        truth = mask(truth)
    assert true_features(selected, truth) == tf
    assert false_features(selected, truth) == ff
    assert accuracy(selected, truth) == pytest.approx(a, abs=1e-15)
    assert false_discovery_rate(selected, truth) == pytest.approx(fdr, abs=1e-15)
    assert recall(selected, truth) == accuracy(selected, truth)
    assert precision(selected, truth) == pytest.approx(1.0 - fdr, abs=1e-15)


def test_counts_add_up_on_random_supports():
    rng = np.random.default_rng(0)
    for _ in range(50):
        selected, truth = rng.random(30) < 0.4, rng.random(30) < 0.3
        tf, ff = true_features(selected, truth), false_features(selected, truth)
        assert tf == (selected & truth).sum()
        assert tf + ff == selected.sum()
        assert false_discovery_rate(selected, truth) == pytest.approx(ff / max(1, tf + ff))


def test_results_are_plain_python_numbers():
    assert type(true_features([1], [1])) is int
    assert type(false_features([1], [1])) is int
    assert type(accuracy([1], [1])) is float
    assert type(false_discovery_rate([1], [1])) is float


def test_sets_tuples_and_unsigned_indices_are_accepted():
    assert accuracy({1, 2}, (1, 2, 3, 4)) == 0.5
    assert accuracy(np.array([1, 2], dtype=np.uint8), frozenset({1, 2})) == 1.0


def test_false_discovery_rate_allows_an_empty_truth():
    assert false_discovery_rate([1, 2], []) == 1.0
    assert false_discovery_rate([], []) == 0.0


def test_accuracy_needs_a_true_support():
    with pytest.raises(ValueError, match="empty true support"):
        accuracy([1], [])
    with pytest.raises(ValueError, match="empty true support"):
        accuracy(mask([1]), mask([]))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    ("selected", "truth", "message"),
    [
        (mask([1], 10), mask([1], 11), "different lengths: 10 and 11"),
        (mask([1], 10), [1, 10], "index 10 lies outside"),
        ([10], mask([1], 10), "index 10 lies outside"),
        ([1, 1], [1], "support holds an index more than once"),
        ([1], [0, 1, 1, 0], "true_support holds an index more than once"),
        ([-1, 2], [1], "at least 0, got -1"),
        ([0.0, 1.5], [1], r"support_of\(coef\)"),
        (["a"], [1], "integer indices or a boolean mask"),
        ([[1, 2]], [1], r"one-dimensional, got shape \(1, 2\)"),
        (3, [1], "one-dimensional"),
    ],
)
def test_bad_supports(metric, selected, truth, message):
    with pytest.raises(ValueError, match=message):
        metric(selected, truth)


def test_arguments_are_left_alone():
    selected, truth = np.array([5, 1]), mask([1])
    selected.flags.writeable = truth.flags.writeable = False
    assert false_features(selected, truth) == 1


def test_support_of_uses_a_strict_threshold():
    coef = [0.0, 1e-8, -1e-8, 1.1e-8, -3.0, 2.0]
    np.testing.assert_array_equal(support_of(coef), [3, 4, 5])
    np.testing.assert_array_equal(support_of(coef, threshold=0), [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(support_of(coef, threshold=2.0), [4])
    assert support_of(np.zeros(4)).size == 0


@pytest.mark.parametrize(
    ("coef", "threshold", "message"),
    [
        ([[1.0, 0.0]], 1e-8, r"one-dimensional, got shape \(1, 2\)"),
        ([1.0, np.nan], 1e-8, "finite"),
        ([np.inf], 1e-8, "finite"),
        ([1.0], -1.0, "threshold must be a finite number >= 0"),
        ([1.0], np.nan, "threshold must be a finite number >= 0"),
    ],
)
def test_support_of_bad_input(coef, threshold, message):
    with pytest.raises(ValueError, match=message):
        support_of(coef, threshold)
