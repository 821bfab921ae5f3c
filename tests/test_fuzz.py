"""A few hundred instances of the fuzz, and the tests of its oracle."""

from __future__ import annotations

import os
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import fuzz
from fuzz_box import BoxOracle
from fuzz_instances import make_instance
from fuzz_losses import CLASSIFICATION, LOGARITHMIC, REGRESSION, Pieces
from fuzz_oracle import Basis, Oracle, Question, objective_of
from fuzz_squares import Elimination
from sparsest.runtime.events import Status

CHUNKS, CHUNK = 6, 50
# More seconds than any machine needs for an instance with a limit of five, even under load.
PATIENCE = 600.0
LOSSES = [*REGRESSION, *CLASSIFICATION]
# Parameters of losses where they are not given, as the conic solver has them.
DEFAULTS = {"huber": 1.35, "quantile": 0.5, "negative_binomial": 1.0}
# The losses, with their shares, among which an instance was found that took all digits of an earlier oracle.
FIRST = (("squared", "epsilon_insensitive", "squared_epsilon_insensitive", *CLASSIFICATION), [0.4, *5 * [0.12]])
RIDGES = [1e-3, 1.0, 1e8, float("inf")]


def question_of(loss="squared", gamma=1.0, seed=0, n=14, p=5, **settings):
    rng = np.random.default_rng([seed, n, p])
    X = rng.standard_normal((n, p)) + rng.standard_normal(p)
    y = X[:, 0] + rng.standard_normal(n)
    y = np.where(y > np.median(y), 1.0, -1.0) if loss in CLASSIFICATION else y + 2.0
    if loss in LOGARITHMIC:
        y = np.exp(0.5 * y) if loss == "gamma" else np.floor(np.exp(0.5 * y))
    settings = {"k": 2, "parameter": DEFAULTS.get(loss, 0.1)} | settings
    return Question(X, y, rng.uniform(0.5, 2.0, n), loss, gamma, **settings)


def rational_value(question, support):
    """``c(S)`` with the squared loss by elimination in fractions, written without any trick."""
    X = [[Fraction(float(entry)) for entry in row] for row in question.X[:, list(support)]]
    y, omega = ([Fraction(float(entry)) for entry in values] for values in (question.y, question.weights))
    total, m = sum(omega), len(support)
    if question.fit_intercept:
        means = [sum(w * row[j] for w, row in zip(omega, X, strict=True)) / total for j in range(m)]
        X = [[entry - mean for entry, mean in zip(row, means, strict=True)] for row in X]
        centre = sum(w * entry for w, entry in zip(omega, y, strict=True)) / total
        y = [entry - centre for entry in y]
    columns = [*zip(*X, strict=True), y] if m else [y]
    A = [[sum(w * a * b for w, a, b in zip(omega, left, right, strict=True)) for right in columns] for left in columns]
    for j in range(m):
        d = A[j][j] / total if question.standardize and A[j][j] else Fraction(1)
        A[j][j] += 0 if np.isinf(question.gamma) else d / Fraction(question.gamma)
    for j in range(m):
        if A[j][j]:
            for i in range(j + 1, m + 1):
                factor = A[i][j] / A[j][j]
                A[i] = [a - factor * b for a, b in zip(A[i], A[j], strict=True)]
    return A[m][m] / 2


@pytest.mark.fuzz
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_instance_fails(chunk):
    outcomes = list(fuzz.run(range(chunk * CHUNK, (chunk + 1) * CHUNK), hung=PATIENCE))
    # A slow machine is not a failure of the library.
    failed = [fuzz.line(outcome) for outcome in outcomes if dict(outcome.failures).keys() - {"slow"}]
    assert not failed, "\n".join(failed)
    assert len(outcomes) == CHUNK


@pytest.mark.parametrize("gamma", RIDGES)
@pytest.mark.parametrize(("fit_intercept", "standardize"), [(True, True), (True, False), (False, True), (False, False)])
def test_whole_numbers_and_fractions_give_the_same_values(gamma, fit_intercept, standardize):
    question = question_of(gamma=gamma, fit_intercept=fit_intercept, standardize=standardize, k=3)
    X = question.X.copy()
    X[:, 1] = X[:, 0] * (1.0 + 1e-15)
    X[:, 2] = X[:, 3] + X[:, 4]
    X[:, 3] += 1e12
    question = replace(question, X=X)
    values = Elimination(question).values((), range(5), None)
    assert len(values) == 32
    for support, value in values.items():
        assert value == float(rational_value(question, support))


def test_a_dependent_column_changes_nothing_without_a_ridge():
    question = question_of(gamma=float("inf"))
    X = np.rint(10.0 * question.X)
    X[:, 4] = 2.0 * X[:, 0] - 3.0
    eliminated = Elimination(replace(question, X=X))
    assert eliminated.value((0, 4)) == eliminated.value((0,)) > eliminated.value((0, 1))


def test_forced_features_and_sizes_are_those_asked_for():
    question = question_of(include=(3,), exclude=(0,), k=3)
    values = Elimination(question).values(question.include, question.candidates, question.size)
    assert set(values) == set(question.supports()) == {(1, 2, 3), (1, 3, 4), (2, 3, 4)}
    priced = replace(question, k=None, l0_penalty=1.0)
    assert len(priced.supports()) == 8


@pytest.mark.parametrize("gamma", RIDGES)
@pytest.mark.parametrize("loss", LOSSES)
def test_decimals_agree_with_a_conic_solver(loss, gamma):
    from oracles import EXPONENTIAL, support_value

    # With more observations than a plane can separate there is an optimum also without a ridge.
    question = question_of(loss, gamma, n=24)
    oracle = Oracle(question)
    for support in [(), (1,), (0, 3), (0, 2, 4)]:
        below, above = oracle.bracket(support)
        expected = support_value(loss, question.X[:, list(support)], question.y, gamma, True, question.weights)
        # Exponential cones are solved less precisely.
        assert above == pytest.approx(expected, rel=1e-6 if loss in EXPONENTIAL else 1e-7)
        assert above * (1.0 - 1e-12) <= below <= above


@pytest.mark.parametrize("gamma", RIDGES)
@pytest.mark.parametrize("loss", LOSSES)
def test_models_in_a_box_agree_with_a_conic_solver(loss, gamma):
    from oracles import support_value

    question = replace(question_of(loss, gamma, n=24), max_coef=0.2)
    oracle = BoxOracle(question)
    for support in [(), (1,), (0, 2, 4)]:
        _, above = oracle.bracket(support)
        columns = question.X[:, list(support)]
        expected = support_value(loss, columns, question.y, gamma, True, question.weights, max_coef=0.2)
        assert above == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_best_is_the_best_of_all_supports(loss):
    question = question_of(loss, 0.5, seed=1)
    oracle = Oracle(question)
    assert oracle.best == min(oracle.bracket(support)[1] for support in combinations(range(5), 2))
    priced = Oracle(replace(question, k=None, l0_penalty=0.4))
    every = [support for size in range(6) for support in combinations(range(5), size)]
    assert priced.best == min(priced.bracket(support)[1] for support in every)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("gamma", [1.0, 1e10, float("inf")])
def test_decimals_agree_with_whole_numbers_on_awful_columns(gamma, standardize):
    question = question_of(gamma=gamma, standardize=standardize)
    rng = np.random.default_rng(5)
    X = question.X.copy()
    X[:, 1] = X[:, 0] * (1.0 + 1e-13 * rng.standard_normal(len(X)))
    X[:, 2] = X[:, 0]
    X[:, 3] = 1e8 * (X[:, 3] + 1e10)
    X[:, 4] = 0.1
    y = question.y + 1e9
    squared = Oracle(replace(question, X=X, y=y))
    # Without an insensitive zone this loss is the squared one, which the decimals treat like the others.
    other = Oracle(replace(question, X=X, y=y, loss="squared_epsilon_insensitive", parameter=0.0))
    for support in [(0, 1), (0, 2), (0, 1, 2), (1, 3), (0, 4), (0, 1, 2, 3, 4)]:
        exact = squared.bracket(support)[1]
        below, above = other.bracket(support)
        assert above == pytest.approx(exact, rel=1e-12)
        assert below == pytest.approx(exact, rel=1e-12)
    assert other.best == pytest.approx(squared.best, rel=1e-12)


@pytest.mark.parametrize("gamma", [1e-10, 1e-2])
@pytest.mark.parametrize("loss", ["squared_epsilon_insensitive", "squared_hinge", "logistic", "hinge"])
def test_near_copies_of_other_scales_take_no_digits(loss, gamma):
    # The first column is what is left of the second but for rounding, and 15 orders of magnitude smaller.
    question = question_of(loss, gamma, n=24, p=4, k=4, parameter=0.0)
    X = question.X * np.array([1e-8, 1e7, 1e7, 1e4])
    X[:, 0] = 1e-15 * X[:, 1] * (1.0 + 1e-15 * (np.arange(len(X)) % 3))
    question = replace(question, X=X)
    oracle = Oracle(question)
    below, above = oracle.bracket((0, 1, 2, 3))
    assert above * (1.0 - 1e-12) <= below <= above * (1.0 + 1e-15)
    # What costs so much as the first column's coefficient is worth nothing.
    assert above == pytest.approx(oracle.bracket((1, 2, 3))[1], rel=1e-6)
    assert oracle.best == above
    if loss == "squared_epsilon_insensitive":
        assert above == pytest.approx(Oracle(replace(question, loss="squared")).best, rel=1e-12)


def test_the_value_of_a_support_is_between_its_bounds():
    question = make_instance(202001550, *FIRST).question
    oracle = Oracle(question)
    (support,) = question.supports()
    below, above = oracle.bracket(support)
    assert above == pytest.approx(13.717888198287, rel=1e-12)
    assert above * (1.0 - 1e-12) <= below <= above * (1.0 + 1e-15)


def test_the_ridge_is_steeper_from_one_coordinate_to_the_next():
    question = make_instance(202001550, *FIRST).question
    (support,) = question.supports()
    basis = Basis.of(question, support)
    ridge = basis.ridge(question, support)[1:, 1:]
    diagonal = np.array([float(entry) for entry in np.diagonal(ridge)])
    assert (np.diff(np.log10(diagonal)) > -1.0).all()
    scale = np.array([Decimal(1) / entry.sqrt() for entry in np.diagonal(ridge)])
    scaled = (ridge * np.multiply.outer(scale, scale)).astype(float)
    assert np.linalg.eigvalsh(scaled)[0] > 1e-3


def test_a_value_is_that_of_a_model_on_the_data_as_given():
    checked = 0
    for seed in range(60):
        question = make_instance(seed).question
        if question.loss == "squared":
            continue
        oracle = Oracle(question)
        for support in list(oracle._brackets):
            value = objective_of(question, support, *oracle.model(support))[0]
            # Where the objective vanishes, the digits of the polished model are the limit.
            assert value == pytest.approx(oracle.bracket(support)[1], rel=1e-12, abs=1e-30)
            checked += 1
    assert checked > 40


def test_two_copies_share_the_cost_of_the_ridge():
    question = question_of("logistic", 0.1, p=2)
    X = question.X.copy()
    X[:, 1] = X[:, 0]
    both = Oracle(replace(question, X=X)).bracket((0, 1))[1]
    assert both == pytest.approx(Oracle(replace(question, X=X, gamma=0.2)).bracket((0,))[1], rel=1e-12)


def test_the_basis_is_orthonormal_under_the_weights():
    question = question_of()
    basis = Basis.of(question, (0, 1, 2))
    vectors = np.array(basis.rounded)
    assert np.allclose((vectors * question.weights) @ vectors.T, np.eye(4), rtol=0, atol=1e-14)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_pieces_are_the_loss(loss):
    y, u = np.array([-1.0, 1.0, 1.0, -1.0]), np.array([0.3, 2.0, -1.5, -0.95])
    y = np.array([2.0, 1.0, 7.0, 0.5]) if loss in LOGARITHMIC else y
    r, t = np.abs(y - u), 0.1
    expected = {
        "squared": (y - u) ** 2 / 2,
        "logistic": np.log(1.0 + np.exp(-y * u)),
        "hinge": np.maximum(0.0, 1.0 - y * u),
        "squared_hinge": np.maximum(0.0, 1.0 - y * u) ** 2 / 2,
        "epsilon_insensitive": np.maximum(0.0, np.abs(y - u) - 0.1),
        "squared_epsilon_insensitive": np.maximum(0.0, np.abs(y - u) - 0.1) ** 2 / 2,
        "huber": np.where(r < t, r**2 / 2, t * r - t**2 / 2),
        "quantile": np.where(y > u, t, 1.0 - t) * r,
        "poisson": np.exp(u) - y * u - y + y * np.log(np.abs(y)),
        "gamma": y * np.exp(-u) + u - np.log(np.abs(y)) - 1.0,
        "negative_binomial": (y + t) * np.log((t + np.exp(u)) / np.abs(y + t)) - y * u + y * np.log(np.abs(y)),
        "tweedie": 2.0 * np.exp(u / 2.0) + 2.0 * y * np.exp(-u / 2.0) - 4.0 * np.sqrt(np.abs(y)),
    }[loss]
    pieces = Pieces(loss, y, 0.1)
    assert np.allclose(pieces.value(pieces.arguments(u)).sum(axis=1), expected, rtol=1e-14)
    to_decimal = np.vectorize(Decimal, otypes=[object])
    exact = Pieces(loss, to_decimal(y), Decimal("0.1"))
    assert np.allclose(exact.value(exact.arguments(to_decimal(u))).sum(axis=1).astype(float), expected, rtol=1e-14)


def test_the_objective_of_a_model_knows_what_rounding_explains():
    question = question_of(standardize=True)
    coef = np.array([0.3, 0.0, -1.0, 0.0, 0.0])
    value, rounding = objective_of(question, (0, 2), coef, 0.25)
    mean = np.average(question.X, axis=0, weights=question.weights)
    d = np.average((question.X - mean) ** 2, axis=0, weights=question.weights)
    expected = question.weights @ (question.y - question.X @ coef - 0.25) ** 2 / 2 + d @ coef**2 / 2
    assert value == pytest.approx(expected, rel=1e-13)
    assert rounding < 1e-12
    far = replace(question, X=question.X + 1e12)
    assert objective_of(far, (0, 2), coef, 0.7e12)[1] > 1e-6
    # A row of zeros is moved by the rounding of the centre, and a response by its own.
    X, y = np.zeros((2, 1)), np.zeros(2)
    X[1] = 1e9
    alone = Question(X, y, np.array([1.0, 1e-30]), "epsilon_insensitive", 1.0, k=1, parameter=0.0)
    assert objective_of(alone, (0,), np.array([1.0]), 0.0)[1] < 1e-30
    alone = replace(alone, weights=np.ones(2))
    assert objective_of(alone, (0,), np.array([1.0]), 0.0)[1] > 0.5e9 * 2.0**-52
    alone = replace(alone, y=np.array([1e9, 0.0]))
    assert objective_of(alone, (0,), np.array([0.0]), 0.0)[1] > 1e9 * 2.0**-52


def test_instances_are_the_same_for_the_same_seed_and_cover_what_they_should():
    first, again = make_instance(7), make_instance(7)
    assert first.settings == again.settings
    assert np.array_equal(first.question.X, again.question.X)
    instances = [make_instance(seed) for seed in range(400)]
    traits = {trait for instance in instances for trait in instance.traits}
    assert {
        "float64",
        "float32",
        "int8",
        "C",
        "Fortran",
        "strided",
        "CSC",
        "near duplicate",
        "means",
        "scales",
    } <= traits
    assert {
        "box",
        "limits",
        "duplicate",
        "total",
        "one-hot",
        "constant",
        "perfect fit",
        "y offset",
        "weights extreme",
    } <= traits
    assert {instance.settings["method"] for instance in instances} == {
        "tree", "cuts", "relaxation", "subgradient", "local",
    }  # fmt: skip
    assert {instance.settings["loss"] for instance in instances} == set(LOSSES)
    for instance in instances:
        assert np.isfinite(instance.question.X).all()
        assert instance.question.X.shape[1] <= 10
        for _, X in instance.storages():
            dense = X.toarray() if sp.issparse(X) else X
            given = instance.X.toarray() if sp.issparse(instance.X) else instance.X
            assert np.array_equal(dense, given)


class _Result:
    """What the fuzz reads of a result, with a claim that can be made false."""

    def __init__(self, result, **claims):
        for name in ("coef", "intercept", "support", "objective", "lower_bound", "gap", "status", "certificate"):
            setattr(self, name, claims.get(name, getattr(result, name)))


def test_false_claims_are_found():
    from checks import best_subset

    instance = next(
        i
        for i in map(make_instance, range(1000))
        if i.traits[0] == "ordinary" and i.settings.get("k") == 2 and not {"box", "limits"} & set(i.traits)
    )
    result = best_subset(instance.X, instance.y, sample_weight=instance.sample_weight, **instance.settings)
    kinds = {
        "bound above optimum": {"lower_bound": result.objective * 1.001, "objective": result.objective * 1.001},
        "bound above objective": {"lower_bound": result.objective * 1.001},
        "objective too low": {"objective": result.objective * 0.99},
        "objective": {"coef": 1.1 * result.coef},
        "support": {"support": result.support[:1]},
    }
    assert not fuzz._judged(instance, result)
    for kind, claims in kinds.items():
        found = dict(fuzz._judged(instance, _Result(result, **claims)))
        assert kind in found, (kind, found)
    assert dict(fuzz._judged(instance, _Result(result, objective=np.nan))).keys() == {"not finite"}


def test_models_with_limits_agree_with_a_conic_solver():
    from oracles import support_value

    limits = {"lower": (0.0, -0.1, -np.inf, 0.0, -0.2), "upper": (np.inf, 0.05, 0.0, 0.0, 0.3)}
    for loss in LOSSES:
        question = replace(question_of(loss, 0.5, n=24), **limits)
        oracle = BoxOracle(question)
        for support in [(1,), (0, 2, 4)]:
            _, above = oracle.bracket(support)
            sides = [np.array(side)[list(support)] for side in limits.values()]
            columns = question.X[:, list(support)]
            expected = support_value(loss, columns, question.y, 0.5, True, question.weights, bounds=sides)
            assert above == pytest.approx(expected, rel=1e-5)


def test_coefficients_beyond_their_limits_are_found():
    question = replace(question_of("squared", 0.5), lower=(0.0,) * 5, upper=(0.1,) * 5)
    instance = SimpleNamespace(question=question, settings={"gap_tol": 1e-4, "include": (), "exclude": ()})
    claims = {"support": np.array([0]), "objective": 20.0, "gap": 0.5, "status": Status.TIME_LIMIT, "lower_bound": 0.0}
    for coef, wrong in ((0.1, False), (0.0, False), (-1e-300, True), (np.nextafter(0.1, 1.0), True)):
        result = SimpleNamespace(**claims, coef=coef * np.eye(5)[0])
        assert ("limits" in {kind for kind, _ in fuzz._sound(instance, result)}) is wrong


def test_false_claims_about_a_box_are_found():
    question = replace(question_of("logistic", 0.5), max_coef=0.1)
    instance = SimpleNamespace(question=question, settings={"gap_tol": 1e-4, "include": (), "exclude": ()})
    best = BoxOracle(question).best
    claims = {"support": np.array([0]), "intercept": 0.0, "objective": 20.0, "gap": 0.5, "status": Status.TIME_LIMIT}
    free = SimpleNamespace(**claims, coef=0.2 * np.eye(5)[0], lower_bound=Oracle(replace(question, max_coef=None)).best)
    assert free.lower_bound < best
    assert "limits" in {kind for kind, _ in fuzz._sound(instance, free)}
    assert "bound above optimum" not in {kind for kind, _ in fuzz._true(instance, free)}
    bold = SimpleNamespace(**claims, coef=0.1 * np.eye(5)[0], lower_bound=best * (1.0 + 1e-9))
    assert "limits" not in {kind for kind, _ in fuzz._sound(instance, bold)}
    assert "bound above optimum" in {kind for kind, _ in fuzz._true(instance, bold)}


def test_a_bound_above_the_optimum_is_found_however_near_it_is():
    question = question_of("logistic", 0.5)
    instance = SimpleNamespace(question=question, settings={"gap_tol": 1e-4})
    optimum = Oracle(question).best

    def kinds(bound):
        claim = SimpleNamespace(
            support=np.array([0]), coef=np.zeros(5), intercept=0.0, objective=20.0, lower_bound=bound,
            status=Status.TIME_LIMIT,
        )  # fmt: skip
        return {kind for kind, _ in fuzz._true(instance, claim)}

    assert "bound above optimum" in kinds(optimum * (1.0 + 1e-12))
    assert "bound above optimum" not in kinds(optimum)
    # Where the optimum is zero no bound above it is small enough.
    instance.question = replace(question, y=np.ones_like(question.y), loss="squared")
    assert Oracle(instance.question).best == 0.0
    assert "bound above optimum" in kinds(1e-300)
    assert "bound above optimum" not in kinds(0.0)


def test_an_oracle_that_contradicts_itself_is_found(monkeypatch):
    monkeypatch.setattr(Oracle, "bracket", lambda self, support: (2.0, 1.0))
    question = question_of()
    instance = SimpleNamespace(question=question, settings={"gap_tol": 1e-4})
    claim = SimpleNamespace(
        support=np.array([0]), coef=np.zeros(5), intercept=0.0, objective=3.0, lower_bound=0.0, status=Status.TIME_LIMIT
    )
    assert "oracle" in {kind for kind, _ in fuzz._true(instance, claim)}


def _sometimes(seed):
    """Judge as no instance should be judged: hang for ever, end the process, or answer."""
    if seed == 0:
        Event().wait()
    if seed == 1:
        os._exit(1)
    return fuzz.Outcome(seed, "OPTIMAL", 0.0, {}, [], "")


def test_a_process_that_hangs_or_dies_is_replaced():
    # The process that hangs is replaced twice: a slow instance gets a second chance.
    [hung] = fuzz.run([0], judging=_sometimes, slow=0.05, hung=0.1)
    # Processes that answer or die get all the time they need.
    died, answered = fuzz.run([1, 2], judging=_sometimes, hung=PATIENCE)
    assert [kind for kind, _ in hung.failures] == ["hang"]
    assert [kind for kind, _ in died.failures] == ["crash"]
    assert not answered.failures


def test_the_summary_counts():
    groups = {"loss": "squared", "ridge": "no ridge", "form": "k", "method": "tree", "gap_tol": "1e-06"}
    groups |= {"data": "ordinary", "limits": "no"}
    outcomes = [
        fuzz.Outcome(1, "OPTIMAL", 0.1, groups, [], ""),
        fuzz.Outcome(2, "hang", 60.0, groups, [("hang", "no answer")], "n=3"),
    ]
    table = fuzz.summary(outcomes)
    assert "50.0%" in table
    assert "hang: 1" in table
    assert fuzz.line(outcomes[1]) == "--instance 2  hang: no answer  [n=3]"


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(911001121, id="a Huber loss whose kinks are far from zero, which the oracle could not fit"),
        pytest.param(912000953, id="another one"),
        pytest.param(912002076, id="cuts with coefficients beyond the infinity of SCIP"),
        pytest.param(912003548, id="moves whose predicted gains overflow"),
        pytest.param(932001022, id="differences of gains that overflow"),
        pytest.param(2001000135, id="coefficients whose squares overflow"),
        pytest.param(2001001688, id="a first entry far from the mean, errors larger than the claim's"),
        pytest.param(2001001831, id="the same with a box"),
        pytest.param(2001002063, id="the same again"),
        pytest.param(2003000037, id="dual points moved by rounding, divided by tiny weights"),
        pytest.param(3001000234, id="a diverging fit whose clipped loss was negative"),
    ],
)
def test_instances_that_once_failed(seed):
    assert fuzz.judge(seed).failures == []
