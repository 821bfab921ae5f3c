"""The methods by name, and their solvers with the settings that users give, checked.

Settings that many users need are separate arguments, declared in :mod:`sparsest.core.settings`; the others are the
further fields of a method's frozen dataclass, given in the dictionary ``options``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import fields, replace
from functools import partial
from typing import Any

from sparsest.core.checks import flag, instance, number, optional, shown, whole_number, word
from sparsest.core.settings import checked
from sparsest.runtime.threads import is_worker
from sparsest.subset.cuts.method import Cuts
from sparsest.subset.cuts.pool import CutPool
from sparsest.subset.leave_one_out import LeaveOneOut
from sparsest.subset.local import Local
from sparsest.subset.local_search import LocalSearch
from sparsest.subset.relaxation.method import Relaxation
from sparsest.subset.results import Solver
from sparsest.subset.screening import Screened
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
# Settings of methods that are separate arguments.
ARGUMENTS = ("time_limit", "gap_tol", "engine", "n_jobs", "node_limit", "max_memory")
# Checks of the others, which are given in ``options``.
OPTION_CHECKS: dict[str, Callable[[Any, str], Any]] = {
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


def make_solver(method: Any, options: Any = None, **arguments: Any) -> Any:
    """Return the solver of a method with checked settings.

    Parameters
    ----------
    options : further settings of the method, a dictionary or None
    **arguments : those of ``ARGUMENTS`` that are given; None leaves ``engine``, ``n_jobs``, ``node_limit`` and
        ``max_memory`` to the method
    """
    solver = SOLVERS[checked("method", method)]
    known = {field.name for field in fields(solver)}
    further = dict(checked("options", {} if options is None else options))
    twice = sorted(further.keys() & set(ARGUMENTS))
    if twice:
        raise ValueError(
            f"options must not hold {', '.join(twice)}: give {'it' if len(twice) == 1 else 'them'} directly"
        )
    limits = {name: arguments.pop(name) for name in ("time_limit", "gap_tol") if name in arguments}
    given = {name: value for name, value in arguments.items() if value is not None}
    _check_names(given, known & set(ARGUMENTS), f"method {method!r}", "setting")
    _check_names(further, known - set(ARGUMENTS), f"method {method!r}", "option")
    if "n_jobs" in known and is_worker():
        given.setdefault("n_jobs", 1)
    settings = {name: checked(name, value) for name, value in (limits | given).items()}
    settings |= {name: OPTION_CHECKS[name](value, name) for name, value in further.items()}
    found: Solver = solver(**settings)
    return found


def staged(solver: Any, gamma: Any, screen: Any, screen_by: Any) -> Any:
    """Add screening and the choice of the ridge to a solver, if the settings require them."""
    size, by = checked("screen", screen), checked("screen_by", screen_by)
    inner = solver if size is None else Screened(solver, size, by)
    return LeaveOneOut(inner) if isinstance(gamma, str) and gamma == "loo" else inner


def without_proof(solver: Any) -> Any:
    """The same solver without certificates, if the method can leave them out."""
    return replace(solver, proof=False) if "proof" in {field.name for field in fields(solver)} else solver


def _check_names(given: Iterable[str], known: Set[str], whose: str, what: str) -> None:
    unknown = [shown(name) for name in given if name not in known]
    if unknown:
        raise ValueError(f"{whose} has no {what} {', '.join(unknown)}; its {what}s are {', '.join(sorted(known))}")
