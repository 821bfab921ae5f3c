"""Forged structures, limits of coefficients and prices of rows: each is refused, or its claim is true."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from proofs.forging import N, P, refused
from proofs.helpers import certificate_of, indices, sample, statement_of, with_proof, with_statement
from proofs.structures import exact_price, optimum, units_by_definition
from sparsest.proofs import Certificate
from sparsest.proofs.check import prove
from sparsest.proofs.data import Data
from sparsest.proofs.exact import prove_exactly
from sparsest.proofs.steps import (
    LEAF,
    Branch,
    Combination,
    DualPoint,
    Fix,
    LastFeatures,
    Leaf,
    Proof,
    Regression,
    RegressionTree,
    RowPrices,
)
from sparsest.proofs.structure import Rules

pytestmark = pytest.mark.usefixtures("bounded")

GAMMA = 0.03
RULES = Rules(
    units=(0, 0, 1, 2, 3),
    limits=(((0, 1), 1, 1), ((1, 2), 0, 1)),
    requires=((3, (0,), True), (2, (0, 3), False)),
    budgets=(((1.0, 0.1, 0.2, 0.7), 1.75),),
)
LOWER = (0.0, -0.5, -np.inf, 0.0, -1.0)


@pytest.fixture(scope="module")
def structured():
    """Data, and a certificate with every rule, limits of coefficients and prices of rows."""
    X, y = sample(N, P, 2)
    y = y + 2.0 * (X[:, 3] - X[:, 3].mean())
    z = y - y.mean()
    points = DualPoint(-0.8 * z), DualPoint(-0.6 * z)
    prices = RowPrices(indices(2, 0), np.array([0.5, 0.25])), RowPrices(indices(3, 5), np.array([0.1, 0.2]))
    steps = (Fix(0, indices(), indices(), 0), Branch(3), Leaf(0, 0), Leaf(1, 1))
    settings = {"k": 2, "gamma": GAMMA, "structure": RULES, "lower": LOWER}
    certificate = certificate_of(X, y, Proof(steps, points, (), prices), support=(0, 1), **settings)
    assert certificate.verify(X, y) and certificate.lower_bound > 0.0
    return certificate, X, y


def true_or_refused(certificate, X, y):
    """Whether a certificate is accepted; its claim then has to be true."""
    verdict = certificate.verify(X, y)
    if not verdict:
        assert verdict.reasons
        return False
    assert verdict.lower_bound <= optimum(certificate.statement, X, y)
    return True


def strongest(X, y, proof, support, **settings):
    """A certificate that claims all that its proof gives; its model must be admissible."""
    return certificate_of(X, y, proof, support=support, **settings)


# Parts of an honest certificate


ROW_PRICES = {
    "a negative price": (RowPrices(indices(0), np.array([-1.0])), "nonnegative"),
    "a slightly negative price": (RowPrices(indices(0), np.array([-5e-324])), "nonnegative"),
    "a price of no number": (RowPrices(indices(0), np.array([np.nan])), "finite"),
    "an infinite price": (RowPrices(indices(0), np.array([np.inf])), "finite"),
    "a row twice": (RowPrices(indices(0, 0), np.ones(2)), "distinct rows"),
    "a row that is none": (RowPrices(indices(6), np.ones(1)), "a row that does not exist"),
    "a row before the first": (RowPrices(indices(-1), np.ones(1)), "a row that does not exist"),
    "half a row": (RowPrices(np.array([0.5]), np.ones(1)), "distinct rows"),
    "more prices than rows": (RowPrices(indices(0), np.ones(2)), "distinct rows"),
    "a matrix of prices": (RowPrices(np.zeros((1, 1), dtype=np.intp), np.ones((1, 1))), "distinct rows"),
}


@pytest.mark.parametrize("name", ROW_PRICES)
def test_forged_prices_are_refused(structured, name):
    certificate, X, y = structured
    forged, reason = ROW_PRICES[name]
    broken = with_proof(certificate, row_prices=(forged, certificate.proof.row_prices[1]))
    refused(broken, X, y, reason)
    exact = broken.verify(X, y, exact=True)
    assert not exact and exact.reasons


@pytest.mark.parametrize("number", [2, -1, 10**9])
def test_prices_that_there_are_not(structured, number):
    certificate, X, y = structured
    for steps in ((Branch(3), Leaf(0, number), Leaf(1)), (Fix(0, indices(3), indices(), number), Leaf(0))):
        refused(with_proof(certificate, steps=steps), X, y, "prices of rows that do not exist")


@pytest.mark.parametrize("size", [1e-320, 1e-150, 1e3, 1e15, 1e150, 1e308])
def test_extreme_prices_prove_what_they_prove(structured, size):
    certificate, X, y = structured
    for rows in ([0], [2], [0, 2], [5], [3, 4, 5], list(range(6))):
        prices = RowPrices(indices(*rows), np.full(len(rows), size))
        for steps in (
            (Leaf(0, 0),),
            (Branch(0), Leaf(0, 0), Leaf(1, 0)),
            (Fix(0, indices(0), indices(), 0), Leaf(1)),
            (Fix(0, indices(), indices(2, 4), 0), Leaf(1, 0)),
        ):
            proof = Proof(steps, certificate.proof.points, (), (prices,))
            settings = {"k": 2, "gamma": GAMMA, "structure": RULES, "lower": LOWER}
            assert true_or_refused(strongest(X, y, proof, (0, 1), **settings), X, y)


def test_prices_of_opposite_rows_cancel_but_their_errors_do_not():
    """``Σs ≤ 1`` and ``-Σs ≤ -1`` at a price of 1e20: what is left of the worths is rounding errors."""
    X, y = sample(N, P, 3)
    rules = Rules(limits=((tuple(range(P)), 1, 1), (tuple(range(P - 1)), 0, 1)))
    z = y - y.mean()
    for size in (1e10, 1e17, 1e20, 3.3e25):
        prices = RowPrices(indices(0, 2), np.full(2, size))
        proof = Proof((Leaf(0, 0),), (DualPoint(-0.5 * z),), (), (prices,))
        assert true_or_refused(strongest(X, y, proof, (0,), k=3, gamma=GAMMA, structure=rules), X, y)


@pytest.mark.parametrize("price", [1e3, 1e12, 1e16, 1e18])
def test_sums_that_are_within_a_budget_only_after_rounding(price):
    """The best support costs slightly more than the budget; the price of the row must not count that."""
    X, y = sample(N, 3, 4)
    costs = (0.1, 0.2, 3.0 * 2.0**-56)
    assert sum(map(Fraction, costs)) > Fraction(0.1 + 0.2)
    rules = Rules(budgets=((costs, 0.1 + 0.2),))
    z = y - y.mean()
    proof = Proof((Leaf(0, 0),), (DualPoint(-0.9 * z),), (), (RowPrices(indices(0), np.array([price])),))
    statement = statement_of(X, y, k=3, gamma=GAMMA, structure=rules)
    found = prove(Data.of(statement, X, y, None), statement, proof)
    assert not found.complaints and found.bound <= optimum(statement, X, y)


STATEMENTS = {
    "no structure": {"structure": None},
    "another limit": {"structure": replace(RULES, limits=(((0, 1), 0, 0),))},
    "no units": {"structure": Rules()},
    "smaller prices": {"structure": replace(RULES, prices=(0.0, 1.0, 0.0, 0.0))},
    "larger limits": {"lower": (-np.inf,) * P},
    "smaller limits": {"lower": (0.0,) * P},
    "no limits": {"lower": None},
    "upper limits": {"upper": (0.0,) * P},
}


@pytest.mark.parametrize("name", STATEMENTS)
def test_another_problem_is_noticed_if_it_is_named(structured, name):
    certificate, X, y = structured
    forged = with_statement(certificate, **STATEMENTS[name])
    if forged.statement.structure is not None:
        true_or_refused(forged, X, y)
    expected = {"structure": RULES, "lower": LOWER, "upper": None}
    assert certificate.verify(X, y, **expected)
    verdict = forged.verify(X, y, **expected)
    changed = next(iter(STATEMENTS[name]))
    if name == "larger limits":
        changed = "lower"
    assert not verdict and any(f"the certificate is for {changed}" in reason for reason in verdict.reasons)


def test_what_is_not_wanted_is_noticed(structured):
    certificate, X, y = structured
    verdict = certificate.verify(X, y, structure=None, lower=None, upper=None)
    assert len(verdict.reasons) == 2 and not verdict
    for name in ("units", "limits", "requires", "budgets"):
        assert not certificate.verify(X, y, **{name: None})
    assert certificate.verify(X, y, prices=None, limits=RULES.limits, structure=RULES.to_json())


INCUMBENTS = {
    "half a unit": (indices(0), "some columns of a unit"),
    "too few of a limit": (indices(), "limit of 1 to 1"),
    "too many of a limit": (indices(0, 1, 2), "limit of 1 to 1"),
    "without all that it requires": (indices(2, 4), "without all"),
    "without one that it requires": (indices(2, 3), "without one"),
    "more units than k": (indices(0, 1, 3, 4), "3 units, more than k = 2"),
    "above the budget": (indices(0, 1, 3, 4), "above a budget of 1.75"),
}


@pytest.mark.parametrize("name", INCUMBENTS)
def test_incumbents_that_are_not_admissible(structured, name):
    certificate, X, y = structured
    support, reason = INCUMBENTS[name]
    zeros = np.zeros(support.size)
    model = certificate.incumbent._replace(support=support, coef=zeros, center=zeros, intercept=float(y.mean()))
    refused(replace(certificate, incumbent=model), X, y, reason)


def test_coefficients_beyond_their_limits_by_one_digit(structured):
    certificate, _, _ = structured
    model = certificate.incumbent
    for lower, upper in ((LOWER, None), (None, (2.0,) * P)):
        for j in range(2):
            limit = lower[j] if lower else upper[j]
            for value, fits in ((limit, True), (np.nextafter(limit, np.inf if upper else -np.inf), False)):
                coef = model.coef.copy()
                coef[j] = value
                statement = replace(certificate.statement, lower=lower, upper=upper)
                complaints = model._replace(coef=coef).complaints(statement)
                assert bool(complaints) == (not fits)
                assert fits or f"coefficient {float(value)!r} of column {j} is not in" in complaints[0]


# Steps


@pytest.mark.parametrize(
    "step", [LastFeatures(0.1), RegressionTree(indices(), np.empty(0), np.array([LEAF], np.int32))]
)
def test_steps_that_ignore_the_structure_are_refused(structured, step):
    certificate, X, y = structured
    refused(with_proof(certificate, steps=(step,)), X, y, "ignores")
    free = with_statement(certificate, structure=None)
    verdict = with_proof(replace(free, lower_bound=0.0), steps=(step,)).verify(X, y)
    assert verdict, verdict.reasons


def test_prices_of_rows_without_a_structure_are_refused(structured):
    certificate, X, y = structured
    refused(with_statement(certificate, structure=None), X, y, "need a structure")


EMPTY = {
    "a point that is none": (Leaf(2),),
    "a point before the first": (Leaf(-1),),
    "prices that are none": (Leaf(0, 2),),
    "a combination of nothing": (Combination(indices(), np.empty(0)),),
    "a combination of no points": (Combination(indices(0, 7), np.ones(2)),),
    "a feature that is none": (Branch(P), Leaf(0), Leaf(0)),
    "fixed features that are none": (Fix(0, indices(-1), indices()), Leaf(0)),
    "a branch that stays open": (Branch(1), Leaf(0)),
    "too many leaves": (Leaf(0), Leaf(0), Leaf(0)),
    "another step": ("leaf",),
}


@pytest.mark.parametrize("name", EMPTY)
def test_steps_of_empty_regions_must_be_well_formed(structured, name):
    """Unit 3 requires unit 0, so that the region without it and with unit 3 is empty."""
    certificate, X, y = structured
    rest = (Leaf(0), Leaf(1))
    honest = with_proof(certificate, steps=(Branch(4), Branch(0), Leaf(0), Leaf(0), *rest[1:]))
    honest = replace(honest, lower_bound=0.0)
    assert honest.verify(X, y), honest.verify(X, y).reasons
    forged = with_proof(honest, steps=(Branch(4), Branch(0), Leaf(0), *EMPTY[name], *rest[1:]))
    assert not forged.verify(X, y) and not forged.verify(X, y, exact=True)


def test_empty_regions_do_not_hide_the_others():
    """A problem whose proof closes only empty regions by honest points: the others decide."""
    X, y = sample(N, P, 5)
    rules = Rules(requires=((0, (1,), True),))
    useless = DualPoint(np.zeros(N))
    z = y - y.mean()
    steps = (Branch(1), Leaf(0), Branch(0), Leaf(1), Leaf(0))
    settings = {"k": 2, "gamma": GAMMA, "structure": rules}
    found = strongest(X, y, Proof(steps, (useless, DualPoint(-0.9 * z))), (1,), **settings)
    assert found.lower_bound == 0.0
    better = Proof(steps, (DualPoint(-0.9 * z), useless))
    again = strongest(X, y, better, (1,), **settings)
    assert again.lower_bound > 0.0 and true_or_refused(again, X, y)


def test_a_fix_on_the_wrong_side_closes_the_whole_region():
    """Unit 1 is out because unit 0 is in; fixing it in leaves nothing, so the point must bound everything."""
    X, y = sample(N, P, 6)
    rules = Rules(limits=(((0, 1), 0, 1),))
    z = y - y.mean()
    settings = {"k": 2, "gamma": GAMMA, "structure": rules, "include": (0,)}
    points = (DualPoint(np.zeros(N)), DualPoint(-0.9 * z))
    for number in (0, 1):
        proof = Proof((Fix(number, indices(1), indices()), Leaf(1)), points)
        whole = Proof((Leaf(number),), points)
        found, expected = (strongest(X, y, one, (0,), **settings).lower_bound for one in (proof, whole))
        assert found == expected
        assert true_or_refused(strongest(X, y, proof, (0,), **settings), X, y)


def test_problems_without_a_support():
    """Nothing is admissible: every bound holds, but no model does."""
    X, y = sample(N, P, 7)
    rules = Rules(limits=((tuple(range(P)), 3, 5),))
    certificate = strongest(X, y, Proof((Leaf(0),), (DualPoint(np.zeros(N)),)), (0,), k=2, structure=rules)
    refused(certificate, X, y, "limit of 3 to 5")
    refused(replace(certificate, lower_bound=np.inf), X, y, "limit of 3 to 5")


# Numbers at the ends of the range


@pytest.mark.parametrize("prices", [(1e308,) * P, (5e-324,) * P, (0.0,) * P, (1e308, 0.0, 1e-300, 1.0, 1e200)])
def test_extreme_prices_of_units(prices):
    X, y = sample(N, P, 8)
    z = y - y.mean()
    for include in ((), (0,), (0, 1)):
        settings = {"k": 3, "gamma": GAMMA, "structure": Rules(prices=prices), "include": include}
        statement = statement_of(X, y, **settings)
        data = Data.of(statement, X, y, None)
        truth = optimum(statement, X, y)
        for steps in ((Leaf(0),), (Fix(0, indices(2), indices(3)), Leaf(0)), (Branch(2), Leaf(0), Regression())):
            found = prove(data, statement, Proof(steps, (DualPoint(-0.9 * z),)))
            assert not found.complaints
            assert found.bound <= truth or (np.isinf(found.bound) and truth > Fraction(np.finfo(float).max))


@pytest.mark.parametrize("scale", [1e-150, 1e-9, 1e9, 1e150])
@pytest.mark.parametrize("gamma", [1e-300, 1.0, 1e300, np.inf])
def test_extreme_data_with_units_and_limits(scale, gamma):
    X, y = sample(8, 4, 9)
    X = X * scale
    lower = tuple((np.array([0.0, -1.0, -np.inf, 0.0]) / scale).tolist())
    rules = Rules(units=(0, 1, 0, 2), limits=(((0, 1), 0, 1),))
    z = y - y.mean()
    for alpha in (-z, -0.1 * z, -1e-200 * z, -1e150 * z):
        statement = statement_of(X, y, k=2, gamma=gamma, structure=rules, lower=lower)
        data = Data.of(statement, X, y, None)
        proof = Proof((Leaf(0),), (DualPoint(alpha),))
        found, exact = prove(data, statement, proof), prove_exactly(data, statement, proof)
        assert not found.complaints and found.bound <= exact.bound


def test_infinite_gains_of_columns_that_are_out_do_not_matter():
    """Without a ridge, and with limits on one side: units that are out may gain anything."""
    X, y = sample(N, P, 10)
    rules = Rules(units=(0, 0, 1, 2, 3))
    asked = {"k": 2, "gamma": np.inf, "structure": rules, "exclude": (0, 2)}
    lower, upper = (0.0,) * P, (-0.0,) * 3 + (0.0,) * 2
    statement = statement_of(X, y, lower=lower, upper=upper, **asked)
    z = y - y.mean()
    found = prove(Data.of(statement, X, y, None), statement, Proof((Leaf(0),), (DualPoint(-z),)))
    assert found.bound == pytest.approx(0.5 * float(z @ z), rel=1e-12)
    open_side = replace(statement, upper=None, lower=None)
    assert prove(Data.of(open_side, X, y, None), open_side, Proof((Leaf(0),), (DualPoint(-z),))).bound == 0.0


# Files


def header_of(certificate):
    return json.loads(certificate.to_json())


def test_files_keep_structures_and_prices(structured):
    certificate, X, y = structured
    for again in (Certificate.from_json(certificate.to_json()), Certificate.from_bytes(certificate.to_bytes())):
        assert again.statement == certificate.statement and again.to_bytes() == certificate.to_bytes()
        verdict = again.verify(X, y, structure=RULES)
        assert verdict and verdict.lower_bound == certificate.lower_bound
    assert certificate.verify(X, y, exact=True)


PROBLEM = {
    "structure": [[], "none", 1, True, {}, {"units": None}],
    "lower": [0.0, "0", [0.0], [0.5] * P, ["nan"] * P, [None] * P, [True] * P, ["inf"] * P, [[0.0]] * P, [10**400] * P],
    "upper": [0.0, [0.0] * (P + 1), [-1.0] * P, ["-inf"] * P, {"0": 1.0}, ["infinity"] * P],
}
PARTS = {
    "units": [[0, 0, 1, 2], [1, 0, 1, 2, 3], [0, 0, 1, 2, 4], [0.0] * P, "00123", [0, 0, 1, 2, 2**60], [True] * P],
    "prices": [[1.0], [-1.0] * 4, ["1"] * 4, [None] * 4, 1.0, [1.0] * P, [10**400] * 4],
    "limits": [
        None,
        [[0, 1]],
        [[[0, 4], 0, 1]],
        [[[0, 0], 0, 1]],
        [[[0], 1, 0]],
        [[[], 0, 1]],
        [[[0], 0, 1.0]],
        {"0": 1},
    ],
    "requires": [None, [[0, [0], True]], [[0, [1], "true"]], [[0, [4], True]], [[4, [0], True]], [[0, [], True]]],
    "budgets": [
        None,
        [[[1.0] * 4]],
        [[[1.0] * 3, 1.0]],
        [[[1.0] * 4, -1.0]],
        [[[-1.0] * 4, 1.0]],
        [[[1.0] * 4, "inf"]],
    ],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in PROBLEM.items() for value in values])
def test_problems_that_are_none(structured, name, value):
    data = header_of(structured[0])
    data["problem"][name] = value
    with pytest.raises(ValueError, match="this is not a readable certificate"):
        Certificate.from_json(json.dumps(data))


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in PARTS.items() for value in values])
def test_rules_that_are_none(structured, name, value):
    data = header_of(structured[0])
    data["problem"]["structure"][name] = value
    with pytest.raises(ValueError, match="this is not a readable certificate"):
        Certificate.from_json(json.dumps(data))


@pytest.mark.parametrize("seed", range(8))
def test_any_changed_digit_is_refused_or_true(structured, seed):
    """Digits of the header, where the structure, the limits and the bound are."""
    certificate, X, y = structured
    rng = np.random.default_rng(seed)
    text = certificate.to_json()
    digits, n_refused = [i for i, letter in enumerate(text) if letter.isdigit()], 0
    for at in rng.permutation(digits)[:60]:
        changed = text[:at] + str((int(text[at]) + int(rng.integers(1, 10))) % 10) + text[at + 1 :]
        try:
            again = Certificate.from_json(changed)
        except ValueError:
            n_refused += 1
            continue
        statement, verdict = again.statement, again.verify(X, y)
        n_refused += not verdict
        if (statement.n, statement.p, statement.structure and True) == (N, P, True):
            assert not verdict or verdict.lower_bound <= optimum(statement, X, y)
    assert n_refused > 30


# Time and memory


def test_many_rules_take_little_time():
    """Ten thousand requirements, limits and steps, and a budget."""
    p = 5000
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((6, p)), rng.standard_normal(6)
    rules = Rules(
        units=tuple(range(p)),
        limits=tuple(((i, i + 1), 0, 1) for i in range(p - 1)),
        requires=tuple((i, ((i + 7) % p, (i + 31) % p), bool(i % 2)) for i in range(p)),
        budgets=((tuple(rng.random(p).tolist()), 3.0),),
    )
    statement = statement_of(X, y, k=5, gamma=0.01, structure=rules)
    steps = [step for i in range(500) for step in (Branch(int(i)), Leaf(0, 0))]
    prices = RowPrices(rng.permutation(12000)[:1000], rng.random(1000))
    proof = Proof((*steps, Leaf(0, 0)), (DualPoint(-0.5 * (y - y.mean())),), (), (prices,))
    found = prove(Data.of(statement, X, y, None), statement, proof)
    assert not found.complaints and 0.0 <= found.bound <= 0.5 * float(np.var(y) * 6)


def test_gigantic_numbers_in_rules():
    X, y = sample(N, P)
    rules = Rules(limits=(((0, 1), 0, 2**53), ((0, 1, 2), 0, 2)), budgets=(((1e308,) * P, 1.7e308),))
    statement = statement_of(X, y, k=2**53, structure=rules)
    found = prove(Data.of(statement, X, y, None), statement, Proof((Leaf(0),), (DualPoint(np.zeros(N)),)))
    assert found == (0.0, ())
    with pytest.raises(ValueError, match="a problem cannot have"):
        statement_of(X, y, k=2, structure=Rules(limits=(((2**53,), 0, 1),)))
    # Without units, a structure says nothing about p; its arrays are made only for data that fit.
    wide = replace(statement, p=10**15, structure=Rules(limits=(((0, 1), 0, 1),)))
    assert "of shape" in certificate_with(wide, X, y).verify(X, y).reasons[0]


def certificate_with(statement, X, y):
    plain = certificate_of(X, y, Proof((Leaf(0),), (DualPoint(np.zeros(N)),)), k=2)
    return replace(plain, statement=statement)


def test_the_objective_has_the_prices_of_units(structured):
    """A price for each unit, not for each column."""
    _, X, y = structured
    prices = (0.5, 1.0, 2.0, 4.0)
    settings = {"k": 3, "gamma": GAMMA, "structure": replace(RULES, prices=prices, limits=())}
    with_prices = certificate_of(X, y, Proof((Regression(),)), support=(0, 1, 3), **settings)
    without = certificate_of(X, y, Proof((Regression(),)), support=(0, 1, 3), **{**settings, "structure": RULES})
    assert with_prices.objective - without.objective == pytest.approx(2.5, rel=1e-9)
    chosen = {units_by_definition(RULES, P)[j] for j in (0, 1, 3)}
    assert exact_price(with_prices.statement, chosen) == Fraction(5, 2)
    assert with_prices.verify(X, y)
