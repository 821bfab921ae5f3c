"""Warnings about searches that ended without a proof: one, with the gap and with what to do."""

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from processes import run
from samples import HARD, hard, sample
from sparsest import BestSubsetRegressor, Status, best_subset, best_subset_path

RAW = {**HARD, "standardize": False}


def warning_of(call):
    """The one warning of a call, which names the line of the caller."""
    with pytest.warns(ConvergenceWarning) as caught:
        result = call()
    assert len(caught) == 1 and caught[0].filename == __file__
    return str(caught[0].message), result


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"time_limit": 1e-3}, "stopped at the time limit, with a gap of .* left to prove: give it more time"),
        ({"node_limit": 1}, "stopped at the node or memory limit, with a gap of .*: raise node_limit or max_memory"),
        ({"gap_tol": 0.0, "k": 60}, "the search is complete, with a gap of .*: rounding errors leave no more to prove"),
    ],
    ids=["time", "nodes", "rounding"],
)
def test_what_is_said(limit, words):
    X, y = hard()
    asked = {**RAW, **limit}
    message, result = warning_of(lambda: best_subset(X, y, **asked))
    assert re.match(words, message), message
    assert f"{result.gap:.2g}" in message
    model_message, _ = warning_of(lambda: BestSubsetRegressor(**asked).fit(X, y))
    assert model_message.partition(",")[0] == message.partition(",")[0]


def test_no_ridge_and_nothing_proved():
    X, y = sample("logistic", 60, 30)
    message, result = warning_of(lambda: best_subset(X, y, 8, loss="logistic", gamma=np.inf, node_limit=5))
    assert message.startswith("without a ridge (gamma=inf) nothing could be proved") and result.lower_bound == 0.0


def test_a_path_warns_once():
    X, y = hard()
    message, results = warning_of(
        lambda: best_subset_path(X, y, [1, 4, 5], gamma=0.1, standardize=False, node_limit=1, gap_tol=1e-6)
    )
    short = [result for result in results if result.status is Status.NODE_LIMIT]
    worst = max(short, key=lambda result: result.gap)
    assert message.startswith(f"k = {worst.statement.k}, the worst of {len(short)} of 3: stopped at the node")


def test_silence():
    X, y = hard()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in ("local", "relaxation", "subgradient"):
            assert best_subset(X, y, **RAW, method=method, time_limit=0.5).status is not Status.OPTIMAL
        stopped = best_subset(X, y, **RAW, callback=lambda event: True)
    assert stopped.status is Status.INTERRUPTED


_FIRST_FIT = """
import sys, warnings
import numpy as np
import sparsest
X = np.random.default_rng(0).standard_normal((60, 80))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    sparsest.best_subset(X, X.sum(axis=1), 10, node_limit=1)
    sparsest.penalty_path(X, X.sum(axis=1), tol=1e-15, max_iter=1)
print([warning.category.__name__ for warning in caught], "sklearn" in sys.modules)
"""


def test_a_warning_does_not_load_scikit_learn():
    """That takes a second, in which a time limit is over."""
    assert run("-c", _FIRST_FIT).strip() == "['UserWarning', 'UserWarning'] False"
