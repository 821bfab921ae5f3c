"""The price of a Newton step, compiled and plain."""

import numpy as np
import pytest

from sparsest.paths.kernels.price import Price, newton_price


def test_newton_steps_have_a_price(run):
    price, w = Price(4.0, 80.0, 0.5, 3.0), np.array([1.0, 0.0, -2.0, 0.0])
    assert run(newton_price)(price, w) == pytest.approx(4.0 + 80.0 / 9.0)
    assert run(newton_price)(price._replace(enough=1.0), w) == pytest.approx(4.0 + 80.0 / 9.0 + 1.0)
