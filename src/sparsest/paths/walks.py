"""The choice of the walk for a task."""

from __future__ import annotations

from sparsest.core.designs.columns import path_columns
from sparsest.paths.compiled_walk import CompiledWalk
from sparsest.paths.general_walk import GeneralWalk
from sparsest.paths.group_walk import GroupWalk
from sparsest.paths.task import Task, is_quadratic
from sparsest.paths.walk import Walk


def make_walk(task: Task) -> Walk:
    """The walk for groups, the compiled one for a quadratic loss without limits, or else the one in Python."""
    if task.groups is not None:
        return GroupWalk(task)
    compiled = is_quadratic(task.loss) and task.lower is None
    columns = path_columns(task.view, task.weights, task.fit_intercept) if compiled else None
    return GeneralWalk(task) if columns is None else CompiledWalk(task, columns)
