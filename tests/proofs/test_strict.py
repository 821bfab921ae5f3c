"""Types of the parts of a statement are taken literally."""

import numpy as np
import pytest

from sparsest.proofs.strict import are_counts, are_numbers, is_count, is_number, require, shortened


@pytest.mark.parametrize("value", [0, 3, 2**53])
def test_counts(value):
    assert is_count(value) and are_counts((value, 1)) and is_number(value)


@pytest.mark.parametrize("value", [-1, True, 1.0, "1", None, 2**53 + 1, 10**400, [1]])
def test_what_is_no_count(value):
    assert not is_count(value) and not are_counts((1, value))


@pytest.mark.parametrize("value", [0, -3, 0.5, np.float64(2.0), np.inf, np.nan])
def test_numbers(value):
    assert is_number(value) and are_numbers((0.5, value)) and are_numbers((1, value))


@pytest.mark.parametrize("value", [True, "1", None, 10**400, 1j, [0.5], np.array(1.0)])
def test_what_is_no_number(value):
    assert not is_number(value) and not are_numbers((0.5, value))


def test_only_tuples_are_lists_of_numbers():
    assert are_counts(()) and are_numbers(())
    assert not are_counts([1]) and not are_numbers([0.5]) and not are_numbers(None)


def test_refusals_are_short():
    require(True, "k", 1)
    with pytest.raises(ValueError, match=r"a problem cannot have k = 1$"):
        require(False, "k", 1)
    assert len(shortened(tuple(range(10**4)))) < 300
