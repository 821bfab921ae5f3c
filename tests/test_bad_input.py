"""Bad input to the functions and estimators: each kind gives a ValueError that names the argument."""

import re
from dataclasses import fields

import numpy as np
import pytest

from bad_data import BAD_LABELS, BAD_WEIGHTS, BAD_X, BAD_Y, LABELS, P, X, Y
from checks import best_subset, best_subset_path
from samples import LOSS_NAMES
from sparsest import datasets, metrics
from sparsest.core.losses import LOSSES, Quantile
from sparsest.core.penalties import PENALTIES
from sparsest.core.problem import make_problem
from sparsest.core.settings import SETTINGS
from sparsest.estimators import BestSubsetClassifier, BestSubsetRegressor, PenalizedClassifier, PenalizedRegressor
from sparsest.paths.api import penalty_path
from sparsest.runtime.events import Status
from sparsest.subset.api import near_optimal
from sparsest.subset.solvers import ARGUMENTS, OPTION_CHECKS, SOLVERS

NAN, INF = float("nan"), float("inf")
BEYOND_FLOATS = 10**400
FUNCTIONS = {
    "best_subset": lambda **given: best_subset(**{"X": X, "y": Y, "k": 2, "method": "local", **given}),
    "best_subset_path": lambda **given: best_subset_path(**{"X": X, "y": Y, "ks": [1, 2], "method": "local", **given}),
    "make_problem": lambda **given: make_problem(**{"X": X, "y": Y, "k": 2, **given}),
    "penalty_path": lambda **given: penalty_path(**{"X": X, "y": Y, "alphas": 3, **given}),
}
ESTIMATORS = [BestSubsetRegressor, BestSubsetClassifier, PenalizedRegressor, PenalizedClassifier]


def refused(call, message):
    """The call raises a ValueError of one short line that says this."""
    with pytest.raises(ValueError, match=message) as caught:
        call()
    text = str(caught.value)
    # scikit-learn's own messages go on with advice.
    assert text.strip() and len(text.splitlines()[0]) < 400


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("kind", BAD_X)
def test_design(function, kind):
    value, message, _ = BAD_X[kind]
    refused(lambda: FUNCTIONS[function](X=value), message)


# A single object that is not a number is a TypeError by the conventions of scikit-learn, which its checks require.
CONVENTIONS = {"one date among numbers", "one complex number among objects", "frame with dates", "frame with durations"}


@pytest.mark.parametrize("kind", BAD_X)
def test_design_of_an_estimator(kind):
    value, message, foreign = BAD_X[kind]
    for make in (BestSubsetRegressor, PenalizedRegressor):
        with pytest.raises((ValueError, TypeError) if kind in CONVENTIONS else ValueError, match=foreign or message):
            make().fit(value, Y)


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("kind", sorted(set(BAD_X) - {"too few rows"}))
def test_design_of_a_prediction(kind):
    value, message, foreign = BAD_X[kind]
    model = PenalizedRegressor().fit(X, Y)
    with pytest.raises((ValueError, TypeError) if kind in CONVENTIONS else ValueError, match=foreign or message):
        model.predict(value)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("kind", BAD_Y)
def test_response(function, kind):
    value, message, _ = BAD_Y[kind]
    refused(lambda: FUNCTIONS[function](y=value), message)


@pytest.mark.parametrize("make", [BestSubsetRegressor, PenalizedRegressor])
@pytest.mark.parametrize("kind", BAD_Y)
def test_response_of_an_estimator(make, kind):
    value, message, foreign = BAD_Y[kind]
    refused(lambda: make().fit(X, value), foreign or message)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("kind", BAD_LABELS)
def test_labels(function, kind):
    value, message, _ = BAD_LABELS[kind]
    refused(lambda: FUNCTIONS[function](y=value, loss="logistic"), message)


@pytest.mark.parametrize("make", [BestSubsetClassifier, PenalizedClassifier])
@pytest.mark.parametrize("kind", BAD_LABELS)
def test_labels_of_an_estimator(make, kind):
    value, message, foreign = BAD_LABELS[kind]
    refused(lambda: make().fit(X, value), foreign or message)


@pytest.mark.parametrize("kind", BAD_WEIGHTS)
def test_weights(kind):
    weights = BAD_WEIGHTS[kind]
    for call in FUNCTIONS.values():
        refused(lambda call=call: call(sample_weight=weights), "sample_weight")
    for make in ESTIMATORS:
        refused(lambda make=make: make().fit(X, LABELS, sample_weight=weights), "sample_weight")


def cases(argument, message, *values):
    """Bad values of one argument."""
    return [({argument: value}, message) for value in values]


def ids(case):
    """Names without addresses: all processes must find the same tests."""
    return re.sub(r" at 0x\w+", "", str(case))[:80]


NOT_A_NUMBER = (None, "1", True, np.bool_(True), NAN, 1j, [1.0], np.ones(2), {}, np.ma.masked, BEYOND_FLOATS)
NOT_WHOLE = ("2", 2.0, np.float64(2.0), 1.5, True, NAN, INF, 1j, [2], np.ones(2), np.ma.masked)
NOT_A_WORD = ("", "magic", b"tree", None, 3, ["tree"], ("tree",), {"tree": 1}, np.array(["tree", "cuts"]), object())
NOT_A_FLAG = ("false", "yes", 0, 1, 1.0, None, [True], np.ones(2, dtype=bool))
NOT_COLUMNS = ("abc", ["a"], [0.5], [True], np.ones(P, dtype=bool), [[0]], 1, {0: 1}, [NAN], [0, None], [10**30])

DATA = [
    *cases("loss", "unknown loss", "cubic", "Squared", *NOT_A_WORD),
    *cases("fit_intercept", "fit_intercept must be True or False", *NOT_A_FLAG),
    *cases("standardize", "standardize must be True or False", *NOT_A_FLAG),
    *cases("include", "include must be a list of column numbers", *NOT_COLUMNS),
    *cases("exclude", "exclude must be a list of column numbers", *NOT_COLUMNS),
    *cases("include", "include must hold column numbers from 0 to 3", [P], [-1], [2**63], np.uint64([2**64 - 1])),
    *cases("exclude", "exclude must hold column numbers from 0 to 3", [0, P], [-P]),
    ({"include": [0, 1], "exclude": [1, 2]}, r"columns \[1\] are both in include and in exclude"),
    ({"include": [0, 1, 2]}, "less than the 3 features that include forces in"),
]
GAMMAS = (*NOT_A_NUMBER, 0, 0.0, -1.0, -INF, "Auto", "inf", "AUTO ", np.array([1.0]))


@pytest.mark.parametrize(("given", "message"), DATA, ids=ids)
@pytest.mark.parametrize("function", ["best_subset", "best_subset_path", "make_problem"])
def test_settings_of_the_data(function, given, message):
    refused(lambda: FUNCTIONS[function](**given), message)


@pytest.mark.parametrize("gamma", GAMMAS, ids=ids)
@pytest.mark.parametrize("function", ["best_subset", "best_subset_path", "make_problem"])
def test_ridge(function, gamma):
    refused(lambda: FUNCTIONS[function](gamma=gamma), "gamma must be a number > 0 or inf")


def _complaint_about_price(price):
    if price is np.ma.masked:
        return "l0_penalty has masked entries"
    return "l0_penalty must have" if np.ndim(price) or price == {} else "l0_penalty must be a finite number >= 0"


SPARSITY = [
    *cases("k", "k must be a whole number >= 0", *NOT_WHOLE, -1, np.int8(-1), -(10**30)),
    ({"k": None}, "give k"),
    *(
        ({"k": None, "l0_penalty": price}, _complaint_about_price(price))
        for price in (*NOT_A_NUMBER[1:], -0.5, INF, -INF, "cheap")
    ),
    ({"k": None, "l0_penalty": {0: -1.0}}, "every value of l0_penalty must be a finite number >= 0"),
]


@pytest.mark.parametrize(("given", "message"), SPARSITY, ids=ids)
@pytest.mark.parametrize("function", ["best_subset", "make_problem"])
def test_sparsity(function, given, message):
    refused(lambda: FUNCTIONS[function](**given), message)


LIMITS = [
    *cases("method", "unknown method", "Tree", *NOT_A_WORD),
    *cases("time_limit", "time_limit must be a number > 0 or inf", *NOT_A_NUMBER, 0, -1.0, -INF, "1 min"),
    *cases("gap_tol", "gap_tol must be a number >= 0 and < 1", *NOT_A_NUMBER, -1e-9, 1, 2.0, INF),
    *cases("callback", "callback must be a function or None", 3, "print", [print], {}, True),
]


@pytest.mark.parametrize(("given", "message"), LIMITS, ids=ids)
@pytest.mark.parametrize("function", ["best_subset", "best_subset_path"])
def test_limits(function, given, message):
    refused(lambda: FUNCTIONS[function](**given), message)


@pytest.mark.parametrize("method", SOLVERS)
@pytest.mark.parametrize("start", [*NOT_COLUMNS, [P], [-1], 0.5, "local", Status.OPTIMAL], ids=ids)
def test_start(method, start):
    refused(lambda: best_subset(X, Y, 2, gamma=0.1, method=method, start=start), "start must")


def test_start_from_another_problem():
    other = best_subset(np.hstack([X, X]), Y, 2, include=[7], method="local")
    refused(lambda: best_subset(X, Y, 2, start=other), "start must hold column numbers from 0 to 3")


WHOLE_FROM_1 = (*NOT_WHOLE, 0, -1)
OPTIONS = [
    *(("tree", *case) for case in cases("node_limit", "node_limit must be a whole number >= 1", *WHOLE_FROM_1)),
    *(("tree", *case) for case in cases("max_memory", "max_memory must be", *NOT_A_NUMBER[1:], 0, -1, "2 GB")),
    *(("tree", *case) for case in cases("n_jobs", "n_jobs must be a whole number >= 1 or None", *WHOLE_FROM_1)),
    *(("tree", *case) for case in cases("proof", "proof must be True or False", *NOT_A_FLAG)),
    *(("local", *case) for case in cases("moves", "moves must be a LocalSearch", None, 3, "swap", {"rounds": 8})),
    *(
        ("cuts", *case)
        for case in cases("engine", "unknown engine", "cplex", *(word for word in NOT_A_WORD if word is not None))
    ),
    *(("cuts", *case) for case in cases("pool", "pool must be a CutPool or None", 3, [], {}, "pool")),
    *(("cuts", *case) for case in cases("node_limit", "node_limit must be a whole number >= 1", *WHOLE_FROM_1)),
    *(("relaxation", *case) for case in cases("relaxation_tol", "relaxation_tol must be", *NOT_A_NUMBER, 0, 1, -1e-4)),
    *(("relaxation", *case) for case in cases("fixing", "fixing must be True or False", *NOT_A_FLAG)),
    *(("relaxation", *case) for case in cases("polish", "polish must be True or False", *NOT_A_FLAG)),
    *(("subgradient", *case) for case in cases("max_iterations", "max_iterations must be a whole", *WHOLE_FROM_1)),
    *(("subgradient", *case) for case in cases("step", "unknown step", "large", *NOT_A_WORD)),
    *(("subgradient", *case) for case in cases("step_size", "step_size must be", *NOT_A_NUMBER[1:], 0, -1.0, INF)),
    *(("subgradient", *case) for case in cases("step_offset", "step_offset must be", *NOT_A_NUMBER, -1.0, INF)),
    *(("subgradient", *case) for case in cases("patience", "patience must be a whole number >= 1", *WHOLE_FROM_1)),
    *(("subgradient", *case) for case in cases("restart_after", "restart_after must be a whole", *WHOLE_FROM_1)),
    *((method, {"speed": 11}, f"method '{method}' has no option 'speed'") for method in SOLVERS),
    ("local", {"gama": 1.0}, "method 'local' has no option 'gama'; its options are moves"),
    ("local", {"node_limit": 5}, "method 'local' has no setting 'node_limit'; its settings are gap_tol, time_limit"),
    (
        "tree",
        {"engine": "highs"},
        "method 'tree' has no setting 'engine'; its settings are gap_tol, max_memory",
    ),
]


@pytest.mark.parametrize(("method", "given", "message"), OPTIONS, ids=ids)
def test_options(method, given, message):
    asked = {"gamma": 0.1, "method": method}
    asked |= given if set(given) <= set(ARGUMENTS) else {"options": given}
    refused(lambda: best_subset(X, Y, 2, **asked), message)
    refused(lambda: best_subset_path(X, Y, [1, 2], **asked), message)
    refused(lambda: BestSubsetRegressor(2, **asked).fit(X, Y), message)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_options_hold_no_arguments(name):
    message = f"options must not hold {name}: give it directly"
    refused(lambda: best_subset(X, Y, 2, options={name: 1}), message)


def test_every_setting_of_a_method_has_a_check():
    known = {field.name for solver in SOLVERS.values() for field in fields(solver)}
    assert known == {*ARGUMENTS, *OPTION_CHECKS}
    assert all(SETTINGS[name].check is not None for name in ARGUMENTS)


PATHS = [
    *cases("ks", "ks must be a list of numbers", None, 3, 2.5, np.array(2)),
    *cases("ks", "ks is empty", [], (), np.empty(0, dtype=int)),
    *cases("ks", "every entry of ks must be a whole number >= 0", "12", [1, -1], [1.0], [None], [[1, 2]], np.eye(2)),
    *cases("ks", "every entry of ks must be a whole number >= 0", [True], ["1"], {1.5}, [2, NAN]),
    *cases("options", "options must be a dict or None", 3, "fast", [("n_jobs", 1)]),
    *cases("options", "has no option", {1: 2}, {"k": 3}),
    *cases("start", "start must", [P], "local", 0.5),
    *cases("verbose", "verbose must be True or False", *NOT_A_FLAG),
    *cases(
        "feature_names", "feature_names must be a list of 4 texts", [], ["a"], "abcd", [1, 2, 3, 4], 3, list("abcde")
    ),
]


@pytest.mark.parametrize(("given", "message"), PATHS, ids=ids)
def test_best_subset_path(given, message):
    refused(lambda: FUNCTIONS["best_subset_path"](**given), message)


NEAR = [
    *cases("result", "result must be a Result", None, X, [0, 1], "result", {}),
    *cases("X", "X", None, X[0], X[:, 1:]),
    *cases("y", "y", None, Y[1:], "abc"),
    *cases("within", "within must be a finite number >= 0", *NOT_A_NUMBER, -0.01, INF, "1 %"),
    *cases("limit", "limit must be a whole number >= 1", None, *WHOLE_FROM_1),
    *cases("time_limit", "time_limit must be a number > 0 or inf", *NOT_A_NUMBER, 0, -5.0),
    *cases("n_jobs", "n_jobs must be a whole number >= 1 or None", *WHOLE_FROM_1),
]


@pytest.mark.parametrize(("given", "message"), NEAR, ids=ids)
def test_near_optimal(given, message):
    result = best_subset(X, Y, 2, method="local")
    refused(lambda: near_optimal(**{"result": result, "X": X, "y": Y, **given}), message)


PENALTY_PATHS = [
    *cases("penalty", "unknown penalty", "l2", *NOT_A_WORD),
    *cases("penalty", "unknown penalty", PENALTIES["mcp"]),
    *cases("loss", "unknown loss", "cubic", *NOT_A_WORD),
    *cases("loss", "paths need a smooth loss", "epsilon_insensitive"),
    *cases("alphas", "alphas must be a whole number >= 1", None, 0, -3, 2.5, True, NAN, INF, 1j, "many", BEYOND_FLOATS),
    *cases("alphas", "alphas must be a whole number or", [], [[0.1]], [0.1, 0.0], [-0.1], [NAN], [INF, 1.0]),
    *cases("alphas", "alphas must hold real numbers", ["0.1"], [1j], [0.1, {}], np.array(["2020"], dtype="M8")),
    *cases("alphas", "alphas cannot be read as an array", [[0.1], [0.1, 0.2]]),
    *cases("l1_ratio", "l1_ratio must be a number > 0 and <= 1", *NOT_A_NUMBER, 0, -0.5, 1.1, INF),
    *cases("l1_ratio", "needs penalty='elastic_net'", 0.5),
    *cases("concavity", "penalty 'l1' has no concavity", 3.0, "x"),
    *(({"penalty": "mcp", **case}, message) for case, message in cases("concavity", "finite number > 1", 1.0, -3, "3")),
    *(({"penalty": "scad", **case}, message) for case, message in cases("concavity", "finite number > 2", 2, INF, NAN)),
    *cases("max_features", "max_features must be a whole number >= 0 or None", *NOT_WHOLE, -1),
    *cases("fit_intercept", "fit_intercept must be True or False", *NOT_A_FLAG),
    *cases("standardize", "standardize must be True or False", *NOT_A_FLAG),
    *cases("penalty_factor", "penalty_factor must have 4 entries", 1.0, np.ones(3), np.ones((P, 1)), []),
    *cases("penalty_factor", "penalty_factor must be finite and not negative", [1, 1, 1, -1], [NAN] * P, [INF] * P),
    *cases("penalty_factor", "penalty_factor must hold real numbers", ["1"] * P, [1j] * P, "ones", {"a": 2.0}),
    *cases("penalty_factor", "penalty_factor", [[1], [1, 2]], np.ma.masked_array(np.ones(P), [1, 0, 0, 0])),
    *cases("tol", "tol must be a number > 0 and < 1", *(x for x in NOT_A_NUMBER if x is not None), 0, 1, -1e-5, INF),
]


@pytest.mark.parametrize(("given", "message"), PENALTY_PATHS, ids=ids)
def test_penalty_path(given, message):
    refused(lambda: FUNCTIONS["penalty_path"](**given), message)


BEST_SUBSETS = [*DATA, *LIMITS[: -len(cases("callback", "", *range(5)))], *SPARSITY]
BEST_SUBSETS += cases("gamma", "gamma must be a number > 0 or inf or 'auto'", *GAMMAS)
# An estimator's k has a default that a price overrules, and its loss one that None means.
BEST_SUBSETS = [
    (given, message)
    for given, message in BEST_SUBSETS
    if given != {"l0_penalty": 0.5} and not ("loss" in given and given["loss"] is None)
]
PENALIZED = [case for case in PENALTY_PATHS if not set(case[0]) & {"alphas", "max_features", "loss"}]
PENALIZED += cases("alpha", "alpha must be a finite number > 0", *NOT_A_NUMBER, 0, -1.0, INF)


@pytest.mark.parametrize(("given", "message"), BEST_SUBSETS, ids=ids)
def test_parameters_of_best_subset_estimators(given, message):
    for make in (BestSubsetRegressor, BestSubsetClassifier):
        refused(lambda make=make: make(**{"k": 2, **given}).fit(X, LABELS), message)


@pytest.mark.parametrize(("given", "message"), PENALIZED, ids=ids)
def test_parameters_of_penalized_estimators(given, message):
    for make in (PenalizedRegressor, PenalizedClassifier):
        refused(lambda make=make: make(**given).fit(X, LABELS), message)


def of_loss(loss, *given):
    """Bad values of a parameter of a loss; None is its default."""
    bad = [(one, message) for one, message in cases(*given) if all(value is not None for value in one.values())]
    return [({"loss": loss, **one}, message) for one, message in bad]


PARAMETERS = [
    *of_loss("epsilon_insensitive", "epsilon", "epsilon must be a finite number >= 0", *NOT_A_NUMBER, -0.1, INF),
    *of_loss("huber", "delta", "delta must be a finite number > 0", *NOT_A_NUMBER, 0, -0.1, INF),
    *of_loss("quantile", "quantile", "quantile must be a number > 0 and < 1", *NOT_A_NUMBER, 0, 1, 90),
    *of_loss("negative_binomial", "theta", "theta must be a number >= 1e-08", *NOT_A_NUMBER, 0, -1, 1e9, INF),
    ({"loss": "poisson", "theta": 2.0}, "loss 'poisson' has no parameter theta, got 2.0"),
    ({"loss": Quantile(7.0)}, "quantile must be a number > 0 and < 1, got 7.0"),
]


@pytest.mark.parametrize(("given", "message"), PARAMETERS, ids=ids)
def test_parameters_of_losses(given, message):
    for call in (FUNCTIONS["best_subset"], FUNCTIONS["best_subset_path"]):
        refused(lambda call=call: call(**given), message)
    refused(lambda: BestSubsetRegressor(2, **given).fit(X, Y), message)
    if "quantile" not in str(given).lower():
        refused(lambda: FUNCTIONS["penalty_path"](**given), message)
        refused(lambda: PenalizedRegressor(**given).fit(X, Y), message)


COUNTS = np.arange(float(len(Y)))
UNSUITED = [
    ("poisson", COUNTS - 2.0, "loss 'poisson' needs y >= 0, got -2 in row 0: .*'squared' any y"),
    ("negative_binomial", -COUNTS, "loss 'negative_binomial' needs y >= 0, got -1 in row 1"),
    ("tweedie", COUNTS - 0.5, "loss 'tweedie' needs y >= 0, got -0.5 in row 0"),
    ("gamma", COUNTS, "loss 'gamma' needs y > 0, got 0 in row 0: .*'tweedie' takes zeros"),
    ("poisson", 0.0 * COUNTS, "y is zero for all observations"),
]


@pytest.mark.parametrize(("loss", "y", "message"), UNSUITED)
def test_responses_that_a_loss_does_not_take(loss, y, message):
    for call in FUNCTIONS.values():
        refused(lambda call=call: call(y=y, loss=loss), message)
    for make in (BestSubsetRegressor, PenalizedRegressor):
        refused(lambda make=make: make(loss=loss).fit(X, y), message)


ADDED = [
    ({"offset": np.ones(3)}, "offset must have .* entries, got shape"),
    ({"offset": np.full(len(Y), NAN)}, "offset contains NaN or infinity"),
    ({"offset": ["a"] * len(Y)}, "offset must hold real numbers"),
    ({"offset": 1e300}, r"offset must lie between -300 and 300 for loss 'poisson', got 1e\+300 in row 0: it is added"),
    ({"offset": -1e300}, "offset must lie between -300 and 300"),
    ({"offset": np.arange(len(Y), dtype=np.uint64) + np.uint64(2**53)}, "that double precision cannot represent"),
    ({"offset": 1e300, "loss": "squared"}, "offset must lie between -1e\\+75 and 1e\\+75 for loss 'squared'"),
    ({"exposure": COUNTS}, "exposure must be above zero, got 0.0 in row 0: drop such rows"),
    ({"exposure": -1.0}, "exposure must be above zero, got -1.0 in row 0"),
    (
        {"exposure": 1.0, "loss": "squared"},
        "exposure needs a loss of counts or totals such as 'poisson', not 'squared'",
    ),
]


@pytest.mark.parametrize(("given", "message"), ADDED, ids=ids)
def test_offsets_and_exposures(given, message):
    asked = {"y": COUNTS, "loss": "poisson", **given}
    for call in FUNCTIONS.values():
        refused(lambda call=call: call(**asked), message)
    result = best_subset(X, COUNTS, 1, loss=asked.pop("loss"), method="local")
    del asked["y"]
    refused(lambda: result.predict(X, **asked), message)
    for make in (BestSubsetRegressor, PenalizedRegressor):
        model = make(loss=given.get("loss", "poisson"), **({"method": "local"} if make is BestSubsetRegressor else {}))
        refused(lambda model=model: model.fit(X, COUNTS, **asked), message)
        refused(lambda model=model: model.fit(X, COUNTS).predict(X, **asked), message)


@pytest.mark.parametrize("loss", [name for name in LOSS_NAMES if LOSSES[name].classification])
@pytest.mark.parametrize("make", [BestSubsetRegressor, PenalizedRegressor])
def test_regressors_refuse_losses_of_classes(make, loss):
    refused(lambda: make(loss=loss).fit(X, LABELS), "is for two classes: use the classifier")


METRICS = (metrics.accuracy, metrics.false_discovery_rate, metrics.false_features, metrics.true_features)
SUPPORTS = [
    *((value, "must be one-dimensional") for value in (None, 3, "abc", {0: 1}, [[0]], X, object())),
    *((value, "integer indices or a boolean mask") for value in ([0.5], [NAN], ["a"], [None], [1j], [10**30], [{}])),
    ([-1], "indices of at least 0"),
    ([1, 1], "more than once"),
    ([[0], [0, 1]], "cannot be read as an array"),
    (np.ma.masked_array([0, 1], [True, False]), "masked entries"),
]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("support", "message"), SUPPORTS, ids=ids)
def test_metrics(metric, support, message):
    refused(lambda: metric(support, [0, 1]), f"^support .*{message}")
    refused(lambda: metric([0, 1], support), f"^true_support .*{message}")


COEFFICIENTS = [
    *cases("coef", "coef must hold real numbers", "abc", ["1.0"], [1j], {"a": 1}, [{}], [BEYOND_FLOATS]),
    *cases("coef", "coef must be one-dimensional", 1.0, X, [[1.0]]),
    *cases("coef", "coef must be finite", [NAN], [INF], [None]),
    *cases("coef", "coef cannot be read as an array", [[1.0], [1.0, 2.0]]),
    *cases("threshold", "threshold must be a finite number >= 0", *NOT_A_NUMBER, -1e-8, INF),
]


@pytest.mark.parametrize(("given", "message"), COEFFICIENTS, ids=ids)
def test_support_of(given, message):
    refused(lambda: metrics.support_of(**{"coef": [1.0, 0.0], **given}), message)


MADE = [
    *cases("n", "n must be a whole number >= 1", None, *WHOLE_FROM_1),
    *cases("p", "p must be a whole number >= 1", None, *WHOLE_FROM_1),
    *cases("k", "k must be a whole number >= 1 and <= 6", None, *WHOLE_FROM_1, 7, 10**30),
    *cases("n", "fits into memory", 10**30, 2**62),
    *cases("p", "fits into memory", 10**30),
    *cases("snr", "snr must be a finite number > 0", *NOT_A_NUMBER, 0, -6.0, INF),
    *cases("task", "unknown task", "ranking", *NOT_A_WORD),
    *cases("rng", "rng must be None, a whole number >= 0 or", -1, 1.5, "seed", True, NAN, {}, object()),
    *cases("dtype", "dtype must be float32 or float64", int, "float16", complex, "number", "f9", 3, [], object, ">f8"),
    *cases("scale", "scale must be True or False", *NOT_A_FLAG),
]


@pytest.mark.parametrize("make", [datasets.make_toeplitz, datasets.make_hard])
@pytest.mark.parametrize(("given", "message"), MADE, ids=ids)
def test_made_data(make, given, message):
    refused(lambda: make(**{"n": 8, "p": 6, "k": 2, "rng": 0, **given}), message)


@pytest.mark.parametrize("rho", [*NOT_A_NUMBER, -1, 1.0, INF], ids=ids)
def test_correlation(rho):
    refused(lambda: datasets.make_toeplitz(8, 6, 2, rho=rho), "rho must be a number > -1 and < 1")
