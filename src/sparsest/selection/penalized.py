"""Paths of several penalties, fitted to the same data, and blends of their models with refits on their supports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.core.data import Data
from sparsest.core.penalties import Penalty
from sparsest.core.problem import pose
from sparsest.core.ridge import default_gamma
from sparsest.paths.features import FeatureRules
from sparsest.paths.path import PathSolver
from sparsest.paths.path_result import PathResult
from sparsest.runtime.faults import reach
from sparsest.selection.models import Models
from sparsest.subset.fits.support import fit_support

# Shares of the penalised model in a blend with the refit on its support; 1 is the penalised model itself.
BLENDS = (0.0, 0.25, 0.5, 0.75, 1.0)
# Refits use the default ridge divided by this: negligible, but it keeps models of separated classes finite.
_WEAKER_RIDGE = 1e6


@dataclass(frozen=True, eq=False)
class PenaltyGrid:
    """Penalties, each with its own falling alphas.

    The models of the first penalty come first, in the order of its alphas, the blends of an alpha together.

    Attributes
    ----------
    paths : penalties with their alphas
    rules : factors of alpha and limits of the features
    blends : shares of the penalised models in blends with refits
    tol, max_iter : see :class:`PathSolver`
    """

    paths: tuple[tuple[Penalty, Array], ...]
    rules: FeatureRules
    blends: tuple[float, ...] = (1.0,)
    tol: float = 1e-5
    max_iter: int = 10_000

    def cells(self) -> tuple[Indices, Array, Array]:
        """The number of the penalty, the alpha, and the share in the blend, of each model."""
        n_blends = len(self.blends)
        number = np.repeat(np.arange(len(self.paths)), [alphas.size * n_blends for _, alphas in self.paths])
        alphas = np.concatenate([np.repeat(alphas, n_blends) for _, alphas in self.paths])
        return number, alphas, np.tile(self.blends, alphas.size // n_blends)

    def families(self) -> Indices:
        """The family of each model: models with the same penalty and blend share a number."""
        number, _, _ = self.cells()
        return number * len(self.blends) + np.arange(number.size) % len(self.blends)

    def __call__(self, data: Data) -> Models:
        """Fit the models of all cells."""
        reach("fold")
        models: list[tuple[Indices, Array, float]] = []
        for penalty, alphas in self.paths:
            solver = PathSolver(penalty, alphas, tol=self.tol, max_iter=self.max_iter, with_lasso=False)
            path = solver.solve(data, self.rules)
            models += blended(data, path, self.blends)
        return Models.of(data.p, models)


def blended(data: Data, path: PathResult, blends: tuple[float, ...]) -> Iterator[tuple[Indices, Array, float]]:
    """``share · penalised + (1 - share) · refit`` for every alpha and share."""
    refits: dict[bytes, tuple[Array, float]] = {}
    for i, intercept in enumerate(path.intercepts.tolist()):
        part = slice(*path.coefs.indptr[i : i + 2])
        features, coef = path.coefs.indices[part].astype(np.intp), path.coefs.data[part]
        refit = coef, intercept
        # With as many features as observations a refit fits anything: keep the penalised model.
        if min(blends) < 1.0 and features.size < data.n:
            key = features.tobytes()
            if key not in refits:
                refits[key] = _refit(data, features)
            refit = refits[key]
        for share in blends:
            yield features, share * coef + (1.0 - share) * refit[0], share * intercept + (1.0 - share) * refit[1]


def _refit(data: Data, features: Indices) -> tuple[Array, float]:
    """The model of a support without a penalty, for the data as given."""
    fit = fit_support(pose(data, data.p, gamma=_WEAKER_RIDGE * default_gamma(data)), features)
    w = np.zeros(data.p)
    w[features] = fit.w
    coef, intercept = data.original(w, fit.b)
    return coef[features], intercept
