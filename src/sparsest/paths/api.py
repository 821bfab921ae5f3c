"""The function :func:`penalty_path`: checks of its arguments, and the warning about alphas that did not converge."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from sparsest.core.arrays import Array
from sparsest.core.checks import as_array, as_numbers, column_names, optional, whole_number
from sparsest.core.data import make_data
from sparsest.core.designs import feature_names, reporting, unstandardized
from sparsest.core.losses import Loss
from sparsest.core.penalties import Penalty, path_penalty
from sparsest.core.settings import checked, documented
from sparsest.paths.features import make_rules
from sparsest.paths.path import PathSolver, default_tol
from sparsest.paths.path_result import PathResult
from sparsest.results.advice import convergence_warning
from sparsest.runtime.clock import Callback, Clock
from sparsest.runtime.progress import watching

# Largest number of models: more are taken for a mistake, such as a seed given as the number of alphas.
_MOST_ALPHAS = 10**6


@documented
def penalty_path(
    X: Any,
    y: Any,
    penalty: str | Penalty = "l1",
    *,
    loss: str | Loss = "squared",
    epsilon: float | None = None,
    delta: float | None = None,
    theta: float | None = None,
    alphas: int | Any = 100,
    l1_ratio: float = 1.0,
    concavity: float | None = None,
    max_features: int | None = None,
    n_features: int | None = None,
    fit_intercept: bool = True,
    standardize: bool = True,
    sample_weight: Any = None,
    offset: Any = None,
    exposure: Any = None,
    penalty_factor: Any = None,
    lower: Any = None,
    upper: Any = None,
    positive: bool = False,
    feature_groups: Any = None,
    tol: float | None = None,
    max_iter: int = 10_000,
    time_limit: float = np.inf,
    callback: Callback | None = None,
    verbose: bool = False,
) -> PathResult:
    """Fit a path of l1, elastic-net, MCP or SCAD penalised models.

    Minimises ``(1/Σω) Σ_i ω_i ℓ(y_i, x_i'w + b) + Σ_j φ(w_j; λ f_j)`` for each penalty strength λ of
    ``alphas``, with the penalty factors f, within the limits of the coefficients w.  For MCP and SCAD with a loss that
    is not squared see the notes.

    Parameters
    ----------
    loss : a smooth loss: {"squared", "logistic", "squared_hinge", "squared_epsilon_insensitive", "huber", "poisson",
        "gamma", "negative_binomial", "tweedie"}, or an object of :mod:`sparsest.core.losses`
    alphas : the alphas, in any order, or their number.  Automatic alphas fall geometrically from the smallest one with
        an empty model to 1e-2 (n < p) or 1e-4 times that; with rescaled penalties (see the notes) to 5e-2 or 1e-3
        times that.  A path with automatic alphas ends where the fit is perfect.  Paths of MCP and SCAD end there with
        any alphas, and also where classes are separated and no finite solution is found; with rescaled penalties, a fit
        counts as perfect if at most 1 % of the constant model's loss is left
    max_features : stop when a solution has this many nonzero coefficients; none with more is returned
    n_features : end with the last solution of at most this many nonzero coefficients.  Where the alphas pass over that
        number, the first alpha with more features is replaced by one between the two with exactly this number, if
        bisection finds one
    standardize : whether the penalty acts on columns of mean square 1.  Coefficients are for the data as given
    feature_groups : labels of the p columns, texts or whole numbers; also a function from the name of a column to its
        label, or a dictionary of labels by name.  Columns with the same label enter a model together: the penalty is
        ``Σ_g φ(‖w_g‖; λ f_g √d_g)``, with ``w_g`` the coefficients of the d_g columns of group g.  Columns of a group
        are not made orthogonal to each other.  A rescaled penalty takes the mean of ``v_j`` over the columns of a
        group that may differ from zero, weighted by ``Σ_i ω_i x_ij²``
    tol : largest duality gap relative to the loss of the constant model; for MCP and SCAD the largest violation
        relative to alpha times the median of the nonzero penalty factors.  The default is 2e-3 if n < p and 1e-5
        otherwise; for MCP and SCAD 1e-2 and 1e-3.  Objectives of convex penalties are more precise than that: in our
        benchmarks their relative errors are below 2e-4 and 1e-6
    max_iter : largest number of sweeps of coordinate descent for each alpha
    time_limit : seconds after which no further alpha is begun; Ctrl-C ends the path in the same way
    callback : called with an event ``Alpha`` after every alpha, and with a ``Pass`` after every block of X that is read
        on demand; returning True ends the path
    verbose : whether to show how many alphas are solved, and how much was read

    Returns
    -------
    PathResult
        One model for each alpha, in order of decreasing alpha.  If the path ended early (``stopped`` says why), the
        last model is repeated for the remaining alphas, for which ``solved`` is False.

    Notes
    -----
    MCP and SCAD that are chosen by their names are rescaled by the curvature of the loss (Breheny and Huang, 2011, and
    their package ncvreg): they act on ``v_j w_j``, where ``v_j = Σ_i ω_i ℓ''(y_i, u_i) x_ij² / Σ_i ω_i x_ij²`` is the
    curvature of the loss along column j at the solution.  A concavity then means the same for every loss.  For the
    squared loss, ``v_j = 1`` and nothing changes.  Solutions satisfy

    - ``-Σ_i ω_i ℓ'(y_i, u_i) x_ij / Σω = φ'(v_j w_j; λ f_j)`` where ``w_j ≠ 0``,
    - ``|Σ_i ω_i ℓ'(y_i, u_i) x_ij| / Σω ≤ φ'(0+; λ f_j)`` where ``w_j = 0``.

    As v depends on the solution, this is an estimating equation and not the minimum of one objective;
    ``kkt_violations`` are the largest violations of it, relative to alpha.  Losses whose curvature jumps (Huber's, the
    squared hinge and the squared ε-insensitive loss) have it averaged over a small window, so that solutions exist.
    Where the problem is not locally convex there are several solutions.  A second pass, from small alphas to large
    ones, then replaces up to 15 % of them, where the solution for the next smaller alpha leads to a better one.
    A penalty object such as ``sparsest.core.penalties.MCP(12.0)`` is used as it is: its concavity does not depend on
    the loss, and solutions are local minima.

    Warns
    -----
    ConvergenceWarning
        Once, if alphas did not reach ``tol``; ``converged`` tells which.

    Examples
    --------
    >>> import sparsest
    >>> data = sparsest.datasets.make_toeplitz(n=200, p=50, k=3, snr=5.0, rng=0)
    >>> path = sparsest.penalty_path(data.X, data.y, "mcp")
    >>> model = path.at(path.alpha_of(3))
    >>> model.coef.nonzero()[0].tolist(), data.support.tolist()
    ([2, 12, 15], [2, 12, 15])
    """
    precision = None if tol is None else checked("tol", tol)
    clock = Clock(checked("time_limit", time_limit))
    settings = PathSolver(
        penalty=path_penalty(penalty, l1_ratio, concavity),
        alphas=check_alphas(alphas),
        max_features=optional(whole_number, least=0)(max_features, "max_features"),
        n_features=optional(whole_number, least=0)(n_features, "n_features"),
        max_iter=whole_number(max_iter, "max_iter", least=1),
    )
    with watching(checked("verbose", verbose), checked("callback", callback), "path") as clock.callback:
        data = make_data(
            reporting(X, clock.read), y, loss=loss, epsilon=epsilon, delta=delta, theta=theta,
            fit_intercept=fit_intercept, standardize=standardize, sample_weight=sample_weight, offset=offset,
            exposure=exposure,
        )  # fmt: skip
        rules = make_rules(
            data.p,
            column_names(X),
            penalty_factor=penalty_factor,
            lower=lower,
            upper=upper,
            positive=positive,
            feature_groups=feature_groups,
        )
        precision = precision or default_tol(data.design.shape, settings.penalty.convex)
        settings = replace(settings, tol=precision)
        path = settings.solve(data, rules, clock)
    warn_unconverged(path, settings)
    reading = unstandardized(data.design).reading
    return replace(
        path,
        loss=data.stated_loss,
        feature_names=feature_names(X),
        classes=data.classes,
        fit_intercept=data.fit_intercept,
        reading=None if reading is None else reading.summary(),
    )


def check_alphas(alphas: Any) -> Array | int:
    """The number of alphas, or, if they were given, the alphas in decreasing order."""
    array = as_array(alphas, "alphas")
    if array.ndim == 0:
        return whole_number(alphas, "alphas", least=1, most=_MOST_ALPHAS, or_else="an array of alphas")
    given = as_numbers(array, "alphas")
    if given.ndim != 1 or given.size == 0 or not np.isfinite(given).all() or not (given > 0.0).all():
        raise ValueError("alphas must be a whole number or a one-dimensional array of finite numbers > 0")
    return np.sort(given)[::-1]


def warn_unconverged(path: PathResult, settings: PathSolver) -> None:
    """Warn once if alphas did not converge: how many, how far they are from ``tol``, and what to do."""
    failed = path.solved & ~path.converged
    if not failed.any():
        return
    measure, reached = "violation", path.kkt_violations
    if path.dual_gaps is not None:
        measure, reached = "duality gap", path.dual_gaps
    advice = "raise tol or leave out the smallest alphas: rounding, or classes without overlap, allow no more"
    if (path.n_iter[failed] >= settings.max_iter).any():
        advice = f"raise max_iter={settings.max_iter} or tol, or leave out the smallest alphas"
    warnings.warn(
        f"{failed.sum()} of {path.alphas.size} alphas did not converge: the {measure} is up to "
        f"{reached[failed].max():.1e}, above tol={settings.tol:g}; {advice}",
        convergence_warning(),
        stacklevel=3,
    )
