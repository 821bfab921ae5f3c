"""The rounds of a relaxation: which features enter, and that a policy decides about precision and the end."""

import numpy as np
import pytest

from samples import sample
from sparsest.core.problem import make_problem
from sparsest.core.sparsity import Region
from sparsest.subset.relaxation.active_columns import ActiveColumns
from sparsest.subset.relaxation.engine import Policy, relax
from sparsest.subset.relaxation.entering import Entering
from sparsest.subset.relaxation.solution import Relaxed

RULE = Entering(share=1.0, kept_share=0.5, least=2, growth=0.0)


def solution(q, w, sigma, region):
    """A relaxed solution on the features 0, 1 and 2."""
    return Relaxed(region, np.arange(3), np.array(w), 0.0, sigma, np.zeros(5), np.array(q), 1.0, 0.5, 1, 1)


def problem_of(k=1, **form):
    X, y = sample("squared", 5, 8)
    return make_problem(X, y, **{"k": k, "gamma": 1.0, **form})


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        # The threshold is 2: features 3, 5 and 6 exceed it, of which the two largest enter; 1 stays above half of it.
        (RULE, [0, 1, 5, 6]),
        (RULE._replace(least=9), [0, 1, 3, 5, 6]),
        (RULE._replace(kept_share=np.inf), [0, 5, 6]),
        (RULE._replace(least=9, share=1.4), [0, 1, 5, 6]),
        (RULE._replace(growth=1.6), [0, 1, 3, 5, 6]),
    ],
)
def test_which_features_enter(rule, expected):
    q = [5.0, 1.5, 0.5, 2.5, 9.0, 4.0, 3.0, 1.0]
    region = Region(np.array([], dtype=np.intp), np.array([4]), 8)
    found = rule.features(problem_of(), solution(q, [1.0, 0.0, 0.0], 0.5, region))
    assert found.tolist() == expected


def test_forced_features_stay_and_without_room_none_enters():
    q = [5.0, 1.5, 0.5, 2.5, 9.0, 4.0, 3.0, 1.0]
    region = Region(np.array([7]), np.array([], dtype=np.intp), 8)
    found = RULE.features(problem_of(include=[7]), solution(q, [1.0, 0.0, 0.0], 0.5, region))
    assert found.tolist() == [0, 1, 7]


class Counting(Policy):
    """Stop after some rounds, and note what was asked."""

    entering, most_rounds = RULE._replace(least=50), 50

    def __init__(self, rounds):
        self.rounds, self.asked = rounds, []

    def is_done(self, best):
        return best.rounds == self.rounds

    def tolerance(self, best):
        self.asked.append(best.rounds)
        return 1e-9


@pytest.mark.parametrize("rounds", [0, 1, 2])
def test_a_policy_decides_when_to_stop(rounds):
    X, y = sample("squared", 30, 12)
    problem = make_problem(X, y, 3, gamma=0.5)
    policy = Counting(rounds)
    found = relax(ActiveColumns(problem), problem, problem.root, policy)
    assert found.rounds == rounds and policy.asked == list(range(rounds))
    assert np.isinf(found.primal) == (rounds == 0)
    assert found.dual <= found.primal * (1.0 + 1e-9)
