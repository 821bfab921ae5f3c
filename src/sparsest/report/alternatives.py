"""Other choices that fit nearly as well: what they share, and which features can replace each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from markupsafe import Markup

from sparsest.results.markup import table
from sparsest.results.result import Result
from sparsest.subset.tree.near_optimal import NearOptimal

_SHOWN = 20


class Alternatives(NamedTuple):
    """The section of a report: sentences, and the table of the choices."""

    sentences: list[str]
    choices: Markup
    swaps: list[str]


def describe(result: Result, near: NearOptimal, within: float) -> Alternatives:
    """Compare the supports near the optimum with the chosen one."""
    name = _namer(result)
    best = frozenset(result.support.tolist())
    found = [(frozenset(one.tolist()), value) for one, value in zip(near.supports, near.objectives, strict=True)]
    others = [(one, value) for one, value in found if one != best]
    share = f"{100 * within:g} %"
    if not others and not near.complete:
        late = f"The search for others within {share} was stopped after {near.seconds:.0f} seconds"
        return Alternatives([f"{late}, before it had found one: there may be many."], Markup(""), [])
    if not others:
        return Alternatives([f"There is no other choice that fits within {share} of this one."], Markup(""), [])
    count = f"{len(others)}" if near.complete else f"at least {len(others)}"
    first = f"There {'is' if count == '1' else 'are'} {count} other choice{'s' * (len(others) > 1)} within {share}"
    sentences = [f"{first}{', and provably no more' if near.complete else ''}."]
    shared = frozenset.intersection(best, *(one for one, _ in others))
    if shared:
        sentences.append(f"All of them contain {_list(sorted(name(j) for j in shared))}.")
    else:
        sentences.append("No feature is in all of them.")
    better = sum(value < result.objective for _, value in others)
    if better:
        which = "One of them fits" if better == 1 else f"{better} of them fit"
        sentences.append(f"{which} better than the answer above: the first search ended before finding it.")
    rows = [
        [
            str(i + 1 + (value >= result.objective)),
            _names(best - one, name),
            _names(one - best, name),
            _worse(value, result.objective),
        ]
        for i, (one, value) in enumerate(others[:_SHOWN])
    ]
    swaps = Counter(
        f"{name(next(iter(best - one)))} ↔ {name(next(iter(one - best)))}"
        for one, _ in others
        if len(best - one) == len(one - best) == 1
    )
    choices = table(["rank", "without", "instead", "fit worse by"], rows, right=(3,), names=(1, 2))
    return Alternatives(sentences, choices, list(swaps))


def _namer(result: Result) -> Callable[[int], str]:
    names = result.feature_names
    return lambda j: f"column {j}" if names is None else names[j]


def _names(columns: frozenset[int], name: Callable[[int], str]) -> str:
    return ", ".join(sorted(name(j) for j in columns)) or "–"


def _list(names: list[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _worse(value: float, best: float) -> str:
    return f"{100 * (value - best) / abs(best):.3f} %".replace("-", "−") if best else "–"
