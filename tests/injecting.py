"""Actions that tests inject at the points of ``sparsest.runtime.faults``."""

import signal


class OnCall:
    """An action that acts on one of its calls, counted from 1; ``calls`` is their number so far."""

    def __init__(self, number, act):
        self.number, self.act, self.calls = number, act, 0

    def __call__(self, *given):
        self.calls += 1
        return self.act() if self.calls == self.number else None


def interrupt(*given):
    """Act like Ctrl-C outside of the main thread's handler."""
    raise KeyboardInterrupt


def press(*given):
    """Press Ctrl-C; a signal to the whole process could reach the main thread later."""
    signal.raise_signal(signal.SIGINT)
