"""Engines: each one agrees with the tree and is chosen by name."""

import sys
from itertools import product

import numpy as np
import pytest

from checks import best_subset, check_certificate
from samples import sample
from sparsest.runtime.events import Root, Status
from sparsest.subset.cuts.engines import _scaled
from sparsest.subset.cuts.method import ENGINES


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", [{"k": 3}, {"l0_penalty": 0.8}, {"k": 3, "l0_penalty": 0.1}], ids=str)
@pytest.mark.parametrize("loss", ["squared", "logistic", "hinge"])
def test_engines_agree_with_the_tree(engine, form, loss):
    X, y = sample(loss, 40, 12, 1)
    settings = {"loss": loss, "gamma": 0.2, **form}
    exact = best_subset(X, y, **settings)
    result = best_subset(X, y, method="cuts", engine=engine, **settings)
    assert result.status is exact.status is Status.OPTIMAL
    assert result.objective == pytest.approx(exact.objective, rel=1.1e-4)
    check_certificate(result, X, y)


@pytest.mark.parametrize("engine", ENGINES)
def test_forced_features_stay(engine):
    X, y = sample("squared", 40, 12, 1)
    asked = {"k": 4, "gamma": 0.2, "include": [7, 11], "exclude": [0]}
    exact = best_subset(X, y, **asked)
    result = best_subset(X, y, method="cuts", engine=engine, **asked)
    assert {7, 11} <= set(result.support) and 0 not in result.support
    assert result.objective == pytest.approx(exact.objective, rel=1.1e-4)


@pytest.mark.parametrize("engine", ENGINES)
def test_no_feature_is_left_to_choose(engine):
    """With a tolerance of zero the engine runs even then."""
    X, y = sample("squared_epsilon_insensitive", 33, 3)
    asked = {"loss": "squared_epsilon_insensitive", "k": 0, "l0_penalty": 0.02, "gamma": 1e8, "gap_tol": 0.0}
    result = best_subset(X, y, method="cuts", engine=engine, **asked)
    assert result.support.size == 0 and result.gap < 1e-9
    check_certificate(result, X, y)


@pytest.mark.parametrize("engine", ["scip", "gurobi"])
def test_an_engine_that_is_stopped_leaves_a_proved_bound(engine):
    """The clock also stops external engines; the bound follows from the cuts found until then."""
    X, y = sample("squared", 30, 14, 2)
    best = best_subset(X, y, 4, gamma=0.5)
    stopped = best_subset(
        X, y, 4, gamma=0.5, method="cuts", engine=engine, callback=lambda event: isinstance(event, Root)
    )
    assert stopped.status is Status.INTERRUPTED
    assert stopped.lower_bound <= best.objective <= stopped.objective * (1.0 + 1e-4)
    check_certificate(stopped, X, y)


@pytest.mark.parametrize(
    ("engine", "package", "extra"), [("scip", "PySCIPOpt", "scip"), ("gurobi", "gurobipy", "gurobi")]
)
def test_an_engine_that_is_not_installed(monkeypatch, engine, package, extra):
    for name in ("pyscipopt", "gurobipy"):
        monkeypatch.setitem(sys.modules, name, None)
    X, y = sample("squared", 30, 14, 2)
    with pytest.raises(ValueError, match=rf"needs {package}: install it with pip install 'sparsest\[{extra}\]'"):
        best_subset(X, y, 4, gamma=0.5, method="cuts", engine=engine)


def test_coefficients_are_limited_to_the_constant():
    """With η ≥ 0 the cut is equivalent for every support."""
    q, scale = np.array([1e30, 1.0, 0.0, 3.0]), 0.5
    constant, coefficients = _scaled(2.0, q, scale)
    assert constant == 4.0 and coefficients.tolist() == [4.0, 2.0, 0.0, 4.0]
    assert not _scaled(-1.0, q, scale)[1].any()
    for chosen in product((False, True), repeat=4):
        said = 2.0 - q[list(chosen)].sum()
        shortened = 2.0 - scale * coefficients[np.array(chosen, dtype=bool)].sum()
        assert max(said, 0.0) == max(shortened, 0.0)


@pytest.mark.parametrize("engine", ["scip", "gurobi"])
def test_cuts_far_above_the_incumbent(engine):
    """The best model fits perfectly: all others are worse by more than engines take for infinity."""
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (7, 9)).astype(np.float64)
    y = 1e-4 * X[:, 2]
    asked = {"k": 2, "gamma": np.inf, "max_coef": 0.01, "standardize": False, "fit_intercept": False}
    result = best_subset(X, y, method="cuts", engine=engine, **asked)
    assert result.support.tolist() == [2] or result.objective < 1e-30
    check_certificate(result, X, y)
