"""Work that is repeated keeps what is done when it is interrupted."""

import pytest
from joblib import delayed
from sklearn.exceptions import ConvergenceWarning

from injecting import press
from sparsest.runtime.events import Repetition
from sparsest.selection.repeating import collect, warn_if_incomplete


def interrupted_at(i, at):
    if i == at:
        press()
    return i


def run(at, told=None):
    calls = (delayed(interrupted_at)(i, at) for i in range(6))
    return collect(calls, 1, told, lambda seconds, n_done: Repetition(seconds, n_done, 6))


def test_all_of_it():
    events = []
    assert run(None, events.append) == list(range(6))
    assert [event.n_done for event in events] == list(range(1, 7))


def test_ctrl_c_keeps_what_is_done(keyboard):
    assert run(3) == [0, 1, 2]
    with pytest.raises(KeyboardInterrupt):
        run(0)


def test_one_warning_for_each_fact():
    with pytest.warns(ConvergenceWarning) as caught:
        warn_if_incomplete(3, 5, "splits", 2)
    assert [str(one.message).split(":")[0] for one in caught] == [
        "interrupted after 3 of 5 splits",
        "in 2 of 3 splits the search ended without a proof",
    ]
    warn_if_incomplete(5, 5, "splits", 0)
