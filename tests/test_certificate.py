"""Certificates hold when they should, and every corruption is found."""

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from checks import check_certificate, solve
from oracles import best_of, sample_values
from samples import LOSS_NAMES, sample, sample_weights
from sparsest.certificate import Certificate, certify, describe
from sparsest.problem import ROUNDING, Region, make_problem
from sparsest.proof import Branch, DualPoint, Fix, Leaf, PrimalPoint, check, dual_bound
from sparsest.solvers.dual import best_bound
from sparsest.solvers.support import fit_support
from sparsest.splits import Split, SplitPoint, split_error

N, P, GAMMA = 14, 6, 0.3
losses = pytest.mark.parametrize("loss", LOSS_NAMES)


def indices(*features):
    return np.array(features, dtype=np.intp)


def problem_of(loss="squared", k=2, seed=0, **settings):
    X, y = sample(loss, N, P, seed)
    return make_problem(X, y, k, gamma=GAMMA, loss=loss, **settings)


def certificate_of(problem, points, steps, support=(0, 1)):
    fit = fit_support(problem, indices(*support))
    return certify(problem, fit.support, fit.w, fit.b, points, steps)


def region_point(problem, inside=(), outside=()):
    """A dual point that is good for a region: that of some support in it."""
    region = Region(indices(*inside), indices(*outside))
    budget = problem.sparsity.budget(len(inside), P)
    support = [*inside, *region.free(P)[:budget]]
    fit = fit_support(problem, np.sort(indices(*support)))
    return DualPoint(best_bound(problem, fit.alpha, region).alpha)


# Fresh certificates


@losses
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("form", [{"k": 2}, {"l0_penalty": 0.2}], ids=str)
def test_fresh_certificates_hold_for_every_storage(loss, fit_intercept, standardize, form):
    X, y = sample(loss, 25, P, 1)
    weights = sample_weights(True, 25)
    settings = {"loss": loss, "fit_intercept": fit_intercept, "standardize": standardize, "include": [1]}
    for gamma in (1e-3, 1.0, 1e4):
        result = solve(X, y, **form, gamma=gamma, sample_weight=weights, **settings)
        for other in (np.asfortranarray(X), sp.csc_array(X), sp.csr_array(X)):
            check_certificate(result, other, y, weights)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_perfect_fit_holds_for_every_storage(scale):
    X, _ = sample("squared", 25, P, 2)
    y = scale * (2.0 * X[:, 1] - X[:, 3])
    for gamma in (1e8, np.inf):
        certificate = solve(X, y, 2, gamma=gamma).certificate
        for other in (np.asfortranarray(X), sp.csc_array(X)):
            assert certificate.verify(other, y)


def test_json_round_trip_is_exact():
    X, y = sample("logistic", 25, P, 3)
    certificate = solve(X, y, 2, loss="logistic", gamma=0.1).certificate
    points = (*certificate.points, PrimalPoint(indices(0, 4), np.array([0.1, -1 / 3]), 0.7, 0.01, 0.9))
    steps = (Fix(0, indices(), indices(5)), Branch(2), Leaf(0), Leaf(1))
    certificate = replace(certificate, points=points, steps=steps)
    text = certificate.to_json()
    again = Certificate.from_json(text)
    assert again.to_json() == text
    assert again.description == certificate.description
    assert (again.objective, again.lower_bound) == (certificate.objective, certificate.lower_bound)
    assert np.array_equal(again.coef, certificate.coef) and again.intercept == certificate.intercept
    for first, second in zip((*again.points, *again.steps), (*points, *steps), strict=True):
        assert type(first) is type(second)
        assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_infinite_gamma_survives_json():
    X, y = sample("squared", 25, P, 4)
    certificate = solve(X, y, 2, gamma=np.inf).certificate
    assert Certificate.from_json(certificate.to_json()).description["gamma"] == np.inf


def test_text_is_strict_json():
    """Infinity and NaN are not numbers of JSON, whichever field they are in."""
    X, y = sample("squared", 25, P, 4)
    certificate = solve(X, y, 2, gamma=np.inf).certificate
    odd = replace(certificate, objective=np.nan, lower_bound=-np.inf, intercept=np.inf)
    odd = replace(odd, points=(PrimalPoint(indices(0), np.ones(1), np.inf, np.nan, -np.inf),))
    for one in (certificate, odd):
        text = one.to_json()
        json.loads(text, parse_constant=pytest.fail)
        again = Certificate.from_json(text)
        assert again.to_json() == text and again.description == one.description
        for name in ("objective", "lower_bound", "intercept"):
            assert np.array_equal(getattr(again, name), getattr(one, name), equal_nan=True)


# Corruption


@pytest.fixture(scope="module")
def valid():
    X, y = sample("squared", 25, P, 5)
    return solve(X, y, 2, gamma=0.01).certificate, X, y


def next_up(value, relative):
    return value + relative * abs(value)


CORRUPTIONS = {
    "the bound raised": (lambda c: {"lower_bound": next_up(c.lower_bound, 1e-9)}, "the bound claimed is"),
    "a bound of infinity": (lambda c: {"lower_bound": np.inf}, "the bound claimed is"),
    "a bound that is no number": (lambda c: {"lower_bound": np.nan}, "the bound claimed is"),
    "the objective lowered": (lambda c: {"objective": next_up(c.objective, -1e-8)}, "the objective claimed is"),
    "the objective raised": (lambda c: {"objective": next_up(c.objective, 1e-8)}, "the objective claimed is"),
    "the objective no number": (lambda c: {"objective": np.nan}, "the objective claimed is"),
    "a coefficient": (lambda c: {"coef": 1.01 * c.coef}, "the objective claimed is"),
    "no number as coefficient": (lambda c: {"coef": np.array([0.0, np.nan])}, "the objective claimed is"),
    "too many coefficients": (lambda c: {"coef": np.ones(3)}, "3 coefficients for 2 columns"),
    "the intercept": (lambda c: {"intercept": c.intercept + 0.1}, "the objective claimed is"),
    "another support": (lambda c: {"support": np.sort((c.support + 1) % P)}, "the objective claimed is"),
    "a column twice": (lambda c: {"support": indices(1, 1)}, "not a set of columns"),
    "a column that is not there": (lambda c: {"support": indices(0, P)}, "not a set of columns"),
    "a negative column": (lambda c: {"support": indices(-1, 0)}, "not a set of columns"),
    "a support as a matrix": (lambda c: {"support": c.support[None]}, "not a set of columns"),
    "no steps": (lambda c: {"steps": ()}, "leaves 1 region"),
    "an extra step": (lambda c: {"steps": (*c.steps, Leaf(0))}, "step 1 follows a finished proof"),
    "a missing leaf": (lambda c: {"steps": (Branch(0), Leaf(0))}, "leaves 1 region"),
    "a point that is not there": (lambda c: {"steps": (Leaf(1),)}, "there is no point 1"),
    "a negative point": (lambda c: {"steps": (Leaf(-1),)}, "there is no point -1"),
    "no points": (lambda c: {"points": ()}, "there is no point 0"),
    "a short point": (lambda c: {"points": (DualPoint(np.ones(3)),)}, "3 entries for 25 observations"),
    "a point that is no number": (lambda c: {"points": (DualPoint(np.full(25, np.nan)),)}, "is not finite"),
    "a primal point that is no number": (
        lambda c: {"points": (PrimalPoint(indices(0), np.array([np.nan]), 0.0, 0.0, 1.0),)},
        "is not finite",
    ),
    "an infinite point": (lambda c: {"points": (DualPoint(np.repeat([np.inf, -1.0], [1, 24])),)}, "is not finite"),
    "another point": (lambda c: {"points": (DualPoint(0.9 * c.points[0].values),)}, "the bound claimed is"),
    "a primal point out of range": (
        lambda c: {"points": (PrimalPoint(indices(P), np.ones(1), 0.0, 0.0, 1.0),)},
        "do not fit the columns",
    ),
    "a primal point of two lengths": (
        lambda c: {"points": (PrimalPoint(indices(0, 1), np.ones(1), 0.0, 0.0, 1.0),)},
        "do not fit the columns",
    ),
    "a smaller k": (lambda c: {"description": {**c.description, "k": 1}}, "has 2 features, more than k = 1"),
    "another gamma": (lambda c: {"description": {**c.description, "gamma": 1.0}}, "the objective claimed is"),
    "another loss": (
        lambda c: {"description": {**c.description, "loss": "epsilon_insensitive"}},
        "the objective claimed is",
    ),
    "an unknown loss": (lambda c: {"description": {**c.description, "loss": "cubic"}}, "unknown loss"),
    "a loss of another type": (lambda c: {"description": {**c.description, "loss": ["squared"]}}, "do not fit"),
    "a price too": (lambda c: {"description": {**c.description, "l0_penalty": 1.0}}, "exactly one of k"),
    "no intercept": (
        lambda c: {"description": {**c.description, "fit_intercept": False}},
        "has an intercept where none",
    ),
    "an included feature": (
        lambda c: {"description": {**c.description, "include": np.setdiff1d(range(P), c.support)[:1].tolist()}},
        "does not respect include and exclude",
    ),
    "an excluded feature": (
        lambda c: {"description": {**c.description, "exclude": c.support[:1].tolist()}},
        "does not respect include and exclude",
    ),
    "another n": (lambda c: {"description": {**c.description, "n": 24}}, r"is for data of shape \(24, 6\)"),
}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_corruption_is_found(valid, name):
    certificate, X, y = valid
    change, message = CORRUPTIONS[name]
    corrupt = replace(certificate, **change(certificate))
    verdict = corrupt.verify(X, y)
    assert certificate.verify(X, y) and not verdict
    with pytest.raises(AssertionError, match=message):
        raise AssertionError("; ".join(verdict.reasons))


def test_weaker_claims_hold(valid):
    certificate, X, y = valid
    for bound in (certificate.lower_bound - 1.0, 0.0, -np.inf):
        verdict = replace(certificate, lower_bound=bound).verify(X, y)
        assert verdict and verdict.lower_bound == bound
        assert verdict.gap == pytest.approx((verdict.objective - bound) / verdict.objective)


def test_other_data_are_noticed(valid):
    certificate, X, y = valid
    altered = X.copy()
    altered[3, certificate.support[0]] += 0.1
    for other_X, other_y in ((X, y + 0.01), (X, y[::-1]), (altered, y), (X[:, ::-1], y)):
        assert not certificate.verify(other_X, other_y)
    for other_X, other_y, reason in (
        (X[:-1], y[:-1], "is for data of shape"),
        (np.hstack([X, X]), y, "is for data of shape"),
        (X, y[:-1], "do not fit the certificate"),
        (np.full_like(X, np.nan), y, "do not fit the certificate"),
    ):
        verdict = certificate.verify(other_X, other_y)
        assert not verdict and reason in verdict.reasons[0]
        assert verdict.lower_bound == -np.inf and np.isnan(verdict.objective)


def test_weights_are_part_of_the_data():
    X, y = sample("squared", 25, P, 6)
    weights = sample_weights(True, 25)
    certificate = solve(X, y, 2, gamma=0.1, sample_weight=weights).certificate
    assert certificate.verify(X, y, weights) and not certificate.verify(X, y)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "garbage",
        "[]",
        "null",
        "{}",
        '{"format": "sparsest certificate", "version": 3}',
        '{"format": "something else", "version": 2}',
    ],
)
def test_unreadable_text(text):
    with pytest.raises(ValueError, match="this is not a readable certificate"):
        Certificate.from_json(text)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.pop("incumbent"),
        lambda data: data["problem"].pop("gamma"),
        lambda data: data["problem"].update(extra=1),
        lambda data: data["incumbent"].update(coef="not base64!"),
        lambda data: data["incumbent"].update(coef="AAAA"),
        lambda data: data["incumbent"].update(objective="high"),
        lambda data: data.update(steps=[["jump", 0]]),
        lambda data: data.update(steps=[[]]),
        lambda data: data.update(points=[["dual"]]),
        lambda data: data.update(points=[["other", "", "", 0.0, 0.0, 1.0]]),
        lambda data: data.update(points=3),
    ],
)
def test_damaged_text(valid, change):
    data = json.loads(valid[0].to_json())
    change(data)
    with pytest.raises(ValueError, match="this is not a readable certificate"):
        Certificate.from_json(json.dumps(data))


# Proofs by branching and fixing


@pytest.fixture(scope="module")
def proof():
    """A problem, and points and steps that prove a bound: feature 0 in; out with 1 fixed in and 5 fixed out."""
    problem = problem_of(seed=1)
    regions = [((0,), ()), ((), (0,)), ((1,), (0, 5))]
    points = [region_point(problem, *region) for region in regions]
    return problem, points, (Branch(0), Leaf(0), Fix(1, indices(1), indices(5)), Leaf(2))


def test_hand_built_proof(proof):
    """Its bound is the smallest over the two leaves and the two sides that the fix closes."""
    problem, points, steps = proof
    certificate = certificate_of(problem, points, steps)
    alphas = [point.alpha(problem) for point in points]
    closed = [
        (alphas[0], Region(indices(0), indices())),
        (alphas[1], Region(indices(), indices(0, 1))),
        (alphas[1], Region(indices(5), indices(0))),
        (alphas[2], Region(indices(1), indices(0, 5))),
    ]
    expected = min(dual_bound(problem, alpha, region)[0] for alpha, region in closed)
    assert certificate.lower_bound == pytest.approx(expected, rel=1e-11)
    X, y = sample("squared", N, P, 1)
    assert certificate.verify(X, y)
    assert Certificate.from_json(certificate.to_json()).verify(X, y)


def test_a_fix_that_closes_too_little_lowers_the_bound(proof):
    """Fixing everything by α = 0 leaves nothing open but proves only that losses are not negative."""
    problem, points, steps = proof
    honest = certificate_of(problem, points, steps)
    zero = DualPoint(np.zeros(N))
    cheap = (Branch(0), Leaf(0), Fix(3, indices(1), indices(5)), Leaf(2))
    certificate = certificate_of(problem, [*points, zero], cheap)
    assert certificate.lower_bound <= 0.0 < honest.lower_bound
    X, y = sample("squared", N, P, 1)
    boast = replace(certificate, lower_bound=honest.lower_bound).verify(X, y)
    assert not boast and "the bound claimed is" in boast.reasons[0]


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ((Branch(0), Leaf(0)), "leaves 1 region"),
        ((Branch(0), Branch(1), Leaf(0)), "leaves 2 region"),
        ((Branch(0), Leaf(0), Fix(1, indices(1), indices(5))), "leaves 1 region"),
        ((Branch(0), Leaf(0), Leaf(1), Leaf(2)), "step 3 follows a finished proof"),
        ((Branch(0), Branch(0), Leaf(0), Leaf(0), Leaf(1)), "branches on feature 0, which is not free"),
        ((Branch(P), Leaf(0), Leaf(1)), "branches on feature 6, which is not free"),
        ((Branch(-1), Leaf(0), Leaf(1)), "branches on feature -1, which is not free"),
        ((Branch(0), Leaf(0), Fix(1, indices(0), indices()), Leaf(2)), "fixed that is not free"),
        ((Branch(0), Leaf(0), Fix(1, indices(), indices(0)), Leaf(2)), "fixed that is not free"),
        ((Fix(1, indices(2), indices(2)), Leaf(2)), "fixed that is not free"),
        ((Fix(1, indices(P), indices()), Leaf(2)), "fixed that is not free"),
        (
            (Fix(1, indices(3), indices()), Fix(1, indices(), indices(3)), Leaf(2)),
            "fixed that is not free",
        ),
        ((Fix(7, indices(1), indices()), Leaf(2)), "there is no point 7"),
    ],
    ids=str,
)
def test_steps_that_prove_nothing(proof, steps, message):
    problem, points, good = proof
    with pytest.raises(ValueError, match=message):
        certificate_of(problem, points, steps)
    X, y = sample("squared", N, P, 1)
    verdict = replace(certificate_of(problem, points, good), steps=steps).verify(X, y)
    assert not verdict and verdict.lower_bound == -np.inf
    assert any(message in reason for reason in verdict.reasons)


def test_features_forced_by_the_problem_are_not_free():
    problem = problem_of(include=[0], exclude=[5])
    point = region_point(problem, (0,), (5,))
    for feature in (0, 5):
        with pytest.raises(ValueError, match="not free"):
            certificate_of(problem, [point], (Branch(feature), Leaf(0), Leaf(0)))
    assert certificate_of(problem, [point], (Branch(1), Leaf(0), Leaf(0))).lower_bound > 0


def test_an_infinite_gain_closes_nothing():
    """Without a ridge a point that is not orthogonal to the features proves nothing, in a leaf or in a fix."""
    X, y = sample("squared", N, P, 2)
    problem = make_problem(X, y, 2)
    point = DualPoint(fit_support(problem, indices(0)).alpha)
    for steps in ((Leaf(0),), (Fix(0, indices(1), indices(2, 3)), Leaf(0))):
        assert certificate_of(problem, [point], steps).lower_bound == -np.inf


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_an_overflow_proves_nothing(fit_intercept):
    problem = problem_of(fit_intercept=fit_intercept)
    signs = np.where(np.arange(N) % 2, 1.0, -1.0)
    split = Split(np.arange(P), np.full(P, problem.ridge))
    huge = [DualPoint(1e200 * signs), DualPoint(1e308 * signs), SplitPoint(np.arange(P), 1e307 * signs[:P], 0)]
    for point in huge:
        bound, _ = check(problem, [point], [Leaf(0)], [split])
        assert bound == -np.inf


@pytest.mark.parametrize("size", [1.0, 1e-6, 1e-9])
def test_a_split_spares_nothing_more_for_small_columns(size):
    """More than a small column's own square proves a bound above the optimum, however small that is."""
    X, y = sample("squared", N, 2, 3)
    X[:, 1] *= size
    problem = make_problem(X, y, 1, fit_intercept=False)
    squares = (X**2).sum(axis=0)
    point = SplitPoint(np.arange(0), np.empty(0), 0)
    optimum = min(fit_support(problem, indices(j)).primal for j in range(2))
    for factor in (1.01, 5.0):
        bound, complaints = check(problem, [point], [Leaf(0)], [Split(np.arange(2), [0.5, factor] * squares)])
        assert bound == -np.inf and "leaves an eigenvalue of -" in complaints[0]
    spare = 1.0 - abs(X[:, 0] @ X[:, 1]) / np.sqrt(squares.prod())
    bound, complaints = check(problem, [point], [Leaf(0)], [Split(np.arange(2), spare * squares)])
    assert not complaints and 0.0 < bound <= optimum


def test_what_rounding_may_hide_goes_back_to_the_quadratic():
    """A split of all that can be spared, to the last digit, proves no more than one that is a little smaller."""
    problem = problem_of()
    X = problem.design.columns(np.arange(P))
    M = X.T @ X + problem.ridge * np.eye(P)
    delta = np.full(P, np.linalg.eigvalsh(M)[0])
    point = SplitPoint(np.arange(P), np.linspace(-0.2, 0.2, P), 0)
    exact, smaller = (Split(np.arange(P), factor * delta) for factor in (1.0, 1.0 - 1e-9))
    assert 0.0 < split_error(problem, exact) < 1e-11
    (at_exact, _), (at_smaller, _) = (check(problem, [point], [Leaf(0)], [split]) for split in (exact, smaller))
    assert at_exact == pytest.approx(at_smaller, rel=1e-7)
    bound, complaints = check(problem, [point], [Leaf(0)], [Split(np.arange(P), (1.0 + 1e-10) * delta)])
    assert bound == -np.inf and "rounding explains" in complaints[0]


def random_proof(rng, problem, points, region, steps):
    """Append the steps of a random proof of a region."""
    free = region.free(P)
    kind = rng.choice(["leaf", "branch", "fix"]) if free.size else "leaf"
    if kind == "leaf":
        steps.append(Leaf(int(rng.integers(len(points)))))
    elif kind == "branch":
        j = int(rng.choice(free))
        steps.append(Branch(j))
        random_proof(rng, problem, points, Region(np.append(region.forced_in, j), region.forced_out), steps)
        random_proof(rng, problem, points, Region(region.forced_in, np.append(region.forced_out, j)), steps)
    else:
        chosen = rng.permutation(free)[: rng.integers(1, free.size + 1)]
        cut = rng.integers(chosen.size + 1)
        inside, outside = chosen[:cut], chosen[cut:]
        steps.append(Fix(int(rng.integers(len(points))), inside, outside))
        after = Region(np.append(region.forced_in, inside), np.append(region.forced_out, outside))
        random_proof(rng, problem, points, after, steps)
    return steps


@losses
@pytest.mark.parametrize("form", [{"k": 2}, {"k": 4}, {"l0_penalty": 0.3}], ids=str)
def test_no_random_proof_exceeds_the_optimum(loss, form):
    rng = np.random.default_rng(7)
    X, y = sample(loss, N, P, 1)
    optimum, support = best_of(sample_values(loss, N, P, 1, GAMMA, True, False), **form)
    problem = make_problem(X, y, **form, gamma=GAMMA, loss=loss)
    supports = (support, (0,), (1, 2), (3, 4, 5), tuple(range(P)))
    points = [DualPoint(fit_support(problem, indices(*s)).alpha) for s in supports]
    bounds = []
    for _ in range(60):
        steps = random_proof(rng, problem, points, problem.root, [])
        certificate = certificate_of(problem, points, steps, support)
        assert certificate.verify(X, y)
        bounds.append(certificate.lower_bound)
    assert max(bounds) <= optimum * (1.0 + 1e-9)
    assert max(bounds) > 0.5 * optimum


# Points


@losses
@pytest.mark.parametrize("mu", [0.0, 0.3])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_primal_point(loss, mu, fit_intercept):
    X, y = sample(loss, N, P, 3)
    weights = sample_weights(True, N)
    problem = make_problem(X, y, 2, gamma=GAMMA, loss=loss, fit_intercept=fit_intercept, sample_weight=weights)
    w, b = np.array([0.4, -0.2]), 0.1 if fit_intercept else 0.0
    centred = X - np.average(X, axis=0, weights=weights) if fit_intercept else X
    u = centred[:, [1, 4]] @ w + b
    smooth = problem.loss.smoothed(mu) if mu else problem.loss
    by_hand = problem.feasible(0.8 * weights * smooth.derivative(y, u))
    point = PrimalPoint(indices(1, 4), w, b, mu, 0.8)
    np.testing.assert_allclose(point.alpha(problem), by_hand, rtol=1e-12, atol=1e-14)
    certificate = certificate_of(problem, [point], (Leaf(0),))
    assert certificate.verify(X, y, weights)
    assert certificate.lower_bound == dual_bound(problem, point.alpha(problem), problem.root)[0]


def test_bounds_are_lowered_by_the_rounding_margin():
    problem = problem_of()
    alpha = problem.feasible(-0.3 * problem.y)
    q = problem.gains(alpha)
    exact = -problem.conjugate_sum(alpha) - np.sort(q)[-2:].sum()
    bound, _ = dual_bound(problem, alpha, problem.root)
    assert 0.0 < exact - bound <= 10 * ROUNDING * (abs(problem.conjugate_sum(alpha)) + q.sum())


def test_description_has_all_of_the_problem_but_its_data():
    problem = problem_of(loss="epsilon_insensitive", epsilon=0.4, include=[1], exclude=[2], standardize=True)
    assert describe(problem) == {
        "n": N,
        "p": P,
        "loss": "epsilon_insensitive",
        "epsilon": 0.4,
        "gamma": GAMMA,
        "k": 2,
        "l0_penalty": None,
        "include": [1],
        "exclude": [2],
        "fit_intercept": True,
        "standardize": True,
    }
