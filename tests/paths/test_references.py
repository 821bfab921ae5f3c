"""Paths against those of ncvreg 3.16 on the same data: MCP, SCAD and Lasso for continuous, binary and count responses.

Solutions outside the locally convex region are not unique: there the equation is asked for, and that the sum of loss
and penalty is not larger, except for the points that are counted below.
"""

from itertools import pairwise

import numpy as np
import pytest

from sparsest import penalty_path
from sparsest.datasets import load_folder

LOSSES = {"gaussian": "squared", "binomial": "logistic", "poisson": "poisson"}
FOLDERS = {
    "prostate_gaussian": ("prostate_esl", 1),
    "riboflavin_gaussian": ("riboflavin", 4),
    "lung_mirna_binomial": ("tcga_lung_mirna", 10),
    "golub_binomial": ("ma_golub", 4),
    "hitters_hmrun_poisson": ("hitters", 1),
}
# Points at which ncvreg's solution is better, and by how much at most, relatively; none elsewhere.
WORSE = {("golub_binomial", "mcp"): (7, 1e-4)}
NAMES = {"lasso": "l1", "mcp": "mcp", "scad": "scad"}


def load(shared_data, name):
    """Standardised columns, the response, and means and scales of the columns; labels are 0 and 1."""
    folder, every = FOLDERS[name]
    data = load_folder(shared_data / folder)
    X, y = np.asarray(data.X, dtype=float)[:, ::every], data.y
    if name == "hitters_hmrun_poisson":
        chosen = list(data.feature_names).index("HmRun")
        X, y = np.delete(X, chosen, axis=1), X[:, chosen]
    if name.endswith("binomial"):
        y = (y == np.unique(y)[1]).astype(float)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    # Constant columns have no coefficient.
    return (X - mean) / np.where(scale > 0.0, scale, 1.0), np.asarray(y, dtype=float), mean, scale


def read(shared_data, name, penalty, scale, mean):
    """Lambdas, concavity, and coefficients and intercepts for standardised columns."""
    kept = np.load(shared_data.parent / "reference" / "ncvreg" / f"{name}_{penalty}.npz")
    coefs = np.zeros((kept["lambdas"].size, scale.size))
    coefs[kept["rows"], kept["columns"]] = kept["values"]
    return kept["lambdas"], float(kept["concavity"]), coefs * scale, kept["intercepts"] + coefs @ mean


class Equation:
    """Loss, penalty and violation of the estimating equation, by formulas that share nothing with the package."""

    def __init__(self, family, penalty, concavity, X, y):
        self.family, self.penalty, self.g, self.X, self.y = family, penalty, concavity, X, y

    def _at(self, u):
        if self.family == "binomial":
            mean = 1.0 / (1.0 + np.exp(-u))
            return np.logaddexp(0.0, u) - self.y * u, self.y - mean, np.maximum(mean * (1.0 - mean), 1e-4)
        if self.family == "poisson":
            return np.exp(u) - self.y * u, self.y - np.exp(u), np.exp(u)
        return 0.5 * (self.y - u) ** 2, self.y - u, np.ones(u.size)

    def _slope(self, t, lam):
        if self.penalty == "mcp":
            return np.maximum(lam - t / self.g, 0.0)
        if self.penalty == "scad":
            return np.where(t <= lam, lam, np.maximum(self.g * lam - t, 0.0) / (self.g - 1.0))
        return np.full(t.size, lam)

    def look(self, w, b, lam):
        """Mean loss plus penalty, and the largest violation relative to λ."""
        losses, residual, bend = self._at(self.X @ w + b)
        v, score = (bend[:, None] * self.X**2).mean(axis=0), self.X.T @ residual / self.y.size
        t = v * np.abs(w)
        off = np.where(w != 0.0, np.abs(score - np.sign(w) * self._slope(t, lam)), np.abs(score) - lam)
        # The integral of the slope, exactly: it is piecewise linear with kinks at λ and gλ.
        ends = np.sort(np.stack([0.0 * t, np.minimum(t, lam), np.minimum(t, self.g * lam), t]), axis=0)
        pieces = [0.5 * (b - a) * (self._slope(a, lam) + self._slope(b, lam)) for a, b in pairwise(ends)]
        used = w != 0.0
        return losses.mean() + (sum(pieces)[used] / v[used]).sum(), off.max() / lam

    def convex(self, active, w, b):
        """Whether the Hessian over these columns exceeds the concavity."""
        if not active.any() or self.penalty == "lasso":
            return True
        bend = self._at(self.X @ w + b)[2]
        part = self.X[:, active]
        centred = part - bend @ part / bend.sum()
        v = (bend[:, None] * part**2).mean(axis=0)
        kappa = 1.0 / self.g if self.penalty == "mcp" else 1.0 / (self.g - 1.0)
        hessian = (bend[:, None] * centred).T @ centred / self.y.size - np.diag(kappa * v)
        return bool(np.linalg.eigvalsh(hessian)[0] > 0.0)


@pytest.mark.shared_data
@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("penalty", NAMES)
def test_paths_of_ncvreg(shared_data, name, penalty):
    X, y, mean, scale = load(shared_data, name)
    lambdas, g, theirs, their_b = read(shared_data, name, penalty, scale, mean)
    family = name.split("_")[-1]
    concavity = None if penalty == "lasso" else g
    path = penalty_path(X, y, NAMES[penalty], loss=LOSSES[family], alphas=lambdas, concavity=concavity, tol=1e-7)
    assert path.converged.all()
    assert path.rescaled == (family != "gaussian" and penalty != "lasso")
    equation, ours, inside = Equation(family, penalty, g, X, y), path.coefs.toarray().T, True
    excesses = []
    for i, lam in enumerate(lambdas):
        # The region ends where the columns of this model and of the next have no convex objective.
        following = theirs[min(i + 1, len(lambdas) - 1)]
        inside = inside and equation.convex((theirs[i] != 0.0) | (following != 0.0), theirs[i], their_b[i])
        value, violation = equation.look(ours[i], path.intercepts[i], lam)
        assert violation < (1e-3 if penalty == "lasso" else 2e-7)
        if inside:
            assert np.abs(ours[i] - theirs[i]).max() <= 1e-3 * max(np.abs(theirs[i]).max(), 1e-300), i
            assert path.intercepts[i] == pytest.approx(their_b[i], rel=1e-3, abs=1e-3)
        else:
            their_value = equation.look(theirs[i], their_b[i], lam)[0]
            excesses.append((value - their_value) / abs(their_value))
    if penalty == "lasso":
        assert not excesses
    worse = [excess for excess in excesses if excess > 1e-6]
    count, largest = WORSE.get((name, penalty), (0, 0.0))
    assert len(worse) <= count
    assert max(worse, default=0.0) <= largest
