"""Forged proofs: each is refused, or its claim is true even so, in bounded time and memory."""

import base64
import json
import zlib
from dataclasses import replace

import numpy as np
import pytest

from proofs.forging import GAMMA, N, P, boast, exact_objective, refused, strongest, valid_or_true
from proofs.helpers import LOSSES, indices, optimum_of, sample, statement_of, with_proof, with_statement
from proofs.limited_squares import LimitedSquares
from sparsest.proofs import Certificate
from sparsest.proofs.check import Checker, prove, run
from sparsest.proofs.columns import AllColumns, PackedColumns
from sparsest.proofs.data import Data, Room
from sparsest.proofs.exact import prove_exactly
from sparsest.proofs.incumbent import Incumbent
from sparsest.proofs.splits import centred_columns
from sparsest.proofs.steps import (
    LEAF,
    Branch,
    Combination,
    DualPoint,
    Fix,
    LastFeatures,
    Leaf,
    PrimalPoint,
    Proof,
    Regression,
    RegressionTree,
    Split,
    SplitPoint,
)

pytestmark = pytest.mark.usefixtures("bounded")


# The findings of the first attack, each named after what was accepted


@pytest.mark.parametrize("size", [1e154, 1e155, 1e200, 1e308])
def test_an_overflowing_diagonal_proved_the_empty_model_optimal(size):
    """A split of 1e155 made the scaled matrix zero: 298.4 was proved where two features reach 0.87."""
    X, _ = sample(N, P)
    y = 10.0 * X[:, 0] - 7.0 * X[:, 1] + 0.1 * sample(N, P, 1)[1]
    for gamma in (0.5, np.inf):
        proof = Proof((Leaf(0),), (SplitPoint(indices(), np.empty(0), 0),), (Split(np.arange(P), np.full(P, size)),))
        certificate = boast(X, y, proof, 200.0, k=2, gamma=gamma)
        refused(certificate, X, y)
        valid_or_true(strongest(X, y, proof, k=2, gamma=gamma), X, y)


def test_splits_raised_one_by_one_proved_anything():
    """Each raised split was checked against the first base: 3.7e12 was accepted for 28.3."""
    X, y = sample(5, 8, 2)
    base = np.full(8, 1.0)
    statement = statement_of(X, y, k=2, gamma=0.5)
    columns = centred_columns(Data.of(statement, X, y, None), np.arange(8), 0.5)
    M = columns.values.T @ columns.values * np.outer(columns.units, columns.units) + np.diag(2.0 - base)
    most = 0.99 * (base + 1.0 / np.linalg.inv(M).diagonal())
    chain = [Split(np.arange(8), base), *(Split(indices(j), most[[j]], j) for j in range(8))]
    point = SplitPoint(indices(), np.empty(0), 8)
    refused(strongest(X, y, Proof((Leaf(0),), (point,), chain), k=2, gamma=0.5), X, y, "has a base itself")
    star = [Split(np.arange(8), base), *(Split(np.arange(j + 1), most[: j + 1], 0) for j in range(8))]
    for number in range(9):
        proof = Proof((Leaf(0),), (point._replace(split=number),), star)
        valid_or_true(strongest(X, y, proof, k=2, gamma=0.5), X, y)


@pytest.mark.parametrize("shift", [0.0, 3.0, 1e4, 1e9])
def test_dependent_columns_in_a_regression_tree_proved_a_bound_for_a_perfect_fit(shift):
    """A total with its parts: 6.75 was accepted for an optimum of 0."""
    X = np.round(sample(N, 2)[0] * 4.0)
    X = np.column_stack([X, X.sum(axis=1)])
    y = X @ [1.0, -2.0, 0.0]
    tree = RegressionTree(np.arange(3), np.array([1.0 + shift, shift - 2.0, -shift]), np.array([LEAF], dtype=np.int32))
    certificate = strongest(X, y, Proof((tree,)), k=2, gamma=np.inf)
    refused(replace(certificate, lower_bound=1.0), X, y)
    valid_or_true(certificate, X, y)


@pytest.mark.parametrize("gamma", [np.inf, 1e40])
@pytest.mark.parametrize("decade", [9, 11, 13, 15])
def test_nearly_orthogonal_points_proved_a_bound_without_a_ridge(gamma, decade):
    """Products below 1e-10 counted as zero although coefficients are unbounded: 3.26 where 1.8e-6 is reached."""
    rng = np.random.default_rng(5)
    x, d = rng.standard_normal(12), rng.standard_normal(12)
    X = np.column_stack([x, x * (1.0 + 10.0**-decade * d)])
    y = x * d
    # The residual of the first column is orthogonal to it, and nearly so to the second.
    z = x - x.mean()
    residual = (y - y.mean()) - z * (z @ (y - y.mean()) / (z @ z))
    proof = Proof((Leaf(0),), (DualPoint(-residual),))
    certificate = strongest(X, y, proof, k=2, gamma=gamma)
    refused(replace(certificate, lower_bound=0.4 * float(residual @ residual)), X, y)
    valid_or_true(certificate, X, y)
    valid_or_true(strongest(X, y, Proof((Regression(),)), k=2, gamma=gamma), X, y)


@pytest.mark.parametrize("mean", [1e6, 1e10, 1e12, 1e14])
def test_large_column_means_and_offsets_raised_bounds(mean):
    """The rounding error of X'α was not in the margin."""
    rng = np.random.default_rng(6)
    X, y = sample(N, P, 6)
    X, y = X + mean * rng.standard_normal(P), y + mean
    for point in (DualPoint(-0.5 * (y - y.mean())), PrimalPoint(indices(0, 1), np.array([1.0, 1.0]), 0.0)):
        certificate = strongest(X, y, Proof((Leaf(0),), (point,)), k=2, gamma=0.5)
        assert valid_or_true(certificate, X, y)


def test_a_useless_point_of_huge_constant_hid_the_others_in_a_combination():
    """The master problem's scale pushed coefficients below 1e-9, which were dropped: 5.91 for 1.52."""
    X, y = sample(N, P, 7)
    residual = y - y.mean()
    useless = [DualPoint(size * residual) for size in (1e6, 1e12, 1e100, 1e150)]
    points = [DualPoint(-0.3 * residual), *useless]
    for number in range(1, 5):
        for multipliers in ([1.0, 1e-30], [1.0, 1e-300], [1e-300, 1e-320], [1.0, 0.0], [0.0, 1.0], [1e-9, 1.0]):
            step = Combination(indices(0, number), np.array(multipliers))
            assert valid_or_true(strongest(X, y, Proof((step,), points), k=2, gamma=0.5), X, y)


def test_a_lower_bound_above_the_objective_was_accepted(honest):
    certificate, X, y = honest
    poor = certificate.incumbent._replace(coef=certificate.incumbent.coef + 1e3)
    for bound in (np.nextafter(certificate.objective, np.inf), 1e9, np.inf):
        refused(replace(certificate, lower_bound=bound), X, y)
    refused(replace(certificate, incumbent=poor), X, y, "the objective claimed")


@pytest.mark.parametrize("value", ["false", "true", 0, 1, None, [], 0.0])
@pytest.mark.parametrize("name", ["fit_intercept", "standardize"])
def test_a_text_was_read_as_true(honest, name, value):
    data = json.loads(honest[0].to_json())
    data["problem"][name] = value
    with pytest.raises(ValueError, match="not a readable certificate"):
        Certificate.from_json(json.dumps(data))


# Findings in the new checker


def test_a_fix_by_a_useless_point_proved_anything():
    """What a point proves was raised to zero before the cost of a forced feature was added: 4.5 for 0.045."""
    X, y = np.eye(4)[:, :2], np.array([0.0, 3.0, 0.0, 0.0])
    points = DualPoint(np.array([1e4, 0.0, 0.0, 0.0])), DualPoint(-y)
    proof = Proof((Fix(0, indices(), indices(1)), Leaf(1)), points)
    certificate = strongest(X, y, proof, k=1, gamma=100.0, fit_intercept=False)
    assert valid_or_true(certificate, X, y)
    refused(replace(certificate, lower_bound=4.0), X, y, "the bound claimed")


def test_a_tree_about_features_that_have_to_go_proved_anything():
    """A feature that is out kept its coefficient: 286 for 0.05."""
    X, y = sample(9, 3)
    tree = RegressionTree(np.arange(3), np.array([101.0, 99.0, -98.0]), np.array([LEAF], dtype=np.int32))
    assert valid_or_true(strongest(X, y, Proof((tree,)), k=2, gamma=np.inf), X, y)


@pytest.mark.parametrize(
    ("scale", "gamma"), [(1e10, 1e300), (1e-5, 1e-308), (1.0, 1e-320), (1.0, 5e-324), (1e100, 1e200), (1e-150, 1e-20)]
)
@pytest.mark.parametrize("size", [1e-160, 1.0, 1e150])
def test_ridges_that_underflow_or_overflow_prove_nothing(scale, gamma, size):
    X, y = sample(6, 2)
    X, y = X * scale, y * size
    for alpha in (-0.1 * y, -y, -y / size**2, 1e-200 * y):
        proof = Proof((Leaf(0),), (DualPoint(alpha - alpha.mean()),))
        try:
            certificate = strongest(X, y, proof, k=1, gamma=gamma)
        except ValueError:
            continue
        if certificate.verify(X, y):
            assert certificate.lower_bound <= optimum_of(certificate.statement, X, y)


def test_a_tiny_dual_point_is_orthogonal_to_nothing():
    """Its products and error bounds underflowed to zero, as if no coefficient could gain from it."""
    X = np.array([[1.0], [2.0], [-1.0]])
    y = 1e300 * X[:, 0]
    for size in (5e-324, 1e-320, 1e-310, 1e-250, 1e-240):
        proof = Proof((Leaf(0),), (DualPoint(np.full(3, -size)),))
        statement = statement_of(X, y, k=1, gamma=np.inf, fit_intercept=False)
        certificate = Certificate(
            statement, Incumbent(indices(0), np.array([1e300]), np.zeros(1), 0.0), 0.0, 1e-30, proof
        )
        refused(certificate, X, y)


@pytest.mark.parametrize("max_coef", [None, 1e300])
@pytest.mark.parametrize("size", [1e-249, 1e-230, 1e-170, 1e-159, 1e-140])
@pytest.mark.parametrize("scale", [1e-99, 1e-60, 1.0])
def test_products_with_small_columns_underflow_but_are_not_zero(scale, size, max_coef):
    """Columns are read without a scale: 4e-79 was proved where the first feature explains everything."""
    X = scale * np.array([[1.0], [2.0], [-1.0], [5.0]])
    y = 1e149 / scale * X[:, 0]
    asked = {"k": 1, "gamma": np.inf, "max_coef": max_coef}
    for alpha, fit_intercept in ((-np.sign(y), False), (np.array([1.0, 1.0, 1.0, -3.0]), True)):
        statement = statement_of(X, y, fit_intercept=fit_intercept, **asked)
        proof = Proof((Leaf(0),), (DualPoint(size * alpha),))
        assert prove(Data.of(statement, X, y, None), statement, proof).bound == 0.0


def test_products_underflow_with_extreme_weights():
    """Without a ridge 1e-149 was proved for a perfect fit, of columns with and without a scale."""
    X, y, weights = np.array([[1e-100], [1.0]]), np.array([1e100, 1e200]), np.array([1e100, 1e-100])
    statement = statement_of(X, y, weights, k=1, gamma=np.inf, fit_intercept=False)
    data = Data.of(statement, X, y, weights)
    for size in (1e-249, 1e-200, 1e-159):
        proof = Proof((Leaf(0),), (DualPoint(np.array([-size, 0.0])),))
        for columns in (AllColumns(data), PackedColumns(data, np.arange(1))):
            assert prove(data, statement, proof, whole=columns).bound == 0.0


@pytest.mark.parametrize("loss", ["poisson", "negative_binomial", "tweedie"])
def test_quotients_by_large_weights_keep_their_digits(loss):
    """With 5e-320 for the rate and weights of 1e100 the optimum is 1.2433e-219 for Poisson: 1.2673e-219 was proved."""
    X, y, weights, offset = np.zeros((2, 1)), np.zeros(2), np.full(2, 1e100), np.full(2, -735.0)
    statement = statement_of(X, y, weights, k=1, gamma=1.0, fit_intercept=False, loss=loss, offset=offset)
    data = Data.of(statement, X, y, weights, offset=offset)
    for size in 1e100 * np.exp(-np.linspace(330.0, 740.0, 200)):
        proof = Proof((Leaf(0),), (DualPoint(np.full(2, size)),))
        assert prove(data, statement, proof).bound <= prove_exactly(data, statement, proof).bound


def test_squares_that_overflow_in_a_regression_prove_nothing():
    """inf - inf was no bound, and counted as one above all others: 1.7e308 was accepted for 1.2e308."""
    X, y = np.array([[1.0], [0.0], [0.0]]), np.array([1e154, np.sqrt(1.2e308), np.sqrt(1.2e308)])
    certificate = boast(X, y, Proof((Regression(),)), 1.6999e308, k=1, gamma=np.inf, fit_intercept=False)
    refused(certificate, X, y, "the bound claimed")
    assert valid_or_true(replace(certificate, lower_bound=0.0), X, y)


@pytest.mark.parametrize("bound", ["bound_of_regression", "bound_of_tree", "bound_of_jobs"])
def test_what_is_no_number_is_no_bound(bound):
    X, y = sample(N, P)
    tree = RegressionTree(indices(), np.empty(0), np.array([LEAF], dtype=np.int32))
    proof = Proof((Branch(0), Branch(1), Regression(), tree, Leaf(0)), (DualPoint(np.zeros(N)),))
    statement = statement_of(X, y, k=2)
    data = Data.of(statement, X, y, None)
    assert prove(data, statement, proof).bound == 0.0
    broken = type("Broken", (Checker,), {bound: lambda *given: np.nan})
    assert run(broken(data, statement, proof, np.inf)).bound == -np.inf


def test_an_objective_out_of_range_matches_no_claim(honest):
    certificate, X, y = honest
    huge = certificate.incumbent._replace(coef=np.array([1e200, 1e200]))
    for objective in (0.0, certificate.objective, np.inf, 1e308):
        refused(replace(certificate, incumbent=huge, objective=objective), X, y, "out of the range")


# Forged parts of an honest certificate


FORGED = {
    "the bound raised by a digit": (lambda c: replace(c, lower_bound=c.lower_bound * (1 + 1e-12)), "bound claimed"),
    "a bound that is NaN": (lambda c: replace(c, lower_bound=np.nan), "bound claimed"),
    "a bound of infinity": (lambda c: replace(c, lower_bound=np.inf), "bound claimed"),
    "the objective lowered": (lambda c: replace(c, objective=c.objective * (1 - 1e-8)), "objective claimed"),
    "the objective raised": (lambda c: replace(c, objective=c.objective * (1 + 1e-8)), "objective claimed"),
    "the objective NaN": (lambda c: replace(c, objective=np.nan), "objective claimed"),
    "the objective infinite": (lambda c: replace(c, objective=np.inf), "objective claimed"),
    "the objective negative": (lambda c: replace(c, objective=-c.objective), "objective claimed"),
    "another loss": (lambda c: with_statement(c, loss="epsilon_insensitive", parameters={"epsilon": 0.1}), ""),
    "a smaller k": (lambda c: with_statement(c, k=1), "more than k = 1"),
    "a larger k": (lambda c: with_statement(c, k=5), "bound claimed"),
    "a weaker ridge": (lambda c: with_statement(c, gamma=3.0), "claimed"),
    "a stronger ridge": (lambda c: with_statement(c, gamma=0.03), "objective claimed"),
    "no ridge": (lambda c: with_statement(c, gamma=np.inf), ""),
    "another n": (lambda c: with_statement(c, n=N - 1), "for data of shape"),
    "another p": (lambda c: with_statement(c, p=P + 1), "for data of shape"),
    "a gigantic p": (lambda c: with_statement(c, p=2**50), "for data of shape"),
    "another fingerprint": (lambda c: with_statement(c, fingerprint="0" * 64), "fingerprint"),
    "no fingerprint": (lambda c: with_statement(c, fingerprint=""), "fingerprint"),
    "no intercept": (lambda c: with_statement(c, fit_intercept=False), "intercept where none"),
    "columns standardised": (lambda c: with_statement(c, standardize=True), ""),
    "a feature forced in": (lambda c: with_statement(c, include=(3,)), "include and exclude"),
    "a feature forced out": (lambda c: with_statement(c, exclude=(0,)), "include and exclude"),
    "no steps": (lambda c: with_proof(c, steps=()), "1 region(s) open"),
    "a region left open": (lambda c: with_proof(c, steps=c.proof.steps[:-1]), "1 region(s) open"),
    "a region closed twice": (lambda c: with_proof(c, steps=(*c.proof.steps, Leaf(0))), "after its end"),
    "a branch after the end": (lambda c: with_proof(c, steps=(*c.proof.steps, Branch(3))), "after its end"),
    "steps that are none": (lambda c: with_proof(c, steps=("leaf",)), "a step has an unknown type"),
    "a branch twice": (lambda c: with_proof(c, steps=(Branch(0), Branch(0), *[Leaf(0)] * 3)), "not free"),
    "a branch out of range": (
        lambda c: with_proof(c, steps=(Branch(P), Leaf(0), Leaf(0))),
        "a feature that does not exist",
    ),
    "a negative branch": (
        lambda c: with_proof(c, steps=(Branch(-1), Leaf(0), Leaf(0))),
        "a feature that does not exist",
    ),
    "a feature fixed in and out": (
        lambda c: with_proof(c, steps=(Fix(0, indices(1), indices(1)), Leaf(0))),
        "not free",
    ),
    "a feature fixed twice": (lambda c: with_proof(c, steps=(Fix(0, indices(1, 1), indices()), Leaf(0))), "not free"),
    "a fix of a fixed feature": (
        lambda c: with_proof(c, steps=(Fix(0, indices(1), indices()), Fix(0, indices(), indices(1)), Leaf(0))),
        "not free",
    ),
    "a fix out of range": (
        lambda c: with_proof(c, steps=(Fix(0, indices(P), indices()), Leaf(0))),
        "a feature that does not exist",
    ),
    "a point that is not there": (lambda c: with_proof(c, steps=(Leaf(3),)), "a point that does not exist"),
    "a negative point": (lambda c: with_proof(c, steps=(Leaf(-1),)), "a point that does not exist"),
    "no points": (lambda c: with_proof(c, points=()), "a point that does not exist"),
    "a point that is none": (lambda c: with_proof(c, points=("point",) * 3), "a point has an unknown type"),
    "a split that is not there": (lambda c: with_proof(c, splits=()), "refers to split 0"),
    "a split that does not cover the region": (
        lambda c: with_proof(c, splits=(Split(indices(0), np.full(1, 2.0)),)),
        "its split does not cover",
    ),
    "a base that points to itself": (
        lambda c: with_proof(c, splits=(Split(indices(0), np.ones(1), 0),)),
        "base itself",
    ),
    "a base that points forward": (
        lambda c: with_proof(c, splits=(Split(np.arange(P), np.ones(P), 1), Split(indices(0), np.ones(1), 0))),
        "base itself",
    ),
    "a base that is not there": (
        lambda c: with_proof(c, splits=(Split(indices(0), np.ones(1), 7),)),
        "refers to split 7",
    ),
    "a negative split": (
        lambda c: with_proof(c, points=(*c.proof.points[:2], c.proof.points[2]._replace(split=-1))),
        "refers to split -1",
    ),
    "a split of too much": (
        lambda c: with_proof(c, splits=(Split(np.arange(P), np.full(P, 1e3)),)),
        "larger than that of the matrix",
    ),
    "a split of no number": (
        lambda c: with_proof(c, splits=(Split(np.arange(P), np.full(P, np.nan)),)),
        "not positive",
    ),
    "a regression tree where it is not known": (
        lambda c: with_proof(c, steps=(RegressionTree(indices(), np.empty(0), np.array([7], dtype=np.int32)),)),
        "not free",
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_part_is_found(honest, name):
    certificate, X, y = honest
    change, reason = FORGED[name]
    forged = change(certificate)
    refused(forged, X, y, reason)
    # The same through a file, if it can be written at all.
    try:
        again = Certificate.from_bytes(forged.to_bytes())
    except (ValueError, KeyError, AttributeError):
        return
    refused(again, X, y, reason)


MULTIPLIERS = {
    "negative": [2.0, -1.0],
    "no number": [1.0, np.nan],
    "infinite": [1.0, np.inf],
    "all zero": [0.0, 0.0],
    "overflowing": [1.7e308, 1.7e308],
    "too few": [1.0],
    "too many": [1.0, 1.0, 1.0],
    "none": [],
}


@pytest.mark.parametrize("name", MULTIPLIERS)
def test_multipliers_that_are_none(honest, name):
    certificate, X, y = honest
    step = Combination(indices(0, 1), np.array(MULTIPLIERS[name]))
    refused(with_proof(certificate, steps=(step,)), X, y, "multiplier")


@pytest.mark.parametrize("multipliers", [[5e-324, 5e-324], [1e308, 1.0], [1.0, 5e-324], [1e-320, 1e300], [0.0, 1.0]])
def test_extreme_multipliers_prove_what_they_prove(honest, multipliers):
    certificate, X, y = honest
    proof = certificate.proof._replace(steps=(Combination(indices(0, 1), np.array(multipliers)),))
    assert valid_or_true(strongest(X, y, proof, support=(0, 1), k=2, gamma=GAMMA), X, y)


POINTS = {
    "huge": DualPoint(np.where(np.arange(N) % 2, 1e200, -1e200)),
    "at the end of the range": DualPoint(np.where(np.arange(N) % 2, 1.7e308, -1.7e308)),
    "subnormal": DualPoint(np.where(np.arange(N) % 2, 5e-324, -5e-324)),
    "of one sign": DualPoint(np.ones(N)),
    "one entry of all": DualPoint(np.eye(N)[0]),
    "huge coefficients": PrimalPoint(indices(0, 1), np.array([1e308, -1e308]), 0.0),
    "an intercept of no number": PrimalPoint(indices(0), np.ones(1), np.nan),
    "a huge intercept": PrimalPoint(indices(0), np.ones(1), 1.7e308),
    "huge coefficients of a split": SplitPoint(np.arange(P), np.full(P, 1e307), 0),
    "coefficients of a split of 1e150": SplitPoint(np.arange(P), np.full(P, 1e150), 0),
    "single precision": DualPoint(np.linspace(-1.0, 1.0, N, dtype=np.float32)),
}


@pytest.mark.parametrize("name", POINTS)
def test_any_point_proves_what_it_proves(honest, name):
    certificate, X, y = honest
    proof = certificate.proof._replace(steps=(Leaf(0),), points=(POINTS[name],))
    for steps in ((Leaf(0),), (Fix(0, indices(1), indices(2, 3)), Leaf(0)), (Fix(0, np.arange(P), indices()), Leaf(0))):
        accepted = valid_or_true(strongest(X, y, proof._replace(steps=steps), k=2, gamma=GAMMA), X, y)
        assert accepted or name == "huge coefficients"


def test_infinities_of_single_precision_are_refused(honest):
    certificate, X, y = honest
    for bad in (np.inf, -np.inf, np.nan):
        values = np.zeros(N, dtype=np.float32)
        values[3] = bad
        refused(with_proof(certificate, points=(DualPoint(values),) * 3), X, y, "finite entries")


def test_coefficients_of_features_that_are_out_are_refused(honest):
    certificate, X, y = honest
    steps = (Fix(0, indices(), indices(1, 2, 3)), Branch(0), Leaf(2), Leaf(2))
    refused(with_proof(certificate, steps=steps), X, y, "features that are forced out")


@pytest.mark.parametrize(
    "entries",
    [[0, LEAF], [LEAF, LEAF], [], [0, 0, LEAF, LEAF, LEAF], [P, LEAF, LEAF], [-7, LEAF, LEAF], [2**31 - 1, LEAF, LEAF]],
    ids=str,
)
def test_forged_entries_of_a_regression_tree(honest, entries):
    certificate, X, y = honest
    tree = RegressionTree(indices(), np.empty(0), np.array(entries, dtype=np.int32))
    refused(with_proof(certificate, steps=(tree,)), X, y)


@pytest.mark.parametrize("loss", [name for name in LOSSES if name != "squared"])
def test_least_squares_proves_nothing_for_other_losses(loss):
    X, y = sample(N, P, loss=loss)
    tree = RegressionTree(indices(), np.empty(0), np.array([LEAF], dtype=np.int32))
    split = Proof((Leaf(0),), (SplitPoint(indices(), np.empty(0), 0),), (Split(np.arange(P), np.ones(P)),))
    for proof in (Proof((Regression(),)), Proof((tree,)), split):
        refused(boast(X, y, proof, 0.0, k=2, loss=loss), X, y, "squared loss")


@pytest.mark.parametrize("where", ["entry", "response", "sign", "rows", "columns", "weight", "scale"])
def test_other_data_are_noticed(honest, where):
    certificate, X, y = honest
    X, y, weights = X.copy(), y.copy(), np.ones(N)
    if where == "entry":
        X[7, 4] = np.nextafter(X[7, 4], np.inf)
    elif where == "response":
        y[3] = np.nextafter(y[3], 0.0)
    elif where == "sign":
        X[:, 2] *= -1.0
    elif where == "rows":
        X, y = X[::-1], y[::-1]
    elif where == "columns":
        X = X[:, [0, 1, 2, 4, 3]]
    elif where == "weight":
        weights[0] = np.nextafter(1.0, 2.0)
    else:
        X = X * (1.0 + 2**-52)
    verdict = certificate.verify(X, y, weights)
    assert not verdict and any("fingerprint" in reason for reason in verdict.reasons)


def test_incumbents_of_other_types_do_not_lose_digits(honest):
    """Coefficients of single precision, or of whole numbers, were squared in that type."""
    certificate, X, y = honest
    data = json.loads(certificate.to_json())
    for kind, value in (("|i1", -128), ("<i4", 3), ("<u2", 3)):
        array = np.full(2, value).astype(kind)
        packed = base64.b64encode(zlib.compress(np.append(array[:1], np.diff(array)).tobytes())).decode()
        for name in ("coef", "center"):
            forged = {**data, "arrays": {**data["arrays"], name: [kind, 2, packed]}}
            with pytest.raises(ValueError, match="must hold floating-point"):
                Certificate.from_json(json.dumps(forged))
    single = certificate.incumbent.coef.astype("<f4")
    data["arrays"]["coef"] = ["<f4", 2, base64.b64encode(zlib.compress(single.tobytes())).decode()]
    again = Certificate.from_json(json.dumps(data))
    assert again.incumbent.coef.dtype == np.float64
    again = replace(again, objective=float(exact_objective(again, X, y)))
    assert valid_or_true(again, X, y)


# Memory and time of a check


def test_deep_trees_take_little_memory():
    """A state of all features was kept for each branch above: gigabytes for a file of kilobytes."""
    p = 20000
    X = sp_identity(p)
    y = np.arange(4.0)
    chain = [Branch(j) for j in range(p - 1)]
    statement = statement_of(X, y, k=2)
    point = DualPoint(np.zeros(4))
    certificate = Certificate(
        statement, Incumbent(indices(), np.empty(0), np.empty(0), 1.5), 2.5, 0.0, Proof(chain, (point,))
    )
    refused(certificate, X, y, "open")


def sp_identity(p):
    return np.eye(4)[:, np.arange(p) % 4]


def test_combinations_of_very_many_points_are_refused(honest):
    """Points without coefficients take a few bytes of a file, and n numbers each in a check."""
    _, X, y = honest
    statement, empty = statement_of(X, y, k=2, gamma=GAMMA), PrimalPoint(indices(), np.empty(0), 0.0)
    data = Data.of(statement, X, y, None, room=Room(most=8 * N * 1000))
    for count, complaints in ((1000, ()), (1001, ("step 0: a combination has more points than fit into memory",))):
        proof = Proof((Combination(np.arange(count), np.ones(count)),), (empty,) * count)
        found = prove(data, statement, proof)
        assert found.complaints == complaints and (found.bound == -np.inf) == bool(complaints)


# The last features


@pytest.mark.parametrize("target", [np.inf, -np.inf, np.nan, 1e308, 1e-320, 0.0, -1.0])
def test_bounds_of_the_last_features_that_are_none(target):
    """For any bound that a step names, the proved bound is valid; the certificate claims a positive bound."""
    X, y = sample(N, P)
    for gamma in (GAMMA, np.inf):
        proof = Proof((LastFeatures(target),))
        valid_or_true(strongest(X, y, proof, k=2, gamma=gamma), X, y)
        best = float(optimum_of(statement_of(X, y, k=2, gamma=gamma), X, y))
        refused(boast(X, y, proof, 1.5 * best, k=2, gamma=gamma), X, y)


@pytest.mark.parametrize("factor", [1.0 + 1e-13, 1.0 + 1e-9, 1.1])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_last_features_do_not_prove_more_than_the_optimum(factor, k):
    X, y = sample(N, P)
    for gamma in (GAMMA, np.inf):
        best = float(optimum_of(statement_of(X, y, k=k, gamma=gamma), X, y))
        proof = Proof((LastFeatures(factor * best),))
        refused(boast(X, y, proof, factor * best, k=k, gamma=gamma), X, y)
        valid_or_true(strongest(X, y, proof, k=k, gamma=gamma), X, y)


@pytest.mark.parametrize("factor", [1.0 + 1e-9, 1.1])
@pytest.mark.parametrize("gamma", [GAMMA, np.inf])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_last_features_do_not_prove_more_than_the_optimum_with_limits(factor, gamma, k):
    """Neither with these limits, nor for the problem without them."""
    X, y = sample(N, P)
    for limits in ({"max_coef": 0.3}, {"lower": (0.0,) * P}, {"lower": (-0.1,) * P, "upper": (0.4,) * P}):
        statement = statement_of(X, y, k=k, gamma=gamma, **limits)
        best = float(LimitedSquares(statement, X, y).optimum())
        free = float(optimum_of(statement_of(X, y, k=k, gamma=gamma), X, y))
        proof = Proof((LastFeatures(factor * best),))
        refused(boast(X, y, proof, factor * best, k=k, gamma=gamma, **limits), X, y)
        if free < 0.99 * best:
            refused(boast(X, y, proof, 0.99 * best, k=k, gamma=gamma), X, y)


def test_last_features_of_a_region_that_has_too_many():
    """More than three features are not tried: nothing is proved."""
    X, y = sample(N, P)
    refused(boast(X, y, Proof((LastFeatures(1.0),)), 1.0, k=4), X, y, "the bound claimed")
    proof = Proof((Branch(0), LastFeatures(0.1), LastFeatures(0.1)))
    refused(boast(X, y, proof, 0.1, k=4), X, y, "the bound claimed")
    refused(boast(X, y, Proof((LastFeatures(1.0), LastFeatures(1.0))), 0.5, k=2), X, y, "after its end")


def test_last_features_of_many_columns_are_refused_before_memory_is_short():
    X, y = sample(N, P)
    statement = statement_of(X, y, k=2, gamma=GAMMA)
    data = Data.of(statement, X, y, None, room=Room(most=8 * N))
    found = prove(data, statement, Proof((LastFeatures(0.1),)))
    assert found.bound == -np.inf and "memory" in found.complaints[0]


def test_last_features_with_a_price_that_is_nearly_nothing():
    """A price limits the number of features only if that many features cost at least the bound."""
    X, y = sample(N, P)
    for price in (5e-324, 1e-300, 1e-9):
        proof = Proof((LastFeatures(1.0),))
        valid_or_true(strongest(X, y, proof, k=None, l0_penalty=price, gamma=GAMMA), X, y)
        refused(boast(X, y, proof, 1.0, k=None, l0_penalty=price, gamma=GAMMA), X, y)
