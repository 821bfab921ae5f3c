"""How to solve: the methods, and the settings that users give them, checked.

Functions, estimators and the command line take the same settings by the same names.  Those that many users need are
arguments of their own; the rest are the fields of a method's frozen dataclass, given in the dictionary ``options``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import fields, replace
from functools import partial
from typing import Any

from sparsest.core.checks import flag, instance, number, optional, shown, whole_number, word
from sparsest.runtime.threads import is_worker
from sparsest.subset.cuts.method import ENGINES, Cuts
from sparsest.subset.cuts.pool import CutPool
from sparsest.subset.local import Local
from sparsest.subset.local_search import LocalSearch
from sparsest.subset.relaxation.method import Relaxation
from sparsest.subset.results import Solver
from sparsest.subset.subgradient import STEP_RULES, Subgradient
from sparsest.subset.tree.method import Tree
from sparsest.subset.tree.tuning import Tuning

SOLVERS: dict[str, type] = {
    "tree": Tree,
    "cuts": Cuts,
    "relaxation": Relaxation,
    "subgradient": Subgradient,
    "local": Local,
}
METHODS = tuple(SOLVERS)

check_time_limit = partial(number, above=0, finite=False)
check_n_jobs = optional(whole_number, least=1)
# What every setting of a method must be.
CHECKS: dict[str, Callable[[Any, str], Any]] = {
    "time_limit": check_time_limit,
    "gap_tol": partial(number, least=0, below=1),
    "engine": partial(word, words=ENGINES),
    "n_jobs": check_n_jobs,
    "node_limit": partial(whole_number, least=1, or_else="None"),
    "max_memory": partial(number, above=0, finite=False, or_else="None"),
    "proof": flag,
    "moves": partial(instance, kind=LocalSearch),
    "tuning": partial(instance, kind=Tuning),
    "pool": optional(instance, kind=CutPool),
    "relaxation_tol": partial(number, above=0, below=1),
    "fixing": flag,
    "polish": flag,
    "max_iterations": partial(whole_number, least=1),
    "step": partial(word, words=STEP_RULES),
    "step_size": optional(number, above=0),
    "step_offset": partial(number, least=0),
    "patience": optional(whole_number, least=1),
    "restart_after": optional(whole_number, least=1),
}
# Settings that are arguments of their own.
_ARGUMENTS = frozenset(("time_limit", "gap_tol", "engine", "n_jobs", "node_limit", "max_memory"))


def make_solver(method: Any, options: Any, *, time_limit: Any, gap_tol: Any, **arguments: Any) -> Any:
    """Return the solver of that name, or say what can be chosen.

    Parameters
    ----------
    options : further settings of the method, a dictionary or None
    **arguments : ``engine``, ``n_jobs``, ``node_limit`` and ``max_memory``; None leaves them to the method
    """
    solver = SOLVERS[word(method, "method", words=METHODS)]
    known, whose = {field.name for field in fields(solver)}, f"method {method!r}"
    further = dict(instance({} if options is None else options, "options", kind=dict, or_else="None"))
    twice = sorted(_ARGUMENTS & further.keys())
    if twice:
        raise ValueError(
            f"options must not hold {', '.join(twice)}: give {'it' if len(twice) == 1 else 'them'} directly"
        )
    given = {name: value for name, value in arguments.items() if value is not None}
    _check_names(given, known & _ARGUMENTS, whose)
    _check_names(further, known - _ARGUMENTS, f"{whose} in options")
    if "n_jobs" in known and is_worker():
        given.setdefault("n_jobs", 1)
    settings = {"time_limit": time_limit, "gap_tol": gap_tol, **given, **further}
    found: Solver = solver(**{name: CHECKS[name](value, name) for name, value in settings.items()})
    return found


def without_proof(solver: Any) -> Any:
    """The same solver, but without certificates where it can do without."""
    return replace(solver, proof=False) if "proof" in {field.name for field in fields(solver)} else solver


def _check_names(given: Iterable[str], known: Set[str], whose: str) -> None:
    unknown = [shown(name) for name in given if name not in known]
    if unknown:
        raise ValueError(f"{whose} does not know {', '.join(unknown)}; it knows {', '.join(sorted(known))}")
