"""How kernels are compiled, cached and dispatched.

``kernel`` compiles a function and caches it on disk under a key made of *all* compiled sources, because
numba's own key notices a change in the function's file but not in the files of what it calls.

``dispatched`` makes a function of a NamedTuple (a loss or a penalty) call that tuple's method of the same name:
in plain Python as usual, in compiled code by compiling the method's body for that class.  Neither compiled
functions as arguments nor jitclasses are cached across processes; NamedTuples are.
"""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import config
from numba.extending import overload

_FLAGS = {"nogil": True, "error_model": "numpy", "fastmath": {"reassoc", "contract", "nsz"}}


@cache
def cache_directory() -> Path:
    """Where compiled kernels of just these sources are kept."""
    package = Path(__file__).parent.parent
    sources = [package / "losses.py", package / "penalties.py", *sorted((package / "kernels").glob("*.py"))]
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
    if not any(directory.iterdir()):
        logging.getLogger("sparsest").info("compiling the numerical kernels, once for this installation")
    return directory


def kernel(function: Callable[..., Any]) -> Any:
    """Compile on first call, with the flags and the cache that all kernels share."""
    previous = config.CACHE_DIR
    config.CACHE_DIR = str(cache_directory())
    try:
        return numba.njit(cache=True, **_FLAGS)(function)
    finally:
        config.CACHE_DIR = previous


def dispatched(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let compiled code call the first argument's method that has this function's name."""
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
