"""Standard errors, tests and intervals against statsmodels on the same columns."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from scipy import optimize

from samples import responses_of
from sparsest import BestSubsetClassifier, Result, best_subset
from sparsest.core.losses import LOSSES, make_loss
from sparsest.results.inference import COVARIANCES, SAME_ROWS, infer

N, P, K = 150, 8, 3
TOLERANCE = 1e-6
FAMILIES = {
    "logistic": lambda: sm.families.Binomial(),
    "poisson": lambda: sm.families.Poisson(),
    "negative_binomial": lambda: sm.families.NegativeBinomial(alpha=1.0 / 2.5),
    "gamma": lambda: sm.families.Gamma(sm.families.links.Log()),
    "tweedie": lambda: sm.families.Tweedie(sm.families.links.Log(), var_power=1.5),
}
PARAMETERS = {"negative_binomial": {"theta": 2.5}}
SANDWICHED = ("huber", "squared_epsilon_insensitive", "squared_hinge")


def data(loss, seed=0):
    """Columns in different units, one far from zero, and a response that the first of them determine in part."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P)) * np.logspace(-2, 3, P) + np.where(np.arange(P) == 1, 50.0, 0.0)
    u = 0.6 * ((X - X.mean(axis=0)) / X.std(axis=0))[:, :K].sum(axis=1)
    if LOSSES[loss].log_link:
        return X, responses_of(loss, u, rng)
    y = u + rng.logistic(size=N)
    return X, np.where(y > 0, "yes", "no") if LOSSES[loss].classification else y


def fitted(loss, **settings):
    X, y = data(loss)
    return best_subset(X, y, K, loss=loss, **PARAMETERS.get(loss, {}), **settings), X, y


def peer(loss, X, y, support, *, weights=None, kind="var_weights", offset=None, cov_type="nonrobust", constant=True):
    """The model of statsmodels."""
    Z = np.column_stack([X[:, support], np.ones(len(y))]) if constant else X[:, support]
    if loss == "squared":
        target = y if offset is None else y - offset
        model = sm.OLS(target, Z) if weights is None else sm.WLS(target, Z, weights=weights)
        return model.fit(cov_type=cov_type)
    target = (y == "yes").astype(float) if loss == "logistic" else y
    more = {} if weights is None else {kind: weights}
    return sm.GLM(target, Z, family=FAMILIES[loss](), offset=offset, **more).fit(cov_type=cov_type, tol=1e-13)


def agrees(found, expected):
    """All numbers are those of statsmodels."""
    np.testing.assert_allclose(found.coef, expected.params, rtol=TOLERANCE)
    np.testing.assert_allclose(found.standard_error, expected.bse, rtol=TOLERANCE)
    np.testing.assert_allclose(found.statistic, expected.tvalues, rtol=TOLERANCE)
    np.testing.assert_allclose(found.p_value, expected.pvalues, rtol=TOLERANCE, atol=1e-12)
    np.testing.assert_allclose(np.column_stack([found.lower, found.upper]), expected.conf_int(), rtol=10 * TOLERANCE)
    np.testing.assert_allclose(found.covariance, expected.cov_params(), rtol=10 * TOLERANCE, atol=1e-12)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["squared", *FAMILIES])
def test_it_equals_statsmodels(loss, weighted, fit_intercept):
    rng = np.random.default_rng(1)
    weights = rng.uniform(0.5, 2.0, N) if weighted else None
    offset = 0.1 * rng.standard_normal(N) if weighted else None
    result, X, y = fitted(loss, sample_weight=weights, offset=offset, fit_intercept=fit_intercept)
    found = result.inference(X, y, sample_weight=weights, offset=offset)
    expected = peer(loss, X, y, result.support, weights=weights, offset=offset, constant=fit_intercept)
    agrees(found, expected)
    assert found.distribution == ("t" if loss == "squared" else "z") and found.same_rows
    assert found.degrees_of_freedom == expected.df_resid
    np.testing.assert_allclose(found.dispersion, expected.scale, rtol=TOLERANCE)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cov_type", COVARIANCES[1:])
def test_robust_errors_of_least_squares(cov_type, weighted):
    weights = np.random.default_rng(2).uniform(0.5, 2.0, N) if weighted else None
    result, X, y = fitted("squared", sample_weight=weights)
    found = result.inference(X, y, sample_weight=weights, cov_type=cov_type)
    agrees(found, peer("squared", X, y, result.support, weights=weights, cov_type=cov_type))
    assert found.distribution == "z"


@pytest.mark.parametrize("cov_type", COVARIANCES[1:])
@pytest.mark.parametrize("loss", FAMILIES)
def test_robust_errors_of_generalised_linear_models(loss, cov_type):
    """statsmodels has HC0 of these; the others are computed here from its scores, Hessians and leverages."""
    result, X, y = fitted(loss)
    found = result.inference(X, y, cov_type=cov_type)
    expected = peer(loss, X, y, result.support, cov_type="HC0")
    model, params = expected.model, expected.params
    score, bread = model.score_obs(params), np.linalg.inv(model.hessian(params))
    h = expected.get_hat_matrix_diag(observed=True)
    powers = {"HC0": 0, "HC1": 0, "HC2": 1, "HC3": 2}
    meat = (score / (1.0 - h)[:, None] ** powers[cov_type]).T @ score
    factor = N / (N - K - 1) if cov_type == "HC1" else 1.0
    np.testing.assert_allclose(found.covariance, factor * bread @ meat @ bread, rtol=1e-5, atol=1e-12)
    if cov_type == "HC0":
        agrees(found, expected)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "squared"])
def test_frequencies_are_repeated_rows(loss):
    result, X, y = fitted(loss)
    times = np.random.default_rng(3).integers(1, 4, N)
    rows = np.repeat(np.arange(N), times)
    for cov_type in COVARIANCES:
        found = result.inference(X, y, sample_weight=times, weights="frequency", cov_type=cov_type)
        whole = result.inference(X[rows], y[rows], cov_type=cov_type)
        np.testing.assert_allclose(found.standard_error, whole.standard_error, rtol=1e-8)
        np.testing.assert_allclose(found.p_value, whole.p_value, rtol=1e-6, atol=1e-14)
    assert not found.same_rows


def test_exposure_is_that_of_statsmodels():
    X, y = data("poisson")
    exposure = np.random.default_rng(4).uniform(0.5, 3.0, N)
    result = best_subset(X, y, K, loss="poisson", exposure=exposure)
    found = result.inference(X, y, exposure=exposure)
    agrees(found, peer("poisson", X, y, result.support, offset=np.log(exposure)))


@pytest.mark.parametrize("loss", SANDWICHED)
def test_other_smooth_losses_have_the_sandwich(loss):
    """Against a minimisation, and derivatives, that know nothing of it."""
    result, X, y = fitted(loss)
    found = result.inference(X, y)
    chosen = X[:, result.support]
    scale = chosen.std(axis=0)
    Z = np.column_stack([(chosen - chosen.mean(axis=0)) / scale, np.ones(N)])
    target = np.where(y == "yes", 1.0, -1.0) if loss == "squared_hinge" else y
    written = {
        "huber": lambda r: np.where(np.abs(r) <= 1.35, 0.5 * r**2, 1.35 * np.abs(r) - 0.5 * 1.35**2),
        "squared_epsilon_insensitive": lambda r: 0.5 * np.maximum(np.abs(r) - 0.1, 0.0) ** 2,
        "squared_hinge": lambda r: 0.5 * np.maximum(1.0 - r, 0.0) ** 2,
    }[loss]

    def losses(t):
        u = Z @ t
        return written(target * u if loss == "squared_hinge" else target - u)

    best = optimize.minimize(lambda t: losses(t).sum(), np.zeros(K + 1), method="BFGS", options={"gtol": 1e-9})
    step = 1e-6
    score = np.column_stack([(losses(best.x + e) - losses(best.x - e)) / (2 * step) for e in step * np.eye(K + 1)])
    slope = np.abs(score[:, -1])
    curved = slope < 1.35 - 1e-6 if loss == "huber" else slope > 1e-9
    bread = np.linalg.inv(Z.T @ (curved[:, None] * Z))
    np.testing.assert_allclose(found.coef[:-1] * scale, best.x[:-1], rtol=1e-5, atol=1e-7)
    expected = np.sqrt(np.diag(bread @ (score.T @ score) @ bread))[:-1]
    np.testing.assert_allclose(found.standard_error[:-1] * scale, expected, rtol=1e-4)
    assert found.cov_type == "HC0" and np.isnan(found.dispersion)
    with pytest.raises(ValueError, match=f"{loss} loss has no model of the response's variance: use cov_type 'HC0'"):
        result.inference(X, y, cov_type="nonrobust")


@pytest.mark.parametrize("loss", ["quantile", "hinge", "epsilon_insensitive"])
def test_losses_with_kinks_are_referred_to_the_bootstrap(loss):
    result, X, y = fitted(loss, time_limit=60, method="local")
    with pytest.raises(ValueError, match=r"no curvature.*sparsest\.bootstrap"):
        result.inference(X, y)


def test_the_ridge_is_beside_the_refit():
    result, X, y = fitted("squared", gamma=0.01)
    found = result.inference(X, y)
    np.testing.assert_array_equal(found.model, [*result.coef[result.support], result.intercept])
    deviations = X[:, result.support].std(axis=0)
    np.testing.assert_allclose(found.per_deviation[:-1], found.coef[:-1] * deviations)
    assert (np.abs(found.model[:-1]) < np.abs(found.coef[:-1])).all()


def test_tables_are_sorted_by_effects_per_standard_deviation():
    X, y = data("squared")
    frame = pd.DataFrame(X, columns=[f"a feature with a long name {j}" for j in range(P)])
    found = best_subset(frame, y, K).inference(frame, y)
    table = found.to_frame()
    effects = table["per_deviation"].abs().to_numpy()
    assert (np.diff(effects[:-1]) <= 0).all() and np.isnan(effects[-1]) and table.index[-1] == "(intercept)"
    assert list(table.columns[:3]) == ["per_deviation", "model", "coef"] and len(table) == K + 1
    lines = found.summary().splitlines()
    assert max(map(len, lines)) <= 80 and str(found) == found.summary()
    assert found.note == SAME_ROWS and found.note in " ".join(lines)
    places = [found.summary().index(f"{x:.4g}") for x in table["per_deviation"][:-1]]
    assert places == sorted(places)
    assert "146 degrees of freedom" in lines[0] and "95 % interval" in found.summary()


def test_counts_that_vary_more_than_the_loss_assumes_are_told():
    X, y = data("poisson")
    for target, told in ((y, False), (5.0 * y, True)):
        found = infer(X, target, ["a"] * X.shape[1], loss=make_loss("poisson"))
        expected = sm.GLM(target, sm.add_constant(X), family=sm.families.Poisson()).fit(tol=1e-13)
        assert found.overdispersion == pytest.approx(expected.pearson_chi2 / expected.df_resid, rel=1e-6)
        assert ("as much as the loss assumes" in found.note) is told
        robust = infer(X, target, ["a"] * X.shape[1], loss=make_loss("poisson"), cov_type="HC3")
        assert np.isnan(robust.overdispersion) and robust.note == SAME_ROWS


def test_other_rows_are_told_from_those_of_the_fit():
    result, X, y = fitted("squared")
    rows = np.arange(0, N, 2)
    found = result.inference(X[rows], y[rows], cov_type="HC3", confidence=0.9)
    assert (
        not found.same_rows
        and "chosen on other rows" in " ".join(found.summary().splitlines())
        and "90 % interval" in found.summary()
    )
    assert result.inference(sp.csr_array(X), y).same_rows
    np.testing.assert_allclose(result.inference(sp.csc_array(X), y).p_value, result.inference(X, y).p_value)


def test_a_result_from_a_file_and_one_without_features(tmp_path):
    result, X, y = fitted("logistic")
    result.save(tmp_path / "model.json")
    again = Result.load(tmp_path / "model.json").inference(X, y)
    np.testing.assert_allclose(again.p_value, result.inference(X, y).p_value)
    empty = best_subset(X, y, 0, loss="logistic").inference(X, y)
    agrees(empty, peer("logistic", X, y, []))


def test_a_classifier_has_it_through_its_result():
    X, y = data("logistic")
    model = BestSubsetClassifier(K).fit(X, y)
    agrees(model.result_.inference(X, y), peer("logistic", X, y, model.support_))


def test_the_level_and_the_distribution():
    result, X, y = fitted("gamma")
    narrow, wide = result.inference(X, y, confidence=0.5), result.inference(X, y, confidence=0.99)
    assert (wide.lower < narrow.lower).all() and (wide.upper > narrow.upper).all()
    student = result.inference(X, y, use_t=True)
    assert student.distribution == "t" and (student.p_value >= narrow.p_value).all()
    for settings, words in (
        ({"cov_type": "HC9"}, "unknown cov_type 'HC9'; choose one of nonrobust, HC0"),
        ({"confidence": 1.0}, "confidence must be a number > 0 and < 1"),
        ({"use_t": "yes"}, "use_t must be True or False"),
        ({"weights": "sampling"}, "unknown weights 'sampling'; choose one of precision, frequency"),
    ):
        with pytest.raises(ValueError, match=words):
            result.inference(X, y, **settings)
    with pytest.raises(ValueError, match="X has 2 columns, but the model is for 8"):
        result.inference(X[:, :2], y)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_coverage_of_intervals_for_features_that_were_given(loss):
    """With the features given, 95 % intervals hold their coefficients in 95 % of samples, within three errors."""
    rng, repetitions, inside = np.random.default_rng(5), 400, 0
    truth = np.array([0.5, -0.3])
    for _ in range(repetitions):
        X = rng.standard_normal((120, 2))
        u = X @ truth + 0.2
        y = u + rng.standard_normal(120) if loss == "squared" else rng.uniform(size=120) < 1 / (1 + np.exp(-u))
        found = infer(X, y, ["a", "b"], loss=make_loss(loss))
        inside += int((found.lower[0] <= truth[0]) & (truth[0] <= found.upper[0]))
    error = np.sqrt(0.95 * 0.05 / repetitions)
    assert abs(inside / repetitions - 0.95) <= 3 * error
