"""The examples of the gallery run, and show what they say."""

import runpy
from pathlib import Path

import matplotlib
import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("plot_*.py"))


@pytest.fixture
def run():
    """Run an example without a screen; its variables are returned."""
    from matplotlib import pyplot

    before = matplotlib.get_backend()
    pyplot.switch_backend("agg")
    pyplot.show, shown = lambda *_, **__: None, pyplot.show
    yield lambda name: runpy.run_path(str(EXAMPLES / f"{name}.py"))
    pyplot.show = shown
    pyplot.close("all")
    pyplot.switch_backend(before)


def test_knockoffs(run):
    left = run("plot_knockoffs")
    false, power = left["false"], left["found_share"]
    assert np.mean(false) <= 0.2 + 3.0 * np.std(false) / np.sqrt(len(false)) and np.mean(power) > 0.8


def test_prediction_intervals(run, capsys):
    left = run("plot_prediction_intervals")
    # The guarantee of the method is 1 - 2α, for α = 0.1.
    assert left["coverage"] >= 0.8 and left["width"] > 0.0
    assert f"{left['coverage']:.1%} of 177 held-out responses" in capsys.readouterr().out


def test_certificate_by_hand(run):
    left = run("plot_certificate_by_hand")
    assert left["lower"] <= left["upper"] == pytest.approx(left["result"].objective)
    assert left["lower"] == pytest.approx(left["result"].lower_bound, rel=1e-6)


def test_choosing_k(run):
    left = run("plot_choosing_k")
    assert left["one_se"].k_ <= left["best"].k_ and left["choice"].k <= left["best"].k_


def test_near_optimal(run):
    left = run("plot_near_optimal")
    assert left["near"].complete and len(left["near"].supports) > 1


def test_every_example_is_tested():
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert NAMES and {name.removeprefix("plot_") for name in NAMES} <= tested
