"""The statement of a certificate: the problem without the data, and the fingerprint of the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from operator import index
from typing import Any

import numpy as np

from sparsest.proofs.losses import RULES, LossRule
from sparsest.proofs.rounding import Array, Indices
from sparsest.proofs.strict import are_numbers, is_count, is_number, require, shortened
from sparsest.proofs.structure import Rules

_SHOWN_COLUMNS = 20
# Parts that files before version 8 do not have.
ADDED_PARTS = frozenset({"structure", "lower", "upper"})
_INFINITIES = {"inf": math.inf, "-inf": -math.inf}


@dataclass(frozen=True)
class Statement:
    """The problem ``min_w Σ ωℓ(y, x'w + b [+ o]) + Σ d_j w_j²/(2γ) [+ λ0‖w‖_0]`` s.t. ``[‖w‖_0 ≤ k], [√d_j|w_j| ≤ M]``.

    There is a price per feature, a limit on their number, or both.  M is ``max_coef``; None means no limit.
    ``parameters`` are those of the loss.  The offset o is the offset of the data, the logarithm of the exposure, or the
    sum of both.  For a loss of ``y - u``, the offset is subtracted from the response instead, in double precision.
    ``d_j`` is 1, or with ``standardize`` the weighted variance of column j (its mean square without an intercept), and
    1 for a column whose entries are all equal (zero without an intercept).  Observations of weight zero are excluded.

    With a ``structure``, k and the price count units, and the support must respect its rules.  ``lower`` and ``upper``
    are p limits of the coefficients for the data as given, at most and at least zero; None means no limit.
    """

    n: int
    p: int
    loss: str
    parameters: dict[str, float]
    offset: bool
    exposure: bool
    gamma: float
    k: int | None
    l0_penalty: float | None
    max_coef: float | None
    include: tuple[int, ...]
    exclude: tuple[int, ...]
    fit_intercept: bool
    standardize: bool
    fingerprint: str
    structure: Rules | None = None
    lower: tuple[float, ...] | None = None
    upper: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        """Check all parts; types are checked strictly, because a file may contain anything."""
        for name in ("n", "p"):
            require(is_count(getattr(self, name)) and getattr(self, name) > 0, name, getattr(self, name))
        require(isinstance(self.loss, str) and self.loss in RULES, "loss", self.loss)
        require(_fit(self.parameters, RULES[self.loss]), "parameters of its loss", self.parameters)
        require(is_number(self.gamma) and self.gamma > 0.0, "gamma", self.gamma)
        require(self.structure is None or isinstance(self.structure, Rules), "structure", self.structure)
        prices = None if self.structure is None else self.structure.prices
        restricted = self.k is not None or self.l0_penalty is not None or self.structure is not None
        require(restricted, "k and l0_penalty", (self.k, self.l0_penalty))
        require(self.l0_penalty is None or prices is None, "l0_penalty and prices", (self.l0_penalty, prices))
        require(self.k is None or is_count(self.k), "k", self.k)
        price = self.l0_penalty
        require(price is None or (is_number(price) and 0.0 <= price < math.inf), "l0_penalty", price)
        most = self.max_coef
        require(most is None or (is_number(most) and 0.0 < most < math.inf), "max_coef", most)
        for name in ("include", "exclude"):
            columns = getattr(self, name)
            fits = isinstance(columns, tuple) and all(is_count(j) and j < self.p for j in columns)
            require(fits and len(set(columns)) == len(columns), name, columns)
        require(not set(self.include) & set(self.exclude), "include and exclude", (self.include, self.exclude))
        if self.structure is not None:
            self.structure.require_fit(self.p)
        forced = len(self.units_of(self.include))
        require(self.k is None or forced <= self.k, "include and k", (self.include, self.k))
        for name, side in (("lower", -1.0), ("upper", 1.0)):
            require(_are_limits(getattr(self, name), self.p, side), name, getattr(self, name))
        for name in ("offset", "exposure", "fit_intercept", "standardize"):
            require(isinstance(getattr(self, name), bool), name, getattr(self, name))
        require(not self.exposure or self.rule.log_link, "exposure with the loss", self.loss)
        require(isinstance(self.fingerprint, str), "fingerprint", self.fingerprint)

    @property
    def rule(self) -> LossRule:
        """The loss."""
        return RULES[self.loss](**self.parameters)

    @property
    def price(self) -> float:
        """λ0, or 0 without a common price."""
        return self.l0_penalty or 0.0

    @property
    def bounds_coefficients(self) -> bool:
        """Whether coefficients have limits of their own, apart from ``max_coef``."""
        return self.lower is not None or self.upper is not None

    @cached_property
    def limits_below(self) -> Array:
        """The lower limits of all coefficients."""
        return np.full(self.p, -np.inf) if self.lower is None else np.array(self.lower, dtype=np.float64)

    @cached_property
    def limits_above(self) -> Array:
        """The upper limits of all coefficients."""
        return np.full(self.p, np.inf) if self.upper is None else np.array(self.upper, dtype=np.float64)

    def units_of(self, columns: Sequence[int] | Indices) -> Indices:
        """The units that contain some columns."""
        chosen = np.unique(np.array(columns, dtype=np.intp))
        grouped = self.structure is not None and self.structure.units is not None
        return np.unique(self.structure.unit_of(self.p)[chosen]) if self.structure and grouped else chosen

    def price_of(self, columns: Indices) -> float:
        """The price of a support, rounded once."""
        if self.structure is None:
            return self.price * columns.size
        return self.structure.price_of(self.units_of(columns), self.l0_penalty)

    def to_json(self) -> dict[str, Any]:
        """The statement in types of JSON; infinity as text."""
        data = {field.name: getattr(self, field.name) for field in fields(self)}
        data |= {"parameters": dict(self.parameters), "gamma": "inf" if math.isinf(self.gamma) else self.gamma}
        for name in ("include", "exclude"):
            data[name] = list(data[name])
        for name in ("lower", "upper"):
            limits = data[name]
            data[name] = None if limits is None else [str(x) if math.isinf(x) else x for x in limits]
        return data | {"structure": None if self.structure is None else self.structure.to_json()}

    @classmethod
    def from_json(cls, data: Any) -> Statement:
        """Read the output of ``to_json``, also of versions before 8; ValueError if it is not a statement."""
        names = {field.name for field in fields(cls)}
        if not isinstance(data, dict) or set(data) not in (names, names - ADDED_PARTS):
            raise ValueError(f"the problem must be described by {', '.join(sorted(names))}")
        lists = {name: data[name] for name in ("include", "exclude")}
        require(all(isinstance(value, list) for value in lists.values()), "include and exclude", lists)
        given = data | {name: tuple(value) for name, value in lists.items()}
        given["gamma"] = math.inf if data["gamma"] == "inf" else data["gamma"]
        for name in ("lower", "upper"):
            limits = data.get(name)
            require(limits is None or isinstance(limits, list), name, limits)
            given[name] = None if limits is None else tuple(_finite_or_not(x) for x in limits)
        structure = data.get("structure")
        return cls(**given | {"structure": None if structure is None else Rules.from_json(structure)})

    def differences(self, expected: dict[str, Any]) -> list[str]:
        """The differences from expected parts; None expects that the problem has no such part.

        Parts of the structure can be named alone, too.
        """
        found = []
        named = {field.name for field in fields(self)}
        parameters = {name for rule in RULES.values() for name in rule.parameters()}
        parts = (self.structure or Rules()).sorted_parts()
        known = named | parameters | set(parts)
        for name, wish in expected.items():
            if name not in known:
                raise ValueError(f"a problem has no part {name!r}; its parts are {', '.join(sorted(known))}")
            value: Any = getattr(self, name) if name in named else parts.get(name, self.parameters.get(name))
            if not (Rules.part(name, wish) == value if name in parts else self._agrees(name, value, wish)):
                found.append(f"the certificate is for {name} = {shortened(value)}, not {shortened(wish)}")
        return found

    def _agrees(self, name: str, value: Any, wish: Any) -> bool:
        """Whether a part of the statement equals the expected one."""
        if name in ("include", "exclude"):
            try:
                return sorted(value) == sorted(index(j) for j in (() if wish is None else wish))
            except TypeError:
                raise ValueError(f"{name} must be a list of column numbers, got {wish!r}") from None
        if name == "structure":
            return (value or Rules()).sorted_parts() == _as_rules(wish).sorted_parts()
        if name in ("lower", "upper"):
            return self._same_limits(name, wish)
        if name == "k" and is_count(value) and is_number(wish):
            # A limit above the number of units is the same as that number.
            count = self.p if self.structure is None else self.structure.count(self.p)
            most = count - self.units_of(self.exclude).size
            return bool(min(value, most) == min(wish, most))
        if isinstance(wish, np.ndarray) and wish.ndim:
            return False
        return bool(value == wish)

    def _same_limits(self, name: str, wish: Any) -> bool:
        """Whether coefficients have these limits: a number for each column, or one for all."""
        given, none = getattr(self, name), -np.inf if name == "lower" else np.inf
        try:
            expected = np.asarray(none if wish is None else wish, dtype=np.float64)
        except (TypeError, ValueError):
            expected = np.empty((0, 0))
        if expected.shape not in ((), (self.p,)):
            raise ValueError(f"{name} must be a number or {self.p} numbers, got {shortened(wish)}")
        return bool((expected == (none if given is None else np.array(given, dtype=np.float64))).all())

    def sentence(self, names: Sequence[str] | None = None) -> str:
        """The problem in words, restrictions first; columns by name, or by number without ``names``."""
        ridge = "no ridge" if math.isinf(self.gamma) else f"gamma = {self.gamma:.6g}"
        given = ", ".join(f"{name} = {value:g}" for name, value in self.parameters.items())
        added = " and ".join(name for name in ("offset", "exposure") if getattr(self, name))
        forced = "".join(
            f", {word} {_listed(columns, names)}"
            for word, columns in (("with", self.include), ("without", self.exclude))
            if columns
        )
        loss = self.loss.replace("_", " ") + " loss" + (f" ({given})" if given else "")
        return (
            f"{self._size_in_words()}{forced}: {loss}{f' with {added}' if added else ''}, {ridge}, "
            f"{'an' if self.fit_intercept else 'no'} intercept, columns "
            f"{'standardised' if self.standardize else 'as they are'}, {self.n} × {self.p} data {self.fingerprint[:12]}"
        )

    def _size_in_words(self) -> str:
        """The restrictions of supports and coefficients, apart from forced features."""
        rules = self.structure or Rules()
        grouped, prices = rules.units is not None, rules.prices
        unit = "group" if grouped else "feature"
        most = "" if self.k is None else f"at most {self.k} "
        parts = [f"{most}feature{'' if self.k == 1 else 's'}"] if most else []
        if grouped:
            parts = [f"{f'{most}of ' if most else ''}{rules.count(self.p)} groups of columns"]
        if self.l0_penalty is not None:
            parts.append(f"a price of {self.l0_penalty:g} per {unit}")
        if prices is not None:
            parts.append(f"prices of {min(prices):g} to {max(prices):g} per {unit}")
        parts += rules.words()
        if self.max_coef is not None:
            parts.append(f"coefficients of at most {self.max_coef:.6g} in absolute value")
        return " and ".join(parts + self._limits_in_words())

    def _limits_in_words(self) -> list[str]:
        """The limits of coefficients for the data as given."""
        found = []
        for given, side, name in ((self.lower, "least", "lower"), (self.upper, "most", "upper")):
            values = np.array(given if given is not None else (), dtype=np.float64)
            limited = int(np.isfinite(values).sum())
            if limited == self.p and (values == values[0]).all():
                found.append(f"coefficients of at {side} {values[0]:.6g} for the data as given")
            elif limited:
                found.append(f"{name} limits of the coefficients of {limited} of {self.p} columns")
        return found


def _finite_or_not(value: Any) -> Any:
    """A limit from JSON, in which infinity is text."""
    return _INFINITIES.get(value, value) if isinstance(value, str) else value


def _as_rules(given: Any) -> Rules:
    """A structure as rules: none, rules, or their description in types of JSON."""
    if given is None or isinstance(given, Rules):
        return given or Rules()
    if isinstance(given, dict):
        return Rules.from_json(given)
    raise ValueError(f"structure must be None, rules or their description, got {shortened(given)}")


def _are_limits(limits: Any, p: int, side: float) -> bool:
    """Whether these are limits of p coefficients on one side of zero, or None."""
    if limits is None:
        return True
    if not are_numbers(limits) or len(limits) != p:
        return False
    return bool((side * np.array(limits, dtype=np.float64) >= 0.0).all())


def _listed(columns: tuple[int, ...], names: Sequence[str] | None) -> str:
    """Columns by name or number; only the first ones of a long list."""
    shown = ", ".join(str(j) if names is None else names[j] for j in columns[:_SHOWN_COLUMNS])
    return f"[{shown}]" if len(columns) <= _SHOWN_COLUMNS else f"[{shown}, … {len(columns)} in all]"


def _fit(parameters: Any, rule: type[LossRule]) -> bool:
    """Whether these are the parameters of a loss."""
    if not isinstance(parameters, dict) or set(parameters) != set(rule.parameters()):
        return False
    return all(is_number(x) and math.isfinite(x) for x in parameters.values()) and rule(**parameters).accepts()
