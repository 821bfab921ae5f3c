"""What a certificate is about: types are taken literally, and another problem is noticed."""

import json
from dataclasses import replace

import numpy as np
import pytest

from proofs.helpers import sample, statement_of
from sparsest.proofs.statement import ADDED_PARTS, Statement
from sparsest.proofs.structure import Rules

RULES = Rules(
    units=(0, 0, 1, 2), limits=(((0, 1), 0, 1),), requires=((2, (0,), True),), budgets=(((1.0, 1.0, 2.0), 2.0),)
)


@pytest.fixture
def statement():
    return statement_of(*sample(9, 4), k=2, include=(1,), exclude=(3, 0), gamma=0.25)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"gamma": np.inf},
        {"k": None, "l0_penalty": 0.5},
        {"l0_penalty": 0.5},
        {"gamma": 1},
        {"k": 4000},
        {"max_coef": 0.75},
        {"loss": "epsilon_insensitive", "parameters": {"epsilon": 0}},
        {"loss": "poisson", "offset": True, "exposure": True},
        {"structure": RULES},
        {"structure": replace(RULES, prices=(0.5, 0.0, 2.0)), "k": None},
        {"structure": Rules(), "k": None, "include": ()},
        {"lower": (0.0, -np.inf, -1.5, 0), "upper": (np.inf, 0.0, 2, 1e-300)},
    ],
    ids=str,
)
def test_json_round_trip(statement, changes):
    one = replace(statement, **changes)
    assert Statement.from_json(json.loads(json.dumps(one.to_json(), allow_nan=False))) == one


@pytest.mark.parametrize(
    "changes",
    [
        {"n": 0},
        {"n": True},
        {"n": 9.0},
        {"p": 10**30},
        {"loss": "cubic"},
        {"loss": ["squared"]},
        {"parameters": {"epsilon": 0.1}},
        {"parameters": []},
        {"loss": "epsilon_insensitive"},
        {"loss": "epsilon_insensitive", "parameters": {"epsilon": -1.0}},
        {"loss": "epsilon_insensitive", "parameters": {"epsilon": np.nan}},
        {"loss": "epsilon_insensitive", "parameters": {"epsilon": np.inf}},
        {"loss": "epsilon_insensitive", "parameters": {"epsilon": 10**400}},
        {"loss": "epsilon_insensitive", "parameters": {"epsilon": 0.1, "delta": 0.1}},
        {"loss": "squared_epsilon_insensitive", "parameters": {"epsilon": True}},
        {"loss": "huber", "parameters": {"delta": 0.0}},
        {"loss": "quantile", "parameters": {"quantile": 1.0}},
        {"loss": "quantile", "parameters": {"quantile": "0.5"}},
        {"loss": "negative_binomial", "parameters": {"theta": 1e-200}},
        {"offset": 1},
        {"exposure": True},
        {"gamma": 0.0},
        {"gamma": -1.0},
        {"gamma": np.nan},
        {"gamma": True},
        {"gamma": "1"},
        {"gamma": 10**400},
        {"k": None},
        {"k": -1},
        {"k": 2.0},
        {"k": 0},
        {"k": 10**30},
        {"k": None, "l0_penalty": -0.1},
        {"k": None, "l0_penalty": np.inf},
        {"k": None, "l0_penalty": np.nan},
        {"k": None, "l0_penalty": False},
        {"max_coef": 0.0},
        {"max_coef": -1.0},
        {"max_coef": np.inf},
        {"max_coef": np.nan},
        {"max_coef": True},
        {"max_coef": "1"},
        {"include": [1]},
        {"include": (1, 1)},
        {"include": (4,)},
        {"include": (-1,)},
        {"include": (1.0,)},
        {"include": (True,)},
        {"include": (3,)},
        {"include": (1, 2), "k": 1},
        {"exclude": ((),)},
        {"fit_intercept": "false"},
        {"fit_intercept": 1},
        {"standardize": None},
        {"fingerprint": b""},
        {"structure": {}},
        {"structure": "groups"},
        {"structure": Rules(units=(0, 1))},
        {"structure": Rules(prices=(1.0,) * 4), "l0_penalty": 0.5},
        {"structure": Rules(units=(0, 0, 1, 2)), "include": (1, 2), "k": 1},
        {"lower": (0.0,) * 3},
        {"lower": [0.0] * 4},
        {"lower": 0.0},
        {"lower": (0.0, 0.0, 0.0, 0.1)},
        {"lower": (0.0, 0.0, 0.0, np.nan)},
        {"lower": (0.0, 0.0, 0.0, True)},
        {"lower": (0.0, 0.0, 0.0, np.inf)},
        {"upper": (0.0, 0.0, 0.0, -np.inf)},
        {"upper": (0.0, 0.0, 0.0, -5e-324)},
        {"upper": (0.0, 0.0, 0.0, "1")},
        {"upper": (0.0, 0.0, 0.0, 10**400)},
    ],
    ids=str,
)
def test_what_is_no_problem(statement, changes):
    with pytest.raises(ValueError, match="a problem cannot have"):
        replace(statement, **changes)


@pytest.mark.parametrize("data", [None, [], {}, "text", 3])
def test_what_does_not_describe_a_problem(data):
    with pytest.raises(ValueError, match="must be described by"):
        Statement.from_json(data)


def test_differences_are_named(statement):
    assert statement.differences({}) == []
    same = {"k": 2, "gamma": 0.25, "loss": "squared", "include": [1], "exclude": np.array([0, 3]), "l0_penalty": None}
    assert statement.differences(same) == []
    for name, wish in (
        ("k", 1),
        ("gamma", 0.3),
        ("loss", "hinge"),
        ("include", []),
        ("fit_intercept", False),
        ("n", 8),
    ):
        [found] = statement.differences({name: wish})
        assert name in found and repr(wish) in found
    zone = replace(statement, loss="quantile", parameters={"quantile": 0.9})
    assert zone.differences({"quantile": 0.9}) == []
    assert "quantile = 0.9, not 0.5" in zone.differences({"quantile": 0.5})[0]
    assert "quantile = None, not 0.9" in statement.differences({"quantile": 0.9})[0]
    for bad in (3, "abc", "1", [None], [1.5]):
        with pytest.raises(ValueError, match="include must be a list of column numbers"):
            statement.differences({"include": bad})
    with pytest.raises(ValueError, match="no part 'lambda'; its parts are"):
        statement.differences({"lambda": 3})


def test_what_a_problem_has_not_can_be_demanded(statement):
    """A limit of coefficients makes another problem, and so do forced features and a price."""
    free = replace(statement, include=(), exclude=())
    demands = {"max_coef": None, "l0_penalty": None, "include": None, "exclude": []}
    assert free.differences(demands) == []
    for name, value in {"max_coef": 1e-6, "l0_penalty": 0.5, "include": (1,), "exclude": (2,)}.items():
        [found] = replace(free, **{name: value}).differences(demands)
        assert f"{name} = {value!r}, not" in found
    assert "gamma = 0.25, not None" in free.differences({"gamma": None})[0]
    assert "k = None, not 2" in replace(free, k=None, l0_penalty=1.0).differences({"k": 2})[0]


def test_more_features_than_there_are_can_be_asked_for(statement):
    free = replace(statement, k=4, include=(), exclude=())
    for k in (4, 10, 10.0, np.inf):
        assert free.differences({"k": k}) == []
    assert free.differences({"k": 3}) and replace(free, k=3).differences({"k": 10})
    assert "k = 4, not array([4, 4])" in free.differences({"k": np.array([4, 4])})[0]
    assert replace(free, k=3, exclude=(1,)).differences({"k": 10}) == []


def test_the_sentence_names_all_of_the_problem(statement):
    sentence = statement.sentence()
    for part in (
        "9 × 4",
        statement.fingerprint[:12],
        "squared loss",
        "at most 2",
        "0.25",
        "an intercept",
        "[1]",
        "[3, 0]",
    ):
        assert part in sentence
    assert sentence.startswith("at most 2 features, with [1], without [3, 0]: ")
    box = replace(statement, max_coef=0.5, include=(), exclude=()).sentence()
    assert box.startswith("at most 2 features and coefficients of at most 0.5 in absolute value: ")
    many = replace(statement, p=100, k=60, include=tuple(range(40)), exclude=()).sentence()
    assert "19, … 40 in all]" in many and "20," not in many
    rates = replace(statement, loss="poisson", offset=True, exposure=True).sentence()
    assert "poisson loss with offset and exposure, gamma" in rates
    zone = {"loss": "epsilon_insensitive", "parameters": {"epsilon": 0.1}}
    other = replace(statement, k=None, l0_penalty=0.5, gamma=np.inf, standardize=True, **zone)
    sentence = replace(other, fit_intercept=False).sentence()
    for part in ("a price of 0.5", "no ridge", "epsilon insensitive", "epsilon = 0.1", "no intercept", "standardised"):
        assert part in sentence


def test_statements_of_former_versions_are_read(statement):
    data = statement.to_json()
    assert Statement.from_json({name: data[name] for name in data if name not in ADDED_PARTS}) == statement
    for name in ADDED_PARTS:
        with pytest.raises(ValueError, match="must be described by"):
            Statement.from_json({key: data[key] for key in data if key != name})


def test_a_unit_counts_once_among_the_forced_features(statement):
    forced = replace(statement, structure=RULES, include=(0, 1), exclude=(3,), k=1)
    assert forced.units_of(forced.include).tolist() == [0] and forced.units_of(np.arange(4)).tolist() == [0, 1, 2]
    assert replace(forced, l0_penalty=0.5).price_of(np.array([0, 1, 3])) == 1.0
    columns = replace(RULES, budgets=(((2.0, 1.0, 1.0), 3.0),))
    assert (
        "1 limit and 1 requirement and at most 3 columns: "
        in replace(statement, structure=columns, include=(), exclude=()).sentence()
    )
    prices = replace(RULES, prices=(0.25, 1.0, 2.0))
    assert replace(forced, structure=prices).price_of(np.array([0, 1, 3])) == 2.25
    assert replace(statement, l0_penalty=0.5).price_of(np.array([0, 1, 3])) == 1.5


def test_differences_of_structures_and_limits_are_named(statement):
    free = replace(statement, include=(), exclude=())
    for name in ("structure", "lower", "upper", "units", "prices", "limits", "requires", "budgets"):
        assert free.differences({name: None}) == []
    whole = replace(
        free, structure=replace(RULES, prices=(1.0, 2.0, 3.0)), lower=(0.0,) * 4, upper=(1.0, np.inf, 1.0, 2.0)
    )
    for name in ("structure", "lower", "upper", "units", "prices", "limits", "requires", "budgets"):
        [found] = whole.differences({name: None})
        assert found.startswith(f"the certificate is for {name} = ") and found.endswith("not None")
    same = {"lower": 0.0, "upper": [1.0, np.inf, 1.0, 2.0], "units": [0, 0, 1, 2], "limits": [[[1, 0], 0, 1]]}
    assert whole.differences(same | {"structure": whole.structure.to_json(), "prices": [1.0, 2.0, 3.0]}) == []
    assert (
        whole.differences({"lower": -1.0})
        and whole.differences({"upper": [1.0] * 4})
        and free.differences({"lower": 0})
    )
    assert replace(free, lower=(-np.inf,) * 4).differences({"lower": None}) == []
    assert replace(free, structure=Rules()).differences({"structure": None}) == []
    for bad in ([0.0] * 3, "none", [[0.0] * 4], [None, "a"]):
        with pytest.raises(ValueError, match="lower must be a number or 4 numbers"):
            whole.differences({"lower": bad})
    with pytest.raises(ValueError, match="structure must be None"):
        whole.differences({"structure": "groups"})


def test_more_units_than_there_are_can_be_asked_for(statement):
    free = replace(statement, structure=RULES, k=2, include=(), exclude=(3,))
    assert free.differences({"k": 2}) == free.differences({"k": 3}) == [] and free.differences({"k": 1})


def test_the_sentence_names_the_structure(statement):
    grouped = replace(statement, structure=RULES, include=(), exclude=()).sentence()
    assert grouped.startswith("at most 2 of 3 groups of columns and 1 limit and 1 requirement and 1 budget: ")
    prices = replace(RULES, prices=(0.5, 1.0, 2.0), units=(0, 0, 1, 2), limits=(), requires=(), budgets=())
    priced = replace(statement, k=None, structure=prices, include=(), exclude=()).sentence()
    assert priced.startswith("3 groups of columns and prices of 0.5 to 2 per group: ")
    limits = replace(statement, lower=(0.0,) * 4, upper=(1.0, np.inf, np.inf, 2.0), include=(), exclude=()).sentence()
    assert "coefficients of at least 0 for the data as given" in limits
    assert "upper limits of the coefficients of 2 of 4 columns" in limits
    assert "coefficients" not in replace(statement, lower=(-np.inf,) * 4).sentence()
