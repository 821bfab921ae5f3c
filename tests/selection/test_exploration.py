"""Grids that go on where the best model is at their end."""

from dataclasses import replace

import numpy as np
import pytest

from sparsest.selection.cross_validation import Validation
from sparsest.selection.exploration import explore
from sparsest.selection.subsets import SubsetGrid

NONE = np.empty(0, dtype=np.intp)
GRID = SubsetGrid(tuple(range(11)), (1.0, 2.0), None, NONE, NONE, more_ks=True, more_gammas=True)


class Judge:
    """Scores of three folds, whose mean is a function of k and γ; it knows what it was asked."""

    def __init__(self, score, stop_at=None):
        self.score, self.stop_at, self.asked = score, stop_at, []

    def __call__(self, grid):
        self.asked.append(grid)
        if len(self.asked) == self.stop_at:
            raise KeyboardInterrupt
        mean = np.array([self.score(k, gamma) for k, gamma in zip(*grid.pairs(), strict=True)])
        return Validation(mean[:, None] + [-0.1, 0.0, 0.1], np.ones((mean.size, 3), dtype=np.intp))


def chosen(found):
    ks, gammas = found.grid.pairs()
    best = found.validation.best()
    return ks[best], gammas[best]


@pytest.mark.parametrize(
    ("best_k", "best_gamma", "p", "n_asked", "message"),
    [
        (3, 2.0, 400, 1, ""),
        (10, 2.0, 10, 1, ""),
        (10, 2.0, 400, 2, ""),
        (28, 2.0, 400, 2, ""),
        (71, 2.0, 400, 3, ""),
        (400, 2.0, 400, 3, "the best number of features is the largest one that was tried, 250: give larger ks"),
        (60, 2.0, 60, 3, ""),
        (3, 0.5, 400, 2, ""),
        (3, 1e-9, 400, 3, "the best gamma is the smallest one that was tried, 0.000244: give smaller gammas"),
        (50, 0.25, 400, 4, ""),
    ],
)
def test_it_goes_on_to_the_best(best_k, best_gamma, p, n_asked, message):
    def score(k, gamma):
        return -abs(np.log((k + 1) / (best_k + 1))) - abs(np.log(gamma / best_gamma))

    judge = Judge(score)
    found = explore(GRID, judge, p)
    assert len(judge.asked) == n_asked and found.at_an_end == message and not found.interrupted
    ks, gammas = found.grid.pairs()
    assert ks.size == found.validation.scores.shape[0] == len(found.grid.ks) * len(found.grid.gammas)
    wanted = [score(k, gamma) for k, gamma in zip(ks, gammas, strict=True)]
    np.testing.assert_allclose(found.validation.mean, wanted, atol=1e-12)
    if not message:
        k, gamma = chosen(found)
        assert k in found.grid.ks and abs(np.log((k + 1) / (best_k + 1))) < 0.2 and gamma == pytest.approx(best_gamma)


def test_ridges_that_differ_by_little_are_no_reason_to_go_on():
    judge = Judge(lambda k, gamma: -abs(k - 3) - 1e-6 * gamma)
    assert explore(GRID, judge, 400).grid.gammas == (1.0, 2.0) and len(judge.asked) == 1


def test_given_grids_stay_as_they_are():
    judge = Judge(lambda k, gamma: k - gamma)
    found = explore(replace(GRID, more_ks=False, more_gammas=False), judge, 400)
    assert len(judge.asked) == 1 and found.at_an_end == ""


def test_who_interrupts_an_extension_gets_what_was_there_before():
    found = explore(GRID, Judge(lambda k, gamma: k + gamma, stop_at=2), 400)
    assert found.interrupted and found.grid is GRID and found.validation.scores.shape == (22, 3)
    with pytest.raises(KeyboardInterrupt):
        explore(GRID, Judge(lambda k, gamma: k, stop_at=1), 400)
