"""Grids that go on where the best model is at their end."""

from dataclasses import replace

import numpy as np
import pytest

from sparsest.selection.cross_validation import Validation
from sparsest.selection.exploration import Tried, explore, strongest_ridge
from sparsest.selection.subsets import SubsetGrid

GRID = SubsetGrid(tuple(range(11)), (1.0, 4.0), None, more_ks=True, more_gammas=True)


class Judge:
    """Scores of three folds, whose mean is a function of k and γ; it remembers the grids that it was asked for.

    ``noise`` is the standard deviation of differences between models.
    """

    def __init__(self, score, stop_at=None, noise=0.0):
        self.score, self.stop_at, self.noise, self.asked = score, stop_at, noise, []

    def __call__(self, grid):
        self.asked.append(grid)
        if len(self.asked) == self.stop_at:
            raise KeyboardInterrupt
        mean = np.array([self.score(k, gamma) for k, gamma in zip(*grid.pairs(), strict=True)])
        # Folds that differ by as much for every model, and some noise that cancels over the folds of a model.
        signs = np.where(np.log2(grid.pairs()[1]) % 4 < 2, 1.0, -1.0)[:, None] * [-1.0, 0.0, 1.0]
        return Validation(mean[:, None] + [-0.1, 0.0, 0.1] + self.noise * signs, np.ones((mean.size, 3), dtype=np.intp))


@pytest.mark.parametrize(
    ("best_k", "best_gamma", "p", "n_asked", "message"),
    [
        (3, 1.0, 400, 2, ""),
        (10, 4.0, 10, 2, ""),
        (10, 4.0, 400, 3, ""),
        (28, 4.0, 400, 4, ""),
        (71, 4.0, 400, 5, ""),
        (400, 4.0, 400, 6, "the best number of features is the largest one that was tried, 252: give larger ks"),
        (60, 4.0, 60, 5, ""),
        (3, 0.25, 400, 3, ""),
        (3, 64.0, 400, 4, ""),
        (3, 1e-9, 400, 5, "the best gamma is the smallest one that was tried, 0.00391: give smaller gammas"),
        (50, 0.25, 400, 6, ""),
    ],
)
def test_it_goes_on_to_the_best(best_k, best_gamma, p, n_asked, message):
    def score(k, gamma):
        return -abs(np.log((k + 1) / (best_k + 1))) - abs(np.log(gamma / best_gamma))

    judge = Judge(score)
    found = explore(GRID, judge, p)
    assert len(judge.asked) == n_asked and found.at_an_end == message and not found.interrupted
    ks, gammas, validation = found.tried
    pairs = list(zip(ks.tolist(), gammas.tolist(), strict=True))
    assert pairs == sorted(set(pairs)) and len(pairs) == validation.scores.shape[0]
    wanted = [score(k, gamma) for k, gamma in pairs]
    np.testing.assert_allclose(validation.mean, wanted, atol=1e-12)
    if not message:
        k, gamma = found.tried.best()
        assert abs(np.log((k + 1) / (best_k + 1))) < 0.2 and gamma == pytest.approx(best_gamma)


GIVEN = replace(GRID, ks=tuple(range(2, 9)), gammas=(0.25, 1.0, 4.0), more_ks=False, more_gammas=False)
LARGER_KS = "the best number of features is the largest one that was tried, 8: give larger ks"
SMALLER_KS = "the best number of features is the smallest one that was tried, 2: give smaller ks"
SMALLER_GAMMAS = "the best gamma is the smallest one that was tried, 0.25: give smaller gammas"
LARGER_GAMMAS = "the best gamma is the largest one that was tried, 4: give larger gammas"


@pytest.mark.parametrize(
    ("best_k", "best_gamma", "p", "message"),
    [
        (5, 1.0, 400, ""),
        (20, 1.0, 400, LARGER_KS),
        (20, 1.0, 8, ""),
        (0, 1.0, 400, SMALLER_KS),
        (5, 0.01, 400, SMALLER_GAMMAS),
        (5, 64.0, 400, LARGER_GAMMAS),
        (20, 64.0, 400, f"{LARGER_KS}; {LARGER_GAMMAS}"),
    ],
)
def test_ends_of_given_grids_are_told(best_k, best_gamma, p, message):
    judge = Judge(lambda k, gamma: -abs(k - best_k) - abs(np.log(gamma / best_gamma)))
    assert explore(GIVEN, judge, p).at_an_end == message and len(judge.asked) == 1
    # A single number of features, or a single ridge, is no choice; a given k must be possible.
    single = explore(replace(GIVEN, ks=(4,), gammas=(1.0,)), judge, p)
    assert single.at_an_end == "" and explore(GIVEN, judge, p, 2).at_an_end == message.replace(SMALLER_KS, "")


def test_ends_that_are_hardly_better_are_not_told():
    """Ridges that differ by less than their noise, no ridge at all, and more than a hundred features."""
    noisy = Judge(lambda k, gamma: -abs(k - 5) + 1e-3 * np.log(gamma), noise=1.0)
    assert explore(GIVEN, noisy, 400).at_an_end == ""

    def without(grid):
        ks, gammas = grid.pairs()
        mean = -np.abs(ks - 5) - 1.0 / gammas
        return Validation(mean[:, None] + [-0.1, 0.0, 0.1], np.ones((mean.size, 3), dtype=np.intp))

    assert explore(replace(GIVEN, gammas=(1.0, np.inf)), without, 400).at_an_end == ""

    def many(grid):
        ks, _ = grid.pairs()
        mean = 1e-3 * ks
        noise = np.outer(ks > 60, [-1.0, 0.0, 1.0])
        return Validation(mean[:, None] + noise, np.ones(noise.shape, dtype=np.intp))

    assert explore(replace(GIVEN, ks=(10, 50, 120)), many, 400).at_an_end == ""
    assert "largest one that was tried, 60" in explore(replace(GIVEN, ks=(10, 50, 60)), many, 400).at_an_end


def test_larger_numbers_of_features_are_tried_with_the_best_ridge_and_its_neighbours():
    """A weaker ridge only if it is about as good, a stronger one always at first, and later if not much worse."""
    grid = replace(GRID, gammas=tuple(4.0 ** np.arange(-3, 4)))
    judge = Judge(lambda k, gamma: -abs(k - 40) - 0.1 * abs(np.log(gamma)))
    explore(grid, judge, 400)
    assert [asked.gammas for asked in judge.asked[1:3]] == [(0.25, 1.0), (1.0,)] and judge.asked[1].ks[0] > 10
    noisy = Judge(judge.score, noise=0.2)
    explore(grid, noisy, 400)
    assert [asked.gammas for asked in noisy.asked[1:3]] == [(0.25, 1.0, 4.0)] * 2
    judge = Judge(judge.score)
    explore(replace(grid, more_gammas=False), judge, 400)
    assert judge.asked[1].gammas == grid.gammas


def test_many_features_that_are_hardly_better_than_half_as_many_lead_to_no_more():
    """From 22 on the scores rise with k, but by less than their noise."""

    def largest(rise):
        asked = []

        def judge(grid):
            asked.extend(grid.ks)
            ks, _ = grid.pairs()
            mean = np.minimum(ks, 22) + rise * np.log(np.maximum(ks, 22) / 22)
            noise = np.outer(ks > 60, [-1.0, 0.0, 1.0])
            return Validation(mean[:, None] + noise, np.ones(noise.shape, dtype=np.intp))

        message = explore(replace(GRID, more_gammas=False), judge, 4000).at_an_end
        return max(asked), message

    assert largest(0.1) == (112, "") and largest(3.0)[0] > 112


def test_a_ridge_is_added_for_the_numbers_of_features_that_have_it_not():
    """The best γ of many features is smaller than that of few: it is tried for the many, and not again for the few."""
    grid = replace(GRID, gammas=(0.25, 1.0, 4.0, 16.0))
    judge = Judge(lambda k, gamma: -abs(k - 20) - abs(np.log(gamma) - np.log(16.0 if k <= 10 else 0.25)))
    found = explore(grid, judge, 400)
    assert found.tried.best()[1] == 0.25
    pairs = [pair for asked in judge.asked for pair in zip(*map(np.ndarray.tolist, asked.pairs()), strict=True)]
    assert len(pairs) == len(set(pairs))


def test_larger_numbers_are_tried_where_the_largest_is_as_good_as_the_best():
    """Ten features are worse than three by less than the noise: eleven and more might be better."""
    certain = Judge(lambda k, gamma: -1e-3 * abs(k - 3) - abs(np.log(gamma)))
    assert explore(GRID, certain, 400).tried.ks.max() == 10
    noisy = Validation(np.array([[0.0, 0.3, -0.3], [-0.01, -0.2, 0.2]]), np.ones((2, 3), dtype=np.intp))
    asked = []

    def judge(grid):
        asked.append(grid)
        scores = np.full((grid.pairs()[0].size, 3), -9.0)
        if len(asked) == 1:
            scores[3 * 2], scores[10 * 2] = noisy.scores
        return Validation(scores, np.ones(scores.shape, dtype=np.intp))

    assert explore(GRID, judge, 400).tried.best()[0] == 3
    assert [grid.ks for grid in asked if grid.ks[0] > 10] == [(12, 14, 16, 19, 22)]


def test_later_only_the_best_leads_to_more_features():
    """If all numbers differ only by noise, the extensions would never end."""
    asked, rng = [], np.random.default_rng(0)

    def judge(grid):
        asked.append(grid)
        ks, _ = grid.pairs()
        scores = 10.0 * rng.standard_normal((ks.size, 5))
        scores += (1e-3 * (ks == 3) - scores.mean(axis=1))[:, None]
        return Validation(scores, np.ones(scores.shape, dtype=np.intp))

    assert explore(replace(GRID, more_gammas=False), judge, 400).tried.best()[0] == 3
    assert max(grid.ks[-1] for grid in asked) == 22


def test_ridges_that_differ_by_less_than_noise_are_no_reason_to_go_on():
    """A weaker ridge needs more evidence than a stronger one."""
    stronger = Judge(lambda k, gamma: -abs(k - 3) - 1e-3 * np.log2(gamma), noise=0.05)
    assert explore(GRID, stronger, 400).tried.gammas.min() == 1.0
    weaker = Judge(lambda k, gamma: -abs(k - 3) + 0.02 * np.log2(gamma), noise=0.05)
    assert explore(GRID, weaker, 400).tried.gammas.max() == 4.0
    certain = Judge(weaker.score, noise=1e-3)
    assert explore(GRID, certain, 400).tried.gammas.max() > 4.0


def test_ridges_that_differ_by_little_are_no_reason_to_go_on():
    """All models of very strong ridges are nearly the constant one."""
    judge = Judge(lambda k, gamma: -1.0 - abs(k - 3) - 1e-4 * gamma)
    assert explore(GRID, judge, 400).tried.gammas.min() == 1.0 and len(judge.asked) == 1


def test_the_strongest_ridge_that_is_as_good_as_the_best_is_chosen():
    ks, gammas = np.array([1, 1, 1, 2, 2, 2]), np.array([1.0, 4.0, 16.0] * 2)

    def chosen(*means, noise):
        scores = np.array(means)[:, None] + noise * np.outer([1, -1, 1, 1, 1, -1], [1.0, -1.0, 1.0, -1.0])
        return strongest_ridge(Tried(ks, gammas, Validation(scores, np.ones(scores.shape, dtype=np.intp))))

    means = (-3.0, -1.2, -1.4, -2.0, -1.1, -1.0)
    assert chosen(*means, noise=1e-6) == 5
    # γ = 4 is as good as 16 but for noise; at that γ two features are better than one.
    assert chosen(*means, noise=0.2) == 4
    assert chosen(*means, noise=3.0) == 3
    one_fold = Validation(np.array(means)[:, None], np.ones((6, 1), dtype=np.intp))
    assert strongest_ridge(Tried(ks, gammas, one_fold)) == 5


def test_the_weakest_ridge_may_be_the_best_without_a_warning():
    """It is 256 times as weak as the first ones: still weaker ones would change nothing that matters."""
    found = explore(GRID, Judge(lambda k, gamma: -abs(k - 3) + np.log(gamma)), 400)
    assert found.tried.best() == (3, 4.0 * 4.0**4) and found.at_an_end == ""


def test_given_grids_stay_as_they_are():
    judge = Judge(lambda k, gamma: k - gamma)
    found = explore(replace(GRID, more_ks=False, more_gammas=False), judge, 400)
    told = "largest one that was tried, 10: give larger ks; the best gamma is the smallest one that was tried, 1"
    assert len(judge.asked) == 1 and told in found.at_an_end


def test_who_interrupts_an_extension_gets_what_was_there_before():
    found = explore(GRID, Judge(lambda k, gamma: k + gamma, stop_at=2), 400)
    assert found.interrupted and found.tried.ks.size == 22 and found.tried.validation.scores.shape == (22, 3)
    with pytest.raises(KeyboardInterrupt):
        explore(GRID, Judge(lambda k, gamma: k, stop_at=1), 400)
