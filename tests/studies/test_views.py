"""Views pick the right models and figures from all rows."""

import pytest

from sparsest.studies.views import (
    Curve,
    accuracy,
    chosen_k,
    comparable,
    curves,
    false_discovery_rate,
    fixed_k,
    lost_to_correlation,
    over_k,
    over_relative_k,
    seconds_relative_to_lasso,
    spread_of_methods,
    true_against_false,
    turned,
    view,
    where,
)

BASE = {"panel": "a", "x": 100.0, "set": 0, "k_true": 4, "timed_k": 4}


def row(method, k, validation=1.0, tf=2, ff=1, seconds=1.0, **more):
    return {
        **BASE, "method": method, "k": k, "validation": validation, "test": validation, "tf": tf, "ff": ff,
        "n_selected": tf + ff, "seconds": seconds, **more,
    }  # fmt: skip


ROWS = [
    row("exact", 2, 3.0, tf=2, ff=0),
    row("exact", 4, 2.0, tf=3, ff=1),
    row("exact", 6, 1.0, tf=4, ff=2),
    row("mcp", 4, 2.5, tf=1, ff=0),
    row("mcp", 4, 0.5, tf=3, ff=1, free=True),
    row("reference", 4, 0.1, tf=4, ff=0, seconds=2.0),
    row("forward", 4, 0.1, tf=4, ff=0),
    {**BASE, "method": "mcp timed", "k": 4, "seconds": 8.0},
    {**BASE, "method": "exact timed", "k": 4, "seconds": 6.0},
]


def test_models_of_the_true_size():
    points = {point.method: point.y for point in view(fixed_k, accuracy)(ROWS)}
    assert points == {"exact": 0.75, "mcp": 0.25, "forward": 1.0}


def test_models_chosen_on_validation_rows():
    points = {point.method: point.y for point in view(chosen_k, false_discovery_rate)(ROWS)}
    # The model of free size has the smaller error.
    assert points == {"exact": pytest.approx(2 / 6), "mcp": 0.25}


def test_times_are_relative_to_the_lasso_on_the_same_data():
    points = {point.method: point.y for point in seconds_relative_to_lasso(ROWS)}
    assert points == {"exact": 3.0, "mcp": 4.0}
    assert seconds_relative_to_lasso([one for one in ROWS if one["method"] != "reference"]) == []


def test_what_was_fitted_at_the_true_size_alone_chooses_no_size():
    for look in (view(chosen_k, accuracy), over_k(accuracy), true_against_false()):
        assert {point.method for point in look(ROWS)} == {"exact", "mcp"}


def test_views_of_views():
    look = view(fixed_k, accuracy)
    assert {point.method for point in where(look, lambda row: row["method"] == "mcp")(ROWS)} == {"mcp"}
    assert {(point.panel, point.method) for point in turned(look)(ROWS)} == {
        ("exact", "a"), ("mcp", "a"), ("forward", "a")
    }  # fmt: skip
    [spread] = spread_of_methods(look, ("exact", "mcp"))(ROWS)
    assert (spread.method, spread.y) == ("spread", 0.5)
    assert spread_of_methods(look, ("exact", "scad"))(ROWS) == []
    shares = [point.x for point in over_relative_k(accuracy)(ROWS) if point.method == "exact"]
    assert shares == [0.5, 1.0, 1.5]


def test_what_correlation_costs():
    rows = [
        row("mcp", 4, tf=tf, panel=f"low noise, {name} correlation", set=number)
        for name, found in (("low", (4, 3)), ("high", (2, 3)))
        for number, tf in enumerate(found)
    ]
    points = lost_to_correlation(view(fixed_k, accuracy))(rows)
    assert [(point.panel, point.method, point.set, point.y) for point in points] == [
        ("low noise", "mcp", 0, 0.5), ("low noise", "mcp", 1, 0.0)
    ]  # fmt: skip


def test_figures_over_k():
    assert [point.x for point in over_k(accuracy)(ROWS) if point.method == "exact"] == [2, 4, 6]
    assert [(point.x, point.y) for point in over_k(accuracy)(ROWS) if point.method == "mcp"] == [(4, 0.25)]
    roc = [(point.x, point.y) for point in true_against_false()(ROWS) if point.method == "exact"]
    assert roc == [(0.0, 2.0), (1.0, 3.0), (2.0, 4.0)]


def test_true_against_false_is_one_curve_over_the_sizes():
    """Sizes with as many false features stay apart, and the curve goes back where these become fewer."""
    rows = [
        row("mcp", k, tf=tf, ff=ff, set=number) for number in (0, 1) for k, tf, ff in ((2, 1, 1), (4, 3, 1), (6, 6, 0))
    ]
    curve = curves(true_against_false()(rows))["a"]["mcp"]
    assert (curve.k, curve.x, curve.mean, curve.n_sets) == ([2, 4, 6], [1, 1, 0], [1, 3, 6], [2, 2, 2])
    named = true_against_false(lambda row: f"n = {row['x']:g}")(rows)
    assert {point.panel for point in named} == {"n = 100"}


def test_curves_are_means_with_standard_errors():
    rows = [row("exact", 4, tf=tf, set=number) for number, tf in enumerate((2, 4))]
    curve = curves(view(fixed_k, accuracy)(rows))["a"]["exact"]
    assert (curve.x, curve.mean, curve.n_sets) == ([100.0], [0.75], [2])
    assert curve.error == [pytest.approx(0.25)]


def test_means_over_fewer_data_sets_are_not_comparable():
    whole = Curve([1.0, 2.0], [0.5, 0.6], [0.1, 0.1], [5, 5], [None, None])
    first = Curve([1.0, 2.0], [0.9, 0.9], [float("nan"), 0.1], [1, 5], [None, None])
    once = Curve([1.0], [0.9], [float("nan")], [1], [None])
    kept, lacking = comparable({"exact": whole, "forward": first, "abess": once})
    assert kept == {"exact": whole, "forward": Curve([2.0], [0.9], [0.1], [5], [None])}
    assert lacking == ["forward", "abess"]
    # Where all have one data set, all are drawn.
    assert comparable({"abess": once}) == ({"abess": once}, [])
