"""Options for groups of features and rules about them, as settings of the library."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsest.cli.options import names

if TYPE_CHECKING:
    from sparsest.tables import Table

_LEVELS = ("together", "separate")
_COUNT = re.compile(r"\s*(\d+)\s+of\s+(.+)")
_NEEDS = re.compile(r"\s*(.+?)\s+needs\s+(any of\s+)?(.+)")


def _option(text: str, *flags: str) -> Any:
    return typer.Option(*flags, help=text, rich_help_panel="Structure")


@dataclass(frozen=True)
class GroupOptions:
    """Groups of features."""

    levels: Annotated[
        str, _option("together: the levels of a column of text count as one feature; separate: each level is one.")
    ] = "together"
    group: Annotated[
        list[str], _option("Features that are chosen together as one, a,b,… or NAME=a,b,…; may be repeated.")
    ] = field(default_factory=list)

    def labels(self, table: Table, features: tuple[str, ...]) -> list[str]:
        """The group of every feature."""
        from sparsest.core.checks import word
        from sparsest.tables import terms

        word(self.levels, "--levels", words=_LEVELS)
        labels = list(terms(table.encoding, features)) if self.levels == "together" else list(features)
        grouped: set[str] = set()
        for text in self.group:
            label_of = dict(zip(features, labels, strict=True))
            name, given = _named_group(text, label_of)
            members = {_label(one, label_of, "--group") for one in given}
            if len(set(given)) < len(given) or members & grouped:
                raise ValueError(f"--group names a column twice, got {', '.join(self.group)}")
            if name in set(labels) - members:
                raise ValueError(f"--group {text!r}: there is another feature called {name!r}; choose another name")
            labels = [name if label in members else label for label in labels]
            grouped.add(name)
        return labels


@dataclass(frozen=True)
class StructureOptions(GroupOptions):
    """Groups of features, rules about them, and products."""

    at_most: Annotated[list[str], _option("A limit such as '1 of a,b,c'; may be repeated.")] = field(
        default_factory=list
    )
    at_least: Annotated[list[str], _option("A limit such as '1 of a,b,c'; may be repeated.")] = field(
        default_factory=list
    )
    requires: Annotated[
        list[str],
        _option("Choose a feature only with others: 'a needs b,c' or 'a needs any of b,c'; may be repeated."),
    ] = field(default_factory=list)
    max_correlation: Annotated[
        float | None, _option("Choose no two features whose columns have a larger absolute correlation.")
    ] = None
    interactions: Annotated[
        bool,
        _option("Add products of two features, each chosen only together with both factors.", "--interactions"),
    ] = False

    def prepare(self, table: Table) -> Table:
        """The table, with products if ``interactions`` is set."""
        from sparsest.tables import with_products

        return with_products(table) if self.interactions else table

    def settings(self, table: Table) -> dict[str, Any]:
        """``feature_groups`` and ``structure`` for a prepared table; empty without groups and rules."""
        features = names_of_features(table)
        labels = self.labels(table, features)
        structure = self._structure(table, dict(zip(features, labels, strict=True)))
        if structure is None and len(set(labels)) == len(labels):
            return {}
        return {"feature_groups": labels, "structure": structure}

    def _structure(self, table: Table, label_of: dict[str, str]) -> Any:
        """The rules, in terms of groups; None if there are none."""
        from sparsest.core.structure.user_rules import Structure

        limits: list[tuple[Any, ...]] = []
        for option, texts in (("--at-most", self.at_most), ("--at-least", self.at_least)):
            for text in texts:
                found = _COUNT.fullmatch(text)
                if found is None:
                    raise ValueError(f"{option} must be a number and features, such as '1 of a,b,c', got {text!r}")
                some = [_label(one, label_of, option) for one in names([found[2]])]
                count = int(found[1])
                limits.append((some, count) if option == "--at-most" else (some, count, len(set(some))))
        requires = [self._requirement(text, label_of) for text in self.requires]
        if self.interactions:
            requires += _heredity(table, label_of)
        if not limits and not requires and self.max_correlation is None:
            return None
        return Structure(limits=limits, requires=requires, exclusive=self.max_correlation)

    @staticmethod
    def _requirement(text: str, label_of: dict[str, str]) -> tuple[str, list[str], str]:
        found = _NEEDS.fullmatch(text)
        if found is None:
            raise ValueError(f"--requires must be such as 'a needs b,c' or 'a needs any of b,c', got {text!r}")
        needed = [_label(one, label_of, "--requires") for one in names([found[3]])]
        return _label(found[1], label_of, "--requires"), needed, "any" if found[2] else "all"


def names_of_features(table: Table) -> tuple[str, ...]:
    """The names of the features, or their numbers if they have none."""
    return table.names or tuple(map(str, range(table.matrix.shape[1])))


def _named_group(text: str, label_of: dict[str, str]) -> tuple[str, tuple[str, ...]]:
    """The name and the features of a group, ``NAME=a,b`` or ``a,b``; names of features may contain ``=``."""
    given = names([text])
    name, equals, after = text.partition("=")
    known = label_of.keys() | set(label_of.values())
    if equals and not known.issuperset(given):
        name, given = name.strip(), names([after])
    else:
        name = "+".join(given)
    if not name or not given:
        raise ValueError(f"--group must be a,b,… or NAME=a,b,…, got {text!r}")
    return name, given


def _heredity(table: Table, label_of: dict[str, str]) -> list[tuple[str, list[str], str]]:
    """Every product needs its factors."""
    assert table.names is not None
    found = {}
    for product, pair in table.matrix.requires:
        needed = sorted({label_of[table.names[j]] for j in pair})
        found[label_of[table.names[product]]] = needed
    return [(product, needed, "all") for product, needed in found.items() if product not in needed]


def _label(name: str, label_of: dict[str, str], option: str) -> str:
    """The group of a feature that is given by its own name, or by that of the group."""
    if name in label_of:
        return label_of[name]
    if name in label_of.values():
        return name
    raise ValueError(f"{option} names {name!r}, but there is no such feature; the first ones are {_first(label_of)}")


def _first(label_of: dict[str, str]) -> str:
    shown = list(dict.fromkeys(label_of.values()))[:5]
    return ", ".join(shown)
