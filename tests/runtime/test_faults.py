"""Faults are injected at named points only, and only for a while."""

import re
from pathlib import Path

import pytest

import sparsest
from sparsest.runtime.faults import POINTS, injected, reach


def test_an_action_runs_only_while_it_is_injected():
    assert reach("linear program", 3.0) is None
    with injected("linear program", lambda seconds: seconds + 1.0):
        assert reach("linear program", 3.0) == 4.0 and reach("clock") is None
        with injected("linear program", lambda seconds: -seconds):
            assert reach("linear program", 3.0) == -3.0
        assert reach("linear program", 3.0) == 4.0
    assert reach("linear program", 3.0) is None


def test_an_unknown_point_is_refused():
    with pytest.raises(ValueError, match="unknown point 'clocks'; the points are clock,"), injected("clocks", print):
        pass


def test_the_library_reaches_every_point_and_no_other():
    sources = Path(sparsest.__file__).parent.rglob("*.py")
    assert {name for path in sources for name in re.findall(r'\breach\("([^"]+)"', path.read_text())} == POINTS.keys()
