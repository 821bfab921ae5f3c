"""The regions of a proof: steps force features in and out, and the other sides of branches follow later.

There is one state of all features, which is changed and restored; there is no recursion.  With a structure, it is the
state of the units, and the rules of the structure decide further ones.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from sparsest.proofs.columns import Columns
from sparsest.proofs.propagation import IN, OUT, Propagation
from sparsest.proofs.regions import State
from sparsest.proofs.rounding import Indices
from sparsest.proofs.statement import Statement
from sparsest.proofs.structured_regions import Units


class Fixed(NamedTuple):
    """The positions of features or units whose other side a step has to close, or the whole region."""

    inside: Indices
    outside: Indices
    whole: bool = False


class Walk(Protocol):
    """A walk through regions; positions are those of the columns, or of their units."""

    # Whether the region contains no support.
    empty: bool

    def pack(self, columns: Columns) -> None:
        """Use the positions of these columns, which are all that are not forced out."""

    def alive(self) -> Indices:
        """The columns that are not forced out."""

    def state(self) -> State:
        """The state of the region, by position."""

    def column_states(self) -> State:
        """The state of the region, by position of columns."""

    def branch(self, feature: int) -> None:
        """Force a feature in; the region with the feature out follows later."""

    def fix(self, inside: Indices, outside: Indices) -> Fixed:
        """Force features in and out; return what has to be closed, with positions in the region before."""

    def close(self) -> bool:
        """Continue with the region that follows; whether there is one."""

    def open(self) -> int:
        """The number of regions that follow."""


def walk_of(statement: Statement, columns: Columns) -> Walk:
    """The walk that begins with all admissible supports."""
    return PlainWalk(statement, columns) if statement.structure is None else StructuredWalk(statement, columns)


def _require_columns(features: Indices, p: int) -> Indices:
    features = np.asarray(features, dtype=np.intp)
    if features.size and (features.min() < 0 or features.max() >= p):
        raise ValueError(f"the step refers to a feature that does not exist: there are {p}")
    return features


class PlainWalk:
    """Regions of a problem without a structure; steps must be about free features."""

    empty = False

    def __init__(self, statement: Statement, columns: Columns) -> None:
        self._columns, self._p = columns, statement.p
        self._state = np.zeros(statement.p, dtype=np.int8)
        self._state[list(statement.include)] = IN
        self._state[list(statement.exclude)] = OUT
        self._fixed: list[int] = []
        # For each branch above whose other side is open: its feature, and the number of features fixed before it.
        self._pending: list[tuple[int, int]] = []

    def pack(self, columns: Columns) -> None:
        self._columns, self._state, self._fixed = columns, self._state[columns.features], []

    def alive(self) -> Indices:
        return self._columns.features[self._state >= 0]

    def state(self) -> State:
        return self._state.copy()

    column_states = state

    def branch(self, feature: int) -> None:
        at = int(self._free(np.array([feature]))[0])
        self._pending.append((at, len(self._fixed)))
        self._force(at, IN)

    def fix(self, inside: Indices, outside: Indices) -> Fixed:
        both = self._free(np.concatenate([inside, outside]))
        fixed = Fixed(both[: len(inside)], both[len(inside) :])
        self._state[fixed.inside], self._state[fixed.outside] = IN, OUT
        self._fixed += both.tolist()
        return fixed

    def close(self) -> bool:
        if not self._pending:
            return False
        at, before = self._pending.pop()
        self._state[self._fixed[before:]] = 0
        del self._fixed[before:]
        self._force(at, OUT)
        return True

    def open(self) -> int:
        return len(self._pending)

    def _force(self, at: int, side: int) -> None:
        self._state[at] = side
        self._fixed.append(at)

    def _free(self, features: Indices) -> Indices:
        """The positions of features that must be free and different from each other."""
        at = self._columns.position[_require_columns(features, self._p)]
        if (at < 0).any() or self._state[at].any() or np.unique(at).size != at.size:
            raise ValueError("a step branches on or fixes a feature that is not free")
        return at


class StructuredWalk:
    """Regions of a problem with a structure.

    A feature stands for its unit.  Steps may be about units that the rules have decided: the side that contradicts them
    is empty.
    """

    def __init__(self, statement: Statement, columns: Columns) -> None:
        assert statement.structure is not None
        self._statement = statement
        self._unit_of = statement.structure.unit_of(statement.p)
        count = statement.structure.count(statement.p)
        self._rules = Propagation(statement.structure, count, statement.k)
        self.empty = not self._rules.start(*map(statement.units_of, (statement.include, statement.exclude)))
        self._position: Indices = np.full(count, -1)
        # For each branch above: its unit, the mark before it, and whether its region was empty.
        self._pending: list[tuple[Indices, int, bool]] = []
        self.pack(columns)

    def pack(self, columns: Columns) -> None:
        self.units = Units.of(self._statement, columns.features)
        self._position[:] = -1
        self._position[self.units.numbers] = np.arange(self.units.numbers.size)

    def alive(self) -> Indices:
        return np.flatnonzero(self._rules.states()[self._unit_of] >= 0)

    def state(self) -> State:
        return self._rules.states()[self.units.numbers]

    def column_states(self) -> State:
        return self.state()[self.units.of_columns]

    def branch(self, feature: int) -> None:
        unit = self._units(np.array([feature]))
        self._pending.append((unit, self._rules.mark, self.empty))
        self._force(unit, IN)

    def fix(self, inside: Indices, outside: Indices) -> Fixed:
        sides = self._units(inside), self._units(outside)
        states = self._rules.states()
        # A unit that is already on the other side leaves nothing to the region that follows.
        whole = bool((states[sides[0]] == OUT).any() or (states[sides[1]] == IN).any())
        inside, outside = (self._position[units[states[units] == 0]] for units in sides)
        for units, side in zip(sides, (IN, OUT), strict=True):
            self._force(units, side)
        return Fixed(inside, outside, whole)

    def close(self) -> bool:
        if not self._pending:
            return False
        unit, mark, self.empty = self._pending.pop()
        self._rules.undo(mark)
        self._force(unit, OUT)
        return True

    def open(self) -> int:
        return len(self._pending)

    def _units(self, features: Indices) -> Indices:
        return np.unique(self._unit_of[_require_columns(features, self._statement.p)])

    def _force(self, units: Indices, side: int) -> None:
        if not self.empty and units.size:
            self.empty = not self._rules.force(units, side)
