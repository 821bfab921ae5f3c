"""The statement of a certificate: the problem without the data, and the fingerprint of the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from operator import index
from typing import Any

from sparsest.proofs.losses import RULES, LossRule

# Integers up to this one are floating-point numbers and machine integers.
_LARGEST_WHOLE = 2**53
_SHOWN_COLUMNS = 20


@dataclass(frozen=True)
class Statement:
    """The problem ``min_w Σ ωℓ(y, x'w + b [+ o]) + Σ d_j w_j²/(2γ) [+ λ0‖w‖_0]`` s.t. ``[‖w‖_0 ≤ k], [√d_j|w_j| ≤ M]``.

    There is a price per feature, a limit on their number, or both.  M is ``max_coef``; None means no limit.
    ``parameters`` are those of the loss.  The offset o is the offset of the data, the logarithm of the exposure, or the
    sum of both.  For a loss of ``y - u``, the offset is subtracted from the response instead, in double precision.
    ``d_j`` is 1, or with ``standardize`` the weighted variance of column j (its mean square without an intercept), and
    1 for a column whose entries are all equal (zero without an intercept).  Observations of weight zero are excluded.
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

    def __post_init__(self) -> None:
        """Check all parts; types are checked strictly, because a file may contain anything."""
        for name in ("n", "p"):
            _require(_is_count(getattr(self, name)) and getattr(self, name) > 0, name, getattr(self, name))
        _require(isinstance(self.loss, str) and self.loss in RULES, "loss", self.loss)
        _require(_fit(self.parameters, RULES[self.loss]), "parameters of its loss", self.parameters)
        _require(_is_number(self.gamma) and self.gamma > 0.0, "gamma", self.gamma)
        _require(self.k is not None or self.l0_penalty is not None, "k and l0_penalty", (self.k, self.l0_penalty))
        _require(self.k is None or _is_count(self.k), "k", self.k)
        price = self.l0_penalty
        _require(price is None or (_is_number(price) and 0.0 <= price < math.inf), "l0_penalty", price)
        most = self.max_coef
        _require(most is None or (_is_number(most) and 0.0 < most < math.inf), "max_coef", most)
        for name in ("include", "exclude"):
            columns = getattr(self, name)
            fits = isinstance(columns, tuple) and all(_is_count(j) and j < self.p for j in columns)
            _require(fits and len(set(columns)) == len(columns), name, columns)
        _require(not set(self.include) & set(self.exclude), "include and exclude", (self.include, self.exclude))
        _require(self.k is None or len(self.include) <= self.k, "include and k", (self.include, self.k))
        for name in ("offset", "exposure", "fit_intercept", "standardize"):
            _require(isinstance(getattr(self, name), bool), name, getattr(self, name))
        _require(not self.exposure or self.rule.log_link, "exposure with the loss", self.loss)
        _require(isinstance(self.fingerprint, str), "fingerprint", self.fingerprint)

    @property
    def rule(self) -> LossRule:
        """The loss."""
        return RULES[self.loss](**self.parameters)

    @property
    def price(self) -> float:
        """λ0, or 0 without a price."""
        return self.l0_penalty or 0.0

    def to_json(self) -> dict[str, Any]:
        """The statement in types of JSON; infinity as text."""
        data = asdict(self)
        data["gamma"] = "inf" if math.isinf(self.gamma) else self.gamma
        return data | {"include": list(self.include), "exclude": list(self.exclude)}

    @classmethod
    def from_json(cls, data: Any) -> Statement:
        """Read the output of ``to_json``; ValueError if it is not a statement."""
        names = {field.name for field in fields(cls)}
        if not isinstance(data, dict) or set(data) != names:
            raise ValueError(f"the problem must be described by {', '.join(sorted(names))}")
        lists = {name: data[name] for name in ("include", "exclude")}
        _require(all(isinstance(value, list) for value in lists.values()), "include and exclude", lists)
        gamma = math.inf if data["gamma"] == "inf" else data["gamma"]
        return cls(**data | {name: tuple(value) for name, value in lists.items()} | {"gamma": gamma})

    def differences(self, expected: dict[str, Any]) -> list[str]:
        """The differences from expected parts; None expects that the problem has no such part."""
        found = []
        named = {field.name for field in fields(self)}
        parameters = {name for rule in RULES.values() for name in rule.parameters()}
        for name, wish in expected.items():
            if name not in named | parameters:
                known = ", ".join(sorted(named | parameters))
                raise ValueError(f"a problem has no part {name!r}; its parts are {known}")
            value: Any = getattr(self, name) if name in named else self.parameters.get(name)
            if not self._agrees(name, value, wish):
                found.append(f"the certificate is for {name} = {value!r}, not {wish!r}")
        return found

    def _agrees(self, name: str, value: Any, wish: Any) -> bool:
        """Whether a part of the statement equals the expected one."""
        if name in ("include", "exclude"):
            try:
                return sorted(value) == sorted(index(j) for j in (() if wish is None else wish))
            except TypeError:
                raise ValueError(f"{name} must be a list of column numbers, got {wish!r}") from None
        if name == "k" and _is_count(value) and _is_number(wish):
            # A limit above p is the same as p.
            most = self.p - len(self.exclude)
            return bool(min(value, most) == min(wish, most))
        return bool(value == wish)

    def sentence(self, names: Sequence[str] | None = None) -> str:
        """The problem in words, restrictions first; columns by name, or by number without ``names``."""
        size = " and ".join(
            ([f"at most {self.k} feature{'' if self.k == 1 else 's'}"] if self.k is not None else [])
            + ([f"a price of {self.l0_penalty:g} a feature"] if self.l0_penalty is not None else [])
        )
        ridge = "no ridge" if math.isinf(self.gamma) else f"gamma = {self.gamma:.6g}"
        box = "" if self.max_coef is None else f" and coefficients of at most {self.max_coef:.6g}"
        given = ", ".join(f"{name} = {value:g}" for name, value in self.parameters.items())
        added = " and ".join(name for name in ("offset", "exposure") if getattr(self, name))
        forced = "".join(
            f", {word} {_listed(columns, names)}"
            for word, columns in (("with", self.include), ("without", self.exclude))
            if columns
        )
        loss = self.loss.replace("_", " ") + " loss" + (f" ({given})" if given else "")
        return (
            f"{size}{box}{forced}: {loss}{f' with {added}' if added else ''}, {ridge}, "
            f"{'an' if self.fit_intercept else 'no'} intercept, columns "
            f"{'standardised' if self.standardize else 'as they are'}, {self.n} × {self.p} data {self.fingerprint[:12]}"
        )


def _listed(columns: tuple[int, ...], names: Sequence[str] | None) -> str:
    """Columns by name or number; only the first ones of a long list."""
    shown = ", ".join(str(j) if names is None else names[j] for j in columns[:_SHOWN_COLUMNS])
    return f"[{shown}]" if len(columns) <= _SHOWN_COLUMNS else f"[{shown}, … {len(columns)} in all]"


def _fit(parameters: Any, rule: type[LossRule]) -> bool:
    """Whether these are the parameters of a loss."""
    if not isinstance(parameters, dict) or set(parameters) != set(rule.parameters()):
        return False
    return all(_is_number(x) and math.isfinite(x) for x in parameters.values()) and rule(**parameters).accepts()


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_whole(value) and 0 <= value <= _LARGEST_WHOLE


def _is_number(value: Any) -> bool:
    """Whether this is a number in the range of floating-point numbers; integers in JSON may exceed it."""
    return isinstance(value, float) or (_is_whole(value) and abs(value) <= _LARGEST_WHOLE)


def _require(condition: bool, name: str, value: Any) -> None:
    if not condition:
        raise ValueError(f"a problem cannot have {name} = {value!r}")
