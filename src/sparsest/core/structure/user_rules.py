"""What users say about the structure of supports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparsest.core.checks import number, optional, shown, whole_number

# What users give as groups of columns: labels, labels by column name, or a function from a name to a label.
Groups = Sequence[str] | Sequence[int] | Mapping[str, str] | Callable[[str], str]


@dataclass(frozen=True)
class Structure:
    """Which features may be chosen together.

    Features are given by column number, by column name, or by the label of their group in ``feature_groups``; a column
    stands for its whole group.  A number is always that of a column, also if groups have numbers as labels.  If there
    are groups, all rules count groups.

    Parameters
    ----------
    limits : pairs ``(features, most)`` or triples ``(features, least, most)``: at most ``most`` of these features are
        chosen, and at least ``least``.  Sets may overlap.  Bounds are tightest for sets that are disjoint or nested.
    requires : pairs ``(feature, needed)``: the feature is chosen only with all needed ones (strong heredity).  Triples
        ``(feature, needed, "any")`` need at least one of them (weak heredity), ``(feature, needed, "all")`` all.
    exclusive : a number between 0 and 1: no two features are chosen whose columns have a larger absolute correlation;
        or a list of sets of features: at most one feature of each set is chosen.
    costs : the cost of each feature, or a dictionary by feature, where features that are missing cost nothing
    max_cost : the largest sum of the costs of the chosen features
    max_columns : the largest number of columns of the chosen groups

    Examples
    --------
    >>> from sparsest import Structure
    >>> Structure(limits=[([0, 1, 2], 1)], requires=[(5, [3, 4])]).limits
    [([0, 1, 2], 1)]
    """

    limits: Any = ()
    requires: Any = ()
    exclusive: Any = None
    costs: Any = None
    max_cost: float | None = None
    max_columns: int | None = None

    def __post_init__(self) -> None:
        """Check what does not depend on the data; nothing is converted, so that scikit-learn can clone it."""
        for entry in _entries(self.limits, "limits"):
            check_limit(entry)
        for entry in _entries(self.requires, "requires"):
            check_requirement(entry)
        if not isinstance(self.exclusive, (str, bytes)) and isinstance(self.exclusive, Sequence):
            for entry in self.exclusive:
                _check_features(entry, "every set of exclusive")
        elif self.exclusive is not None:
            or_else = "a list of sets of features or None"
            number(self.exclusive, "exclusive", least=0, below=1, or_else=or_else)
        optional(number, least=0)(self.max_cost, "max_cost")
        optional(whole_number, least=0)(self.max_columns, "max_columns")
        if (self.costs is None) != (self.max_cost is None):
            raise ValueError("costs and max_cost belong together: give both or neither")


def check_limit(entry: Any) -> tuple[Any, int, int | None]:
    """The features of a limit, the least and the largest number of them."""
    if not isinstance(entry, (tuple, list)) or len(entry) not in (2, 3):
        raise ValueError(
            f"every entry of limits must be (features, most) or (features, least, most), got {shown(entry)}"
        )
    _check_features(entry[0], "the features of a limit")
    most = whole_number(entry[-1], "the largest number of a limit", least=0)
    least = whole_number(entry[1], "the least number of a limit", least=0) if len(entry) == 3 else 0
    if least > most:
        raise ValueError(f"the least number of a limit must not exceed its largest number, got {shown(entry)}")
    return entry[0], least, most


def check_requirement(entry: Any) -> tuple[Any, Any, bool]:
    """The feature of a requirement, those it needs, and whether it needs all of them."""
    if not isinstance(entry, (tuple, list)) or len(entry) not in (2, 3):
        raise ValueError(
            f'every entry of requires must be (feature, needed) or (feature, needed, "any"), got {shown(entry)}'
        )
    how = entry[2] if len(entry) == 3 else "all"
    if not isinstance(how, str) or how not in ("all", "any"):
        raise ValueError(f'the third part of an entry of requires must be "any" or "all", got {shown(how)}')
    _check_features(entry[1], "the needed features of requires")
    return entry[0], entry[1], how == "all"


def _entries(values: Any, name: str) -> Sequence[Any]:
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Sequence):
        raise ValueError(f"{name} must be a list, got {shown(values)}")
    return values


def _check_features(values: Any, name: str) -> None:
    try:
        empty = isinstance(values, (str, bytes)) or len(list(values)) == 0
    except TypeError:
        empty = True
    if empty:
        raise ValueError(f"{name} must be a list of at least one feature, got {shown(values)}")
