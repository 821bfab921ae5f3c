"""Certified choices with groups and structures: columns are counted, against all supports."""

from dataclasses import replace

import numpy as np
import pytest

from oracles import support_values
from samples import sample
from sparsest import Status, Structure, certified_choice, information_criterion
from sparsest.core.problem import make_problem
from sparsest.runtime.clock import Clock
from sparsest.runtime.faults import injected
from sparsest.selection.certified_sizes import price_of_a_column, problem_of_size, with_price, without_price
from sparsest.selection.criteria import CRITERIA, Criterion
from sparsest.subset.tree.method import Tree

N, P = 30, 8
# Units of sizes 3, 1, 2, 1 and 1.
LABELS = ["a", "a", "a", "b", "c", "c", "d", "e"]
PAIRS = [0, 0, 1, 1, 2, 2, 3, 3]


def criteria_of_all(choice, X, y, admits, **settings):
    """The criterion of every support that a separate implementation of the rules admits."""
    values = support_values(make_problem(X, y, P, **settings))
    return {s: choice.criterion.value(v, len(s)) for s, v in values.items() if admits(set(s))}


def whole_groups(labels):
    return lambda s: all(
        len(s & {j for j in range(P) if labels[j] == g}) in (0, labels.count(g)) for g in dict.fromkeys(labels)
    )


def check(choice, values, X, y, **rows):
    """The choice is the best of all admissible supports, every bound is one, and the certificates prove it."""
    assert choice.status is Status.OPTIMAL and choice.not_excluded == ()
    assert tuple(choice.result.support) == min(values, key=values.get)
    assert choice.value == pytest.approx(min(values.values()), abs=choice.criterion.n * 2e-4)
    assert {len(s) for s in values} <= set(choice.sizes)
    for size, bound in zip(choice.sizes, choice.bounds, strict=True):
        assert bound <= min((v for s, v in values.items() if len(s) == size), default=np.inf) + 1e-7
    verdict = choice.verify(X, y, **rows)
    assert verdict, verdict.reasons


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize(("loss", "gamma"), [("squared", 0.3), ("squared", np.inf), ("logistic", 0.3)])
def test_groups_of_several_sizes(name, loss, gamma):
    X, y = sample(loss, N, P, seed=3)
    settings = {"gamma": gamma, "loss": loss, "standardize": False}
    choice = certified_choice(X, y, name, feature_groups=LABELS, time_limit=np.inf, **settings)
    check(choice, criteria_of_all(choice, X, y, whole_groups(LABELS), gamma=gamma, loss=loss), X, y)
    assert choice.sizes == tuple(range(P + 1))
    if name == "bic":
        assert choice.verify(X, y, exact=True)


@pytest.mark.parametrize("seed", range(4))
def test_groups_of_one_size_are_counted_by_k(seed):
    X, y = sample("squared", N, P, seed=seed)
    choice = certified_choice(X, y, "bic", gamma=0.3, standardize=False, feature_groups=PAIRS, time_limit=np.inf)
    check(choice, criteria_of_all(choice, X, y, whole_groups(PAIRS), gamma=0.3), X, y)
    assert choice.sizes == (0, 2, 4, 6, 8)
    assert all(not r.statement.structure.budgets and r.statement.k == k // 2 for k, r in choice.results.items())


STRUCTURES = {
    "limits": (Structure(limits=[([0, 1, 2, 3], 1), ([4, 5, 6, 7], 1, 2)]), None),
    "requires": (Structure(requires=[(7, [2, 3]), (0, [4, 5], "any")]), None),
    "budget": (Structure(costs=[3, 1, 2, 5, 1, 1, 2, 4], max_cost=6), None),
    "limits of groups": (Structure(limits=[(["a", "b", "c"], 1, 2)], requires=[("d", ["a"])]), LABELS),
    "columns of groups": (Structure(max_columns=4), LABELS),
}


def admits(structure, labels, s):
    """Whether a support keeps a structure, by its words."""
    units = {(j if labels is None else labels[j]) for j in s}
    if labels is not None and not whole_groups(labels)(s):
        return False
    if structure.max_columns is not None and len(s) > structure.max_columns:
        return False
    if structure.costs is not None and sum(structure.costs[j] for j in s) > structure.max_cost:
        return False
    for some, *least, most in structure.limits:
        if not (least[0] if least else 0) <= len(units & set(some)) <= most:
            return False
    return all(
        feature not in units or (any if how else all)(u in units for u in needed)
        for feature, needed, *how in structure.requires
    )


@pytest.mark.parametrize("gamma", [0.3, np.inf])
@pytest.mark.parametrize("name", STRUCTURES)
def test_structures(name, gamma):
    structure, labels = STRUCTURES[name]
    X, y = sample("squared", N, P, seed=6)
    choice = certified_choice(
        X, y, "bic", gamma=gamma, standardize=False, structure=structure, feature_groups=labels, time_limit=np.inf
    )
    values = criteria_of_all(choice, X, y, lambda s: admits(structure, labels, s), gamma=gamma)
    check(choice, values, X, y)


def test_forced_groups_some_sizes_and_weights():
    X, y = sample("squared", N, P, seed=2)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, N)
    settings = {"gamma": 0.5, "sample_weight": weights}
    choice = certified_choice(
        X, y, "aic", [3, 4, 5, 6], include=[4], exclude=[7], feature_groups=LABELS, standardize=False,
        time_limit=np.inf, **settings,
    )  # fmt: skip
    assert choice.sizes == (3, 4, 5, 6)
    inside = whole_groups(LABELS)
    values = criteria_of_all(
        choice, X, y, lambda s: inside(s) and {4, 5} <= s and 7 not in s and 3 <= len(s) <= 6, **settings
    )
    check(choice, values, X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="ks counts the columns of groups"):
        certified_choice(X, y, "aic", [1], feature_groups=PAIRS)


def test_a_price_of_columns_becomes_a_price_of_the_budget():
    """The proof of a problem with a price per column proves the same, less the price of all columns, without it."""
    X, y = sample("squared", N, P, seed=1)
    problem = make_problem(X, y, P, gamma=0.3, feature_groups=LABELS)
    criterion = Criterion("bic", "squared", N, P, True)
    for size in (3, 4, 6):
        limited = problem_of_size(problem, size, P)
        price = price_of_a_column(criterion, 40.0, 4, problem, size)
        assert price > 0.0 and limited.sparsity.rules.budgets[-1].most == size
        priced = Tree(gap_tol=1e-6).solve(with_price(limited, price))
        result = without_price(priced, limited, price, size, Clock(np.inf), 1e-6)
        assert result.lower_bound == pytest.approx(priced.lower_bound - price * size, rel=1e-6)
        assert result.statement.structure.prices is None and result.certificate.verify(X, y)
        values = support_values(make_problem(X, y, P, gamma=0.3))
        whole = whole_groups(LABELS)
        least = min(v for s, v in values.items() if whole(set(s)) and len(s) <= size)
        assert result.lower_bound <= least + 1e-9


def test_a_price_that_does_not_decide_is_dropped():
    """With a price far too high the searches end without excluding their sizes, and go on without one."""
    X, y = sample("squared", N, P, seed=3)
    asked = []

    def high(size):
        asked.append(size)
        return 10.0 if size else None

    with injected("price", high):
        choice = certified_choice(X, y, "bic", gamma=0.3, standardize=False, feature_groups=LABELS, time_limit=np.inf)
    assert any(asked)
    check(choice, criteria_of_all(choice, X, y, whole_groups(LABELS), gamma=0.3), X, y)


def test_choices_with_another_structure_are_refused():
    X, y = sample("squared", N, P, seed=3)
    settings = {"gamma": 0.3, "time_limit": np.inf}
    choice = certified_choice(X, y, "bic", feature_groups=LABELS, **settings)
    plain = certified_choice(X, y, "bic", **settings)
    k = next(k for k in choice.results if 0 < k != choice.k)
    other = certified_choice(X, y, "bic", feature_groups=["a"] * 3 + list("bcdef"), **settings)
    for wrong in (plain.results.get(k), other.results.get(k), choice.results[min(choice.results)]):
        assert wrong is not None
        assert not replace(choice, results={**choice.results, k: wrong}).verify(X, y)
    price = replace(choice.result.statement.structure, prices=(0.1,) * 5)
    priced = replace(choice.result, statement=replace(choice.result.statement, structure=price, l0_penalty=None))
    assert any("price" in reason for reason in replace(choice, result=priced).verify(X, y).reasons)


def test_information_criteria_count_columns():
    X, y = sample("squared", N, P, seed=3)
    choice = certified_choice(X, y, "bic", gamma=np.inf, feature_groups=LABELS, time_limit=np.inf)
    assert information_criterion(choice.result, X, y, "bic") == pytest.approx(choice.value, rel=1e-9)
