"""The clock of a search: its time limit, Ctrl-C, and the events it sends."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, TypeVar

from sparsest.runtime.events import Alpha, Event, Incumbent, Pass, Status
from sparsest.runtime.faults import reach
from sparsest.runtime.jit import compiling_seconds

Callback = Callable[[Event], Any]
Built = TypeVar("Built")

# Seconds between checks of the clock while kernels run.
_CHECK_INTERVAL = 0.05


class _Keyboard:
    """Handle Ctrl-C while searches run in the main thread, possibly nested (from a callback).

    An exception that a signal handler raises inside a compiled kernel is lost, together with the result, so no handler
    that may raise one runs there.  The first Ctrl-C asks the search to stop; a second one raises KeyboardInterrupt.  A
    handler that the program has installed itself runs when the clock is checked next; KeyboardInterrupt from it asks
    the search to stop.
    """

    def __init__(self) -> None:
        self.heard = False
        self._clocks: list[Clock] = []
        self._usual: Any = None
        self._postponed: list[tuple[int, FrameType | None]] = []

    @contextmanager
    def serve(self, clock: Clock) -> Iterator[None]:
        """Let Ctrl-C stop this clock; do nothing outside the main thread or if SIGINT has no Python handler."""
        first = not self._clocks
        usual = signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
        if not callable(usual):
            yield
            return
        self._clocks.append(clock)
        if first:
            self._usual = usual
            signal.signal(signal.SIGINT, self._hear)
        try:
            yield
        except SystemError as error:
            # A second Ctrl-C has raised this inside a kernel.
            if isinstance(error.__cause__, KeyboardInterrupt):
                raise KeyboardInterrupt from error
            raise
        finally:
            try:
                self.catch_up()
            finally:
                self._clocks.pop()
                if first:
                    self._release()

    def _release(self) -> None:
        """Restore the previous handler, unless another one was installed in the meantime."""
        self.heard = False
        if signal.getsignal(signal.SIGINT) == self._hear:
            signal.signal(signal.SIGINT, self._usual)

    def _hear(self, signum: int, frame: FrameType | None) -> None:
        if self._usual is not signal.default_int_handler:
            self._postponed.append((signum, frame))
            return
        self._stop()
        signal.signal(signal.SIGINT, self._usual)

    def _stop(self) -> None:
        self.heard = True
        for clock in self._clocks:
            clock.interrupted = True

    def catch_up(self) -> None:
        """Run the program's own handler for the signals since the last call."""
        while self._postponed and threading.current_thread() is threading.main_thread():
            try:
                self._usual(*self._postponed.pop(0))
            except KeyboardInterrupt:
                if self.heard:
                    raise
                self._stop()


_keyboard = _Keyboard()


_of_processor: ContextVar[bool] = ContextVar("of_processor", default=False)


@contextmanager
def counting_processor_time() -> Iterator[None]:
    """Let clocks that start within the context count CPU time, so that limits do not depend on the load."""
    token = _of_processor.set(True)
    try:
        yield
    finally:
        _of_processor.reset(token)


class Clock:
    """Time since the start, the limit, and whether the callback or Ctrl-C has asked the search to stop.

    Time spent on compiling kernels does not count.  A call starts one clock before it prepares its data, and everything
    that it calls gets this clock: ``seconds`` are those since the call.

    Parameters
    ----------
    time_limit : seconds after which the search has to stop
    callback : called with every event
    spent : seconds that count already, such as those for preparing the data
    """

    def __init__(self, time_limit: float, callback: Callback | None = None, spent: float = 0.0) -> None:
        self._of_processor = _of_processor.get()
        self._began, self._compiling, self._spent = self._now(), compiling_seconds(), spent
        self.limit = time_limit
        self.callback = callback
        self.interrupted = False
        # Seconds before the limit that are reserved for work after the search.
        self.reserved = 0.0
        self._silenced: type | tuple[type, ...] = ()

    def _now(self) -> float:
        return time.process_time() if self._of_processor else time.perf_counter()

    def seconds(self) -> float:
        """Seconds since the start."""
        compiling = compiling_seconds() - self._compiling
        return self._spent + max(self._now() - self._began - compiling, 0.0)

    def left(self) -> float:
        """Seconds until the limit."""
        return max(self.limit - self.seconds(), 0.0)

    def expired(self) -> bool:
        """Whether the search has to stop now; call it several times a second."""
        _keyboard.catch_up()
        return self.interrupted or self.seconds() >= self.limit - self.reserved or bool(reach("clock"))

    @contextmanager
    def reserving(self, seconds: float) -> Iterator[None]:
        """Stop a search inside the context this many seconds before the limit, for work after it."""
        before, self.reserved = self.reserved, seconds
        try:
            yield
        finally:
            self.reserved = before

    def part(self, time_limit: float) -> Clock:
        """A clock with a separate limit for a part of the work; it passes events on, and stops when this one does."""
        part = Clock(time_limit, self.relay)
        part.interrupted = self.interrupted
        return part

    def listening(self) -> AbstractContextManager[None]:
        """Let the first Ctrl-C stop the search with its result so far; a second one raises KeyboardInterrupt."""
        return _keyboard.serve(self)

    @contextmanager
    def watching(self, halt: Callable[[bool], None]) -> Iterator[None]:
        """Let another thread call ``halt`` regularly with whether to stop, because compiled kernels cannot check."""
        done = threading.Event()

        def watch() -> None:
            while not done.wait(_CHECK_INTERVAL):
                halt(self.expired())

        threading.Thread(target=watch, daemon=True).start()
        try:
            yield
        finally:
            done.set()

    def interrupt(self, error: KeyboardInterrupt) -> None:
        """Stop the search because of this exception, unless it is a second Ctrl-C: that is raised."""
        if _keyboard.heard:
            raise error
        self.interrupted = True

    def tell(self, event: Event) -> None:
        """Send an event; a callback that returns True stops the search, and so does Ctrl-C inside it."""
        if self.callback is None or isinstance(event, self._silenced):
            return
        try:
            if self.callback(event) is True:
                self.interrupted = True
        except KeyboardInterrupt as error:
            self.interrupt(error)

    @contextmanager
    def silenced(self, kinds: type | tuple[type, ...] = object) -> Iterator[None]:
        """Send no events of these kinds (by default of any kind) inside the context, for a search within this one."""
        before, self._silenced = self._silenced, kinds
        try:
            yield
        finally:
            self._silenced = before

    def relay(self, event: Event) -> bool:
        """Send an event of a search within this one; True stops that search too."""
        self.tell(event)
        return self.interrupted

    def found(self, objective: float, support: Iterable[int]) -> None:
        """Send the event of a new incumbent."""
        self.tell(Incumbent(self.seconds(), objective, tuple(int(j) for j in support)))

    def solved(self, n_done: int, n_alphas: int, n_features: int) -> None:
        """Send the event of an alpha that was solved."""
        self.tell(Alpha(self.seconds(), n_done, n_alphas, n_features))

    def read(self, passes: float, n_bytes: int) -> None:
        """Send the event of a block that was read."""
        self.tell(Pass(self.seconds(), passes, n_bytes))

    def early(self) -> Status:
        """The status of a search that stopped early."""
        return Status.INTERRUPTED if self.interrupted else Status.TIME_LIMIT


def finish_despite_interrupt(build: Callable[[], Built]) -> Built:
    """Build a result even if Ctrl-C comes in the meantime; a second Ctrl-C raises KeyboardInterrupt."""
    try:
        return build()
    except KeyboardInterrupt:
        if _keyboard.heard:
            raise
        return build()
