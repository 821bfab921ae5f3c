"""Paths of groups against adelie and skglm, and of positive coefficients against scikit-learn and glmnet.

    python benchmarks/restricted_paths.py [--repeat 3]

Every solver gets the same standardised columns, centred response and alphas; only the solver is timed, in CPU time, at
its default tolerance (skglm's group solver for single alphas at 1e-7, warm started).  ``excess`` is the largest
relative excess of a solver's objective over the other's at the same alpha, computed here.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
from table import Row

from paths import best_time, glmnet_limits
from sparsest.paths.api import penalty_path

N_ALPHAS, RATIO = 100, 0.01


def simulated(n: int, n_groups: int, size: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Standardised columns, a response of ten true groups with a signal-to-noise ratio of 5, and the groups."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n_groups * size))
    X = np.asfortranarray((X - X.mean(axis=0)) / X.std(axis=0))
    signal = X[:, : 10 * size] @ rng.standard_normal(10 * size)
    y = signal + signal.std() / np.sqrt(5.0) * rng.standard_normal(n)
    return X, (y - y.mean()) / y.std(), np.repeat(np.arange(n_groups), size)


def group_objectives(X, y, coefs, intercepts, alphas, groups) -> np.ndarray:
    """Half the mean squared error plus α√d‖w_g‖ of every column of ``coefs``."""
    sizes = np.bincount(groups)
    norms = np.array([np.sqrt(np.bincount(groups, w**2)) @ np.sqrt(sizes) for w in coefs.T])
    return 0.5 * ((y[:, None] - X @ coefs - intercepts) ** 2).mean(axis=0) + alphas * norms


def adelie(X, y, groups, alphas, repeat):
    """The group lasso of adelie."""
    import adelie as ad

    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    settings = {"adev_tol": 1.0, "ddev_tol": 0.0, "early_exit": False, "progress_bar": False}

    def fit():
        return ad.grpnet(ad.matrix.dense(X), ad.glm.gaussian(y), groups=starts, lmda_path=alphas, **settings)

    seconds, state = best_time(fit, repeat)
    return seconds, state.betas.toarray().T, np.asarray(state.intercepts)


def skglm(X, y, groups, alphas, repeat):
    """The group lasso of skglm, one alpha after the other."""
    from skglm.datafits import QuadraticGroup
    from skglm.penalties import WeightedGroupL2
    from skglm.solvers import GroupBCD
    from skglm.utils.jit_compilation import compiled_clone

    sizes = np.bincount(groups)
    ends, members = np.append(0, np.cumsum(sizes)).astype(np.int32), np.arange(groups.size, dtype=np.int32)
    datafit = compiled_clone(QuadraticGroup(ends, members))

    def fit(alphas=alphas):
        w, coefs = np.zeros(groups.size), []
        for alpha in alphas:
            penalty = compiled_clone(WeightedGroupL2(alpha, np.sqrt(sizes), ends, members))
            w = GroupBCD(tol=1e-7, fit_intercept=False, warm_start=True).solve(X, y, datafit, penalty, w.copy(), X @ w)[
                0
            ]
            coefs.append(w)
        return np.array(coefs).T

    fit(alphas[:2])
    seconds, coefs = best_time(fit, 1)
    return seconds, coefs, np.zeros(alphas.size)


def compare_groups(repeat: int, peers=(adelie, skglm)) -> Iterator[tuple[str, float, float, float]]:
    """Case and peer, our time over its time, its excess and ours."""
    for n, n_groups, size in ((1000, 2000, 5), (2000, 100, 5)):
        X, y, groups = simulated(n, n_groups, size)
        top = penalty_path(X, y, feature_groups=groups, alphas=1, standardize=False).alphas[0]
        alphas = np.geomspace(top, RATIO * top, N_ALPHAS)

        def fit(X=X, y=y, groups=groups, alphas=alphas):
            return penalty_path(X, y, feature_groups=groups, alphas=alphas, standardize=False)

        fit()
        seconds, path = best_time(fit, repeat)
        mine = group_objectives(X, y, path.coefs.toarray(), path.intercepts, alphas, groups)
        for peer in peers:
            their_seconds, coefs, intercepts = peer(X, y, groups, alphas, repeat)
            relative = group_objectives(X, y, coefs, intercepts, alphas, groups) / mine - 1.0
            case = f"group lasso, {n} × {n_groups} groups of {size}, {peer.__name__}"
            yield case, seconds / their_seconds, float(relative.max()), float(-relative.min())


def compare_positive(repeat: int) -> Iterator[tuple[str, float, float, float]]:
    """The same for positive coefficients."""
    from sklearn.linear_model import lasso_path

    for n, p in ((1000, 5000), (5000, 500)):
        X, y, _ = simulated(n, p, 1)
        top = penalty_path(X, y, positive=True, alphas=1, standardize=False).alphas[0]
        alphas = np.geomspace(top, RATIO * top, N_ALPHAS)

        def fit(X=X, y=y, alphas=alphas):
            return penalty_path(X, y, positive=True, alphas=alphas, standardize=False)

        fit()
        seconds, path = best_time(fit, repeat)
        alone = np.arange(p)
        mine = group_objectives(X, y, path.coefs.toarray(), path.intercepts, alphas, alone)
        theirs, (_, coefs, *_) = best_time(lambda X=X, y=y, a=alphas: lasso_path(X, y, alphas=a, positive=True), repeat)
        answers = {"scikit-learn": (theirs, coefs, np.zeros(N_ALPHAS)), "glmnet": glmnet_limits(X, y, alphas, repeat)}
        for peer, (their_seconds, coefs, intercepts) in answers.items():
            relative = group_objectives(X, y, coefs, intercepts, alphas, alone) / mine - 1.0
            yield f"positive lasso, {n} × {p}, {peer}", seconds / their_seconds, relative.max(), -relative.min()


def rows() -> Iterator[Row]:
    """Our time over the peers'."""
    warnings.simplefilter("ignore")
    for case, ratio, _, _ in compare_groups(3, (adelie,)):
        yield Row(case, ratio, "of its time", 1.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=3)
    repeat = parser.parse_args().repeat
    warnings.simplefilter("ignore")
    for compare in (compare_groups, compare_positive):
        for case, ratio, excess, own in compare(repeat):
            print(
                f"{case:<58} ours/theirs {ratio:6.2f}   their excess {excess:8.1e}   our excess {own:8.1e}", flush=True
            )


if __name__ == "__main__":
    main()
