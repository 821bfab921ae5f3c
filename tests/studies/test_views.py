"""Views pick the right models and figures from all rows."""

import pytest

from sparsest.studies.views import (
    accuracy,
    chosen_k,
    curves,
    false_discovery_rate,
    fixed_k,
    over_k,
    seconds_relative_to_lasso,
    true_against_false,
    view,
)

BASE = {"panel": "a", "x": 100.0, "set": 0, "k_true": 4, "timed_k": 4}


def row(method, k, validation=1.0, tf=2, ff=1, seconds=1.0, **more):
    return {
        **BASE, "method": method, "k": k, "validation": validation, "test": validation, "tf": tf, "ff": ff,
        "n_selected": tf + ff, "seconds": seconds, **more,
    }  # fmt: skip


ROWS = [
    row("exact", 2, 3.0, tf=2, ff=0),
    row("exact", 4, 2.0, tf=3, ff=1, seconds=6.0),
    row("exact", 6, 1.0, tf=4, ff=2),
    row("mcp", 4, 2.5, tf=1, ff=0),
    row("lasso", 4, 0.1, tf=4, ff=0, seconds=2.0),
    {**BASE, "method": "mcp timed", "k": 4, "seconds": 8.0},
]


def test_models_of_the_true_size():
    points = {point.method: point.y for point in view(fixed_k, accuracy)(ROWS)}
    assert points == {"exact": 0.75, "mcp": 0.25}


def test_models_chosen_on_validation_rows():
    points = {point.method: point.y for point in view(chosen_k, false_discovery_rate)(ROWS)}
    assert points == {"exact": pytest.approx(2 / 6), "mcp": 0.0}


def test_times_are_relative_to_the_lasso_on_the_same_data():
    points = {point.method: point.y for point in seconds_relative_to_lasso(ROWS)}
    assert points == {"exact": 3.0, "mcp": 4.0}
    assert seconds_relative_to_lasso([one for one in ROWS if one["method"] != "lasso"]) == []


def test_figures_over_k():
    assert [point.x for point in over_k(accuracy)(ROWS) if point.method == "exact"] == [2, 4, 6]
    roc = [(point.x, point.y) for point in true_against_false()(ROWS) if point.method == "exact"]
    assert roc == [(0.0, 2.0), (1.0, 3.0), (2.0, 4.0)]


def test_curves_are_means_with_standard_errors():
    rows = [row("exact", 4, tf=tf, set=number) for number, tf in enumerate((2, 4))]
    curve = curves(view(fixed_k, accuracy)(rows))["a"]["exact"]
    assert (curve.x, curve.mean, curve.n_sets) == ([100.0], [0.75], [2])
    assert curve.error == [pytest.approx(0.25)]
