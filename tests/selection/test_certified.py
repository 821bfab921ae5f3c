"""Certified choices: the bounds of sizes that certificates give, and certificates that were tampered with."""

from dataclasses import replace

import numpy as np
import pytest

from samples import sample
from sparsest import Status, certified_choice
from sparsest.selection.certified import CertifiedChoice, about_other_sizes, bounds_of_sizes, open_sizes, value_above
from sparsest.selection.criteria import Criterion

N, P = 24, 7
BIC = Criterion("bic", "squared", N, P, True)


def test_a_bound_for_more_features_holds_for_fewer():
    """A size has the largest bound of any that admits it; without one, only losses above zero are known."""
    sizes, known = (0, 1, 2, 3, 5), {1: 7.0, 2: 4.0, 3: 5.0}
    bounds = bounds_of_sizes(BIC, sizes, known)
    for bound, size, objective in zip(bounds, sizes, (7.0, 7.0, 5.0, 5.0), strict=False):
        assert bound <= BIC.value(objective, size) and bound == pytest.approx(BIC.value(objective, size), rel=1e-12)
    assert bounds[4] <= BIC.value(0.0, 5)
    assert bounds_of_sizes(BIC, (1,), {}).tolist() == bounds_of_sizes(BIC, (1,), {1: -3.0}).tolist()


def test_sizes_are_open_unless_their_bounds_exceed_the_value():
    bounds = np.array([3.0, 2.0, np.nextafter(2.0, 3.0), -np.inf, 1.0])
    assert open_sizes((0, 1, 2, 4, 6), bounds, 2.0, 6) == (1, 4)


@pytest.mark.parametrize(
    ("left", "words"),
    [
        ((), "every other number of features is excluded by a proof"),
        ((1,), "a model of 1 feature may be better"),
        ((3, 5), "a model of 3, 5 features may be better"),
        (tuple(range(30)), "a model of 0, 1, 2, 3, 4, 5, 6, 7, … (30 numbers in all) features may be better"),
    ],
)
def test_other_sizes_in_words(left, words):
    assert about_other_sizes(left) == words
    assert about_other_sizes(left, "column") == words.replace("feature", "column")


def test_the_value_of_a_model_is_from_above():
    value = value_above(BIC, 3.0, 2)
    assert value >= BIC.value(3.0, 2) and value == pytest.approx(BIC.value(3.0, 2), rel=1e-12)


@pytest.fixture(scope="module")
def proved():
    X, y = sample("squared", N, P, seed=3)
    return X, y, certified_choice(X, y, "bic", gamma=0.3, time_limit=np.inf)


def forged(choice, k, **changes):
    """A choice in which the certificate of one size claims something else."""
    certificate = replace(choice.results[k].certificate, **changes)
    bounds = {"lower_bound": certificate.lower_bound, "certificate": certificate}
    return replace(choice, results={**choice.results, k: replace(choice.results[k], **bounds)})


def test_what_is_false_is_refused(proved):
    X, y, choice = proved
    assert choice.verify(X, y)
    k = max(k for k in choice.results if k < choice.k)
    wrong = {
        "another bound": forged(choice, k, lower_bound=1.01 * choice.results[k].certificate.lower_bound),
        "another size": replace(choice, results={**choice.results, k: choice.results[k - 1]}),
        "more observations": replace(choice, criterion=replace(choice.criterion, n=N + 1.0)),
        "fewer candidates": replace(choice, criterion=replace(choice.criterion, p=P - 1)),
        "another loss": replace(choice, criterion=replace(choice.criterion, loss="logistic")),
        "a size that is not admitted": replace(choice, sizes=choice.sizes[: choice.k]),
    }
    for what, false in wrong.items():
        assert not false.verify(X, y), what
    assert not choice.verify(X, y + 1.0)
    # Fewer certificates prove less, and say so.
    fewer = replace(choice, results={choice.k: choice.results[choice.k]})
    assert fewer.not_excluded and fewer.verify(X, y)


def test_frame(proved):
    _, _, choice = proved
    frame = choice.to_frame()
    assert list(frame.index) == list(choice.sizes)
    assert frame.loc[~frame.excluded].index.tolist() == [choice.k]
    assert isinstance(choice, CertifiedChoice) and choice.result.status is Status.OPTIMAL
