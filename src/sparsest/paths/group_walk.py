"""The walk along a path of group penalties: whole groups enter and leave the working set."""

from __future__ import annotations

import numpy as np

from sparsest.core.arrays import Array, Indices
from sparsest.paths.general_walk import GeneralWalk
from sparsest.paths.gradients import Gradients, GroupGradients
from sparsest.paths.group_set import GroupSet
from sparsest.paths.sides import sides_within
from sparsest.paths.task import Task
from sparsest.paths.working_set import WorkingSet


class GroupWalk(GeneralWalk):
    """The walk of Python with groups in place of features."""

    def __init__(self, task: Task) -> None:
        assert task.groups is not None
        usable = np.flatnonzero(task.usable)
        # Columns that are constant belong to no group.
        self._members = usable[np.argsort(task.groups[usable], kind="stable")]
        numbers = task.groups[self._members]
        changes = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
        self._starts = np.concatenate([[0], changes, [numbers.size]]) if numbers.size else np.zeros(1, dtype=np.intp)
        # For every feature the place of its group among those that have members.
        self._place = np.zeros(task.groups.size, dtype=np.intp)
        self._place[self._members] = np.repeat(np.arange(self._starts.size - 1), np.diff(self._starts))
        super().__init__(task)

    def _working_set(self) -> WorkingSet:
        return GroupSet(self.task)

    def _gradients(self, theta: Array, value: Array) -> Gradients:
        task = self.task
        sides = sides_within(task.lower, task.upper)
        return GroupGradients(
            task.view, self.sides.norms, task.weights, self.slope, sides, self._members, self._starts, theta, value
        )

    def _add(self, index: Indices) -> None:
        """Add the groups of these features."""
        if index.size:
            places = np.unique(self._place[index])
            begins, ends = self._starts[places], self._starts[places + 1]
            parts = [self._members[begin:end] for begin, end in zip(begins, ends, strict=True)]
            super()._add(np.concatenate(parts))
