"""Times in words."""

from sparsest.runtime.duration import duration


def test_durations():
    assert [duration(s) for s in (5, 150, 7300, 2e5, 2e6)] == ["5 s", "2 min", "2 hours", "2 days", "3 weeks"]
