"""A first choice exists exactly if some choice keeps all rules."""

from itertools import product

import numpy as np
import pytest

from core.structure.test_rules import UNITS, kept, random_rules
from sparsest.core.structure.feasibility import find_choice, rows_of
from sparsest.core.structure.structured import StructuredSparsity


@pytest.mark.parametrize("seed", range(60))
def test_against_all_choices(seed):
    rng = np.random.default_rng(seed)
    rules, k = random_rules(rng), int(rng.integers(1, UNITS + 1))
    rule = StructuredSparsity(k, np.zeros(UNITS), np.arange(UNITS), rules)
    forced, banned = rng.random(UNITS) < 0.15, rng.random(UNITS) < 0.15
    banned &= ~forced
    choices = [np.array(z, dtype=bool) for z in product([False, True], repeat=UNITS)]
    fitting = [z for z in choices if z.sum() <= k and kept(rules, z) and z[forced].all() and not z[banned].any()]
    found = find_choice(rule, forced, banned)
    assert (found is not None) == bool(fitting)
    if found is not None:
        assert any(np.flatnonzero(z).tolist() == list(found) for z in fitting)
    A, b = rows_of(rules)
    for z in choices:
        assert not kept(rules, z) or (A @ z <= b + 1e-12).all()
