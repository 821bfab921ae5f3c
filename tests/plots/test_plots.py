"""Displays draw the numbers that they are given, with labels; matplotlib is loaded by the first plot alone."""

import subprocess
import sys
from itertools import pairwise

import matplotlib
import numpy as np
import pytest

from samples import hard, sample
from sparsest import (
    BestSubsetRegressor,
    BestSubsetRegressorCV,
    PenalizedRegressorCV,
    StabilitySelection,
    best_subset,
    best_subset_path,
    bootstrap,
    near_optimal,
    plots,
)
from sparsest.paths.api import penalty_path
from sparsest.plots.style import line_styles, spread
from sparsest.runtime.events import Root

matplotlib.use("Agg")
N, P = 40, 12


@pytest.fixture(autouse=True)
def closed():
    """Every test begins and ends without figures."""
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


def labels(ax):
    """The texts of a legend."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


def labelled(display):
    """A display is drawn, with labels on both axes."""
    assert display.plot() is display
    assert display.ax_.get_xlabel() and display.ax_.get_ylabel() and display.figure_ is display.ax_.figure
    display.figure_.canvas.draw()
    return display.ax_


def test_matplotlib_is_loaded_by_the_first_plot():
    code = "import sys, sparsest; sparsest.plots.GapDisplay; print('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_coefficient_path():
    X, y = sample("squared", N, P)
    path = penalty_path(X, y, alphas=20)
    ax = labelled(plots.CoefficientPathDisplay.from_result(path, n_named=3, chosen=float(path.alphas[5])))
    used = np.flatnonzero(np.abs(path.coefs.toarray()).max(axis=1))
    drawn = [line for line in ax.lines if len(line.get_xdata()) == path.solved.sum()]
    assert len(drawn) == used.size and ax.xaxis_inverted() and ax.get_xscale() == "log"
    assert labels(ax) == [f"{used.size - 3} other features"]
    named = [text.get_text() for text in ax.texts if text.get_text().startswith("feature")]
    largest = np.argsort(-np.abs(path.coefs.toarray()).max(axis=1))[:3]
    assert named == [f"feature {j}" for j in largest]


def test_coefficients_over_k_and_of_an_estimator():
    X, y = sample("squared", N, P)
    results = best_subset_path(X, y, [4, 1, 2], method="local", feature_names=[f"gene {j}" for j in range(P)])
    display = plots.CoefficientPathDisplay.from_result(results)
    assert display.positions.tolist() == [1, 2, 4] and display.over == "k"
    ax = labelled(display)
    assert any(text.get_text().startswith("gene ") for text in ax.texts)
    model = PenalizedRegressorCV(alphas=10, cv=3).fit(X, y)
    display = plots.CoefficientPathDisplay.from_estimator(model)
    assert display.chosen == model.alpha_ and np.array_equal(display.coefs, model.result_.coefs.toarray())
    labelled(display)


@pytest.mark.parametrize("selection", ["best", "one_se"])
def test_validation_over_k_and_gamma(selection):
    """At each k the best gamma; with that selection the one-standard-error point is the estimator's own choice."""
    X, y = sample("squared", N, P)
    model = BestSubsetRegressorCV(ks=[1, 2, 4, 6], gammas=[0.05, 0.5], cv=4, selection=selection).fit(X, y)
    table = model.cv_results_
    display = plots.ValidationCurveDisplay.from_estimator(model)
    assert display.positions.tolist() == [1, 2, 4, 6] and display.chosen == model.k_
    best = [table["mean_test_score"][table["param_k"] == k].max() for k in display.positions]
    assert display.mean.tolist() == best
    assert display.one_se <= model.k_ and (selection == "best" or display.one_se == model.k_)
    text = labels(labelled(display))
    assert f"chosen: k = {model.k_}" in text and f"one standard error: k = {display.one_se:g}" in text
    chart = plots.ValidationMapDisplay.from_estimator(model)
    assert chart.mean.shape == (2, 4) and chart.chosen == (model.k_, model.gamma_)
    ax = labelled(chart)
    assert ax.get_title(loc="left").startswith(f"chosen: k = {model.k_}, gamma = ")
    assert np.nanmax(ax.images[0].get_array()) == table["mean_test_score"].max()


@pytest.mark.parametrize("selection", ["best", "one_se"])
def test_validation_over_alpha(selection):
    """The other parameters are those of the choice."""
    X, y = sample("squared", N, P)
    model = PenalizedRegressorCV("elastic_net", alphas=12, l1_ratios=[0.5, 0.9], cv=4, selection=selection).fit(X, y)
    display = plots.ValidationCurveDisplay.from_estimator(model)
    table = model.cv_results_
    own = table["param_l1_ratio"] == model.l1_ratio_
    assert sorted(display.positions) == sorted(table["param_alpha"][own]) and display.chosen == model.alpha_
    assert display.one_se >= model.alpha_ if selection == "best" else display.one_se == model.alpha_
    labelled(display)


def test_validation_curve_over_alpha():
    """The simplest is the largest alpha, and it is on the left."""
    alphas = np.array([1.0, 0.5, 0.1, 0.05])
    display = plots.ValidationCurveDisplay(alphas, np.array([-4.0, -1.1, -1.0, -1.3]), np.full(4, 0.2), "alpha", 0.1)
    assert display.one_se == 0.5
    ax = labelled(display)
    assert ax.xaxis_inverted() and "one standard error: alpha = 0.5" in labels(ax)


def test_one_validation_set_has_no_standard_error():
    display = plots.ValidationCurveDisplay(np.array([1.0, 2.0]), np.array([-2.0, -1.0]), np.full(2, np.nan), chosen=2)
    assert display.one_se is None
    assert labels(labelled(display)) == ["chosen: k = 2", "mean ± one standard error"]


def test_estimators_without_scores_are_refused():
    X, y = sample("squared", N, P)
    with pytest.raises(ValueError, match="cv_results_ has param_alpha, mean_test_score"):
        plots.ValidationCurveDisplay.from_estimator(BestSubsetRegressor(2, method="local").fit(X, y))
    with pytest.raises(ValueError, match="cv_results_ has param_k, param_gamma"):
        plots.ValidationMapDisplay.from_estimator(PenalizedRegressorCV(alphas=3, cv=2).fit(X, y))


def test_gap_over_time():
    X, y = hard()
    events = []
    result = best_subset(X, y, 5, gamma=0.1, standardize=False, callback=events.append)
    display = plots.GapDisplay.from_events(events)
    assert display.objective[-1] == result.objective and display.bound[-1] == result.lower_bound
    assert (np.diff(display.seconds) >= 0).all() and len(display.seconds) == len(events)
    known = ~np.isnan(display.bound) & ~np.isnan(display.objective)
    assert (display.bound[known] <= display.objective[known]).all()
    assert any(isinstance(event, Root) for event in events)
    ax = labelled(display)
    assert labels(ax) == ["incumbent (best objective)", "lower bound", "gap"]
    assert ax.yaxis.get_major_formatter().get_offset() == ""
    with pytest.raises(ValueError, match=r"callback=events.append"):
        plots.GapDisplay.from_events([])


def test_frequencies():
    X, y = sample("squared", N, P)
    model = StabilitySelection(BestSubsetRegressor(k=3, method="local"), n_pairs=4, random_state=0).fit(X, y)
    display = plots.FrequenciesDisplay.from_estimator(model, n_shown=10)
    ax = labelled(display)
    heights = sorted((bar.get_height() for bar in ax.patches), reverse=True)
    assert heights == sorted(model.frequencies_, reverse=True)[:10]
    assert f"kept: {model.support_.size}" in labels(ax) and "2 more not shown" in ax.get_xlabel()
    assert len(ax.get_xticklabels()) == 10


def test_true_and_false_features():
    """Supports are counted against the truth, as numbers or as a mask; given axes are drawn on."""
    import matplotlib.pyplot as plt

    X, y = sample("squared", N, P)
    truth = np.arange(P // 2)
    paths = {"Lasso": penalty_path(X, y, alphas=8), "best subset": best_subset_path(X, y, [1, 3], method="local")}
    display = plots.TrueFalseDisplay.from_results(paths, truth)
    false, true = display.curves["best subset"]
    assert (false + true).tolist() == [1, 3] and display.n_true == P // 2
    assert np.array_equal(np.add(*display.curves["Lasso"]), paths["Lasso"].n_nonzero[paths["Lasso"].solved])
    masked = plots.TrueFalseDisplay.from_results(paths, np.arange(P) < P // 2)
    assert masked.n_true == P // 2 and np.array_equal(masked.curves["Lasso"][1], display.curves["Lasso"][1])
    _, ax = plt.subplots()
    assert display.plot(ax).ax_ is ax
    assert labels(ax) == ["Lasso", "best subset", "all 6 true features"]


def test_lines_differ_and_labels_keep_apart():
    looks = line_styles(8)
    assert len(set(looks)) == 8 and all(a.color != b.color for a, b in pairwise(looks))
    placed = spread(np.array([0.0, 0.01, 0.02, 5.0]), 1.0)
    assert (np.diff(placed) >= 1.0 - 1e-12).all()


def test_bootstrap_frequencies_and_pairs():
    X, y = sample("squared", N, P, noise=2.0)
    found = bootstrap(BestSubsetRegressor(3), X, y, n_resamples=20, random_state=0)
    ax = labelled(plots.FrequenciesDisplay.from_bootstrap(found))
    heights = sorted((bar.get_height() for bar in ax.patches), reverse=True)
    np.testing.assert_allclose(heights, found.inclusion[found.used])
    assert "in the model: 3" in labels(ax) and "resamples" in ax.get_ylabel()
    filled = [bar for bar in ax.patches if bar.get_hatch() is None]
    assert sorted(bar.get_height() for bar in filled) == pytest.approx(sorted(found.inclusion[found.support]))
    ax = labelled(plots.PairwiseInclusionDisplay.from_bootstrap(found, n_shown=4))
    np.testing.assert_array_equal(ax.images[0].get_array(), found.pairwise_inclusion[:4, :4])
    assert [text.get_text() for text in ax.get_yticklabels()] == [str(j) for j in found.used[:4]]
    assert ax.texts[0].get_text() == f"{100 * found.inclusion[found.used[0]]:.0f}"


def test_ranges_over_near_optimal_models():
    X, y = sample("squared", N, P, noise=3.0)
    near = near_optimal(best_subset(X, y, 3), X, y, within=0.05)
    found = near.importance()
    ax = labelled(plots.ImportanceDisplay.from_near_optimal(near, n_shown=5))
    lines = {tuple(line) for lines in ax.collections for line in np.array(lines.get_segments())[:, :, 0]}
    ends = zip(found.lower[:5] * found.deviations[:5], found.upper[:5] * found.deviations[:5], strict=True)
    assert lines == {(low, high) for low, high in ends}
    assert [text.get_text() for text in ax.get_yticklabels()] == found.names[:5]
    assert f"{found.n_models} models" in ax.get_title(loc="left")
    few = labelled(plots.ImportanceDisplay.from_near_optimal(near_optimal(best_subset(X, y, 3), X, y, 0.5, 2)))
    assert "more may exist" in few.get_title(loc="left")


def test_estimators_are_drawn_at_once():
    """As scikit-learn's displays are: on new axes, or on those that are given."""
    import matplotlib.pyplot as plt

    X, y = sample("squared", N, P)
    by_size = BestSubsetRegressorCV(ks=[0, 2, 4], gammas=[0.05, 0.5], cv=3).fit(X, y)
    by_alpha = PenalizedRegressorCV(alphas=5, cv=3).fit(X, y)
    halves = StabilitySelection(BestSubsetRegressor(k=3, method="local"), n_pairs=2, random_state=0).fit(X, y)
    for make, model in (
        (plots.CoefficientPathDisplay, by_alpha),
        (plots.ValidationCurveDisplay, by_size),
        (plots.ValidationMapDisplay, by_size),
        (plots.FrequenciesDisplay, halves),
    ):
        new = make.from_estimator(model)
        assert new.ax_.get_xlabel() and new.figure_ is new.ax_.figure
        _, ax = plt.subplots()
        given = make.from_estimator(model, ax=ax)
        assert given.ax_ is ax and ax.get_xlabel() == new.ax_.get_xlabel()
    plt.close("all")
