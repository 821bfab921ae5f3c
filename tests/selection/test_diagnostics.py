"""Diagnostics of a chosen model, against refits."""

import numpy as np
import pytest

from checks import best_subset
from samples import sample
from sparsest.selection.diagnostics import diagnose, held_out


def least_squares(X, y):
    rows = np.column_stack([X, np.ones(len(X))])
    return rows @ np.linalg.lstsq(rows, y, rcond=None)[0], rows


def test_squared_loss_without_a_ridge():
    X, y = sample("squared", 40, 6)
    result = best_subset(X, y, 3, gamma=np.inf)
    found, S = diagnose(result, X, y), result.support
    total = np.sum((y - y.mean()) ** 2)
    fitted, rows = least_squares(X[:, S], y)
    assert found.explained == pytest.approx(1 - np.sum((y - fitted) ** 2) / total)
    for j in range(3):
        rest, _ = least_squares(X[:, np.delete(S, j)], y)
        assert found.without[j] == pytest.approx(1 - np.sum((y - rest) ** 2) / total)
    noise = np.sum((y - fitted) ** 2) / (40 - 4)
    for i in range(40):
        others = np.arange(40) != i
        coef = np.linalg.lstsq(rows[others], y[others], rcond=None)[0]
        assert found.influence[i] == pytest.approx(np.sum((fitted - rows @ coef) ** 2) / (4 * noise))
    correlations = np.corrcoef(X, rowvar=False)
    np.testing.assert_allclose(found.correlations, correlations[np.ix_(S, S)], atol=1e-12)
    np.testing.assert_allclose(found.deviations, X[:, S].std(axis=0))
    outside = np.setdiff1d(np.arange(6), S)
    best = outside[np.argmax(np.abs(correlations[S[0], outside]))]
    assert found.substitutes[0][0].column == best
    assert found.substitutes[0][0].correlation == pytest.approx(correlations[S[0], best])


def test_held_out_predictions_do_not_know_their_rows():
    X, y = sample("squared", 50, 4)
    result = best_subset(X, y, 2, gamma=0.3)
    scores = held_out(result, X, y)
    changed = y.copy()
    changed[7] += 100.0
    again = held_out(best_subset(X, changed, 2, gamma=0.3), X, changed)
    assert again[7] == scores[7] and not np.array_equal(again, scores)
    assert held_out(result, X[:9], y[:9]) is None


def test_data_of_another_fit_are_refused():
    X, y = sample("squared", 40, 6)
    with pytest.raises(ValueError, match="are not those of the result"):
        diagnose(best_subset(X, y, 2, gamma=0.3), X, y + 1.0 + np.arange(40))
