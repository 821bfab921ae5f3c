"""What users write: checked at once, and kept as it is."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from sparsest import BestSubsetRegressor, Structure


def test_it_is_kept_as_it_is():
    given = Structure(limits=[([0, 1], 1)], requires=[("a", ["b"], "any")], exclusive=0.8, max_columns=3)
    assert given == pickle.loads(pickle.dumps(given)) == Structure(**vars(given))
    # What scikit-learn clones must be what was given.
    assert clone(BestSubsetRegressor(options={"structure": given})).options["structure"] == given


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"limits": 3}, "limits must be a list"),
        ({"limits": [([0, 1],)]}, r"every entry of limits must be \(features, most\)"),
        ({"limits": [([], 1)]}, "features of a limit must be a list of at least one feature"),
        ({"limits": [([0, 1], 2, 1)]}, "the least number of a limit must not exceed its largest"),
        ({"requires": [(0,)]}, "every entry of requires must be"),
        ({"requires": [(0, [1], "some")]}, 'must be "any" or "all"'),
        ({"requires": [(0, [1], np.array([1, 2]))]}, 'must be "any" or "all"'),
        ({"exclusive": 1.5}, "exclusive must be"),
        ({"exclusive": [[]]}, "every set of exclusive must be a list"),
        ({"costs": [1, 2]}, "costs and max_cost belong together"),
        ({"max_columns": -1}, "max_columns must be"),
    ],
)
def test_rules_are_checked(given, message):
    with pytest.raises(ValueError, match=message):
        Structure(**given)
