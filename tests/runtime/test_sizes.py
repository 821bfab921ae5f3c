"""Sizes of blocks are changed for a while, also by a failing block."""

import pytest

from sparsest.runtime.sizes import Sizes, resized, sizes


def test_changes_nest_and_end():
    usual = sizes()
    assert usual == Sizes()
    with resized(text_rows=3):
        with pytest.raises(ZeroDivisionError), resized(large_matrix=7):
            assert sizes() == usual._replace(text_rows=3, large_matrix=7)
            _ = 1 / 0
        assert sizes() == usual._replace(text_rows=3)
    assert sizes() == usual


def test_unknown_sizes_are_refused():
    with pytest.raises(ValueError, match="nothing"), resized(nothing=1):
        pass
