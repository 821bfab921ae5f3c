"""All supports near the optimum: exactly those that enumeration finds."""

from itertools import combinations

import numpy as np
import pytest

from samples import sample
from sparsest import best_subset, near_optimal
from sparsest.result import Status
from sparsest.solvers.support import fit_support

P = 9


@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
@pytest.mark.parametrize("form", [{"k": 3}, {"l0_penalty": 0.7}, {"k": 4, "include": (1,), "exclude": (2,)}], ids=str)
@pytest.mark.parametrize("within", [0.0, 0.02, 0.15])
def test_complete(loss, form, within):
    X, y = sample(loss, 30, P, 7)
    result = best_subset(X, y, loss=loss, gamma=0.3, gap_tol=0.0, **form)
    found = near_optimal(result, within=within, limit=1000)
    assert found.complete and found.status is Status.OPTIMAL
    wanted = set()
    for size in range(form.get("k", P) + 1):
        for support in map(set, combinations(range(P), size)):
            admissible = set(form.get("include", ())) <= support and not set(form.get("exclude", ())) & support
            if admissible and value(result, support) <= found.threshold + 1e-9 * found.threshold:
                wanted.add(tuple(sorted(support)))
    assert {tuple(support.tolist()) for support in found.supports} == wanted
    assert found.objectives == sorted(found.objectives)
    assert found.objectives[0] == pytest.approx(result.objective, rel=1e-6)


def value(result, support):
    return fit_support(result.problem, np.array(sorted(support), dtype=np.intp)).primal


def test_limits_say_that_it_is_not_complete():
    X, y = sample("squared", 30, P, 7)
    result = best_subset(X, y, 4, gamma=0.3)
    found = near_optimal(result, within=0.5, limit=2)
    assert not found.complete and len(found.supports) == 2


def test_bad_input():
    X, y = sample("squared", 30, P, 7)
    result = best_subset(X, y, 2, gamma=0.3)
    for settings, message in (({"within": -1.0}, "within"), ({"limit": 0}, "limit")):
        with pytest.raises(ValueError, match=message):
            near_optimal(result, **settings)
