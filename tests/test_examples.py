"""The examples run, and what they print is what other people's methods promise with our estimators."""

import importlib.util

import numpy as np

from processes import TESTS


def example(name):
    """The module of an example."""
    spec = importlib.util.spec_from_file_location(name, TESTS.parent / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_knockoffs(capsys):
    false, power = example("knockoffs").main(8)
    assert np.mean(false) <= 0.2 + 3.0 * np.std(false) / np.sqrt(len(false)) and np.mean(power) > 0.8
    assert f"{np.mean(false):.2f} in the mean over 8 data sets" in capsys.readouterr().out


def test_prediction_intervals(capsys):
    coverage, width = example("prediction_intervals").main()
    # The guarantee of the method is 1 - 2α, for α = 0.1.
    assert coverage >= 0.8 and width > 0.0
    assert f"{coverage:.1%} of 177 held-out responses" in capsys.readouterr().out
