"""From given to rules: names, labels and numbers, and contradictions that are named."""

import numpy as np
import pandas as pd
import pytest

from sparsest import Structure, best_subset
from sparsest.core.problem import make_problem
from sparsest.core.structure.posing import Units

NAMES = ["age", "sex", "age:sex", "bmi", "site_a", "site_b"]
LABELS = ["age", "sex", "both", "bmi", "site", "site"]


def data(p=6, n=20):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, p)), rng.standard_normal(n)


def rules(k=3, **settings):
    X, y = data()
    return make_problem(X, y, k, **settings).sparsity


def test_units_are_numbered_in_order_of_appearance():
    units = Units(["b", "a", "b", 7, "a", 7], 6, None)
    assert units.of_column.tolist() == [0, 1, 0, 2, 1, 2] and units.count == 3
    assert Units(None, 4, None).of_column.tolist() == [0, 1, 2, 3]


def test_columns_are_given_by_number_name_or_label():
    frame = pd.DataFrame(data()[0], columns=NAMES)
    given = Structure(limits=[(["site", 3], 1)], requires=[("age:sex", ["age", "sex"])], costs={"bmi": 2}, max_cost=3)
    result = best_subset(frame, data()[1], 2, feature_groups=LABELS, structure=given)
    found = result.statement.structure
    assert found.units == (0, 1, 2, 3, 4, 4)
    assert found.limits == (((3, 4), 0, 1),) and found.requires == ((2, (0, 1), True),)
    assert found.budgets == (((0.0, 0.0, 0.0, 2.0, 0.0), 3.0),)


def test_prices_are_given_for_units_or_by_name():
    assert rules(l0_penalty=[1, 2, 3, 4, 5, 6]).prices.tolist() == [1, 2, 3, 4, 5, 6]
    assert rules(l0_penalty={4: 0.5}, feature_groups=LABELS).prices.tolist() == [0, 0, 0, 0, 0.5]
    assert rules(l0_penalty=0.5, feature_groups=LABELS).prices.tolist() == [0.5] * 5


def test_exclusive_sets_and_columns():
    found = rules(structure=Structure(exclusive=[[0, 1], (2, 3, 4)], max_columns=2)).rules
    assert [tuple(limit) for limit in found.limits] == [((0, 1), 0, 1), ((2, 3, 4), 0, 1)]
    assert [tuple(budget) for budget in found.budgets] == [((1.0,) * 6, 2.0)]


def test_columns_of_the_same_group_need_nothing_of_each_other():
    found = rules(
        feature_groups=LABELS, structure=Structure(requires=[(4, [5]), (5, [4, 0], "any"), (0, [0, 1])])
    ).rules
    assert [tuple(one) for one in found.requires] == [(0, (1,), True)]


def test_a_column_stands_for_its_group():
    X, y = data()
    problem = make_problem(X, y, 3, feature_groups=LABELS, include=[5], exclude=[0])
    assert problem.include.tolist() == [4, 5] and problem.root.forced_in.tolist() == [4, 5]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"feature_groups": LABELS, "k": 1, "include": [0, 1]}, "k = 1 cannot hold the 2 groups that include"),
        ({"feature_groups": LABELS, "include": [4], "exclude": [5]}, "include and exclude both contain groups: site"),
        ({"feature_groups": LABELS[:5]}, "feature_groups must have 6 labels, one for each column"),
        ({"feature_groups": [0.5] * 6}, "labels of feature_groups must be texts or whole numbers"),
        ({"structure": Structure(limits=[([0, 1], 2, 2)]), "k": 1}, "structure together: exactly 2 of 0, 1"),
        (
            {"structure": Structure(limits=[([0, 1, 2], 1)]), "include": [0, 1], "k": 3},
            "structure together: at most 1 of 0, 1, 2",
        ),
        (
            {"structure": Structure(limits=[([0, 1, 2], 2, 3)]), "k": 1},
            "structure together: at least 2 of 0, 1, 2",
        ),
        ({"structure": Structure(limits=[([0], 2, 3)])}, "at least 2 features, but its set has only 1: 0"),
        ({"structure": Structure(requires=[(0, [1])]), "include": [0], "exclude": [1]}, "0 needs all of 1"),
        ({"structure": Structure(costs=[1] * 6, max_cost=1.5), "include": [0, 1]}, "costs of at most 1.5"),
        ({"structure": Structure(costs=[1] * 5, max_cost=1.5)}, "costs must have 6 numbers, one for each of"),
        ({"structure": Structure(limits=[(["age"], 1)])}, "limits names the column 'age', which X does not have"),
        ({"structure": Structure(limits=[([6], 1)])}, "limits must hold names or column numbers from 0 to 5"),
        ({"structure": "strong heredity"}, "structure must be"),
        ({"l0_penalty": [1.0, -1.0, 0, 0, 0, 0]}, "every entry of l0_penalty must be"),
        ({"k": None, "feature_groups": LABELS}, "give k"),
    ],
)  # fmt: skip
def test_contradictions_are_named(settings, message):
    X, y = data()
    with pytest.raises(ValueError, match=message):
        make_problem(X, y, **{"k": 3, **settings})


def test_a_label_that_names_a_column_of_another_group_is_refused():
    frame = pd.DataFrame(data()[0][:, :3], columns=["a", "b", "c"])
    given = Structure(limits=[(["a"], 0)])
    with pytest.raises(ValueError, match="the label of a group and the name of a column of another"):
        best_subset(frame, data()[1], 1, feature_groups=["b", "a", "c"], structure=given)
    result = best_subset(frame, data()[1], 1, feature_groups=["a", "a", "c"], structure=given)
    assert result.statement.structure.limits == (((0,), 0, 0),)


@pytest.mark.parametrize("given", [{"age": 1.0, 0: 2.0}, {"site_a": 1.0, "site_b": 1.0}])
def test_two_numbers_for_one_feature_are_refused(given):
    X, y = data()
    settings = {"feature_names": NAMES, "feature_groups": LABELS}
    with pytest.raises(ValueError, match="l0_penalty must have one number for each of the groups, got two for"):
        best_subset(X, y, l0_penalty=given, **settings)
    with pytest.raises(ValueError, match="costs must have one number for each of the groups, got two for"):
        best_subset(X, y, 2, structure=Structure(costs=given, max_cost=1.0), **settings)


def test_prices_of_different_lengths_are_refused_in_plain_words():
    X, y = data()
    with pytest.raises(ValueError, match="l0_penalty cannot be read as an array"):
        best_subset(X, y, 2, l0_penalty=[[1.0], 2.0])
