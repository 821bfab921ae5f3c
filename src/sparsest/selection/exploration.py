"""Cross-validation of a grid of best subsets, which is extended if the best model lies at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sparsest.core.arrays import Array
from sparsest.selection.cross_validation import Validation
from sparsest.selection.grids import GAMMA_FACTOR, larger_ks
from sparsest.selection.subsets import SubsetGrid

# Largest number of extensions of a grid by smaller γs, by larger γs, and by larger numbers of features, each.
_MOST_EXTENSIONS = 4
# A stronger or weaker ridge is tried only if the ridge at that end of the grid is better than its neighbour by more
# than this number of standard errors of the difference.  A weaker ridge needs more evidence: with few rows its score is
# more often good by chance, and a ridge that is too weak does more harm on new rows than one that is too strong.
_EVIDENCE_FOR_STRONGER, _EVIDENCE_FOR_WEAKER = 0.1, 1.0
# It must also be better by this share of its score: differences between two very strong or two very weak ridges may be
# significant but are small.
_NOTABLE = 1e-3
# Distances from the best score, in standard errors of the difference: the strongest ridge within the first one is
# chosen; larger numbers of features are tried if the largest one of the first grid is within the second one.
_RIDGE_WITHIN, _LARGEST_WITHIN = 1.0, 0.5
# Larger numbers of features are tried with the best ridge, with the next weaker one if it is worse by at most this
# number of standard errors, and with the next stronger one, because more features want a stronger ridge.  After the
# first extension the stronger one must be within the second number.
_WEAKER_WITHIN, _STRONGER_WITHIN = 1.0, 4.0
# From this number of features on, still larger ones are tried only if the largest is better than the best of at most
# half as many, by this number of standard errors of the difference.  With a rule for smaller numbers too, spam_esl had
# larger held-out errors.
_MANY, _BETTER_THAN_HALF = 100, 2.0


class Tried(NamedTuple):
    """The models tried so far, sorted by number of features and then by ridge, and their scores."""

    ks: Array
    gammas: Array
    validation: Validation

    def best(self) -> tuple[int, float]:
        """The number of features and the ridge of the best model."""
        at = self.validation.best()
        return int(self.ks[at]), float(self.gammas[at])

    def ridges(self, k: int) -> Array:
        """The ridges that have been tried with k features, rising."""
        return np.sort(self.gammas[self.ks == k])

    def place(self, k: int, gamma: float) -> int:
        """The index of a model."""
        return int(np.flatnonzero((self.ks == k) & (self.gammas == gamma))[0])

    def with_block(self, grid: SubsetGrid, validation: Validation) -> Tried:
        """These models and those of a grid."""
        ks, gammas = (np.concatenate(pair) for pair in zip(self[:2], grid.pairs(), strict=True))
        order = np.lexsort((gammas, ks))
        return Tried(ks[order], gammas[order], self.validation.with_rows(validation, order))


class Found(NamedTuple):
    """The models tried, a sentence if the best is at an end of the grid, and whether the user interrupted."""

    tried: Tried
    at_an_end: str
    interrupted: bool


def explore(grid: SubsetGrid, judge: Callable[[SubsetGrid], Validation], most: int, least: int = 0) -> Found:
    """Cross-validate a grid, and extend it at its ends.

    Larger k are tried if the largest one is about as good as the best, and further ones as long as the largest is the
    best, from a hundred on only if it is clearly better than half as many.  Further γs are tried as long as the first
    or the last one is the best.  Larger k are tried only with the best γ and those of its neighbours that are not much
    worse.  If an extension is interrupted, the scores without it are returned.

    Parameters
    ----------
    grid : numbers of features and ridges
    judge : cross-validates the models of a grid, always on the same folds
    most, least : the largest and the smallest number of features that a model may have
    """
    tried = Tried(*grid.pairs(), judge(grid))
    left = dict.fromkeys(_EXTENSIONS, _MOST_EXTENSIONS)
    while not tried.validation.n_missing:
        wanted = [(name, block) for name, block in _blocks(grid, tried, most) if left[name]]
        if not wanted:
            break
        name, block = wanted[0]
        left[name] -= 1
        try:
            more = judge(block)
        except KeyboardInterrupt:
            return Found(tried, "", True)
        if more.n_missing:
            return Found(tried, "", True)
        tried = tried.with_block(block, more)
    return Found(tried, _at_an_end(grid, tried, most, least), tried.validation.n_missing > 0)


def strongest_ridge(tried: Tried) -> int:
    """The index of the model to choose if the ridges are automatic.

    With few rows the best ridge is mostly due to chance: between splits of the same rows it varies by factors of
    hundreds.  So the strongest ridge is chosen whose best model is within one standard error of the best of all.
    """
    validation = tried.validation
    best = validation.best()
    for gamma in np.unique(tried.gammas):
        own = validation.best(tried.gammas == gamma)
        if validation.difference(own, best) >= -_RIDGE_WITHIN:
            return own
    return best


def _blocks(grid: SubsetGrid, tried: Tried, most: int) -> list[tuple[str, SubsetGrid]]:
    """The extensions that the current scores suggest, ridges first."""
    found = ((name, extension(grid, tried, most)) for name, extension in _EXTENSIONS.items())
    return [(name, block) for name, block in found if block is not None]


def _larger_ks(grid: SubsetGrid, tried: Tried, most: int) -> SubsetGrid | None:
    """Larger numbers of features, if the largest one is the best; after the first grid also if it is about as good.

    With a strong ridge many features are as good as few, so the weaker condition alone would lead to models with more
    features than rows.
    """
    last, validation = int(tried.ks.max()), tried.validation
    ks = larger_ks(last, most) if grid.more_ks else []
    first = last == grid.ks[-1]
    if not ks or not _largest_is_best(tried, _LARGEST_WITHIN if first else 0.0, last >= _MANY and not first):
        return None
    own = validation.best(tried.ks == last)
    ridges = tried.ridges(last)
    if grid.more_gammas:
        best = tried.gammas[own]
        near = ridges[np.abs(np.log(ridges / best)) < 1.5 * np.log(GAMMA_FACTOR)]
        ridges = np.array([gamma for gamma in near if not _much_worse(grid, tried, last, gamma, best)])
    return grid.part(ks, ridges.tolist())


def _largest_is_best(tried: Tried, within: float, many: bool) -> bool:
    """Whether the largest number of features is at most some standard errors worse than the best.

    If it is ``many``, it must also be clearly better than half as many.
    """
    last, validation = int(tried.ks.max()), tried.validation
    own, half = validation.best(tried.ks == last), 2 * tried.ks <= last
    if validation.difference(own, validation.best()) < -within:
        return False
    return not (many and half.any()) or validation.difference(own, validation.best(half)) >= _BETTER_THAN_HALF


def _much_worse(grid: SubsetGrid, tried: Tried, k: int, gamma: float, best: float) -> bool:
    """Whether a ridge is so much worse than another one with k features that it is not tried with more of them."""
    after_first = k > grid.ks[-1]
    within = _WEAKER_WITHIN if gamma > best else _STRONGER_WITHIN if after_first else np.inf
    return tried.validation.difference(tried.place(k, gamma), tried.place(k, best)) < -within


def _smaller_gamma(grid: SubsetGrid, tried: Tried, most: int) -> SubsetGrid | None:
    """A stronger ridge, if the strongest one is the best."""
    return _next_gamma(grid, tried, 0, 1.0 / GAMMA_FACTOR, _EVIDENCE_FOR_STRONGER)


def _larger_gamma(grid: SubsetGrid, tried: Tried, most: int) -> SubsetGrid | None:
    """A weaker ridge, if the weakest one is the best."""
    return _next_gamma(grid, tried, -1, GAMMA_FACTOR, _EVIDENCE_FOR_WEAKER)


def _next_gamma(grid: SubsetGrid, tried: Tried, end: int, factor: float, evidence: float) -> SubsetGrid | None:
    """The ridge beyond an end of the grid, for all k not tried with it, if the ridge there is clearly the best."""
    k, gamma = tried.best()
    if not grid.more_gammas or not _ridge_is_best(tried, end, evidence):
        return None
    known = tried.gammas[np.isclose(tried.gammas, gamma * factor)]
    further = float(known[0]) if known.size else gamma * factor
    smaller = tried.ks[(tried.gammas == further) & (tried.ks < k)]
    if smaller.size and _much_worse(grid, tried, int(smaller.max()), further, gamma):
        return None
    ks = np.setdiff1d(tried.ks[tried.gammas == gamma], tried.ks[tried.gammas == further])
    return grid.part(ks.tolist(), [further])


def _ridge_is_best(tried: Tried, end: int, evidence: float) -> bool:
    """Whether the best model has the first or the last ridge tried with its k, and the one beside it is clearly worse.

    Parameters
    ----------
    end : 0 for the first ridge, -1 for the last one
    evidence : the standard errors of the difference by which it must be better
    """
    k, gamma = tried.best()
    ridges = tried.ridges(k)
    if k == 0 or ridges.size < 2 or gamma != ridges[end]:
        return False
    validation, best = tried.validation, tried.validation.best()
    next_to_it = tried.place(k, ridges[1 if end == 0 else -2])
    better_by = validation.mean[best] - validation.mean[next_to_it]
    notable = better_by > _NOTABLE * abs(validation.mean[best])
    return bool(notable and validation.difference(best, next_to_it) > evidence)


_EXTENSIONS = {"smaller gamma": _smaller_gamma, "larger gamma": _larger_gamma, "larger ks": _larger_ks}


def _at_an_end(grid: SubsetGrid, tried: Tried, most: int, least: int) -> str:
    """What to tell the user about ends of the grid at which the best model is; empty if there is nothing to tell.

    A grid that was extended is mentioned where it would be extended further.  A large k that is not clearly better than
    half as many is not mentioned, nor are weak automatic ridges.
    """
    k, gamma = tried.best()
    automatic = {name for name, _ in _blocks(grid, tried, most)}
    given_ks, given_gammas = not grid.more_ks and np.ptp(tried.ks) > 0, not grid.more_gammas
    last, first = int(tried.ks.max()), int(tried.ks.min())
    told = []
    if k == last and ("larger ks" in automatic or (given_ks and k < most and _largest_is_best(tried, 0.0, k >= _MANY))):
        told.append(f"the best number of features is the largest one that was tried, {k}: give larger ks")
    # A single feature as the smallest number is not mentioned: only the empty model is smaller.
    if given_ks and k == first > max(least, 1):
        told.append(f"the best number of features is the smallest one that was tried, {k}: give smaller ks")
    if "smaller gamma" in automatic or (given_gammas and _ridge_is_best(tried, 0, _EVIDENCE_FOR_STRONGER)):
        told.append(f"the best gamma is the smallest one that was tried, {gamma:.3g}: give smaller gammas")
    if given_gammas and np.isfinite(gamma) and _ridge_is_best(tried, -1, _EVIDENCE_FOR_WEAKER):
        told.append(f"the best gamma is the largest one that was tried, {gamma:.3g}: give larger gammas")
    return "; ".join(told)
