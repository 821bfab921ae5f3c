"""How kernels are compiled, cached and dispatched.

``kernel`` compiles a function and caches it on disk under a key made of *all* compiled sources, because
numba's own key notices a change in the function's file but not in the files of what it calls.

``dispatched`` makes a function of a NamedTuple (a loss or a penalty) call that tuple's method of the same name:
in plain Python as usual, in compiled code by compiling the method's body for that class.  Neither compiled
functions as arguments nor jitclasses are cached across processes; NamedTuples are.

Compiling, and loading what was compiled before, takes seconds that no limit should count: ``compiling_seconds`` adds
them up for the whole process.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numba
import numpy as np
from numba.core import config, event
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys
from numba.extending import overload

# Kernels are never passed as function pointers, for which numba would compile a second entry point.
_FLAGS = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz"},
    "no_cfunc_wrapper": True,
}


@cache
def cache_directory() -> Path:
    """The folder of compiled kernels of these sources."""
    package = Path(__file__).parent.parent
    compiled = [*package.glob("core/losses/*.py"), *package.glob("**/kernels/*.py")]
    sources = [Path(__file__), package / "core" / "penalties.py", *sorted(compiled)]
    digest = hashlib.sha256(f"{numba.__version__} {np.__version__}".encode())
    for source in sources:
        if source.exists():
            digest.update(source.read_bytes())
    base = Path(os.environ.get("SPARSEST_CACHE_DIR") or Path.home() / ".cache" / "sparsest")
    directory = base / digest.hexdigest()[:16]
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        directory = Path(tempfile.gettempdir()) / f"sparsest-{directory.name}"
        directory.mkdir(parents=True, exist_ok=True)
    return directory


def is_cache_empty() -> bool:
    """Whether no kernel of these sources has been compiled yet."""
    return next(cache_directory().rglob("*.nbi"), None) is None


class _Stopwatch(event.Listener):
    """The time during which any thread holds numba's compiler or waits for it; calls of compiled kernels do neither."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._total, self._began, self._depth = 0.0, 0.0, 0

    def on_start(self, event: Any) -> None:
        """A thread requests the compiler."""
        with self._lock:
            if self._depth == 0:
                self._began = time.perf_counter()
            self._depth += 1

    def on_end(self, event: Any) -> None:
        """A thread releases the compiler."""
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._total += time.perf_counter() - self._began

    def seconds(self) -> float:
        """The time so far."""
        with self._lock:
            return self._total + (time.perf_counter() - self._began if self._depth else 0.0)


class _Announcement(event.Listener):
    """Logs once that kernels are being compiled: the user has to wait, and no time limit counts it."""

    def __init__(self) -> None:
        self._said = False

    def on_start(self, event: Any) -> None:
        """A function, possibly of another package, is being compiled."""
        if not self._said and str(event.data["dispatcher"].__module__).startswith("sparsest."):
            self._said = True
            logging.getLogger("sparsest").warning(
                "sparsest: compiling the numerical kernels, once for this installation; "
                "the command 'sparsest warmup' does it beforehand"
            )

    def on_end(self, event: Any) -> None:
        """Do nothing."""


_stopwatch = _Stopwatch()
event.register("numba:compiler_lock", _stopwatch)
event.register("numba:compile", _Announcement())


def compiling_seconds() -> float:
    """Seconds that this process has spent on compiling kernels and on loading compiled ones."""
    return _stopwatch.seconds()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile on first call, with the flags and the cache that all kernels share."""
    return _compiled(function, "never")


def inlined(function: Callable[..., Any]) -> Any:
    """Copy the function's text into the kernels that call it.

    What a kernel calls is compiled by itself, then optimised once more with every kernel above it: for a function that
    is called in one place or two, the copy takes less time.  It can be called from Python as any kernel.
    """
    return _compiled(function, "always")


class _LoadingCache(FunctionCache):
    """Loads compiled kernels without filling numba's registries, which only compiling needs.

    That saves 0.37 of 2.36 s of CPU time in the first fit of a process.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel for some types of arguments, or None if it is not cached yet."""
        # Compiled code needs the runtime library, which the registries would initialise.
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


def _compiled(function: Callable[..., Any], inline: str) -> Any:
    compiled = numba.njit(inline=inline, **_FLAGS)(function)
    # If numba is disabled, it returns the plain function.
    if compiled is not function:
        previous = config.CACHE_DIR
        config.CACHE_DIR = str(cache_directory())
        try:
            compiled._cache = _LoadingCache(function)
        finally:
            config.CACHE_DIR = previous
    return compiled


def dispatched(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let compiled code call the first argument's method that has this function's name.

    A method that loops over arrays of its tuple should take them from it once: in the loop that costs more than a
    short column.
    """
    name = function.__name__

    def method(self: Any, *args: Any) -> Any:
        return getattr(self.instance_class, name)

    overload(function, strict=False)(method)
    return function


@dispatched
def value(self: Any, y: float, u: float) -> float:
    """``ℓ(y, u)``."""
    return self.value(y, u)


@dispatched
def derivative(self: Any, y: float, u: float) -> float:
    """``ℓ'(y, u)``."""
    return self.derivative(y, u)


@dispatched
def second_derivative(self: Any, y: float, u: float) -> float:
    """``ℓ''(y, u)``."""
    return self.second_derivative(y, u)


@dispatched
def conjugate(self: Any, y: float, alpha: float) -> float:
    """``ℓ*(y, α)``."""
    return self.conjugate(y, alpha)
