"""Settings are declared once: signatures, docstrings and the command line agree with the declarations."""

import inspect

import numpy as np
import pytest

import sparsest
from sparsest.cli import cv, fit, path
from sparsest.core.losses import LOSSES
from sparsest.core.settings import SETTINGS, checked, documented
from sparsest.estimators.base import ESTIMATOR_SETTINGS

FUNCTIONS = [
    sparsest.best_subset,
    sparsest.best_subset_path,
    sparsest.near_optimal,
    sparsest.penalty_path,
    sparsest.certified_choice,
]
ESTIMATORS = [
    getattr(sparsest, f"{family}{kind}{cv}")
    for family in ("BestSubset", "Penalized")
    for kind in ("Regressor", "Classifier")
    for cv in ("", "CV")
]
COMMANDS = [fit.fit, cv.cv, path.path]
# Defaults that differ for a reason: an estimator needs a number of features, and a path of penalties has no time limit
# and a tolerance that depends on the shape of the data.
OTHER_DEFAULTS = {
    (sparsest.BestSubsetRegressor, "k"): 10,
    (sparsest.BestSubsetClassifier, "k"): 10,
    (sparsest.penalty_path, "time_limit"): np.inf,
    (sparsest.penalty_path, "tol"): None,
}
# Options of the command line whose meaning, and so whose default, is another one: columns of a file, a choice by the
# target, a number of features.
OTHER_OPTIONS = {
    "loss": "auto", "k": {"10", None}, "include": [], "exclude": [], "start": None, "tol": None, "lower": [],
    "upper": [],
}  # fmt: skip
# Options of the command line that do less than the setting.
OTHER_HELP = {
    ("fit", "l0_penalty"), ("path", "time_limit"), ("path", "positive"), ("fit", "positive"), ("cv", "positive"),
}  # fmt: skip

places = pytest.mark.parametrize("place", [*FUNCTIONS, *ESTIMATORS], ids=lambda place: place.__name__)


def parameters(place):
    return inspect.signature(place).parameters


@places
def test_signatures_have_the_declared_defaults(place):
    declared = SETTINGS | (ESTIMATOR_SETTINGS if place in ESTIMATORS else {})
    shared = [name for name in parameters(place) if name in declared]
    assert len(shared) >= 6
    for name in shared:
        given = parameters(place)[name].default
        if given is not inspect.Parameter.empty:
            assert given == OTHER_DEFAULTS.get((place, name), declared[name].default), name


def test_parameters_keep_their_order_and_kind():
    first = {"BestSubset": ["k"], "BestSubsetCV": ["ks"], "Penalized": ["penalty", "alpha"], "PenalizedCV": ["penalty"]}
    for place in ESTIMATORS:
        family = place.__name__.replace("Regressor", "").replace("Classifier", "")
        kinds = {name: one.kind for name, one in parameters(place).items()}
        positional = [name for name, kind in kinds.items() if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        assert positional == first[family] and list(kinds)[: len(positional)] == positional


@places
def test_docstrings_describe_every_parameter_once_and_in_order(place):
    section = place.__doc__.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    described = [
        name for line in section.splitlines() if line[0] != " " for name in line.partition(" : ")[0].split(", ")
    ]
    assert sorted(described) == sorted(parameters(place))
    if not any(", " in line.partition(" : ")[0] for line in section.splitlines() if line[0] != " "):
        assert described == list(parameters(place))
    assert max(map(len, section.splitlines())) <= 120


@places
def test_shared_settings_are_described_as_declared(place):
    text = " ".join(place.__doc__.split())
    own = {name for name, setting in SETTINGS.items() if " ".join(setting.description.split()) not in text}
    shared = {name for name in parameters(place) if name in SETTINGS}
    assert len(shared - own) >= (0 if place is sparsest.near_optimal else 5)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__)
def test_options_have_the_declared_defaults_and_help(command):
    same = 0
    for name, option in parameters(command).items():
        declared = SETTINGS.get({"threads": "n_jobs"}.get(name, name))
        if declared is None or name in ("weights", "offset", "exposure", "verbose", "scoring", "penalty"):
            continue
        if name in OTHER_OPTIONS:
            allowed = OTHER_OPTIONS[name]
            assert option.default in allowed if isinstance(allowed, set) else option.default == allowed, name
            continue
        assert option.default == declared.default, name
        help_text = option.annotation.__metadata__[0].help
        assert help_text.startswith(declared.help) or (command.__name__, name) in OTHER_HELP, name
        same += 1
    assert same >= 5


def test_every_declared_setting_is_used():
    used = {name for place in (*FUNCTIONS, *ESTIMATORS) for name in parameters(place)}
    assert set(SETTINGS) <= used


def test_every_default_passes_its_check():
    for name, setting in SETTINGS.items():
        optional = setting.default is None and name in ("engine", "node_limit", "max_memory", "options")
        if setting.check is not None and setting.default != "auto" and not optional:
            assert checked(name, setting.default) == setting.default


def test_descriptions_are_one_sentence_without_a_full_stop():
    for setting in (*SETTINGS.values(), *ESTIMATOR_SETTINGS.values()):
        assert not setting.about.endswith(".") and not setting.more.endswith(".")
        assert setting.help.endswith(".") and "\n" not in setting.description


@pytest.mark.parametrize("name", ["epsilon", "delta", "quantile", "theta"])
def test_defaults_of_losses_are_those_described(name):
    defaults = {loss._field_defaults[name] for loss in LOSSES.values() if name in loss._fields}
    assert len(defaults) == 1 and f"{defaults.pop():g} by default" in SETTINGS[name].about


def test_own_descriptions_take_precedence():
    def solve(X, y, gap_tol, time_limit):
        """Solve it.

        Parameters
        ----------
        X, y : the data
        time_limit : seconds,
            all in all

        Returns
        -------
        float
        """

    lines = documented(solve).__doc__.splitlines()
    assert lines[:5] == ["Solve it.", "", "Parameters", "----------", "X, y : the data"]
    assert lines[5] == f"gap_tol : {SETTINGS['gap_tol'].about}"
    assert lines[6:] == ["time_limit : seconds,", "    all in all", "", "Returns", "-------", "float"]


def test_without_docstrings_there_is_nothing_to_complete():
    def solve(X):
        pass

    assert documented(solve) is solve and solve.__doc__ is None
