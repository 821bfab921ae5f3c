"""Settings that all tests share."""

import signal

import pytest
from hypothesis import settings

settings.register_profile("seeded", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("seeded")


@pytest.fixture
def keyboard():
    """Ctrl-C as at a terminal: a process started in the background ignores it."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)
