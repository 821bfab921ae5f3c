"""Conjugates of penalties on one side of zero, against a grid."""

import numpy as np
import pytest

from sparsest.core.penalties import L1, ElasticNet
from sparsest.paths.kernels.duality import side_terms, sum_of_sides

LAM = 0.7


@pytest.mark.parametrize("penalty", [L1(), ElasticNet(0.6)])
@pytest.mark.parametrize("limit", [0.0, 0.4, 3.0])
def test_conjugates_within_a_limit(penalty, limit, run):
    grid = np.linspace(0.0, limit, 4001)
    for push in (-1.0, 0.0, 0.3, 0.7, 1.1, 5.0):
        for scale in (0.5, 1.0):
            ratio, cost = run(side_terms)(penalty, push, LAM, limit, scale)
            assert ratio == 0.0
            assert cost == pytest.approx((scale * push * grid - penalty.value(grid, LAM)).max(), abs=1e-6)


def test_without_a_limit(run):
    for penalty, expected in ((L1(), np.inf), (ElasticNet(0.5), 0.5 * (2.0 - 0.35) ** 2 / 0.35)):
        ratio, cost = run(side_terms)(penalty, 2.0, LAM, np.inf, 1.0)
        assert ratio == pytest.approx(2.0 / penalty.threshold(LAM)) and cost == pytest.approx(expected)
    # A push that is scaled to its threshold costs nothing, in spite of rounding.
    for push in np.random.default_rng(0).uniform(0.7, 9.0, 50):
        ratio, _ = run(side_terms)(L1(), push, LAM, np.inf, 1.0)
        assert run(side_terms)(L1(), push, LAM, np.inf, 1.0 / ratio)[1] == 0.0


def test_sums(run):
    pushes, lam, limits = np.array([1.0, 2.0, 3.0]), np.full(3, 0.5), np.array([np.inf, np.inf, 2.0])
    largest, total = run(sum_of_sides)(ElasticNet(0.9), pushes, lam, limits, 0.8)
    terms = [run(side_terms)(ElasticNet(0.9), *entry, 0.8) for entry in zip(pushes, lam, limits, strict=True)]
    assert largest == pytest.approx(max(ratio for ratio, _ in terms))
    assert total == pytest.approx(sum(cost for _, cost in terms))
