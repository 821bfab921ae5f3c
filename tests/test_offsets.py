"""Offsets and exposures: from the data to the certificate, for every kind of loss."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from checks import best_subset, check_certificate
from oracles import _cvxpy_losses, best_of, loss_value, precise, support_values
from samples import LOSS_NAMES, SMOOTH_NAMES, sample, sample_weights
from sparsest import near_optimal, penalty_path
from sparsest.core.losses import LOSSES
from sparsest.core.problem import make_problem
from sparsest.results.result import Result
from sparsest.runtime.events import Status
from sparsest.subset.api import METHODS
from sparsest.subset.fits.support import fit_support

N, P, GAMMA = 16, 5, 0.3
losses = pytest.mark.parametrize("loss", LOSS_NAMES)
with_exposure = [name for name in LOSS_NAMES if LOSSES[name].log_link]


def added_to(loss, seed=0, n=N):
    """An offset, and for a logarithmic link an exposure too."""
    rng = np.random.default_rng(seed)
    added = {"offset": rng.standard_normal(n)}
    return {**added, "exposure": rng.uniform(0.2, 4.0, n)} if LOSSES[loss].log_link else added


def total(added):
    return added["offset"] + np.log(added.get("exposure", 1.0))


@losses
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_conic_solver_agrees(loss, fit_intercept):
    X, y = sample(loss, N, 3)
    added, weights = added_to(loss), sample_weights(True, N)
    settings = {"loss": loss, "gamma": GAMMA, "fit_intercept": fit_intercept, "sample_weight": weights}
    fit = fit_support(make_problem(X, y, 3, **settings, **added), np.arange(3))
    w, b = cp.Variable(3), cp.Variable()
    u = X @ w + (b if fit_intercept else 0.0 * b) + total(added)
    precise(weights @ _cvxpy_losses(loss, y, u) + 0.5 / GAMMA * cp.sum_squares(w), [] if fit_intercept else [b == 0.0])
    value = weights @ loss_value(loss, y, u.value) + 0.5 / GAMMA * w.value @ w.value
    assert fit.primal == pytest.approx(value, rel=1e-6)
    assert 0.0 <= fit.primal - fit.dual <= 1e-8 * fit.primal


@losses
@pytest.mark.parametrize("method", METHODS)
def test_every_method_knows_them(loss, method):
    """Against all supports; the certificate holds for these data only, also in exact arithmetic."""
    X, y = sample(loss, N, P, 1)
    added, weights = added_to(loss, 1), sample_weights(True, N)
    settings = {"loss": loss, "gamma": GAMMA, "sample_weight": weights, **added}
    values = support_values(make_problem(X, y, P, **settings))
    for form in ({"k": 2, "include": (4,)}, {"l0_penalty": 0.3}):
        optimum, _ = best_of(values, **form)
        result = best_subset(X, y, method=method, **form, **settings)
        assert optimum * (1.0 - 1e-8) <= result.objective
        assert result.lower_bound <= optimum * (1.0 + 1e-8)
        assert method != "tree" or (result.status is Status.OPTIMAL and result.objective <= optimum * (1.0 + 1.1e-4))
    check_certificate(result, X, y, weights, **added)
    certificate = result.certificate
    assert certificate.verify(X, y, weights, **added, exact=True)
    for name, given in added.items():
        # A change in the last digit may leave the difference of response and offset as it is.
        changed = {**added, name: given * (1.0 + 1e-14 * (np.arange(N) == 3))}
        assert any("fingerprint" in reason for reason in certificate.verify(X, y, weights, **changed).reasons)
        missing = {key: value for key, value in added.items() if key != name}
        assert f"the certificate is for data with {name}" in certificate.verify(X, y, weights, **missing).reasons
    plain = best_subset(X, y, 2, loss=loss, gamma=GAMMA, method="local")
    assert "the certificate is for data without offset" in plain.certificate.verify(X, y, offset=total(added)).reasons


def test_another_exposure_in_the_place_of_an_offset_is_refused():
    """The same numbers mean another problem there."""
    X, y = sample("poisson", N, P)
    numbers = np.random.default_rng(0).uniform(0.2, 4.0, N)
    certificate = best_subset(X, y, 2, loss="poisson", gamma=GAMMA, offset=numbers).certificate
    assert certificate.verify(X, y, offset=numbers) and not certificate.verify(X, y, exposure=numbers)
    forged = replace(certificate, statement=replace(certificate.statement, offset=False, exposure=True))
    assert not forged.verify(X, y, exposure=numbers)


def test_exposures_are_weights_of_rates():
    """``E ℓ(y/E, u) = ℓ(y, u + log E)`` for Poisson's loss."""
    X, y = sample("poisson", 40, P)
    exposure = np.random.default_rng(0).uniform(0.2, 4.0, 40)
    common = {"loss": "poisson", "gamma": GAMMA, "gap_tol": 1e-6}
    counts = best_subset(X, y, 2, exposure=exposure, **common)
    rates = best_subset(X, y / exposure, 2, sample_weight=exposure, **common)
    assert np.array_equal(counts.support, rates.support)
    assert counts.objective == pytest.approx(rates.objective, rel=1e-8)
    np.testing.assert_allclose(counts.predict(X), rates.predict(X), rtol=1e-4)
    np.testing.assert_allclose(counts.predict(X, exposure=exposure), exposure * counts.predict(X), rtol=1e-12)
    grid = {"alphas": 20, "standardize": False, "tol": 1e-8}
    path = penalty_path(X, y, loss="poisson", exposure=exposure, **grid)
    other = penalty_path(X, y / exposure, loss="poisson", sample_weight=exposure, **grid)
    scale = exposure.mean()
    again = penalty_path(
        X, y / exposure, loss="poisson", sample_weight=exposure, **{**grid, "alphas": path.alphas / scale}
    )
    assert path.alphas[0] == pytest.approx(scale * other.alphas[0], rel=1e-9)
    np.testing.assert_allclose(path.coefs.toarray(), again.coefs.toarray(), atol=1e-4)


def test_scaled_costs_are_an_offset():
    """``ℓ(ye^{-o}, u) = ℓ(y, u + o)`` for the loss of gamma regression."""
    X, y = sample("gamma", 40, P)
    offset = np.random.default_rng(0).standard_normal(40)
    moved = best_subset(X, y, 2, loss="gamma", gamma=GAMMA, offset=offset)
    scaled = best_subset(X, y * np.exp(-offset), 2, loss="gamma", gamma=GAMMA)
    assert np.array_equal(moved.support, scaled.support)
    assert moved.objective == pytest.approx(scaled.objective, rel=1e-9)


@pytest.mark.parametrize("loss", SMOOTH_NAMES)
def test_paths(loss):
    """The conditions of optimality hold with the offset, and the gap is computed with it."""
    X, y = sample(loss, 40, 8, 2)
    added = added_to(loss, 2, 40)
    path = penalty_path(X, y, loss=loss, alphas=10, standardize=False, tol=1e-9, **added)
    assert path.converged.all()
    for i, alpha in enumerate(path.alphas):
        u = path.decision_function(X, alpha, **added)
        coef = path.coefs[:, [i]].toarray()[:, 0]
        np.testing.assert_allclose(u, X @ coef + path.intercepts[i] + total(added), rtol=1e-12)
        gradient = X.T @ LOSSES[loss]().derivative(y, u) / 40
        used = coef != 0
        assert (np.abs(gradient) <= alpha * (1.0 + 1e-3)).all()
        np.testing.assert_allclose(gradient[used], -alpha * np.sign(coef[used]), atol=1e-3 * alpha)


def test_a_result_asks_for_them_again(tmp_path):
    X, y = sample("poisson", 30, P)
    added = added_to("poisson", 0, 30)
    result = best_subset(X, y, 2, loss="poisson", gamma=GAMMA, **added)
    found = near_optimal(result, X, y, within=0.05, **added)
    assert found.complete and found.supports[0].tolist() == result.support.tolist()
    with pytest.raises(ValueError, match="offset or exposure are not those of the result"):
        near_optimal(result, X, y)
    result.save(tmp_path / "model.zip")
    loaded = Result.load(tmp_path / "model.zip")
    assert np.array_equal(loaded.predict(X, **added), result.predict(X, **added))
    assert "poisson loss with offset and exposure" in " ".join(loaded.summary().split())


def test_rows_of_weight_zero_do_not_count():
    X, y = sample("poisson", N, P)
    added, keep = added_to("poisson"), np.arange(N) % 4 != 0
    weighted = best_subset(X, y, 2, loss="poisson", gamma=GAMMA, sample_weight=keep.astype(float), **added)
    fewer = {name: given[keep] for name, given in added.items()}
    alone = best_subset(X[keep], y[keep], 2, loss="poisson", gamma=GAMMA, **fewer)
    assert weighted.objective == pytest.approx(alone.objective, rel=1e-9)
    assert weighted.certificate.verify(X, y, keep.astype(float), **added)
